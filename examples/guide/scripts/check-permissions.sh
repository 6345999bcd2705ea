# Tells whether the author may post: members may.
set -eu
case $1 in
  OWNER | MEMBER | COLLABORATOR) echo '{"allowed": true}' ;;
  *) echo '{"allowed": false}' ;;
esac
