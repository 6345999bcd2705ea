# Prints the CSV files of a folder as a JSON list.
#   list.sh FOLDER
set -eu
cd "$1"
ls | awk '/\.csv$/ { printf "%s\"%s\"", (n++ ? ", " : "["), $0 } END { if (!n) printf "["; print "]" }'
