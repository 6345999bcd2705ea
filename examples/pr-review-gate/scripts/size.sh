# Counts the lines that a patch adds and removes.
#   size.sh PATCH
set -eu
awk '/^\+\+\+ |^--- / { next } /^\+/ { added++ } /^-/ { removed++ }
     END { printf "{\"added\": %d, \"removed\": %d}\n", added, removed }' "$1"
