//! Links the binary so that it starts fast where that is known to work: on Linux with glibc.
//!
//! - To a fixed address. A position-independent Escrow has some 26,000 pointers that the loader must adjust at every
//!   start, which takes a third of a millisecond: as long as everything else that `escrow lifecycle` does for an
//!   event. Libraries, stack and heap are placed at random all the same.
//! - With the unwinder inside. Finding, mapping and binding `libgcc_s.so` costs as much as many a verb, so a file of
//!   that name tells the linker to take the archives that come with the compiler.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| env::var(name).unwrap_or_default();
    if target("CARGO_CFG_TARGET_OS") != "linux" || target("CARGO_CFG_TARGET_ENV") != "gnu" {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    if target("HOST") != target("TARGET") {
        return;
    }
    let out = target("OUT_DIR");
    if is_there("libgcc_eh.a")
        && fs::write(Path::new(&out).join("libgcc_s.so"), "INPUT(-lgcc_eh -lgcc)\n").is_ok()
    {
        println!("cargo::rustc-link-search=native={out}");
    }
}

/// The compiler answers with a path when it knows where the archive is, else with its name.
fn is_there(archive: &str) -> bool {
    let asked = Command::new("cc").arg(format!("-print-file-name={archive}")).output();
    asked.is_ok_and(|answer| Path::new(String::from_utf8_lossy(&answer.stdout).trim()).is_absolute())
}
