#!/usr/bin/env bash
# Rules, outcomes and artifacts beside lionagi 0.36.0 from PyPI, in one run. LIONAGI_PYTHON names a Python that has it; without
# it one is set up in a temporary directory. Timings are for reading; nothing here fails.
set -euo pipefail
cd "$(dirname "$0")/lionagi"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${LIONAGI_PYTHON:-}
if [ -z "$python" ]; then
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet "lionagi==0.36.0" aiosqlite
  python=$work/venv/bin/python
fi
cargo build --release --quiet
(cd ../.. && cargo build --release --quiet -p escrow-runtime --example verify_cost)
binary=${CARGO_TARGET_DIR:-target}/release/escrow-bench-lionagi
export HOME=$work
"$binary" > "$work/escrow"
"$python" rules.py > "$work/lionagi"
# Five files: looked at, hashed, judged; theirs looks at existence and size.
../../target/release/examples/verify_cost >> "$work/escrow"
"$python" verify.py >> "$work/lionagi"
"$python" outcomes.py >> "$work/lionagi" 2> "$work/talk" || { cat "$work/talk" >&2; exit 1; }
python3 - "$work/escrow" "$work/lionagi" <<'PY'
import json, sys
escrow, lionagi = ({line["bench"]: line for line in map(json.loads, open(path))} for path in sys.argv[1:3])
print(f"{'':44}{'Escrow':>16}{'lionagi 0.36.0':>16}{'factor':>10}")
for name, ours in escrow.items():
    theirs = lionagi.get(name)
    for key, unit in [("cpu_per_s_median", "/s processor"), ("wall_per_s_median", "/s wall"), ("median_ms", "ms")]:
        if key not in ours:
            continue
        mine, other = ours[key], theirs[key] if theirs else None
        factor = "" if other is None else f"{(other / mine if key == 'median_ms' else mine / other):.1f}×"
        shown = lambda figure: "" if figure is None else f"{figure:,.3f}" if key == "median_ms" else f"{figure:,.0f}"
        print(f"{name + ' ' + unit:<56}{shown(mine):>14}{shown(other):>14}{factor:>10}")
PY
