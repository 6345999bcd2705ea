# Whether all of the verdicts given as one JSON list are good.
set -eu
case $1 in
  *'"is_valid":false'* | *null*) echo '{"all_valid": false}' ;;
  *) echo '{"all_valid": true}' ;;
esac
