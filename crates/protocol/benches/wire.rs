//! How long one envelope takes, without a process around it. `cargo bench -p escrow-protocol`
//!
//! Prints the best of several rounds, which is what a busy machine disturbs least.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot continue should stop")]
#![allow(clippy::print_stdout, reason = "its figures are its result")]
#![allow(clippy::disallowed_types, reason = "it looks at the clock")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use escrow_protocol::dispatch::{Dispatch, LedgerPresence, Rules};
use escrow_protocol::envelope::{CallbackRequest, CallbackResponse, DispatchEnvelope, LifecycleReceipt};
use escrow_protocol::manifest::Registry;
use escrow_protocol::negotiation::negotiate;
use escrow_protocol::receipt::{Ledger, MemoryLedger, ReceiptContext, chain_digest};
use escrow_protocol::stream::Stream;
use escrow_protocol::version::CURRENT;
use escrow_protocol::vocabulary::ReceiptStatus;

const DISPATCH: &str = r#"{"schema_version":"lifeloop.v0.4","request":{"schema_version":"lifeloop.v0.4","event":"frame.opening","event_id":"evt-1","adapter_id":"claude","adapter_version":"0.1.0","integration_mode":"native_hook","invocation_id":"inv-1","harness_session_id":"sess-1","harness_run_id":"run-1","frame_context":{"frame_id":"frm-1","frame_class":"top_level"},"payload_refs":[{"payload_id":"pay-1","payload_kind":"instruction_frame","byte_size":5},{"payload_id":"pay-2","payload_kind":"audit_record","content_digest":"sha256:aa","byte_size":77}],"metadata":{"k":"v"}},"payloads":[{"schema_version":"lifeloop.v0.4","payload_id":"pay-1","client_id":"demo","payload_kind":"instruction_frame","format":"client-defined","content_encoding":"utf8","body":"hello","byte_size":5,"content_digest":"sha256:h","acceptable_placements":[{"placement":"developer_equivalent_frame","requirement":"required"}]}]}"#;

fn main() {
    let envelope = DispatchEnvelope::read(DISPATCH).unwrap();
    let request = serde_json::to_string(&envelope.request).unwrap();
    let context = ReceiptContext {
        client_id: "demo".into(),
        receipt_id: "r-1".into(),
        parent_receipt_id: None,
        at_epoch_s: 1,
        harness_session_id: None,
        harness_run_id: Some("run-1".into()),
        harness_task_id: None,
    };
    let response = CallbackResponse::ok(CURRENT, ReceiptStatus::Delivered);
    let registry = Registry::builtin(CURRENT);
    let manifest = &registry.find("claude").unwrap().manifest;
    let prepare = |envelope: DispatchEnvelope| {
        Dispatch::prepare(envelope, CURRENT, registry, Rules::Compatible, LedgerPresence::Forgotten).unwrap()
    };
    let receipt = prepare(envelope.clone()).receipt(Some(&response), &context).unwrap();
    let receipt_text = serde_json::to_string(&receipt).unwrap();

    measure("read and validate a request", || CallbackRequest::read(&request).unwrap().validate());
    measure("read and validate a dispatch", || DispatchEnvelope::read(DISPATCH).unwrap().validate());
    measure("read and validate a receipt", || LifecycleReceipt::read(&receipt_text).unwrap().validate());
    measure("negotiate one payload", || negotiate(manifest, &[], &envelope.payloads));
    measure("from dispatch text to receipt text", || {
        let envelope = DispatchEnvelope::read(DISPATCH).unwrap();
        envelope.validate().unwrap();
        let receipt = prepare(envelope).receipt(Some(&response), &context).unwrap();
        serde_json::to_string(&receipt).unwrap()
    });
    measure("hash a receipt into the chain", || chain_digest(None, &receipt));
    let mut stream = Stream::default();
    measure("ask and hear over a stream", || {
        let (id, line) = stream.ask(&envelope, CURRENT, 0).unwrap();
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"schema_version":"lifeloop.v0.4","status":"delivered"}}}}"#
        );
        (line, stream.hear(answer.as_bytes()).unwrap())
    });
    let mut ledger = MemoryLedger::new();
    let mut count = 0_u64;
    measure("record in a ledger in memory", || {
        count += 1;
        ledger.record(LifecycleReceipt { receipt_id: count.to_string(), ..receipt.clone() }).unwrap()
    });
}

fn measure<T>(name: &str, mut act: impl FnMut() -> T) {
    const ROUNDS: usize = 15;
    const CALLS: u32 = 2_000;
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(act());
        }
        best = best.min(start.elapsed() / CALLS);
    }
    println!("{name:<40} {:>8.2} µs", best.as_secs_f64() * 1e6);
}
