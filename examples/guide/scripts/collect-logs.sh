# Saves information that helps to understand a failure.
set -eu
ls -l scripts > "$ESCROW_ARTIFACTS/scripts.txt"
