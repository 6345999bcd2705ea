//! Any bytes as a `DispatchEnvelope`: no panic, and what is read is read again from what is written.
#![no_main]

use escrow_protocol::envelope::DispatchEnvelope;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(read) = DispatchEnvelope::read(text) else { return };
    let written = serde_json::to_string(&read).expect("what was read can be written");
    let again = DispatchEnvelope::read(&written).expect("what was written can be read");
    assert_eq!(again, read);
    assert_eq!(again.validate().is_ok(), read.validate().is_ok());
});
