# Tests of greet.sh. Prints one JSON summary.
passed=0
failed=0
expect() {
  wanted=$1
  shift
  if [ "$(sh greet.sh "$@")" = "$wanted" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}
expect 'hello world'
expect 'hello Ada' Ada
expect 'hello Ada Lovelace' 'Ada Lovelace'
expect 'hello a
hello b' a b
printf '{"passed": %d, "failed": %d}\n' "$passed" "$failed"
