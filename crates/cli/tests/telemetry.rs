//! Telemetry of real runs, as a real collector receives it.

mod collector;
mod desk;
mod server;

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant};

use collector::{Collector, Says, attribute};
use desk::{Desk, Done};
use serde_json::Value;

const OK: &[Says] = &[Says::Status(200)];

fn escrow(desk: &Desk, variables: &[(&str, &str)], arguments: &[&str]) -> Done {
    Done::from(desk.command(arguments).envs(variables.iter().copied()).output().expect("the binary runs"))
}

/// Runs a playbook with an endpoint and whatever else the environment says.
fn run(desk: &Desk, collector: &Collector, more: &[(&str, &str)], playbook: &str) -> Done {
    desk.write("playbook.yaml", playbook);
    let mut variables = vec![("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str())];
    variables.extend(more);
    escrow(desk, &variables, &["run", "playbook.yaml"])
}

const QUICK: &str = "name: quick\nchecks: {a: {type: command, exec: 'true'}}";

/// What OTLP asks of every span: ids of their size in hex, times as decimal strings in order, known enums.
fn check_spans(spans: &[Value]) {
    let hex = |value: &Value, size: usize| {
        let text = value.as_str().expect("an id is text");
        assert!(text.len() == size && text.bytes().all(|byte| byte.is_ascii_hexdigit()), "{value}");
        assert!(text.bytes().any(|byte| byte != b'0'), "{value}");
    };
    let time =
        |value: &Value| -> u64 { value.as_str().expect("a time is text").parse().expect("and a number") };
    let mut ids = BTreeSet::new();
    for span in spans {
        hex(&span["traceId"], 32);
        hex(&span["spanId"], 16);
        assert_eq!(span["traceId"], spans[0]["traceId"], "one run is one trace");
        assert!(ids.insert(span["spanId"].to_string()), "every span has its own id: {span:#}");
        assert!(time(&span["startTimeUnixNano"]) <= time(&span["endTimeUnixNano"]), "{span:#}");
        assert!(time(&span["startTimeUnixNano"]) > 1_700_000_000_000_000_000, "{span:#}");
        assert_eq!(span["kind"], 1);
        assert!(!span["name"].as_str().unwrap_or_default().is_empty());
        assert!(span["status"].get("code").is_none_or(|code| *code == 1 || *code == 2), "{span:#}");
        for one in span["attributes"].as_array().expect("attributes") {
            let value = one["value"].as_object().expect("a value");
            let (kind, inside) = value.iter().next().expect("one kind");
            let fits = match kind.as_str() {
                "stringValue" => inside.is_string(),
                "boolValue" => inside.is_boolean(),
                "intValue" => inside.as_str().is_some_and(|text| text.parse::<i64>().is_ok()),
                _ => false,
            };
            assert!(fits && value.len() == 1, "{one}");
        }
        for event in span["events"].as_array().expect("events") {
            time(&event["timeUnixNano"]);
        }
    }
}

fn named<'a>(spans: &'a [Value], name: &str) -> Vec<&'a Value> {
    spans.iter().filter(|span| span["name"] == name).collect()
}

#[test]
fn a_run_is_told_as_spans_and_figures() {
    let (desk, collector) = (Desk::new(), Collector::start(OK));
    let done = run(
        &desk,
        &collector,
        &[
            ("OTEL_SERVICE_NAME", "nightly"),
            ("OTEL_RESOURCE_ATTRIBUTES", "team=core"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b"),
        ],
        r#"
name: flow
checks:
  list: {type: command, forEach: true, exec: "echo '[1, 2]'"}
  each: {type: command, depends_on: list, exec: "test {{ item }} != 2"}
  flaky:
    type: command
    exec: "test -e there || { touch there; exit 3; }"
    on_fail: {retry: {max: 1, backoff: {mode: fixed, delay_ms: 10}}}
  never: {type: noop, if: "false"}
"#,
    );
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(!done.stderr.contains("telemetry"), "{}", done.stderr);
    let spans = collector.spans();
    check_spans(&spans);
    let root = named(&spans, "run flow")[0];
    assert_eq!(root.get("parentSpanId"), None);
    assert_eq!(attribute(root, "escrow.reason"), "run.failed.exit_nonzero");
    assert_eq!(root["status"]["code"], 2);
    assert_eq!(root["events"][0]["name"], "skipped");
    for span in spans.iter().filter(|span| span["spanId"] != root["spanId"]) {
        assert_eq!(span["parentSpanId"], root["spanId"], "{span:#}");
    }
    let failed = named(&spans, "each[1]")[0];
    assert_eq!(attribute(failed, "escrow.status"), "failed");
    assert_eq!(attribute(failed, "escrow.reason"), "command/exit_nonzero");
    assert_eq!(attribute(failed, "escrow.scope"), "[1]");
    assert_eq!(attribute(failed, "process.exit.code"), "1");
    let flaky = named(&spans, "flaky");
    assert_eq!(flaky.len(), 2, "each attempt is a span");
    assert_eq!(flaky[0]["events"][0]["name"], "retry");
    assert_eq!(attribute(flaky[1], "escrow.attempt"), "2");

    let first = &collector.received()[0];
    assert_eq!(first.headers["content-type"], "application/json");
    assert_eq!(first.headers["x-key"], "a b");
    let resource = first.json()["resourceSpans"][0]["resource"].clone();
    assert_eq!(attribute(&resource, "service.name"), "nightly");
    assert_eq!(attribute(&resource, "team"), "core");

    let runs = collector.points("escrow.runs");
    assert_eq!((runs.len(), &runs[0]["asInt"]), (1, &Value::from("1")));
    assert_eq!(attribute(&runs[0], "escrow.status"), "failed");
    let attempts: u64 = collector
        .points("escrow.check.attempts")
        .iter()
        .map(|point| point["asInt"].as_str().expect("text").parse::<u64>().expect("a number"))
        .sum();
    assert_eq!(attempts, 5);
    for point in collector.points("escrow.check.duration") {
        let buckets = point["bucketCounts"].as_array().expect("buckets").clone();
        let bounds = point["explicitBounds"].as_array().expect("bounds").len();
        assert_eq!(buckets.len(), bounds + 1);
        let sum: u64 =
            buckets.iter().map(|count| count.as_str().expect("text").parse::<u64>().expect("a number")).sum();
        assert_eq!(point["count"], sum.to_string());
    }
    assert_eq!(collector.points("escrow.check.retries").len(), 1);
}

#[test]
fn nothing_is_sent_unless_it_is_asked_for() {
    let (desk, collector) = (Desk::new(), Collector::start(OK));
    desk.write("playbook.yaml", QUICK);
    for variables in [
        &[][..],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()), ("OTEL_SDK_DISABLED", "true")],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_METRICS_EXPORTER", "none"),
        ],
    ] {
        let done = escrow(&desk, variables, &["run", "playbook.yaml"]);
        assert_eq!((done.code, done.stderr.contains("telemetry")), (Some(0), false));
    }
    assert!(collector.received().is_empty());
}

#[test]
fn each_signal_has_its_own_address_and_a_parent_gives_the_trace() {
    let (desk, collector) = (Desk::new(), Collector::start(OK));
    desk.write("playbook.yaml", QUICK);
    let traces = format!("{}/only/v1/traces", collector.url);
    let variables = [
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", traces.as_str()),
        ("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ];
    assert_eq!(escrow(&desk, &variables, &["run", "playbook.yaml"]).code, Some(0));
    let paths: Vec<String> = collector.received().into_iter().map(|one| one.path).collect();
    assert_eq!(paths, ["/only/v1/traces"]);
    let spans = collector.spans();
    assert_eq!(spans[0]["traceId"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(named(&spans, "run quick")[0]["parentSpanId"], "b7ad6b7169203331");
}

/// Runs with a collector that gives trouble: the run is as it was, and the trouble is told once.
fn trouble(desk: &Desk, collector: &Collector, timeout_ms: &str) -> (Done, Duration) {
    let began = Instant::now();
    let done = run(desk, collector, &[("OTEL_EXPORTER_OTLP_TIMEOUT", timeout_ms)], QUICK);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(done.stderr.matches("telemetry was not delivered").count(), 1, "{}", done.stderr);
    assert_eq!(desk.show("last")["run"]["status"], "completed");
    (done, began.elapsed())
}

#[test]
fn a_collector_that_is_not_there_changes_nothing() {
    let desk = Desk::new();
    let mut collector = Collector::start(OK);
    collector.url = "http://127.0.0.1:9".into();
    let (done, _) = trouble(&desk, &collector, "2000");
    assert!(done.stderr.contains("http://127.0.0.1:9/v1/"), "{}", done.stderr);
}

#[test]
fn a_collector_that_does_not_answer_is_not_waited_for() {
    let (desk, collector) = (Desk::new(), Collector::start(&[Says::Nothing]));
    let (_, took) = trouble(&desk, &collector, "400");
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn a_collector_that_refuses_is_asked_once() {
    let (desk, collector) = (Desk::new(), Collector::start(&[Says::Status(500)]));
    let (done, _) = trouble(&desk, &collector, "5000");
    assert!(done.stderr.contains("status 500"), "{}", done.stderr);
    assert_eq!(collector.received().len(), 2, "traces once and metrics once");
}

#[test]
fn a_collector_that_is_busy_is_asked_again_when_it_says_so() {
    for status in [429, 503] {
        let says = [Says::NotNow { status, retry_after: 1 }, Says::Status(200)];
        let (desk, collector) = (Desk::new(), Collector::start(&says));
        let began = Instant::now();
        let done = run(&desk, &collector, &[], QUICK);
        assert!(!done.stderr.contains("telemetry"), "{}", done.stderr);
        assert!(began.elapsed() >= Duration::from_secs(1), "it waits as it was asked to");
        assert_eq!(collector.received().len(), 3, "traces twice and metrics once");
        assert_eq!(collector.received()[0].body, collector.received()[1].body);
    }
}

#[test]
fn nobody_waits_for_an_hour() {
    let says = [Says::NotNow { status: 503, retry_after: 3600 }];
    let (desk, collector) = (Desk::new(), Collector::start(&says));
    let (done, took) = trouble(&desk, &collector, "1000");
    assert!(done.stderr.contains("status 503"), "{}", done.stderr);
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn a_certificate_says_whom_to_trust() {
    let (desk, collector) = (Desk::new(), Collector::start_tls(OK));
    let authority = server::data("authority.pem");
    let done = run(&desk, &collector, &[("OTEL_EXPORTER_OTLP_CERTIFICATE", authority.as_str())], QUICK);
    assert!(!done.stderr.contains("telemetry"), "{}", done.stderr);
    check_spans(&collector.spans());
    let before = collector.received().len();
    trouble(&desk, &collector, "3000");
    assert_eq!(collector.received().len(), before, "an untrusted collector receives nothing");
}

#[test]
fn an_address_that_cannot_be_used_is_told_before_the_run() {
    let desk = Desk::new();
    desk.write("playbook.yaml", QUICK);
    for (name, value) in
        [("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]
    {
        let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:1"), (name, value)];
        let done = escrow(&desk, &variables, &["run", "playbook.yaml"]);
        assert_eq!(done.code, Some(0));
        assert_eq!(done.stderr.matches("no telemetry").count(), 1, "{}", done.stderr);
    }
}

#[test]
fn no_secret_is_sent_or_told() {
    const CANARY: &str = "canary-9f3b-77aa-value";
    let (desk, collector) = (Desk::new(), Collector::start(OK));
    let playbook = r#"
secrets: {TOKEN: {env: CANARY}}
checks:
  leaks:
    type: command
    secrets: [TOKEN]
    exec: "echo $TOKEN; echo $TOKEN >&2; exit 3"
  wrong: {type: script, content: "return 1", fail_if: "output === 1"}
  asks: {type: human-input, prompt: "{{ env.CANARY }}?"}
"#;
    let attributes = format!("where={CANARY}");
    run(&desk, &collector, &[("CANARY", CANARY), ("OTEL_RESOURCE_ATTRIBUTES", &attributes)], playbook);
    let received = collector.received();
    assert!(!received.is_empty());
    for one in received {
        assert!(!one.body.contains(CANARY), "{}", one.body);
    }
    let refusing = Collector::start(&[Says::Status(500)]);
    let headers = format!("authorization={CANARY}");
    let secretive = refusing.url.replace("http://", &format!("http://me:{CANARY}@"));
    let variables = [
        ("CANARY", CANARY),
        ("OTEL_EXPORTER_OTLP_HEADERS", &headers),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &secretive),
    ];
    let done = escrow(&desk, &variables, &["run", "playbook.yaml"]);
    assert!(done.stderr.contains("telemetry was not delivered"), "{}", done.stderr);
    assert!(!done.stderr.contains(CANARY), "{}", done.stderr);
}

#[test]
fn a_run_that_continues_in_another_process_stays_one_trace() {
    let (desk, collector) = (Desk::new(), Collector::start(OK));
    let endpoint = [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str())];
    desk.write(
        "playbook.yaml",
        "name: long\nchecks: {post: {type: command, criticality: external, assume: attempt < 9, guarantee: output !== null, \
         exec: 'touch started; sleep 60'}, ask: {type: human-input, prompt: 'Sure?'}}",
    );
    let mut child = desk
        .command(&["run", "playbook.yaml"])
        .envs(endpoint)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    desk.until("it has started", || desk.path().join("started").exists());
    child.kill().expect("it can be killed");
    child.wait().expect("it is gone");
    assert_eq!(escrow(&desk, &endpoint, &["resume", "last"]).code, Some(4));
    let waiting = collector.spans();
    assert_eq!(attribute(named(&waiting, "post")[0], "escrow.status"), "unknown");
    assert!(named(&waiting, "run long").is_empty(), "it has not ended");
    assert_eq!(escrow(&desk, &endpoint, &["resume", "last", "--assume", "post=done"]).code, Some(4));
    let id = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0]["id"]
        .as_str()
        .expect("a wait")
        .to_owned();
    assert_eq!(escrow(&desk, &endpoint, &["answer", &id, "yes"]).code, Some(0));
    let spans = collector.spans();
    check_spans(&spans);
    assert_eq!(named(&spans, "run long").len(), 1);
    let kinds: BTreeSet<String> = spans
        .iter()
        .filter(|span| span["name"].as_str().is_some_and(|name| name.starts_with("wait ")))
        .map(|span| format!("{} {}", span["name"], attribute(span, "escrow.status")))
        .collect();
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        [r#""wait input" "answered""#, r#""wait unknown_effect" "done""#]
    );
}

#[test]
fn a_collector_that_closes_the_connection_is_not_asked_again() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            drop(stream);
        }
    });
    let desk = Desk::new();
    desk.write("playbook.yaml", QUICK);
    let done = escrow(&desk, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)], &["run", "playbook.yaml"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("telemetry was not delivered"), "{}", done.stderr);
    let asked = asked.load(std::sync::atomic::Ordering::SeqCst);
    assert!(asked <= 2, "once for traces and once for metrics, not {asked} times");
}
