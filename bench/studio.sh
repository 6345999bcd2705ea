#!/usr/bin/env bash
# Studio over a state of 50,000 runs and 1,000,000 journal entries, with one more run of 2,000 checks: how long until the first
# byte of each page, its weight on the wire, the server's memory, 200 viewers of one run, and how long a start takes.
# The goals are 50 ms for every page, 100 ms for the run of 2,000 checks, 80 MB, 100 KB compressed, no missed event, 50 ms.
# Processor time stands beside wall time, because a busy machine stretches the second. Figures are for reading; a missed event fails.
#   bench/studio.sh [RUNS]
set -euo pipefail
cd "$(dirname "$0")/.."
escrow=${ESCROW:-$PWD/target/release/escrow}
runs=${1:-50000}
[ -x "$escrow" ] || { echo "build it first: cargo build --release -p escrow" >&2; exit 2; }
cargo build --release --quiet -p escrow-simulator --example history
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/.escrow"
read -r written entries large < <(target/release/examples/history "$work/.escrow/escrow.db" "$runs" 7 2000)
cd "$work"
echo "$(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg); $written runs, $entries entries, $(du -m .escrow/escrow.db | cut -f1) MB"
cat > live.yaml <<'YAML'
name: live
checks:
  list: {type: script, forEach: true, content: "const all = []; for (let i = 0; i < 300; i++) all.push(i); return all"}
  each: {type: script, depends_on: list, content: "return item"}
YAML
python3 - "$escrow" "$large" <<'PY'
import http.client, json, os, re, socket, statistics, subprocess, sys, threading, time
escrow, large = sys.argv[1:3]

def serve():
    start = time.perf_counter()
    child = subprocess.Popen([escrow, "--output", "jsonl", "studio", "--port", "0", "--no-open", "--no-daemon"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    url = json.loads(child.stdout.readline())["studio"]["url"]
    return child, url.split("//")[1].strip("/"), (time.perf_counter() - start) * 1000

def memory_mb(pid):
    status = open(f"/proc/{pid}/status").read()
    # Pages of the database that are mapped belong to the system's cache; what the process holds is anonymous.
    return [int(re.search(name + r":\s+(\d+)", status).group(1)) / 1024 for name in ("VmRSS", "RssAnon")]

def processor_ms(pid):
    parts = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(parts[11]) + int(parts[12])) * 1000 / os.sysconf("SC_CLK_TCK")

def get(host, path, gzip=True):
    """Milliseconds until the first byte of the answer, bytes on the wire."""
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.connect()
    headers = {"accept": "text/html", "connection": "close"}
    if gzip: headers["accept-encoding"] = "gzip"
    start = time.perf_counter()
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    first = (time.perf_counter() - start) * 1000
    body = answer.read()
    assert answer.status == 200, (path, answer.status, body[:200])
    connection.close()
    return first, len(body)

starts = []
for _ in range(9):
    child, host, took = serve()
    starts.append(took)
    child.terminate(); child.wait()
child, host, _ = serve()
print(f"start until it answers {statistics.median(starts):8.1f} ms   (goal 50)")
run = json.loads(subprocess.run([escrow, "runs", "--limit", "2", "--output", "json"], capture_output=True).stdout)["runs"][1]["id"]
pages = ["/", "/runs", "/runs?playbook=playbook-3", "/runs?status=failed", f"/runs/{run}", f"/runs/{run}/logs/c0", "/outcomes", "/outcomes?passed=false", "/chains", "/shows", "/approvals", "/effects", "/invocations", "/lifecycle", "/api/runs", "/api/attention", f"/runs/{large}"]
print(f"{'page':30} {'first ms':>9} {'median ms':>10} {'worst ms':>9} {'processor ms':>13} {'KB':>8}")
for path in pages:
    cold, _ = get(host, path)
    before = processor_ms(child.pid)
    times = [get(host, path) for _ in range(20)]
    processor = (processor_ms(child.pid) - before) / 20
    label = path.replace(run, "{id}").replace(large, "{2000 checks}")
    print(f"{label:30} {cold:9.1f} {statistics.median(t for t, _ in times):10.1f} {max(t for t, _ in times):9.1f} {processor:13.1f} {times[0][1] / 1000:8.1f}")
now, own = memory_mb(child.pid)
print(f"memory after the pages {now:8.1f} MB   of it its own {own:.1f} MB   (goal 80)")

# 200 viewers of one run that is driven elsewhere; each must see every entry of it.
viewers, counts, errors = 200, [], []
def view(end):
    connection = http.client.HTTPConnection(host, timeout=120)
    connection.request("GET", f"/api/feed?brief=1&after={end}", headers={"accept": "text/event-stream"})
    answer = connection.getresponse()
    ready.release()
    seen, last = 0, end
    while True:
        line = answer.readline().decode()
        if line.startswith("id:"):
            number = int(line[3:])
            if number != last + 1: errors.append((last, number))
            last = number
            seen += 1
        if "run_ended" in line: break
    counts.append(seen)
page = http.client.HTTPConnection(host); page.request("GET", "/runs", headers={"accept": "text/html"})
end = int(re.search(r'data-feed="(\d+)"', page.getresponse().read().decode()).group(1))
ready = threading.Semaphore(0)
threads = [threading.Thread(target=view, args=(end,)) for _ in range(viewers)]
for thread in threads: thread.start()
for _ in threads: ready.acquire()
start = time.perf_counter()
subprocess.run([escrow, "run", "live.yaml", "--quiet"], check=True)
ran = time.perf_counter() - start
for thread in threads: thread.join()
took = time.perf_counter() - start
now, own = memory_mb(child.pid)
assert not errors and len(counts) == viewers and len(set(counts)) == 1, (len(counts), set(counts), errors[:3])
print(f"{viewers} viewers saw each of {counts[0]} entries; the last {1000 * (took - ran):.0f} ms after the run ended; {now:.1f} MB, of it its own {own:.1f} MB")
child.terminate(); child.wait()
PY
