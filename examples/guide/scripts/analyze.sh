# Prints the longest line of the scripts.
set -eu
awk 'length($0) > longest { longest = length($0) } END { printf "{\"longest_line\": %d}\n", longest }' scripts/*.sh
