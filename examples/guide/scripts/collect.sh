# Prints the scripts as a list, or an empty list on request.
set -eu
if [ "${1:-}" = nothing ]; then echo '{"items": []}'; exit; fi
ls scripts | awk 'BEGIN { printf "{\"items\": [" } { printf "%s\"%s\"", (NR > 1 ? ", " : ""), $0 } END { print "]}" }'
