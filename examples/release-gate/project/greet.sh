# Greets everybody who is named, or the world.
set -eu
if [ $# -eq 0 ]; then set -- world; fi
for name in "$@"; do printf 'hello %s\n' "$name"; done
