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

echo "$(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg), $rounds rounds"
echo 1 > lines
# The three take turns, so that a busy moment hits all of them. Processor time is what a busy machine does not change.
python3 - "$escrow" "$rounds" <<'TURNS'
import os, statistics, subprocess, sys, time
escrow, rounds = sys.argv[1], int(sys.argv[2])
commands = {
    "program alone": ["./claude", "--session-id", "s"],
    "command check": [escrow, "run", "command.yaml", "--quiet"],
    "ai check": [escrow, "run", "ai.yaml", "--quiet"],
}
seen = {name: [] for name in commands}
for _ in range(rounds):
    for name, words in commands.items():
        start = time.perf_counter()
        quiet = subprocess.DEVNULL
        child = subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet)
        _, _, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        seen[name].append((wall * 1000, (used.ru_utime + used.ru_stime) * 1000, used.ru_maxrss / 1024))
for name, all in seen.items():
    wall, cpu, peak = zip(*all)
    print("%-14s wall %6.1f ms (best %5.1f), processor %5.1f ms, peak %5.1f MB"
          % (name, statistics.median(wall), min(wall), statistics.median(cpu), max(peak)))
TURNS

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
