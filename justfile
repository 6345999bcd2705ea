# Recipes for people who work on Escrow. `just --list` shows them.

# Everything that must hold before a change lands
check:
    bash .ci/run

# The tests, as the README runs them
test:
    cargo test --workspace --quiet

# Drive engine, supervisor and store through simulated trouble: `just simulate --seed 1 --runs 100000`
simulate *arguments:
    cargo run --profile simulation --quiet -p escrow-simulator -- {{arguments}}

# Measure Escrow beside GNU make, its expressions beside QuickJS, rules, outcomes and artifacts beside lionagi
bench:
    cargo build --release -p escrow
    bash bench/make.sh
    bash bench/journal.sh
    cargo bench -p escrow-expr
    cargo run --release --manifest-path bench/quickjs/Cargo.toml
    bash bench/lionagi.sh

# Feed the redactor with random secrets and bytes (needs a nightly compiler and cargo-fuzz)
fuzz *arguments:
    cargo +nightly fuzz run redactor {{arguments}}

# Kill Escrow at 500 random moments, and flip 200 bytes in its database and log
torture:
    ESCROW_KILLS=500 cargo test --workspace --quiet --test kills
    cargo test --workspace --quiet --test byte_flips -- --include-ignored

# Look at snapshots that changed
review:
    cargo insta review

# Check licences, advisories, duplicates and sources of dependencies (needs cargo-deny and the network)
deny:
    cargo deny check

# Build the binary that is shipped: target/dist/escrow
dist:
    cargo build --profile dist -p escrow
