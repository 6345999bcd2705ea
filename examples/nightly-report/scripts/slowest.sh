# Prints the three slowest requests in a log as a JSON list.
#   slowest.sh LOG
set -eu
sort -k5,5nr "$1" | head -n 3 | awk '
  { printf "%s{\"path\": \"%s\", \"ms\": %d}", (n++ ? ", " : "["), $3, $5 }
  END { if (!n) printf "["; print "]" }'
