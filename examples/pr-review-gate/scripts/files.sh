# Prints the files that a patch changes as a JSON list.
#   files.sh PATCH
set -eu
awk '/^\+\+\+ b\// { printf "%s\"%s\"", (n++ ? ", " : "["), substr($0, 7) }
     END { if (!n) printf "["; print "]" }' "$1"
