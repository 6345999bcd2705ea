//! Any bytes as an `AdapterManifest`: no panic, and what is read is read again from what is written.
#![no_main]

use escrow_protocol::manifest::AdapterManifest;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(read) = AdapterManifest::read(text) else { return };
    let written = serde_json::to_string(&read).expect("what was read can be written");
    assert_eq!(AdapterManifest::read(&written).expect("what was written can be read"), read);
    let _ = read.validate();
});
