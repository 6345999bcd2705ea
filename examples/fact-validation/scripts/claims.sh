# Prints the claims of a draft, `PLANET has N moons`, as a JSON list.
#   claims.sh DRAFT
set -eu
awk 'match($0, /^[A-Z][a-z]+ has [0-9]+ moons/) {
       printf "%s{\"planet\": \"%s\", \"moons\": %d}", (n++ ? ", " : "["), $1, $3
     }
     END { if (!n) printf "["; print "]" }' "$1"
