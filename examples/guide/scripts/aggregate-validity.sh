# Tells whether all verdicts in a JSON list are valid.
set -eu
case $1 in
  *'"is_valid":false'* | *null*) echo '{"all_valid": false}' ;;
  *) echo '{"all_valid": true}' ;;
esac
