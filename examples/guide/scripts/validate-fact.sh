# Tells whether a claim `FILE exists` holds.
set -eu
if [ -e "${1%% *}" ]; then
  echo '{"is_valid": true, "errors": 0}'
else
  echo '{"is_valid": false, "errors": 1}'
fi
