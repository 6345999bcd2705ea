//! Any bytes as a line of the stream: no panic, whatever is open.
#![no_main]

use escrow_protocol::stream::Stream;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut stream = Stream::default();
    let _ = stream.hear(bytes);
});
