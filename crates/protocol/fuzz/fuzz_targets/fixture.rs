//! Any bytes as a fixture: no panic in any of the kinds.
#![no_main]

use escrow_protocol::conformance::Fixture;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(fixture) = Fixture::read(bytes) {
        let _ = fixture.check("any");
    }
});
