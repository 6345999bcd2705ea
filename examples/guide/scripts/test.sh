# A small test suite: every script must parse. Prints a summary, as test runners do.
passed=0
failed=0
for script in scripts/*.sh; do
  if sh -n "$script" 2> /dev/null; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
printf '{"summary": {"passed": %d, "failed": %d}}\n' "$passed" "$failed"
