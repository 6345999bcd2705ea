# Parses every script without running it.
set -eu
for script in scripts/*.sh; do sh -n "$script"; done
echo "every script parses"
