//! Links the binary so that it starts fast where that is known to work: on Linux with glibc.
//!
//! - To a fixed address. A position-independent Escrow has some 26,000 pointers that the loader must adjust at every
//!   start, which takes a third of a millisecond: as long as everything else that `escrow lifecycle` does for an
//!   event. Libraries, stack and heap are placed at random all the same.
//! - With the unwinder inside. Finding, mapping and binding `libgcc_s.so` costs more than many a verb, so a file of
//!   that name tells the linker to take the archives that come with the compiler.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| env::var(name).unwrap_or_default();
    if target("CARGO_CFG_TARGET_OS") != "linux" || target("CARGO_CFG_TARGET_ENV") != "gnu" {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let out = target("OUT_DIR");
    if fs::write(Path::new(&out).join("libgcc_s.so"), "INPUT(-lgcc_eh -lgcc)\n").is_ok() {
        println!("cargo::rustc-link-search=native={out}");
    }
}
