//! A client that stays: every question is settled exactly once.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use escrow_protocol::callback::CallbackFailure;
use escrow_protocol::envelope::DispatchEnvelope;
use escrow_protocol::stream::{Heard, Stream, StreamError, notification};
use escrow_protocol::version::{CURRENT, WireVersion};
use escrow_protocol::vocabulary::{FailureClass, ReceiptStatus};
use proptest::prelude::{any, prop_assert_eq, proptest};
use serde_json::{Value, json};

fn envelope(version: WireVersion) -> DispatchEnvelope {
    let text = json!({
        "schema_version": version.as_str(),
        "request": {
            "schema_version": version.as_str(), "event": "session.started", "event_id": "e", "adapter_id": "codex",
            "adapter_version": "0.1.0", "integration_mode": "native_hook", "invocation_id": "i",
        },
    });
    DispatchEnvelope::read(&text.to_string()).unwrap()
}

#[test]
fn a_question_is_a_request_with_the_events_name_and_its_answer_settles_it() {
    let mut stream = Stream::default();
    let (id, line) = stream.ask(&envelope(CURRENT), CURRENT, 100).unwrap();
    let sent: Value = serde_json::from_str(&line).unwrap();
    assert!(line.ends_with('\n') && !line.trim_end().contains('\n'));
    assert_eq!((&sent["jsonrpc"], &sent["method"]), (&json!("2.0"), &json!("event/session.started")));
    assert_eq!(sent["params"]["request"]["event_id"], "e");

    let answer = json!({ "jsonrpc": "2.0", "id": sent["id"], "result": {
        "schema_version": "lifeloop.v0.4", "status": "delivered" } });
    let Heard::Answer(settled) = stream.hear(answer.to_string().as_bytes()).unwrap() else {
        panic!("not an answer");
    };
    assert_eq!(settled.id, id);
    assert_eq!(settled.outcome.unwrap().status, ReceiptStatus::Delivered);
    assert_eq!(stream.hear(answer.to_string().as_bytes()).unwrap(), Heard::Unexpected, "only once");
    assert!(stream.expire(u64::MAX).is_empty(), "no question is open");
}

#[test]
fn answers_that_are_no_responses_are_failures_with_a_class() {
    for (answer, class) in [
        (
            json!({ "result": { "schema_version": "lifeloop.v0.2", "status": "delivered" } }),
            FailureClass::InvalidRequest,
        ),
        (json!({ "result": 1 }), FailureClass::InvalidRequest),
        (json!({}), FailureClass::InvalidRequest),
        (json!({ "error": { "code": -32601, "message": "no" } }), FailureClass::InvalidRequest),
        (json!({ "error": { "code": 5 } }), FailureClass::InternalError),
    ] {
        let mut stream = Stream::default();
        let (id, _) = stream.ask(&envelope(CURRENT), CURRENT, 100).unwrap();
        let mut message = answer;
        message["jsonrpc"] = "2.0".into();
        message["id"] = json!(id);
        let Heard::Answer(settled) = stream.hear(message.to_string().as_bytes()).unwrap() else {
            panic!("not an answer");
        };
        assert_eq!(settled.outcome.unwrap_err().failure_class(), class, "{message}");
    }
}

#[test]
fn questions_of_the_client_are_turned_away_and_noise_is_an_error() {
    let mut stream = Stream::default();
    let heard = stream.hear(br#"{"jsonrpc":"2.0","id":"x","method":"tell/me"}"#).unwrap();
    assert!(
        matches!(heard, Heard::Question { refusal, .. } if refusal.contains("-32601") && refusal.contains(r#""id":"x""#))
    );
    let heard = stream.hear(br#"{"jsonrpc":"2.0","method":"log"}"#).unwrap();
    assert_eq!(heard, Heard::Remark { method: "log".to_owned() });
    for noise in [&b"hello"[..], b"", b"{}", br#"{"jsonrpc":"1.0","id":1,"result":1}"#, b"\xff"] {
        assert!(matches!(stream.hear(noise), Err(StreamError::NotAMessage(_))));
    }
}

#[test]
fn a_notification_has_no_id() {
    let line = notification(&envelope(CURRENT).request).unwrap();
    let sent: Value = serde_json::from_str(&line).unwrap();
    assert!(sent.get("id").is_none());
}

proptest! {
    #[test]
    fn every_question_is_settled_exactly_once(deadlines in proptest::collection::vec(0..50_u64, 1..20), answered in any::<u32>(), now in 0..60_u64) {
        let mut stream = Stream::default();
        let mut settled = Vec::new();
        let mut ids = Vec::new();
        for &deadline in &deadlines {
            ids.push(stream.ask(&envelope(CURRENT), CURRENT, deadline).unwrap().0);
        }
        for (position, id) in ids.iter().enumerate() {
            if answered & (1 << position) != 0 {
                let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"schema_version":"lifeloop.v0.4","status":"observed"}}}}"#);
                for _ in 0..2 {
                    if let Heard::Answer(one) = stream.hear(line.as_bytes()).unwrap() {
                        settled.push(one.id);
                    }
                }
            }
        }
        settled.extend(stream.expire(now).into_iter().map(|one| one.id));
        settled.extend(stream.close(&CallbackFailure::TimedOut).into_iter().map(|one| one.id));
        settled.sort_unstable();
        prop_assert_eq!(settled, ids);
    }
}
