#!/usr/bin/env bash
# Verifying five delivered files, beside lionagi 0.36.0 (from PyPI, into a virtual environment of its own).
# Processor time is what to compare on a busy machine. Timings are for reading; nothing here fails.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=${LIONAGI_VENV:-${TMPDIR:-/tmp}/escrow-bench-lionagi}
if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet lionagi==0.36.0
fi
cargo build --quiet --release -p escrow-runtime --example verify_cost
target/release/examples/verify_cost > "${TMPDIR:-/tmp}/escrow-verify.jsonl"
"$venv/bin/python" bench/lionagi/verify.py > "${TMPDIR:-/tmp}/lionagi-verify.jsonl"
python3 - "${TMPDIR:-/tmp}" <<'PY'
import json, sys
read = lambda name: [json.loads(line) for line in open(f"{sys.argv[1]}/{name}-verify.jsonl")]
for ours, theirs in zip(read("escrow"), read("lionagi")):
    figures = [f"{unit} {ours[key]:>8,}/s beside {theirs[key]:>6,}/s = {ours[key] / theirs[key]:5.1f}x"
               for unit, key in [("processor", "cpu_per_s_median"), ("wall", "wall_per_s_median")]]
    print(f"{ours['bench']:28} {'   '.join(figures)}")
PY
