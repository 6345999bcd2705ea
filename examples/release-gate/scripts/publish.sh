# Copies a package into the registry. Publishing the same package again changes nothing; another package under the
# same name is refused.
#   publish.sh REGISTRY PACKAGE CHECKSUM
set -eu
mkdir -p "$1"
if [ -e "$1/$2" ]; then
  cmp -s "$ESCROW_ARTIFACTS/$2" "$1/$2" || { echo "$2 is published already, and differs" >&2; exit 1; }
else
  cp "$ESCROW_ARTIFACTS/$2" "$1/$2.part"
  mv "$1/$2.part" "$1/$2"
fi
printf '{"published": true, "checksum": "%s"}\n' "$(cksum < "$1/$2" | tr ' ' -)"
