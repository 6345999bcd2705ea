#!/usr/bin/env bash
# `escrow hook` beside the start of the process alone: median wall time in ms, with the receipt beside the ledger of a
# state, and in the spool of a run. The goal is 3 ms over the start. Timings are for reading; nothing here fails.
#   bench/hook.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/.."
escrow=${ESCROW:-$PWD/target/release/escrow}
rounds=${1:-200}
[ -x "$escrow" ] || { echo "build it first: cargo build --release -p escrow" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/.escrow" "$work/empty"
printf '{"session_id":"s","prompt_id":"p","stop_hook_active":false}' > "$work/input.json"

# Median of the wall times of a command, in ms.
median() {
  local name=$1; shift
  for _ in $(seq "$rounds"); do
    local start=$EPOCHREALTIME
    "$@" < "$work/input.json" > /dev/null
    local end=$EPOCHREALTIME
    echo $(( ${end/./} - ${start/./} ))
  done | sort -n | awk -v name="$name" '{ all[NR] = $1 } END { printf "%-28s %6.2f ms\n", name, all[int((NR + 1) / 2)] / 1000 }'
}

echo "$(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg), $rounds rounds"
cd "$work/empty" && median "start alone" "$escrow" hook --help
cd "$work" && median "receipt beside the ledger" "$escrow" hook --host claude --event Stop
export ESCROW_HOOK_SPOOL=$work/spool ESCROW_RUN=r_bench
median "receipt in the spool" "$escrow" hook --host claude --event Stop
