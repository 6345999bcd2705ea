# Prints the section of a changelog about one version.
#   changelog.sh FILE VERSION
set -eu
awk -v heading="## $2" '$0 == heading { on = 1; print; next } /^## / { on = 0 } on' "$1"
