//! `stream --extended`: a harness on one side, clients that stay on the other, both of them real processes.

mod wire;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use serde_json::{Value, json};
use wire::{Wire, envelope};

/// A client in sh: counts its starts, notes every line, and answers each question with this.
fn resident(answer: &str) -> String {
    format!(
        r#"echo started >>starts
while read -r line; do
  printf '%s\n' "$line" >>heard
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\),"method.*/\1/p')
  [ -n "$id" ] || continue
  {answer}
done"#
    )
}

const DELIVERED: &str =
    r#"echo '{"jsonrpc":"2.0","id":'$id',"result":{"schema_version":"lifeloop.v0.4","status":"delivered"}}'"#;

/// The harness's side of a stream.
struct Harness {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Harness {
    fn new(wire: &Wire, words: &[&str]) -> Harness {
        let mut child = wire.start(&[&["stream", "--extended"], words].concat());
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        Harness { child, input, output: BufReader::new(output) }
    }

    fn tell(&mut self, line: &str) {
        let input = self.input.as_mut().expect("still talking");
        writeln!(input, "{line}").expect("it listens");
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it speaks");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: `{line}`"))
    }

    fn ask(&mut self, id: u32, envelope: &Value) -> Value {
        self.tell(&question(id, envelope).to_string());
        let answer = self.hear();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn end(mut self) -> (i32, String) {
        drop(self.input.take());
        let output = self.child.wait_with_output().expect("it ends");
        (output.status.code().expect("by itself"), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn question(id: u32, envelope: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "event/frame.opening", "params": envelope })
}

#[test]
fn many_events_go_through_one_client_that_stays() {
    let wire = Wire::new();
    let client = wire.client("client", &resident(DELIVERED));
    let mut harness = Harness::new(&wire, &["--client-cmd", &client, "--ledger", "ledger.db"]);
    for id in 1..=20 {
        let answer = harness.ask(id, &envelope(None));
        assert_eq!(answer["result"]["status"], "delivered", "{answer}");
        assert_eq!(answer["result"]["sequence"], id);
    }
    assert_eq!(harness.end(), (0, String::new()));
    assert_eq!((wire.count("starts"), wire.count("heard")), (1, 20));
    let heard = std::fs::read_to_string(wire.path("heard")).expect("lines");
    let first: Value = serde_json::from_str(heard.lines().next().expect("one")).expect("JSON");
    assert_eq!(first["method"], "event/frame.opening");
    assert_eq!(first["params"]["request"]["event_id"], "e");
}

#[test]
fn keys_gate_and_several_clients_each_leave_a_receipt() {
    let wire = Wire::new();
    let client = wire.client("client", &resident(DELIVERED));
    let mut harness = Harness::new(
        &wire,
        &[
            "--client-cmd",
            &client,
            "--client-id",
            "one",
            "--client-cmd",
            &client,
            "--client-id",
            "two",
            "--ledger",
            "l.db",
        ],
    );
    let first = harness.ask(1, &envelope(Some("k")));
    let again = harness.ask(2, &envelope(Some("k")));
    assert_eq!(first["result"], again["result"]);
    assert_eq!(first["result"][1]["client_id"], "two");
    harness.end();
    assert_eq!((wire.count("starts"), wire.count("heard")), (2, 2));
}

#[test]
fn what_a_client_does_wrong_is_a_receipt_and_the_stream_continues() {
    for (answer, class, warning) in [
        ("echo hello", "invalid_request", "callback_output_garbage"),
        ("exit 7", "transport_error", "callback_exit_code"),
        ("exit 0", "transport_error", "callback_output_unreadable"),
        ("sleep 60", "timeout", "callback_timed_out"),
        ("kill -9 $$", "transport_error", "callback_signalled"),
        (
            r#"echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":5,"message":"no"}}'"#,
            "internal_error",
            "callback_declined",
        ),
    ] {
        let wire = Wire::new();
        let script = resident(&format!("if [ -e ok ]; then {DELIVERED}; else touch ok; {answer}; fi"));
        let client = wire.client("client", &script);
        let mut harness = Harness::new(&wire, &["--client-cmd", &client, "--timeout-ms", "1000"]);
        let failed = harness.ask(1, &envelope(None));
        assert_eq!(failed["result"]["failure_class"], class, "{answer}: {failed}");
        assert_eq!(failed["result"]["warnings"][0]["code"], warning, "{answer}");
        assert_eq!(harness.ask(2, &envelope(None))["result"]["status"], "delivered", "{answer}");
        assert_eq!(harness.end().0, 0);
    }
}

#[test]
fn a_client_that_asks_is_turned_away_and_one_that_remarks_is_left_to_it() {
    let wire = Wire::new();
    let script = resident(&format!(
        r#"echo '{{"jsonrpc":"2.0","method":"log","params":{{}}}}'; echo '{{"jsonrpc":"2.0","id":"q","method":"help"}}'; read -r refusal; echo "$refusal" >>refusals; {DELIVERED}"#
    ));
    let client = wire.client("client", &script);
    let mut harness = Harness::new(&wire, &["--client-cmd", &client]);
    assert_eq!(harness.ask(1, &envelope(None))["result"]["status"], "delivered");
    harness.end();
    let refusals = std::fs::read_to_string(wire.path("refusals")).expect("a refusal");
    assert!(refusals.contains("-32601"), "{refusals}");
}

#[test]
fn events_without_an_id_get_no_answer_and_notifications_reach_every_client() {
    let wire = Wire::new();
    let client = wire.client("client", &resident(DELIVERED));
    let mut harness = Harness::new(&wire, &["--client-cmd", &client, "--ledger", "l.db"]);
    let mut silent = question(0, &envelope(None));
    silent.as_object_mut().expect("an object").remove("id");
    harness.tell(&silent.to_string());
    let mut emitted = silent.clone();
    emitted["method"] = "event/receipt.emitted".into();
    emitted["params"]["request"]["event"] = "receipt.emitted".into();
    emitted["params"]["request"].as_object_mut().expect("an object").remove("frame_context");
    harness.tell(&emitted.to_string());
    assert_eq!(harness.ask(3, &envelope(None))["result"]["sequence"], 2, "the silent one was number 1");
    harness.end();
    let heard = std::fs::read_to_string(wire.path("heard")).expect("lines");
    assert!(
        heard.lines().nth(1).is_some_and(|line| line.contains("\"method\":\"event/receipt.emitted\"")),
        "{heard}"
    );
}

#[test]
fn gaps_in_the_ledger_are_told_first() {
    let wire = Wire::new();
    for _ in 0..3 {
        wire.invoke(&["--in-process", "--ledger", "l.db"], &envelope(None));
    }
    let database = rusqlite::Connection::open(wire.path("l.db")).expect("the ledger");
    database.execute("DELETE FROM receipts WHERE sequence = 2", []).expect("a hole");
    let client = wire.client("client", &resident(DELIVERED));
    let mut harness = Harness::new(&wire, &["--client-cmd", &client, "--ledger", "l.db"]);
    harness.ask(1, &envelope(None));
    harness.end();
    let heard = std::fs::read_to_string(wire.path("heard")).expect("lines");
    assert!(heard.lines().next().is_some_and(|line| line.contains("event/receipt.gap_detected")), "{heard}");
}

#[test]
fn bad_lines_are_answered_with_json_rpcs_own_codes() {
    let wire = Wire::new();
    let mut harness = Harness::new(&wire, &["--in-process"]);
    let mut wrong_event = question(1, &envelope(None));
    wrong_event["method"] = "event/session.started".into();
    let mut unknown_version = question(1, &envelope(None));
    unknown_version["params"]["schema_version"] = "lifeloop.v9".into();
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"event/frame.opening\",\"params\":{}",
        "[".repeat(9_999)
    );
    for (line, code) in [
        ("nonsense".to_owned(), -32_700),
        (deep, -32_700),
        ("{}".to_owned(), -32_600),
        (json!({ "jsonrpc": "1.0", "id": 1, "method": "x", "params": {} }).to_string(), -32_600),
        (json!({ "jsonrpc": "2.0", "id": 1, "method": "event/nothing", "params": {} }).to_string(), -32_601),
        (
            json!({ "jsonrpc": "2.0", "id": 1, "method": "event/frame.opening", "params": {} }).to_string(),
            -32_602,
        ),
        (wrong_event.to_string(), -32_602),
        (unknown_version.to_string(), -32_602),
    ] {
        harness.tell(&line);
        assert_eq!(harness.hear()["error"]["code"], code, "{line:.200}");
    }
    assert_eq!(harness.ask(9, &envelope(None))["result"]["status"], "delivered", "the stream continues");
    assert_eq!(harness.end().0, 0);
}

#[test]
fn a_line_that_never_ends_ends_the_stream() {
    let wire = Wire::new();
    let said = wire.say(&["stream", "--extended", "--in-process"], vec![b'x'; 17 * 1024 * 1024]);
    assert_eq!(said.code, 3);
    assert_eq!(said.json()["error"]["code"], -32_700);
}

#[test]
fn without_extended_there_is_no_such_verb() {
    let wire = Wire::new();
    let said = wire.say(&["stream", "--in-process"], "");
    assert_eq!((said.code, said.stderr.as_str()), (2, "unknown command: stream\n"));
    assert_eq!(wire.say(&["stream", "--extended", "--in-process", "--receipt-id", "r"], "").code, 2);
}

/// An envelope with one payload that is, or is not, required and expires then.
fn expiring(requirement: &str, expires_at_epoch_s: u64) -> Value {
    let mut envelope = envelope(None);
    envelope["payloads"] = json!([{
        "schema_version": "lifeloop.v0.4", "payload_id": "p", "client_id": "c", "payload_kind": "k", "format": "f",
        "content_encoding": "utf8", "body": "hello", "byte_size": 5, "expires_at_epoch_s": expires_at_epoch_s,
        "acceptable_placements": [{ "placement": "developer_equivalent_frame", "requirement": requirement }],
    }]);
    envelope
}

#[test]
fn a_payload_whose_time_is_over_reaches_no_client() {
    let wire = Wire::new();
    let client = wire.client("client", &resident(DELIVERED));
    let mut harness = Harness::new(&wire, &["--client-cmd", &client, "--at-epoch-s", "1000"]);
    let answer = harness.ask(1, &expiring("preferred", 1000));
    let receipt = &answer["result"];
    assert_eq!(
        (&receipt["status"], &receipt["payload_receipts"][0]["status"]),
        (&"degraded".into(), &"skipped".into()),
        "{answer}"
    );
    assert_eq!(receipt["warnings"][0]["code"], "payload_expired");
    let answer = harness.ask(2, &expiring("required", 999));
    let receipt = &answer["result"];
    assert_eq!(
        (&receipt["status"], &receipt["failure_class"]),
        (&"failed".into(), &"payload_rejected".into()),
        "{answer}"
    );
    let answer = harness.ask(3, &expiring("required", 1001));
    assert_ne!(answer["result"]["failure_class"], "payload_rejected", "{answer}");
    harness.end();
    let heard = std::fs::read_to_string(wire.path("heard")).expect("lines");
    let first: Value = serde_json::from_str(heard.lines().next().expect("one")).expect("JSON");
    assert!(first["params"].get("payloads").is_none(), "{first}");
    // Without `--extended`, the wire is that of release 0.9.0, which reads the time and does not look at it.
    let done = wire.say(
        &["event", "invoke", "--in-process", "--at-epoch-s", "1000"],
        expiring("preferred", 1).to_string(),
    );
    assert!(!done.stdout.contains("payload_expired"), "{}", done.stdout);
}

#[test]
fn clients_are_told_of_a_degraded_capability_once_and_get_ticks_while_the_stream_is_idle() {
    let wire = Wire::new();
    let client = wire.client("client", &resident(DELIVERED));
    let mut harness = Harness::new(&wire, &["--client-cmd", &client, "--tick-ms", "100"]);
    let mut wanting = envelope(None);
    wanting["request"]["metadata"] = json!({
        "capability_requirements": [{ "capability": "session_identity.harness_run_id", "level": "preferred", "desired": "native" }],
    });
    for id in 1..=2 {
        let answer = harness.ask(id, &wanting);
        assert_eq!(answer["result"]["status"], "degraded", "{answer}");
    }
    let lines = || -> Vec<Value> {
        let heard = std::fs::read_to_string(wire.path("heard")).unwrap_or_default();
        heard.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let began = std::time::Instant::now();
    while !lines().iter().any(|line| line["method"] == "event/supervisor.tick") {
        assert!(began.elapsed().as_secs() < 30, "no tick: {:?}", lines());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    harness.ask(3, &envelope(None));
    assert_eq!(harness.end().0, 0);
    let lines = lines();
    let degraded: Vec<&Value> =
        lines.iter().filter(|line| line["method"] == "event/capability.degraded").collect();
    assert_eq!(degraded.len(), 1, "{lines:#?}");
    assert_eq!(degraded[0]["params"]["metadata"]["capability"], "session_identity.harness_run_id");
    assert_eq!(degraded[0]["params"]["metadata"]["previous_support"], "native");
    assert!(degraded[0].get("id").is_none());
}
