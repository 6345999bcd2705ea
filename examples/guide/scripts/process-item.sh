# Processes one item. `b` succeeds at the second attempt, like a service that is briefly down.
set -eu
if [ "$1" = b ] && [ "$ESCROW_ATTEMPT" -lt 2 ]; then
  echo 'the service is not there yet' >&2
  exit 75
fi
printf '{"item": "%s", "__failed": false}\n' "$1"
