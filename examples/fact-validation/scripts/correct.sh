# Corrects the first claim that does not hold. Reads the verdicts from $VERDICTS, as JSON.
#   correct.sh DRAFT
set -eu
wrong=$(printf '%s' "$VERDICTS" | tr '}' '\n' | grep '"holds":false' | head -n 1)
planet=$(printf '%s' "$wrong" | sed 's/.*"planet":"\([A-Za-z]*\)".*/\1/')
moons=$(printf '%s' "$wrong" | sed 's/.*"moons":\([0-9]*\).*/\1/')
if [ "$LOOPS" != endless ]; then
  awk -v planet="$planet" -v moons="$moons" '$1 == planet && $2 == "has" { $3 = moons } { print }' "$1" > "$1.new"
  mv "$1.new" "$1"
fi
printf '{"corrected": "%s"}\n' "$planet"
