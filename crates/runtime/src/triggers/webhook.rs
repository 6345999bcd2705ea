//! Signed webhooks: who sent the bytes, when, and which event they tell.
//!
//! **Invariant:** nothing of a body is read before its signature is verified.

use escrow_contract::{Parsed, read_json};
use escrow_model::{Millis, TriggerEvent, hex};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{TriggerKind, github};

pub struct Webhook;

impl TriggerKind for Webhook {
    fn name(&self) -> &'static str {
        "webhook"
    }

    fn is_outside(&self) -> bool {
        true
    }
}

/// Longer bodies are refused.
pub const BODY_BYTES_MAX: usize = 5 * 1024 * 1024;

/// How old or new a signed timestamp may be.
const TIMESTAMP_WINDOW_MS: u64 = 5 * 60 * 1000;

/// How old an event of GitHub may be: it offers to deliver again for three days.
const GITHUB_WINDOW_MS: u64 = 4 * 24 * 60 * 60 * 1000;

/// The name of the hook that speaks GitHub's dialect.
pub const GITHUB: &str = "github";

/// A request to a hook.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    pub hook: &'a str,
    /// Names in any case.
    pub headers: &'a [(String, String)],
    pub body: &'a [u8],
    pub now_ms: Millis,
}

/// What a verified request tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// As the sender names the delivery.
    pub delivery: String,
    /// The SHA-256 of the signed bytes: the same ones under another id are the same delivery.
    pub digest: String,
    /// What it tells, when that can happen only once and other sources may tell it, too.
    pub subject: Option<String>,
    /// `None` for a message that is no event, such as GitHub's ping.
    pub event: Option<TriggerEvent>,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    TooLarge,
    Unsigned,
    BadSignature,
    /// Signed, but too long ago, or by a clock that is ahead.
    Stale,
    NoDelivery,
    Malformed,
}

impl Refusal {
    /// The status of HTTP.
    pub fn status(self) -> u16 {
        match self {
            Refusal::TooLarge => 413,
            Refusal::Unsigned | Refusal::BadSignature => 401,
            Refusal::Stale => 403,
            Refusal::NoDelivery | Refusal::Malformed => 400,
        }
    }

    pub fn code(self) -> &'static str {
        match self {
            Refusal::TooLarge => "too_large",
            Refusal::Unsigned => "unsigned",
            Refusal::BadSignature => "bad_signature",
            Refusal::Stale => "stale",
            Refusal::NoDelivery => "no_delivery_id",
            Refusal::Malformed => "malformed",
        }
    }
}

/// Verifies a request and reads the event in it.
pub fn receive(incoming: Incoming<'_>, secret: &[u8]) -> Result<Told, Refusal> {
    if incoming.body.len() > BODY_BYTES_MAX {
        return Err(Refusal::TooLarge);
    }
    if incoming.hook == GITHUB { from_github(incoming, secret) } else { from_others(incoming, secret) }
}

fn from_github(incoming: Incoming<'_>, secret: &[u8]) -> Result<Told, Refusal> {
    let signature = incoming.header("x-hub-signature-256").ok_or(Refusal::Unsigned)?;
    let digest = verify(secret, &[incoming.body], signature)?;
    let delivery = incoming.delivery("x-github-delivery")?;
    let kind = incoming.header("x-github-event").ok_or(Refusal::Malformed)?;
    let body = incoming.json()?;
    let Some(told) = github::read(kind, &body) else {
        return Ok(Told { delivery, digest, subject: None, event: None });
    };
    // The id of the delivery is not signed, so an old body could come with a new id. Its own time is signed.
    if told.at_ms.is_some_and(|at| incoming.now_ms.saturating_sub(at) > GITHUB_WINDOW_MS) {
        return Err(Refusal::Stale);
    }
    let key = format!("delivery:{delivery}");
    let event = TriggerEvent { name: told.name, fields: told.fields, key, at: incoming.now_ms };
    Ok(Told { delivery, digest, subject: told.subject, event: Some(event) })
}

/// `X-Escrow-Signature: sha256=HEX` over `TIMESTAMP.BODY`; the body is an object with `event` and the fields.
fn from_others(incoming: Incoming<'_>, secret: &[u8]) -> Result<Told, Refusal> {
    let signature = incoming.header("x-escrow-signature").ok_or(Refusal::Unsigned)?;
    let timestamp = incoming.header("x-escrow-timestamp").ok_or(Refusal::Unsigned)?;
    let digest = verify(secret, &[timestamp.as_bytes(), b".", incoming.body], signature)?;
    let seconds: u64 = timestamp.parse().map_err(|_| Refusal::Malformed)?;
    if seconds.saturating_mul(1000).abs_diff(incoming.now_ms) > TIMESTAMP_WINDOW_MS {
        return Err(Refusal::Stale);
    }
    let delivery = incoming.delivery("x-escrow-delivery")?;
    let mut fields = incoming.json()?;
    let Some(Value::String(name)) = fields.shift_remove("event") else { return Err(Refusal::Malformed) };
    // Events of Escrow itself are not for others to tell.
    let is_ours = ["run.", "invocation.", "schedule.", "file.", "manual.", "all."];
    if name.is_empty() || name.len() > 100 || is_ours.iter().any(|ours| name.starts_with(ours)) {
        return Err(Refusal::Malformed);
    }
    let key = format!("delivery:{delivery}");
    let event = TriggerEvent { name, fields, key, at: incoming.now_ms };
    Ok(Told { delivery, digest, subject: None, event: Some(event) })
}

impl Incoming<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    fn delivery(&self, header: &str) -> Result<String, Refusal> {
        let id = self.header(header).unwrap_or_default();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
        if id.is_empty() || id.len() > 128 || !id.bytes().all(is_plain) {
            return Err(Refusal::NoDelivery);
        }
        Ok(id.to_owned())
    }

    fn json(&self) -> Result<Map<String, Value>, Refusal> {
        match read_json(self.body) {
            // Parsers differ in which of two equal keys they keep, so neither is believed.
            Ok(Parsed { value: Value::Object(members), repeated_key: None }) => Ok(members),
            Ok(_) | Err(_) => Err(Refusal::Malformed),
        }
    }
}

/// Compares in constant time, and returns the digest of what was signed.
fn verify(secret: &[u8], signed: &[&[u8]], signature: &str) -> Result<String, Refusal> {
    let digest = signature.strip_prefix("sha256=").and_then(bytes_of).ok_or(Refusal::BadSignature)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).map_err(|_| Refusal::BadSignature)?;
    signed.iter().for_each(|part| mac.update(part));
    mac.verify_slice(&digest).map_err(|_| Refusal::BadSignature)?;
    Ok(hex(&Sha256::digest(signed.concat())))
}

/// The signature of these bytes, as senders write it.
pub fn sign(secret: &[u8], signed: &[&[u8]]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length is accepted");
    signed.iter().for_each(|part| mac.update(part));
    format!("sha256={}", hex(&mac.finalize().into_bytes()))
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..32).map(|at| u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Millis = 1_790_000_000_000;
    const SECRET: &[u8] = b"It's a Secret to Everybody";

    fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn github_headers(signature: &str) -> Vec<(String, String)> {
        headers(&[
            ("X-GitHub-Event", "issues"),
            ("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"),
            ("X-Hub-Signature-256", signature),
        ])
    }

    fn issue(updated_at: &str) -> Vec<u8> {
        json!({"action": "opened", "issue": {"number": 1, "updated_at": updated_at},
               "repository": {"full_name": "o/r"}})
        .to_string()
        .into_bytes()
    }

    fn receive_github(headers: &[(String, String)], body: &[u8]) -> Result<Told, Refusal> {
        receive(Incoming { hook: GITHUB, headers, body, now_ms: NOW }, SECRET)
    }

    #[test]
    fn the_signature_is_that_of_githubs_documentation() {
        let documented = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert_eq!(sign(SECRET, &[b"Hello, World!"]), documented);
        assert!(verify(SECRET, &[b"Hello, World!"], documented).is_ok());
    }

    #[test]
    fn a_signed_event_is_read() {
        let body = issue("2026-09-21T14:13:20Z");
        let told = receive_github(&github_headers(&sign(SECRET, &[&body])), &body).unwrap();
        let event = told.event.unwrap();
        assert_eq!(event.name, "issue.created");
        assert_eq!(event.key, "delivery:72d3162e-cc78-11e3-81ab-4c9367dc0958");
        assert_eq!(told.subject.as_deref(), Some("github:o/r#1:issue.created"));
    }

    #[test]
    fn what_is_not_signed_by_the_secret_is_refused() {
        let body = issue("2026-09-21T14:13:20Z");
        let good = sign(SECRET, &[&body]);
        let other = sign(b"another", &[&body]);
        let changed = issue("2026-09-21T14:13:21Z");
        for (headers, body, refusal) in [
            (headers(&[("X-GitHub-Event", "issues")]), &body, Refusal::Unsigned),
            (github_headers(&other), &body, Refusal::BadSignature),
            (github_headers(&good), &changed, Refusal::BadSignature),
            (github_headers(&good[..20]), &body, Refusal::BadSignature),
            (github_headers(&good.replace("sha256=", "sha1=")), &body, Refusal::BadSignature),
            (github_headers(""), &body, Refusal::BadSignature),
            (github_headers("sha256=é"), &body, Refusal::BadSignature),
        ] {
            assert_eq!(receive_github(&headers, body), Err(refusal));
        }
    }

    #[test]
    fn an_old_body_does_not_become_new_by_another_delivery_id() {
        let body = issue("2026-09-10T14:13:20Z");
        assert_eq!(receive_github(&github_headers(&sign(SECRET, &[&body])), &body), Err(Refusal::Stale));
    }

    #[test]
    fn equal_bodies_of_other_senders_are_told_apart_by_their_signed_time() {
        let told = |seconds: &str, delivery: &str| {
            let body = b"{\"event\": \"deploy.finished\"}";
            let headers = headers(&[
                ("X-Escrow-Timestamp", seconds),
                ("X-Escrow-Delivery", delivery),
                ("X-Escrow-Signature", &sign(SECRET, &[seconds.as_bytes(), b".", body])),
            ]);
            receive(Incoming { hook: "ours", headers: &headers, body, now_ms: NOW }, SECRET).unwrap().digest
        };
        assert_eq!(told("1790000000", "1"), told("1790000000", "2"), "the id of a delivery is not signed");
        assert_ne!(told("1790000000", "1"), told("1790000001", "1"));
    }

    #[test]
    fn oversized_malformed_and_unnamed_requests_are_refused() {
        let large = vec![b' '; BODY_BYTES_MAX + 1];
        assert_eq!(receive_github(&github_headers(&sign(SECRET, &[&large])), &large), Err(Refusal::TooLarge));
        for body in [
            &b"not json"[..],
            b"[]",
            b"",
            b"{",
            b"{\"action\":\"opened\",\"action\":\"closed\"}",
            &[0xff, 0xfe],
            "[".repeat(10_000).as_bytes(),
        ] {
            let refused = receive_github(&github_headers(&sign(SECRET, &[body])), body);
            assert_eq!(refused, Err(Refusal::Malformed), "{body:?}");
        }
        let body = issue("2026-09-21T14:13:20Z");
        let mut without = github_headers(&sign(SECRET, &[&body]));
        without.remove(1);
        assert_eq!(receive_github(&without, &body), Err(Refusal::NoDelivery));
        let mut odd = github_headers(&sign(SECRET, &[&body]));
        odd[1].1 = "a\nb".to_owned();
        assert_eq!(receive_github(&odd, &body), Err(Refusal::NoDelivery));
    }

    #[test]
    fn a_ping_is_no_event() {
        let body = json!({"zen": "Design for failure."}).to_string().into_bytes();
        let mut headers = github_headers(&sign(SECRET, &[&body]));
        headers[0].1 = "ping".to_owned();
        assert_eq!(receive_github(&headers, &body).unwrap().event, None);
    }

    #[test]
    fn other_senders_sign_their_time() {
        let body = json!({"event": "deploy.finished", "version": "1.2"}).to_string().into_bytes();
        let at = |seconds: u64, event_body: &[u8]| {
            let stamp = seconds.to_string();
            let signature = sign(SECRET, &[stamp.as_bytes(), b".", event_body]);
            let headers = headers(&[
                ("x-escrow-signature", &signature),
                ("x-escrow-timestamp", &stamp),
                ("x-escrow-delivery", "d-1"),
            ]);
            receive(Incoming { hook: "deploys", headers: &headers, body: event_body, now_ms: NOW }, SECRET)
        };
        let told = at(NOW / 1000, &body).unwrap().event.unwrap();
        assert_eq!((told.name.as_str(), &told.fields["version"]), ("deploy.finished", &json!("1.2")));
        assert_eq!(at(NOW / 1000 - 301, &body), Err(Refusal::Stale));
        assert_eq!(at(NOW / 1000 + 301, &body), Err(Refusal::Stale));
        assert_eq!(at(u64::MAX, &body), Err(Refusal::Stale));
        let forged = json!({"event": "run.completed"}).to_string().into_bytes();
        assert_eq!(at(NOW / 1000, &forged), Err(Refusal::Malformed));
        assert_eq!(at(NOW / 1000, b"{}"), Err(Refusal::Malformed));
    }
}
