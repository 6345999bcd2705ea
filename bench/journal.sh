#!/usr/bin/env bash
# What the journal buys, measured through the binary: resume and explain of a run with more than 10,000 entries,
# verify of a journal and of an exported file. Medians, the start of the process included;
# processor time beside wall time, because a busy machine stretches the second.
# Timings are for reading; nothing here fails.
set -euo pipefail
cd "$(dirname "$0")/.."
escrow=$PWD/target/release/escrow
[ -x "$escrow" ] || { echo "build it first: cargo build --release -p escrow" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir .escrow

# 3,400 items with three entries each, then a question, so that the run waits and can be resumed again and again.
cat > long.yaml <<'YAML'
name: long
checks:
  list: {type: script, forEach: true, content: "const all = []; for (let i = 0; i < 3400; i++) all.push({n: i}); return all"}
  each: {type: script, depends_on: list, content: "return {n: item.n, even: item.n % 2 === 0}", guarantee: "output.n === item.n"}
  gate: {type: script, depends_on: each, fanout: reduce, content: "return outputs.each.length", fail_if: "output > 3000"}
  ask: {type: human-input, prompt: "Go on?"}
YAML
# Forty answers of some four megabytes.
cat > large.yaml <<'YAML'
name: large
checks:
  list: {type: script, forEach: true, content: "const all = []; for (let i = 0; i < 40; i++) all.push(i); return all"}
  each: {type: command, depends_on: list, exec: "head -c 3000000 /dev/urandom | base64 -w 0"}
YAML
"$escrow" run large.yaml -q || true
large=$("$escrow" runs --output json | python3 -c 'import json,sys; print(json.load(sys.stdin)["runs"][0]["id"])')
"$escrow" runs export "$large" --out large.json -q
"$escrow" run long.yaml -q || true
long=$("$escrow" runs --output json | python3 -c 'import json,sys; print(json.load(sys.stdin)["runs"][0]["id"])')

python3 - "$escrow" "$long" "$large" <<'PY'
import json, os, statistics, subprocess, sys, time
escrow, long, large = sys.argv[1:4]

def median_ms(arguments, times):
    """The medians of wall time and of processor time: on a busy machine only the second says something."""
    wall, processor = [], []
    for _ in range(times):
        start = time.perf_counter()
        child = subprocess.Popen([escrow, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(child.pid, 0)
        wall.append((time.perf_counter() - start) * 1000)
        processor.append((usage.ru_utime + usage.ru_stime) * 1000)
    return statistics.median(wall), statistics.median(processor)

def entries(run):
    return json.loads(subprocess.run([escrow, "verify", run, "--output", "json", "-q"], capture_output=True).stdout)["entries"]

def journal_bytes(file):
    return sum(len(entry["bytes"].encode()) for entry in json.load(open(file))["entries"])

start, _ = median_ms(["--version"], 15)
print(f"start of the process          {start:8.1f} ms")
for name, arguments in [
    ("resume (waits again)", ["resume", long]),
    ("explain RUN", ["explain", long]),
    ("explain RUN CHECK", ["explain", long, "gate"]),
    ("explain RUN ITEM", ["explain", long, "each[3000]"]),
    ("runs show", ["runs", "show", long]),
]:
    wall, processor = median_ms(arguments, 15)
    print(f"{name:28}  {wall:8.1f} ms   processor {processor:.1f} ms   {entries(long)} entries")
size = journal_bytes("large.json")
for name, subject, bytes in [("verify RUN", large, size), ("verify FILE", "large.json", os.path.getsize("large.json"))]:
    wall, processor = median_ms(["verify", subject], 5)
    print(f"{name:28}  {wall:8.1f} ms   processor {processor:.1f} ms   {bytes / 1e6:.0f} MB   {bytes / 1e6 / (wall / 1000):.0f} MB/s")
PY
