# Checks every row of a fetched file: three columns, a customer, an amount in hundredths.
#   validate.sh FILE
set -eu
awk -F, -v file="$1" '
  NR == 1 { if ($0 != "id,customer,amount") bad++; next }
  {
    rows++
    if (NF == 3 && $2 != "" && $3 ~ /^[0-9]+\.[0-9][0-9]$/) { amount += $3; next }
    bad++
    printf "%s:%d: %s\n", file, NR, $0 > "/dev/stderr"
  }
  END { printf "{\"file\": \"%s\", \"rows\": %d, \"bad\": %d, \"amount\": %.2f}\n", file, rows, bad, amount }
' "$ESCROW_ARTIFACTS/$1"
