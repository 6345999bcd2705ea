# Prints the review as Markdown. Reads the findings from stdin, as one JSON document.
#   report.sh PATCH VERDICT SUMMARY
set -eu
printf '# Review of %s\n\n**%s**: %s\n\n' "$1" "$2" "$3"
tr '{' '\n' | awk -F'"' '
  /"file":/ {
    for (i = 1; i < NF; i++) {
      if ($i == "file") file = $(i + 2)
      if ($i == "severity") severity = $(i + 2)
      if ($i == "description") description = $(i + 2)
      if ($i == "line") { line = $(i + 1); gsub(/[^0-9]/, "", line) }
    }
    printf "- %s:%s: %s (%s)\n", file, line, description, severity
  }'
