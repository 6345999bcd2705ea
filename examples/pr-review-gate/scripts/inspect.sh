# Examines the lines that a patch adds to one file and prints the findings as a JSON list.
#   inspect.sh PATCH FILE
set -eu
awk -v wanted="$2" '
  function found(severity, category, description) {
    printf "%s{\"file\": \"%s\", \"line\": %d, \"severity\": \"%s\", \"category\": \"%s\", \"description\": \"%s\"}",
      (n++ ? ", " : ""), wanted, line, severity, category, description
  }
  BEGIN { printf "[" }
  /^\+\+\+ b\// { here = (substr($0, 7) == wanted); next }
  /^--- / { next }
  /^@@ / { split($3, at, ","); line = substr(at[1], 2) - 1; next }
  /^-/ { next }
  { line++ }
  !here || !/^\+/ { next }
  /(password|secret|token)=["\x27]?[^"\x27$ ]/ { found("critical", "security", "a credential in the text") }
  /set -x/ { found("high", "security", "traces every command, credentials included") }
  /TODO|FIXME/ { found("low", "scope", "left to do") }
  /[ \t]$/ { found("low", "style", "blanks at the end of the line") }
  END { print "]" }
' "$1"
