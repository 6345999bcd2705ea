#!/usr/bin/env bash
# Escrow beside GNU make, on the same commands, in one run: medians of wall time, ratios, peak memory.
# Timings are for reading; nothing here fails.
set -euo pipefail
cd "$(dirname "$0")/.."
escrow=$PWD/target/release/escrow
[ -x "$escrow" ] || { echo "build it first: cargo build --release -p escrow" >&2; exit 2; }
command -v make >/dev/null || { echo "GNU make is needed" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# As it is when it was installed, like make itself: a file that a linker has just written is mapped page by page, and
# starts a millisecond later until it has been copied or read from the disk again.
install "$escrow" "$work/escrow"
escrow=$work/escrow
cd "$work"
jobs=$(getconf _NPROCESSORS_ONLN)

one() { printf 'all:\n\t@true\n' > one.mk; printf 'checks:\n  a: {type: command, exec: "true"}\n' > one.yaml; }
wide() {
  { printf 'all:'; for i in $(seq 100); do printf ' t%d' "$i"; done; printf '\n'
    for i in $(seq 100); do printf 't%d:\n\t@echo {} >/dev/null\n' "$i"; done; } > wide.mk
  { echo 'checks:'; for i in $(seq 100); do printf '  t%d: {type: command, exec: "echo {}"}\n' "$i"; done; } > wide.yaml
}
chain() {
  { printf 'all: t50\n'; printf 't1:\n\t@echo {} >/dev/null\n'
    for i in $(seq 2 50); do printf 't%d: t%d\n\t@echo {} >/dev/null\n' "$i" "$((i-1))"; done; } > chain.mk
  { echo 'checks:'; printf '  t1: {type: command, exec: "echo {}"}\n'
    for i in $(seq 2 50); do printf '  t%d: {type: command, exec: "echo {}", depends_on: t%d}\n' "$i" "$((i-1))"; done; } > chain.yaml
}
one; wide; chain
"$escrow" run one.yaml -q

# Prints the median wall time of 41 runs, interleaved with the other contender.
compare() {
  python3 - "$@" <<'PY'
import statistics, subprocess, sys, time
name, first, second = sys.argv[1:4]
times = {first: [], second: []}
for _ in range(41):
    for command in (first, second):
        start = time.perf_counter()
        subprocess.run(command.split(), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times[command].append((time.perf_counter() - start) * 1000)
a, b = (statistics.median(times[command]) for command in (first, second))
print(f"{name:<24} make {a:8.2f} ms   escrow {b:8.2f} ms   ratio {b / a:5.2f}   over {b - a:7.2f} ms")
PY
}
echo "$(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
compare "one check" "make -s -f one.mk" "$escrow run one.yaml -q"
compare "100 independent" "make -s -j$jobs -f wide.mk" "$escrow run wide.yaml -q"
compare "chain of 50" "make -s -j$jobs -f chain.mk" "$escrow run chain.yaml -q"
compare "bare command (true)" "sh -c true" "$escrow run one.yaml -q"
for playbook in one wide chain; do
  python3 - "$escrow" "$playbook.yaml" <<'PY'
import resource, subprocess, sys
subprocess.run([sys.argv[1], "run", sys.argv[2], "-q"], check=True)
print(f"peak memory {sys.argv[2]:<12} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:6.1f} MB")
PY
done
