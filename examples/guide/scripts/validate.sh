# Tells whether an item is valid: `b` is not.
set -eu
if [ "$1" = b ]; then echo '{"ok": false}'; else echo '{"ok": true}'; fi
