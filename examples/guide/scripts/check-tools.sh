# Exits 1 when a tool is missing.
set -eu
for tool in "$@"; do
  command -v "$tool" > /dev/null || { echo "$tool is missing" >&2; exit 1; }
done
