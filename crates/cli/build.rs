//! Links the binary to a fixed address where that is known to work.
//!
//! A position-independent Escrow has some 26,000 pointers that the loader must adjust at every start, which takes
//! a third of a millisecond: as long as everything else that `escrow lifecycle` does for an event. Libraries,
//! stack and heap are placed at random all the same.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| env::var(name).unwrap_or_default();
    if target("CARGO_CFG_TARGET_OS") == "linux" && target("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
