#!/usr/bin/env bash
# What `type: ai` adds to a harness: median wall time and peak memory of a stand-in for Claude Code alone, of a command check
# and of an `ai` check around it; then 50 of them at once that print 10,000 lines each, counted afterwards. The goals are 20 ms
# and 10 MB over the program itself, and no lost line. Timings are for reading; a lost line fails.
#   bench/agents.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/.."
escrow=${ESCROW:-$PWD/target/release/escrow}
rounds=${1:-30}
[ -x "$escrow" ] || { echo "build it first: cargo build --release -p escrow" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat > claude <<'STANDIN'
#!/bin/sh
cat > /dev/null
for word in "$@"; do
  case ${last:-} in --session-id | --resume) id=$word ;; esac
  last=$word
done
printf '{"type":"system","subtype":"init","session_id":"%s","model":"opus"}\n' "$id"
awk -v id="$id" -v lines="$(cat "$LINES_FILE")" 'BEGIN {
  for (i = 1; i <= lines; i++)
    printf "{\"type\":\"assistant\",\"session_id\":\"%s\",\"message\":{\"id\":\"m%d\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t%d\",\"name\":\"Read\",\"input\":{}}]}}\n", id, i, i
}'
printf '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Done.","session_id":"%s","total_cost_usd":0.01,"modelUsage":{},"permission_denials":[]}\n' "$id"
STANDIN
chmod +x claude
sed -i "s|\"\$LINES_FILE\"|$work/lines|" claude
export ESCROW_HARNESS_CLAUDE=$work/claude ANTHROPIC_API_KEY=none
printf 'checks: {main: {type: ai, harness: claude, prompt: Hello, permission: read}}\n' > ai.yaml
printf 'checks: {main: {type: command, exec: "./claude --session-id s < /dev/null"}}\n' > command.yaml

# Median of the wall times of a command in ms, and its peak memory in MB.
median() {
  local name=$1; shift
  for _ in $(seq "$rounds"); do
    local start=$EPOCHREALTIME
    "$@" > /dev/null 2>&1 < /dev/null
    local end=$EPOCHREALTIME
    echo $(( ${end/./} - ${start/./} ))
  done | sort -n | awk -v name="$name" '{ all[NR] = $1 } END { printf "%-24s %8.1f ms", name, all[int((NR + 1) / 2)] / 1000 }'
  python3 - "$@" <<'PEAK'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
print("  peak %5.1f MB" % (resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024))
PEAK
}

echo "$(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg), $rounds rounds"
echo 1 > lines
median "program alone" ./claude --session-id s
median "command check" "$escrow" run command.yaml --quiet
median "ai check" "$escrow" run ai.yaml --quiet

echo 10000 > lines
cat > many.yaml <<'MANY'
max_parallelism: 50
checks:
  list: {type: script, content: "return Array.from({length: 50}, (_, i) => i)", forEach: true, concurrency: 50, guarantee: "output.length === 50"}
  agent: {type: ai, harness: claude, prompt: Hello, permission: read, depends_on: list}
MANY
python3 - "$escrow" <<'MANY_AT_ONCE'
import json, resource, subprocess, sys, time
escrow = sys.argv[1]
start = time.time()
run = [escrow, "run", "many.yaml", "--quiet", "--output", "json"]
done = subprocess.run(run, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
seconds, peak = time.time() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
document = json.loads(done.stdout)
logs = subprocess.run([escrow, "logs", document["run"]["id"], "agent"], stdout=subprocess.PIPE).stdout
lines = logs.count(b'"type":"tool_use"')
print("50 agents, 10,000 lines each: %s, %.1f s, peak %.0f MB, %d lines, lost %d"
      % (document["run"]["reason"]["code"], seconds, peak, lines, 500_000 - lines))
sys.exit(lines != 500_000)
MANY_AT_ONCE
