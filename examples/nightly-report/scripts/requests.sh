# Counts the requests in a log, and those that failed because of the server.
#   requests.sh LOG
set -eu
awk '{ requests++ } $4 >= 500 { errors++ }
     END { printf "{\"requests\": %d, \"errors\": %d}\n", requests, errors }' "$1"
