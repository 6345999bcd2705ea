# The scripts as a list; an empty one when asked for it.
set -eu
if [ "${1:-}" = nothing ]; then echo '{"items": []}'; exit; fi
ls scripts | awk 'BEGIN { printf "{\"items\": [" } { printf "%s\"%s\"", (NR > 1 ? ", " : ""), $0 } END { print "]}" }'
