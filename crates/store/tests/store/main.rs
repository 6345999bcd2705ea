//! What the store promises, seen from outside: through its own methods, and by tampering with its file.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests, outside their functions")]

mod attention;
mod child;
mod concurrency;
mod conflicts;
mod crash;
mod decisions;
mod effects;
mod files;
mod inbox;
mod invocations;
mod journal;
mod lease;
mod lookup;
mod outcomes;
mod overrides;
mod support;
mod tables;
