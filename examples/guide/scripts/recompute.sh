# The items, counted anew.
set -eu
printf '{"items": [%d]}\n' "$(ls scripts | wc -l)"
