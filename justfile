# Recipes for people who work on Escrow. `just --list` shows them.

# Everything that must hold before a change lands
check:
    bash .ci/run

# The tests, as the README runs them
test:
    cargo test --workspace --quiet

# Drive the real AI programs, offline: `just test-harnesses claude codex`; all six without names (needs npm)
test-harnesses *names:
    bash .ci/test-harnesses {{names}}

# Drive Studio with a real Chromium: `just test-browser --screenshots` also draws the pictures of docs/studio (needs apt, npm)
test-browser *arguments:
    bash .ci/test-browser {{arguments}}

# Feed Studio's API with generated requests: `just test-api 100` makes 100 for each call (needs PyPI)
test-api *arguments:
    bash .ci/test-api {{arguments}}

# Drive engine, supervisor and store through simulated trouble: `just simulate --seed 1 --runs 100000`, `just simulate --chains 100000`
simulate *arguments:
    cargo run --profile simulation --quiet -p escrow-simulator -- {{arguments}}

# Measure Escrow beside GNU make, its expressions beside QuickJS, rules, outcomes and artifacts beside lionagi
bench:
    cargo build --release -p escrow
    bash bench/make.sh
    bash bench/journal.sh
    bash bench/hook.sh
    bash bench/agents.sh
    bash bench/chains.sh
    bash bench/studio.sh
    cargo bench -p escrow-expr
    cargo run --release --manifest-path bench/quickjs/Cargo.toml
    bash bench/lionagi.sh

# Feed a fuzz target with random input: `just fuzz redactor`, `just fuzz shell_scanner -max_total_time=1900` (needs cargo-fuzz)
fuzz target *arguments:
    bash fuzz/run {{target}} {{arguments}}

# Kill Escrow at 500 random moments, and flip 200 bytes in its database and log
torture:
    ESCROW_KILLS=500 cargo test --workspace --quiet --test kills
    cargo test --workspace --quiet --test byte_flips -- --include-ignored

# Look at snapshots that changed
review:
    cargo insta review

# Check licences, bans and sources of dependencies (needs cargo-deny), and advisories (needs the network, too)
deny:
    cargo deny --offline check licenses bans sources
    cargo deny check advisories

# Build the binary that is shipped: target/dist/escrow
dist:
    cargo build --profile dist -p escrow
