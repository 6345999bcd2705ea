//! No secret is left, however the bytes are cut: `just fuzz redactor`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| escrow_runtime::fuzzed::check(input));
