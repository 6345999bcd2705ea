# How many requests a log has, and how many of them were the server's fault.
#   requests.sh LOG
set -eu
awk '{ requests++ } $4 >= 500 { errors++ }
     END { printf "{\"requests\": %d, \"errors\": %d}\n", requests, errors }' "$1"
