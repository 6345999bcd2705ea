#!/usr/bin/env bash
# `escrow lifecycle` beside lifeloop-cli 0.9.0, in one run and in turns: fastest, 10th percentile and median of wall
# time in ms, and how many times faster Escrow is. Timings are for reading; nothing here fails.
#   LIFELOOP=/path/to/lifeloop bench/lifecycle.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/.."
escrow=$PWD/target/release/escrow
theirs=${LIFELOOP:-$(command -v lifeloop || true)}
rounds=${1:-200}
[ -x "$escrow" ] || { echo "build it first: cargo build --release -p escrow" >&2; exit 2; }
[ -x "$theirs" ] || { echo "say where lifeloop-cli 0.9.0 is: LIFELOOP=/path/to/lifeloop" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -O2 -o "$work/race" bench/lifecycle/race.c
cc -O2 -static -o "$work/client" bench/lifecycle/client.c
ln -s "$escrow" "$work/lifeloop"
cat > "$work/request.json" <<'JSON'
{"schema_version":"lifeloop.v0.4","event":"frame.opening","event_id":"e","adapter_id":"claude","adapter_version":"0.1.0","integration_mode":"native_hook","invocation_id":"i","harness_run_id":"run","frame_context":{"frame_id":"f","frame_class":"top_level"}}
JSON
printf '{"schema_version":"lifeloop.v0.4","request":%s}' "$(cat "$work/request.json")" > "$work/dispatch.json"

race() {
  local name=$1 input=$2; shift 2
  printf '%-34s ' "$name"
  "$work/race" "$rounds" "$input" "$work/lifeloop" "$theirs" -- "$@"
}
# Each has a ledger of its own, so it is named by what stands before the race.
ledgers() {
  local name=$1; shift
  for who in ours theirs; do
    printf '#!/bin/sh\nexec "%s" "$@" --ledger "%s"\n' \
      "$([ $who = ours ] && echo "$work/lifeloop" || echo "$theirs")" "$work/$who.db" > "$work/$who"
    chmod +x "$work/$who"
  done
  printf '%-34s ' "$name"
  "$work/race" "$rounds" "$work/dispatch.json" "$work/ours" "$work/theirs" -- "$@"
}

echo "$(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg), $rounds rounds"
printf '%-34s %-22s  %-22s  %s\n' "" "escrow min p10 p50" "lifeloop min p10 p50" "times faster"
race "version" /dev/null version
race "envelope validate request" "$work/request.json" envelope validate request
race "event invoke --in-process" "$work/dispatch.json" event invoke --in-process
race "event invoke, C client" "$work/dispatch.json" event invoke --client-cmd "$work/client"
race "event invoke, C client of 20 ms" "$work/dispatch.json" event invoke --client-cmd "$work/client" --client-arg 20
ledgers "event invoke, ledger (and sh)" event invoke --in-process
ledgers "event invoke, C client, ledger (sh)" event invoke --client-cmd "$work/client"

# The same events over a client that stays, one process for all of them.
cat > "$work/stays" <<'SH'
#!/bin/sh
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  echo '{"jsonrpc":"2.0","id":'$id',"result":{"schema_version":"lifeloop.v0.4","status":"delivered"}}'
done
SH
chmod +x "$work/stays"
for i in $(seq 1000); do
  printf '{"jsonrpc":"2.0","id":%d,"method":"event/frame.opening","params":%s}\n' "$i" "$(cat "$work/dispatch.json")"
done > "$work/stream.jsonl"
began=$(date +%s%N)
"$escrow" lifecycle stream --extended --client-cmd "$work/stays" < "$work/stream.jsonl" > "$work/answers"
took=$(( ($(date +%s%N) - began) / 1000 ))
echo "stream: $(wc -l < "$work/answers") events to a client that stays (sh), $((took / 1000)) µs each"
