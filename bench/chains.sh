#!/usr/bin/env bash
# Chains: `chain check` with 1,000 active chains of which none is due; the memory of a daemon whose 200 runs wait for a
# person; 1,000 webhooks in flight at one daemon, counted afterwards. The goals are 50 ms, 60 MB, and none lost. Figures are
# for reading; a lost webhook fails.
#   bench/chains.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/.."
escrow=${ESCROW:-$PWD/target/release/escrow}
rounds=${1:-30}
[ -x "$escrow" ] || { echo "build it first: cargo build --release -p escrow" >&2; exit 2; }
work=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || { kill -9 "$daemon"; wait "$daemon" || true; } 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
mkdir -p .escrow chains
export HOOK_SECRET=of-the-bench
printf '[webhook.github]\nsecret = { env = "HOOK_SECRET" }\n' > .escrow/config.toml

for number in $(seq 799); do
  printf 'name: clock-%d\ntrigger: {schedule: "0 0 1 1 *"}\nsteps: [{action: shell, with: {exec: "true"}}]\n' "$number" > "chains/clock-$number.yaml"
done
for number in $(seq 200); do
  printf 'name: ask-%d\ntrigger: {event: pr.opened}\nsteps: [{action: shell, requires_approval: true, with: {exec: "true"}}]\n' "$number" > "chains/ask-$number.yaml"
done
printf 'name: queue\nconcurrency: queue\ntrigger: {event: issue.created}\nsteps: [{action: shell, requires_approval: true, with: {exec: "true"}}]\n' > chains/queue.yaml
for file in chains/*.yaml; do "$escrow" chain define "$file" --quiet > /dev/null; done
echo "$(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg), $(ls chains | wc -l) chains, $rounds rounds"

# Median of the wall times of a command, in ms.
median() {
  local name=$1; shift
  for _ in $(seq "$rounds"); do
    local start=$EPOCHREALTIME
    "$@" > /dev/null
    local end=$EPOCHREALTIME
    echo $(( ${end/./} - ${start/./} ))
  done | sort -n | awk -v name="$name" '{ all[NR] = $1 } END { printf "%-28s %6.2f ms\n", name, all[int((NR + 1) / 2)] / 1000 }'
}
"$escrow" chain check --quiet
median "start alone" "$escrow" --version
median "chain check, nothing due" "$escrow" chain check --quiet

"$escrow" chain daemon --port 0 --output jsonl --quiet > daemon.log 2> daemon.err &
daemon=$!
for _ in $(seq 100); do grep -q url daemon.log && break; sleep 0.1; done
python3 - "$daemon" <<'PYTHON'
import asyncio, hashlib, hmac, json, re, sqlite3, sys, time
daemon = int(sys.argv[1])
host, port = re.search(r'http://([^:/"]+):(\d+)', open("daemon.log").read()).groups()
COUNT = 1000
now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

def request(event, number):
    thing = {"number": number, "title": "t", "updated_at": now}
    if event == "pull_request":
        thing |= {"draft": False, "base": {"ref": "main", "repo": {"full_name": "o/r"}},
                  "head": {"ref": "b", "sha": "a", "repo": {"full_name": "o/r"}}}
    kind = "issue" if event == "issues" else "pull_request"
    body = json.dumps({"action": "opened", "repository": {"full_name": "o/r"}, kind: thing}).encode()
    signed = hmac.new(b"of-the-bench", body, hashlib.sha256).hexdigest()
    head = (f"POST /hooks/github HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {len(body)}\r\n"
            f"x-github-event: {event}\r\nx-github-delivery: {event}-{number}\r\nx-hub-signature-256: sha256={signed}\r\n\r\n")
    return head.encode() + body

async def deliver(event, number, gate):
    reader, writer = await asyncio.open_connection(host, int(port))
    gate.connected += 1
    if gate.connected == gate.wanted:
        gate.all.set()
    await gate.all.wait()
    writer.write(request(event, number))
    answer = await asyncio.wait_for(reader.read(), 120)
    writer.close()
    return int(answer.split(b" ")[1]) if answer else 0

class Gate:
    def __init__(self, wanted):
        self.connected, self.wanted, self.all = 0, wanted, asyncio.Event()

async def at_once(event, count):
    gate = Gate(count)
    jobs = [deliver(event, number, gate) for number in range(count)]
    return await asyncio.wait_for(asyncio.gather(*jobs, return_exceptions=True), 300)

def rows(sql):
    with sqlite3.connect(".escrow/escrow.db", timeout=30) as database:
        return database.execute(sql).fetchone()[0]

asyncio.run(at_once("pull_request", 1))
for _ in range(600):
    waiting = rows("SELECT count(*) FROM chain_runs WHERE status = 'waiting_approval'")
    if waiting >= 200:
        break
    time.sleep(0.2)
time.sleep(1)
status = open(f"/proc/{daemon}/status").read()
now_mb, peak_mb = (int(re.search(rf"{name}:\s+(\d+)", status).group(1)) / 1024 for name in ("VmRSS", "VmHWM"))
print(f"{waiting} runs wait at a daemon: {now_mb:.0f} MB, peak {peak_mb:.0f} MB")

start = time.time()
answers = asyncio.run(at_once("issues", COUNT))
seconds = time.time() - start
accepted = sum(1 for answer in answers if answer == 202)
fires = rows("SELECT count(*) FROM fires WHERE event = 'issue.created'")
print(f"{COUNT} webhooks in flight: {accepted} accepted, {fires} fires, {seconds:.1f} s")
others = {repr(answer) for answer in answers if answer != 202}
if others:
    print("other answers:", *sorted(others)[:5])
sys.exit(not (accepted == fires == COUNT and waiting == 200))
PYTHON
