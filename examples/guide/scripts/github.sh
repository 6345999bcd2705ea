# Stands in for GitHub: records the change and prints a typical API response.
#   github.sh OPERATION [VALUE…]
set -eu
operation=$1
shift
comment='{"id": 4711, "url": "https://example.invalid/comments/4711"}'
if [ "$operation" = comment.find ]; then
  # Only looks whether the comment of this effect is there.
  if grep -qs "$ESCROW_IDEMPOTENCY_KEY" "$ESCROW_ARTIFACTS/keys.log"; then
    printf '{"found": true, "comment": %s}\n' "$comment"
  else
    echo '{"found": false}'
  fi
  exit 0
fi
printf '%s %s\n' "$operation" "$*" >> "$ESCROW_ARTIFACTS/github.log"
case $operation in
  comment.create)
    echo "$ESCROW_IDEMPOTENCY_KEY" >> "$ESCROW_ARTIFACTS/keys.log"
    echo "$comment"
    ;;
  labels.add) printf '{"added": ["%s"]}\n' "$1" ;;
  *) echo "no such operation: $operation" >&2; exit 2 ;;
esac
