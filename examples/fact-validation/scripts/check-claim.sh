# Checks whether a planet has the claimed number of moons.
#   check-claim.sh FACTS PLANET MOONS
set -eu
awk -F'\t' -v planet="$2" -v said="$3" '
  $1 == planet { known = 1; moons = $2 }
  END {
    if (!known) { print "nothing is known of " planet > "/dev/stderr"; exit 1 }
    printf "{\"planet\": \"%s\", \"holds\": %s, \"moons\": %d}\n", planet, (moons == said ? "true" : "false"), moons
  }' "$1"
