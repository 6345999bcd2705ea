//! `type: http`: one HTTP request.
//!
//! ```text
//!   request (`$NAME`) ──message──▶ Call (secrets in place) ──http_client──▶ Reply ──answer──▶ Answer
//! ```
//!
//! **Invariant:** the values of secrets exist only in the call. The request, which the journal has, keeps `$NAME`.

mod answer;
mod message;

use escrow_model::{Answer, Home, KeyKind, KeySpec, Mutates, ProviderSpec, Request};
use serde_json::{Map, Value};

use crate::http_client::{self, Method};
use crate::providers::{Attempt, Performance, Provider};

pub(crate) use answer::{Changes, decoded, fault_of_status, fault_without_answer};
pub(crate) use message::{Granted, MAX_BYTES, connect_timeout};

pub struct Http;

static SPEC: ProviderSpec = ProviderSpec {
    name: "http",
    summary: "sends an HTTP request; its output is the body of the answer",
    keys: &[
        KeySpec { name: "url", kind: KeyKind::Url, required: true },
        KeySpec { name: "method", kind: KeyKind::Word(Method::WORDS), required: false },
        KeySpec { name: "headers", kind: KeyKind::MessageMap, required: false },
        KeySpec { name: "query", kind: KeyKind::MessageMap, required: false },
        KeySpec { name: "body", kind: KeyKind::Message, required: false },
        KeySpec { name: "json", kind: KeyKind::Message, required: false },
        KeySpec { name: "form", kind: KeyKind::MessageMap, required: false },
        KeySpec { name: "file", kind: KeyKind::Text, required: false },
        KeySpec { name: "expect", kind: KeyKind::Statuses, required: false },
        KeySpec { name: "follow_redirects", kind: KeyKind::Redirects, required: false },
        KeySpec { name: "connect_timeout", kind: KeyKind::Duration, required: false },
        KeySpec { name: "max_bytes", kind: KeyKind::Size, required: false },
        KeySpec { name: "allow_private", kind: KeyKind::Bool, required: false },
        KeySpec { name: "ca_file", kind: KeyKind::Text, required: false },
        KeySpec { name: "idempotency_header", kind: KeyKind::PlainOrEmpty, required: false },
    ],
    mutates: Mutates::UnlessKeyIs { key: "method", words: Method::READING, default: "GET" },
    home: Home::Runtime,
    timeout_ms: 30_000,
    sends_requests: true,
    ..ProviderSpec::PURE
};

impl Provider for Http {
    fn spec(&self) -> &'static ProviderSpec {
        &SPEC
    }

    fn perform<'a>(&'a self, request: &'a Request, attempt: &'a Attempt) -> Performance<'a> {
        Box::pin(perform(request, attempt))
    }
}

async fn perform(request: &Request, attempt: &Attempt) -> Answer {
    let mut answer = exchange(request, attempt).await;
    answer.record.insert("request".to_owned(), sent(request));
    answer
}

/// What was asked for, in the words of the journal.
fn sent(request: &Request) -> Value {
    let mut sent = Map::new();
    sent.insert("method".to_owned(), request.fields.get("method").cloned().unwrap_or_else(|| "GET".into()));
    for key in ["url", "query"] {
        sent.extend(request.fields.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    Value::Object(sent)
}

async fn exchange(request: &Request, attempt: &Attempt) -> Answer {
    let call = match message::call(request, attempt) {
        Ok(call) => call,
        Err(fault) => return Answer::fault(fault),
    };
    let began = std::time::Instant::now();
    match http_client::call(call, &attempt.cancellation).await {
        Ok(reply) => answer::of_reply(request, &reply, began.elapsed()),
        Err(error) => Answer::fault(fault_without_answer(Changes::Possible, &error)),
    }
}
