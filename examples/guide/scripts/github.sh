# Stands in for GitHub: records the change and prints a typical API response.
#   github.sh OPERATION [VALUE…]
set -eu
operation=$1
shift
record() { printf '%s %s\n' "$operation" "$*" >> "$ESCROW_ARTIFACTS/github.log"; }
case $operation in
  comment.create)
    # A repeated request is recognised by its key.
    if ! grep -qs "$ESCROW_IDEMPOTENCY_KEY" "$ESCROW_ARTIFACTS/keys.log"; then
      echo "$ESCROW_IDEMPOTENCY_KEY" >> "$ESCROW_ARTIFACTS/keys.log"
      record "$@"
    fi
    echo '{"id": 4711, "url": "https://example.invalid/comments/4711"}'
    ;;
  labels.add)
    record "$@"
    printf '{"added": ["%s"]}\n' "$1"
    ;;
  *) echo "no such operation: $operation" >&2; exit 2 ;;
esac
