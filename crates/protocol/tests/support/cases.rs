//! Command lines and inputs, each made from its number.
//!
//! A case starts from a good document of its verb and is then spoilt a few times: keys dropped, emptied,
//! doubled or invented, words swapped, types changed, bytes cut and flipped. Older versions are never named,
//! because answering those is what this implementation does differently on purpose.

use serde_json::{Map, Value, json};

use super::random::Random;

pub(crate) struct Case {
    pub(crate) arguments: Vec<String>,
    pub(crate) input: Vec<u8>,
}

const SCHEMA: &str = "lifeloop.v0.4";

impl Case {
    /// Any verb, in the current version.
    pub(crate) fn numbered(number: u64) -> Self {
        Self::spoilt(SCHEMA, Random::new(number), seed_document)
    }

    /// A verb that only reads and checks, in any version: versions differ in behaviour, but not in this.
    pub(crate) fn reading(schema: &str, number: u64) -> Self {
        Self::spoilt(schema, Random::new(number), seed_reading)
    }

    fn spoilt(schema: &str, mut random: Random, seed: fn(&mut Random) -> (Vec<String>, Value)) -> Self {
        let (arguments, mut document) = seed(&mut random);
        for _ in 0..spoilings(&mut random) {
            spoil(&mut document, &mut random);
        }
        let text = write(&document, &mut random).replace(SCHEMA, schema);
        Self { arguments, input: damage(text.into_bytes(), &mut random) }
    }

    pub(crate) fn arguments(&self) -> Vec<&str> {
        self.arguments.iter().map(String::as_str).collect()
    }
}

fn spoilings(random: &mut Random) -> usize {
    *random.pick(&[0, 1, 1, 1, 1, 2, 2, 3])
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn seed_reading(random: &mut Random) -> (Vec<String>, Value) {
    match random.below(4) {
        0 => (words(&["envelope", random.word(&["validate", "echo"]), "request"]), request(random)),
        1 | 2 => (words(&["envelope", random.word(&["validate", "echo"]), "response"]), response(random)),
        _ => (words(&["receipt", "show"]), receipt(random)),
    }
}

fn seed_document(random: &mut Random) -> (Vec<String>, Value) {
    match random.below(10) {
        0 | 1 => (words(&["envelope", random.word(&["validate", "echo"]), "request"]), request(random)),
        2 => (words(&["envelope", random.word(&["validate", "echo"]), "response"]), response(random)),
        3 | 4 => (words(&["receipt", "show"]), receipt(random)),
        5 => (words(&["receipt", "emit"]), emit(random)),
        _ => (invoke_arguments(random), dispatch(random)),
    }
}

fn invoke_arguments(random: &mut Random) -> Vec<String> {
    let mut words =
        vec!["event", "invoke", "--in-process", "--receipt-id", "r-1", "--at-epoch-s", "1778100000"];
    if random.one_in(3) {
        words.extend(["--parent-receipt-id", random.word(&["r-0", "r-0", "r-1", ""])]);
    }
    if random.one_in(6) {
        words.extend(["--client-id", random.word(&["demo", ""])]);
    }
    if random.one_in(5) {
        words.extend(["--in-process-status", "failed"]);
        words.extend(["--failure-class", random.word(FAILURES), "--retry-class", random.word(RETRIES)]);
    }
    words.into_iter().map(str::to_owned).collect()
}

const EVENTS: &[&str] = &[
    "session.starting",
    "session.started",
    "frame.opening",
    "frame.opened",
    "context.pressure_observed",
    "context.compacted",
    "frame.ending",
    "frame.ended",
    "session.ending",
    "session.ended",
    "supervisor.tick",
    "capability.degraded",
    "receipt.emitted",
    "receipt.gap_detected",
];
const MODES: &[&str] =
    &["native_hook", "native_hook", "native_hook", "manual_skill", "reference_adapter", "telemetry_only"];
const STATUSES: &[&str] = &["observed", "delivered", "skipped", "degraded", "failed"];
const FAILURES: &[&str] =
    &["timeout", "transport_error", "operator_required", "payload_too_large", "state_conflict"];
const RETRIES: &[&str] = &["safe_retry", "retry_after_reread", "do_not_retry", "retry_after_operator"];
const PLACEMENTS: &[&str] =
    &["developer_equivalent_frame", "pre_prompt_frame", "side_channel_context", "receipt_only"];
const LEVELS: &[&str] = &["required", "preferred", "optional"];
const SUPPORTS: &[&str] = &["native", "synthesized", "manual", "partial", "unavailable"];

/// Words a spoilt string may become: one from each vocabulary, names, and nonsense.
const WORDS: &[&str] = &[
    "",
    " ",
    "x",
    "codex",
    "claude",
    "pi",
    "0.1.0",
    "0.0.1-pre",
    "lifeloop.v0.9",
    "session.started",
    "frame.opening",
    "receipt.emitted",
    "native_hook",
    "reference_adapter",
    "launcher_wrapper",
    "delivered",
    "failed",
    "timeout",
    "safe_retry",
    "receipt_only",
    "pre_prompt_frame",
    "side_channel_context",
    "required",
    "optional",
    "subcall",
    "top_level",
    "native",
    "r-0",
    "r-1",
    "Session.Started",
    "é\u{1f980}",
    "a\"b\\c\n\t\u{1}",
];
const KEYS: &[&str] = &[
    "x",
    "schema_version",
    "metadata",
    "event",
    "event_id",
    "payload_refs",
    "sequence",
    "idempotency_key",
    "status",
    "failure_class",
    "retry_class",
    "warnings",
    "redaction",
    "frame_context",
    "parent_receipt_id",
    "harness_run_id",
    "body",
    "body_ref",
    "byte_size",
    "content_digest",
    "telemetry_summary",
    "",
];

fn request(random: &mut Random) -> Value {
    let event = random.word(EVENTS);
    let (adapter, version, mode) = match random.below(8) {
        0..=3 => ("codex", "0.1.0", random.word(MODES)),
        4 | 5 => ("claude", "0.1.0", random.word(MODES)),
        6 => ("pi", "0.0.1-pre", "reference_adapter"),
        _ => (random.word(&["hermes", "codex", "Claude"]), "0.1.0", "native_hook"),
    };
    let mut request = json!({
        "schema_version": SCHEMA, "event": event, "event_id": "evt-1", "adapter_id": adapter,
        "adapter_version": version, "integration_mode": mode, "invocation_id": "inv-1",
    });
    let is_framed = event.starts_with("frame.");
    if (is_framed && !random.one_in(12)) || random.one_in(5) {
        request["frame_context"] = frame(random);
    }
    for key in ["harness_session_id", "harness_run_id", "harness_task_id", "capability_snapshot_ref"] {
        if random.one_in(3) {
            request[key] = format!("{key}-1").into();
        }
    }
    if random.one_in(3) {
        request["payload_refs"] = list(random, payload_ref);
    }
    if random.one_in(4) {
        request["sequence"] = random.below(1000).into();
    }
    if random.one_in(4) {
        request["idempotency_key"] = "idem-1".into();
    }
    if random.one_in(3) {
        request["metadata"] = free_map(random);
    }
    request
}

fn frame(random: &mut Random) -> Value {
    if random.one_in(3) {
        json!({ "frame_id": "frm-2", "parent_frame_id": "frm-1", "frame_class": "subcall" })
    } else {
        json!({ "frame_id": "frm-1", "frame_class": "top_level" })
    }
}

fn payload_ref(random: &mut Random) -> Value {
    let mut named =
        json!({ "payload_id": random.word(&["pay-0", "pay-1", "pay-2"]), "payload_kind": "note" });
    if random.one_in(2) {
        named["content_digest"] = "sha256:aa".into();
    }
    if random.one_in(2) {
        named["byte_size"] = random.below(100).into();
    }
    named
}

fn payload(random: &mut Random) -> Value {
    let mut payload = json!({
        "schema_version": SCHEMA, "payload_id": random.word(&["pay-0", "pay-1", "pay-2"]), "client_id": "demo",
        "payload_kind": "instruction_frame", "format": "client-defined", "content_encoding": "utf8",
    });
    let size = *random.pick(&[0, 5, 8192, 8193, 16384, 16385]);
    if random.one_in(4) {
        payload["body_ref"] = "file:body".into();
    } else {
        payload["body"] = "b".repeat(size).into();
    }
    payload["byte_size"] = size.into();
    if random.one_in(3) {
        payload["content_digest"] = "sha256:bb".into();
    }
    payload["acceptable_placements"] = list(
        random,
        |random| json!({ "placement": random.word(PLACEMENTS), "requirement": random.word(LEVELS) }),
    );
    if random.one_in(5) {
        payload["idempotency_key"] = "idem-p".into();
    }
    if random.one_in(5) {
        payload["expires_at_epoch_s"] = 1_778_100_000_u64.into();
    }
    if random.one_in(4) {
        payload["metadata"] = free_map(random);
    }
    payload
}

fn dispatch(random: &mut Random) -> Value {
    let mut dispatch = json!({ "schema_version": SCHEMA, "request": request(random) });
    if !random.one_in(4) {
        dispatch["payloads"] = list(random, payload);
    }
    dispatch
}

fn response(random: &mut Random) -> Value {
    let status = random.word(STATUSES);
    let mut response = json!({ "schema_version": SCHEMA, "status": status });
    if status == "failed" {
        response["failure_class"] = random.word(FAILURES).into();
    }
    if status == "failed" || random.one_in(5) {
        response["retry_class"] = random.word(RETRIES).into();
    }
    if random.one_in(4) {
        response["client_payloads"] = list(random, payload);
    }
    if random.one_in(4) {
        response["receipt_refs"] = json!(["lfr-1", "lfr-2"]);
    }
    if random.one_in(3) {
        response["warnings"] = list(random, warning);
    }
    if random.one_in(4) {
        response["metadata"] = free_map(random);
    }
    response
}

fn warning(random: &mut Random) -> Value {
    let mut warning = json!({ "code": "w.1", "message": "said" });
    if random.one_in(3) {
        warning["capability"] = random.word(&["context_pressure", ""]).into();
    }
    warning
}

fn receipt(random: &mut Random) -> Value {
    let status = random.word(STATUSES);
    let is_failed = status == "failed";
    let mut receipt = json!({
        "schema_version": SCHEMA, "receipt_id": "r-1", "idempotency_key": null, "client_id": "demo",
        "adapter_id": "codex", "invocation_id": "inv-1", "event": random.word(EVENTS), "event_id": "evt-1",
        "sequence": null, "parent_receipt_id": null, "integration_mode": "native_hook", "status": status,
        "at_epoch_s": 1_778_100_000_u64, "failure_class": null, "retry_class": null,
    });
    if is_failed {
        receipt["failure_class"] = random.word(FAILURES).into();
        receipt["retry_class"] = random.word(RETRIES).into();
    }
    for (key, value) in [
        ("idempotency_key", json!("idem-1")),
        ("sequence", json!(7)),
        ("parent_receipt_id", json!("r-0")),
        ("harness_session_id", json!("s-1")),
        ("harness_run_id", json!("run-1")),
        ("harness_task_id", json!("t-1")),
    ] {
        if random.one_in(3) {
            receipt[key] = value;
        }
    }
    if random.one_in(3) {
        receipt["payload_receipts"] = list(random, |random| {
            json!({ "payload_id": "p-1", "payload_kind": "note", "placement": random.word(PLACEMENTS),
                "status": random.word(&STATUSES[1..]), "byte_size": 4 })
        });
    }
    if random.one_in(3) {
        receipt["telemetry_summary"] = free_map(random);
    }
    if random.one_in(3) {
        receipt["capability_degradations"] = list(random, |random| {
            json!({ "capability": "context_pressure", "previous_support": random.word(SUPPORTS),
                "current_support": random.word(SUPPORTS), "evidence": "seen" })
        });
    }
    if random.one_in(3) {
        receipt["warnings"] = list(random, warning);
    }
    receipt
}

fn emit(random: &mut Random) -> Value {
    let mut context = json!({ "client_id": "demo", "receipt_id": "r-1", "at_epoch_s": 5 });
    if random.one_in(3) {
        context["parent_receipt_id"] = random.word(&["r-0", "r-0", "r-1", ""]).into();
    }
    for key in ["harness_session_id", "harness_run_id", "harness_task_id"] {
        if random.one_in(3) {
            context[key] = format!("{key}-1").into();
        }
    }
    json!({ "request": request(random), "response": response(random), "context": context })
}

fn list(random: &mut Random, mut make: impl FnMut(&mut Random) -> Value) -> Value {
    let length = *random.pick(&[0, 1, 1, 2, 3]);
    (0..length).map(|_| make(random)).collect()
}

fn free_map(random: &mut Random) -> Value {
    let mut map = Map::new();
    for _ in 0..random.below(4) {
        let value = free_value(random, 3);
        map.insert(random.word(&["b", "a", "é", "z.1", "lifeloop_run_id", ""]).to_owned(), value);
    }
    map.into()
}

fn free_value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => random.one_in(2).into(),
        2 => random.next().into(),
        3 => json!(-i64::try_from(random.below(1000)).unwrap()),
        4 => json!(*random.pick(&[0.5, 1.0, 1e30, -0.0, 1.0e-7, 123_456.75])),
        5 => random.word(WORDS).into(),
        6 => (0..random.below(3)).map(|_| free_value(random, depth - 1)).collect(),
        _ => {
            let pairs =
                (0..random.below(3)).map(|_| (random.word(KEYS).to_owned(), free_value(random, depth - 1)));
            Value::Object(pairs.collect())
        }
    }
}

/// Changes one thing somewhere in the document.
fn spoil(document: &mut Value, random: &mut Random) {
    let mut paths = Vec::new();
    collect_paths(document, &mut Vec::new(), &mut paths);
    let path = random.pick(&paths).clone();
    let Some((last, parents)) = path.split_last() else {
        *document = free_value(random, 2);
        return;
    };
    let mut parent = document;
    for step in parents {
        parent = match step {
            Step::Key(key) => &mut parent[key.as_str()],
            Step::Index(index) => &mut parent[*index],
        };
    }
    match (parent, last) {
        (Value::Object(map), Step::Key(key)) => spoil_entry(map, key, random),
        (Value::Array(items), Step::Index(index)) => match random.below(3) {
            0 => drop(items.remove(*index)),
            1 => items.push(items[*index].clone()),
            _ => items[*index] = free_value(random, 2),
        },
        _ => {}
    }
}

fn spoil_entry(map: &mut Map<String, Value>, key: &str, random: &mut Random) {
    if !random.one_in(3) && map.get(key).is_some_and(Value::is_string) {
        map.insert(key.to_owned(), another_word(key, random).into());
        return;
    }
    let replacement = match random.below(11) {
        0 | 1 => {
            map.shift_remove(key);
            return;
        }
        2 => Value::Null,
        3 => "".into(),
        4 => {
            let invented = random.word(KEYS).to_owned();
            let value = free_value(random, 2);
            map.insert(invented, value);
            return;
        }
        5 => (*random.pick(&[
            json!(-1),
            json!(1.5),
            json!(0),
            json!(u64::MAX),
            json!(1e20),
            json!(i64::MIN),
            json!(true),
        ]))
        .clone(),
        6 => json!([]),
        7 => json!({}),
        8 => free_value(random, 2),
        _ => random.word(WORDS).into(),
    };
    map.insert(key.to_owned(), replacement);
}

/// A word that can be read where the old one stood, so that meaning is tested and not only shape.
fn another_word(key: &str, random: &mut Random) -> &'static str {
    let vocabulary: &[&str] = match key {
        "event" => EVENTS,
        "integration_mode" => MODES,
        "status" => STATUSES,
        "failure_class" => FAILURES,
        "retry_class" => RETRIES,
        "placement" => PLACEMENTS,
        "requirement" => LEVELS,
        "frame_class" => &["top_level", "subcall"],
        "previous_support" | "current_support" => SUPPORTS,
        "schema_version" => &["lifeloop.v0.9", ""],
        _ => &["", "", "x", "r-0", "r-1", "pay-1", "codex", "claude"],
    };
    random.word(vocabulary)
}

#[derive(Clone)]
enum Step {
    Key(String),
    Index(usize),
}

fn collect_paths(value: &Value, here: &mut Vec<Step>, paths: &mut Vec<Vec<Step>>) {
    paths.push(here.clone());
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                here.push(Step::Key(key.clone()));
                collect_paths(inner, here, paths);
                here.pop();
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                here.push(Step::Index(index));
                collect_paths(inner, here, paths);
                here.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Writes it compactly, prettily, as an array of its values, or with a key doubled.
fn write(document: &Value, random: &mut Random) -> String {
    match (random.below(24), document) {
        (0, Value::Object(map)) => Value::Array(map.values().cloned().collect()).to_string(),
        (1 | 2, Value::Object(map)) if !map.is_empty() => {
            let keys: Vec<&String> = map.keys().collect();
            let key = *random.pick(&keys);
            let text = document.to_string();
            format!("{},{}:{}}}", &text[..text.len() - 1], Value::from(key.as_str()), map[key])
        }
        (3..=6, _) => serde_json::to_string_pretty(document).unwrap(),
        _ => document.to_string(),
    }
}

/// Now and then, bytes that are not even JSON.
fn damage(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    let at = random.below(bytes.len());
    match random.below(80) {
        0 => bytes.truncate(at),
        1 => bytes[at] = random.next().to_le_bytes()[0],
        2 => bytes.insert(at, *random.pick(b"{}[],:\"\\ \n0eE+-.\x00\xff\xc3\x80")),
        3 => bytes.extend_from_slice(random.word(&["x", " \n\t ", "{}", ",", "\u{feff}"]).as_bytes()),
        4 => {
            let deep = *random.pick(&[100, 126, 127, 128, 129, 1000]);
            bytes =
                format!("{{\"metadata\":{{\"a\":{}{}}}}}", "[".repeat(deep), "]".repeat(deep)).into_bytes();
        }
        5 => {
            bytes = random
                .pick(&["", " \n", "null", "[]", "{}", "\"x\"", "0", "\u{feff}{}", "{\"a\""])
                .as_bytes()
                .to_vec()
        }
        _ => {}
    }
    bytes
}
