//! From an answer of a server to the answer of a check.

use std::time::Duration;

use escrow_contract::read_json;
use escrow_model::{Answer, Ending, FaultClass, FaultCode, ProviderFault, Request};
use serde_json::{Map, Value, json};

use crate::entropy::now_ms;
use crate::http_client::{CallError, Problem, Reply, pause_ms};

pub(super) fn of_reply(request: &Request, reply: &Reply, duration: Duration) -> Answer {
    let (output, repeated_key) = decoded(reply);
    let mut record = record(reply, duration);
    if let Some(path) = repeated_key {
        record.insert("repeated_key".into(), path.into());
    }
    let ending = match is_expected(request, reply.status) {
        true => Ending::Done,
        false => Ending::Fault(fault_of_status(Changes::Possible, reply)),
    };
    Answer { ending, output, record, env: Default::default(), flaw: None }
}

fn is_expected(request: &Request, status: u16) -> bool {
    match request.fields.get("expect").and_then(Value::as_array) {
        Some(expected) => expected.iter().any(|expected| expected.as_u64() == Some(status.into())),
        None => (200..300).contains(&status),
    }
}

/// The body as expressions see it, and a member that its JSON names twice.
pub(crate) fn decoded(reply: &Reply) -> (Value, Option<String>) {
    if reply.body.is_empty() {
        return (Value::Null, None);
    }
    let text = || Value::String(String::from_utf8_lossy(&reply.body).into_owned());
    if !is_json(reply.header("content-type").unwrap_or_default()) {
        return (text(), None);
    }
    match read_json(&reply.body) {
        // Parsers differ in which of the two they keep, so the output is text.
        Ok(parsed) if parsed.repeated_key.is_some() => (text(), parsed.repeated_key),
        Ok(parsed) => (parsed.value, None),
        Err(_) => (text(), None),
    }
}

/// `application/json`, or `application/anything+json`.
fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

fn record(reply: &Reply, duration: Duration) -> Map<String, Value> {
    // Cookies are credentials of a session, and no secret that the playbook declares.
    let headers = reply.headers.iter().filter(|(name, _)| name != "set-cookie");
    let headers: Map<String, Value> =
        headers.map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    Map::from_iter([
        ("status".to_owned(), json!(reply.status)),
        ("headers".to_owned(), Value::Object(headers)),
        ("bytes".to_owned(), json!(reply.body.len())),
        ("redirects".to_owned(), json!(reply.redirects)),
        ("duration_ms".to_owned(), json!(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))),
    ])
}

/// Whether a request can have changed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changes {
    /// Also that of a `GET`: a check that declares itself `external` knows more than its method says, and the engine ignores
    /// doubt about every other one.
    Possible,
    Impossible,
}

/// The fault of an answer with a status that was not expected.
pub(crate) fn fault_of_status(changes: Changes, reply: &Reply) -> ProviderFault {
    let status = reply.status;
    if (200..300).contains(&status) && reply.redirects == 0 {
        let message = format!("status {status}{}, which `expect` does not list", name_of(status));
        return ProviderFault::logical(FaultCode::UnexpectedSuccess, message);
    }
    let class = match status {
        408 | 425 | 429 | 500.. => FaultClass::Transient,
        _ => FaultClass::Logical,
    };
    let message = match (status, reply.header("location")) {
        (300..400, Some(_)) => {
            format!("status {status}: a redirect that was not followed (`follow_redirects` allows it)")
        }
        (_, _) => format!("status {status}{}", name_of(status)),
    };
    let code = FaultCode::own("status");
    let fault = match class {
        FaultClass::Transient => ProviderFault::transient(code, message),
        FaultClass::Logical => ProviderFault::logical(code, message),
    };
    let pause = reply.header("retry-after").and_then(|header| pause_ms(header, now_ms()));
    let fault = fault.with_retry_after(pause.filter(|_| class == FaultClass::Transient));
    // A server that redirects may have done the work first, whatever the last address answered. Otherwise only a refusal
    // tells that nothing happened.
    let is_refusal = (400..500).contains(&status) && status != 408;
    match changes {
        Changes::Possible if reply.redirects > 0 || !is_refusal => fault.with_unknown_effect(),
        Changes::Possible | Changes::Impossible => fault,
    }
}

fn name_of(status: u16) -> String {
    let known = ureq::http::StatusCode::from_u16(status).ok();
    known.and_then(|status| status.canonical_reason()).map(|name| format!(" ({name})")).unwrap_or_default()
}

/// The fault of a request that was not answered, or not to its end.
pub(crate) fn fault_without_answer(changes: Changes, error: &CallError) -> ProviderFault {
    let message = error.message.clone();
    let fault = match error.problem {
        Problem::Request => ProviderFault::logical(FaultCode::own("unsendable"), message),
        Problem::Address => ProviderFault::logical(FaultCode::own("address_refused"), message),
        Problem::Connect => ProviderFault::transient(FaultCode::own("connect"), message),
        Problem::Tls => ProviderFault::transient(FaultCode::own("tls"), message),
        Problem::Timeout => ProviderFault::transient(FaultCode::Timeout, message),
        Problem::Transport => ProviderFault::transient(FaultCode::own("transport"), message),
        Problem::TooLarge => ProviderFault::logical(FaultCode::own("too_large"), message),
        Problem::Redirect => ProviderFault::logical(FaultCode::own("redirect"), message),
        Problem::Cancelled => ProviderFault::transient(FaultCode::Cancelled, message),
    };
    match changes {
        Changes::Possible if error.was_sent => fault.with_unknown_effect(),
        Changes::Possible | Changes::Impossible => fault,
    }
}
