//! `type: http` against servers that listen on this machine, well-behaved and not.

mod desk;
mod server;

use desk::Desk;
use serde_json::{Value, json};
use server::{Received, Says, Server};

/// A playbook with one `http` check called `call`. `SERVER` in it is the server's URL.
fn run(desk: &Desk, server: &Server, check: &str) -> (Option<i32>, Value) {
    run_with(desk, server, check, &[])
}

fn run_with(desk: &Desk, server: &Server, check: &str, more: &[&str]) -> (Option<i32>, Value) {
    let playbook = format!("checks:\n  call:\n    type: http\n    allow_private: true\n{}", indented(check));
    desk.run_with(&playbook.replace("SERVER", &server.url), more)
}

fn indented(check: &str) -> String {
    check.trim_matches('\n').lines().map(|line| format!("    {line}\n")).collect()
}

fn issue(document: &Value) -> &str {
    document["checks"]["call"]["issues"][0]["rule_id"].as_str().unwrap_or_default()
}

fn message(document: &Value) -> &str {
    document["checks"]["call"]["issues"][0]["message"].as_str().unwrap_or_default()
}

fn state_of_effect(desk: &Desk) -> String {
    let effects = desk.escrow(&["effects", "--output", "json"]).json();
    effects["effects"][0]["state"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn json_is_read_when_the_content_type_says_so() {
    let desk = Desk::new();
    for (says, output) in [
        (Says::json(200, &json!({ "n": 1 })), json!({ "n": 1 })),
        (Says::text("{\"n\": 1}"), json!("{\"n\": 1}")),
        (Says::status(200).with("Content-Type", "application/vnd.api+json"), Value::Null),
        (
            Says::Answer { status: 200, headers: vec![], body: "{\"a\":1,\"a\":2}".into() }
                .with("Content-Type", "application/json"),
            json!("{\"a\":1,\"a\":2}"),
        ),
    ] {
        let server = Server::saying(vec![says]);
        let (code, document) = run(&desk, &server, "url: SERVER/x");
        assert_eq!(code, Some(0), "{document:#}");
        assert_eq!(document["checks"]["call"]["output"], output);
        assert_eq!(document["checks"]["call"]["result"]["status"], 200);
        assert_eq!(document["checks"]["call"]["criticality"], "info");
    }
}

#[test]
fn every_key_reaches_the_server_as_it_was_written() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::json(201, &json!({}))]);
    desk.write("inputs.json", "");
    let bodies = [
        ("body: 'hello {{ inputs.name }}'", "hello a/b&c=d", "text/plain; charset=utf-8"),
        ("json: {name: '{{ inputs.name }}', n: 1}", r#"{"name":"a/b&c=d","n":1}"#, "application/json"),
        (
            "form: {name: '{{ inputs.name }}', list: [1, 2]}",
            "name=a%2Fb%26c%3Dd&list=1&list=2",
            "application/x-www-form-urlencoded",
        ),
        ("file: sent.txt", "from a file", "application/octet-stream"),
    ];
    desk.write("sent.txt", "from a file");
    for (body, sent, content_type) in bodies {
        let playbook = format!(
            "inputs: {{name: {{default: 'a/b&c=d'}}}}\nchecks:\n  call:\n    type: http\n    criticality: info\n    \
             url: '{}/users/{{{{ inputs.name }}}}?x={{{{ inputs.name }}}}'\n    method: PUT\n    allow_private: true\n    \
             query: {{q: '{{{{ inputs.name }}}}', none: null}}\n    headers: {{X-Name: '{{{{ inputs.name }}}}'}}\n    {body}\n",
            server.url
        );
        let (code, document) = desk.run(&playbook);
        assert_eq!(code, Some(0), "{document:#}");
        let got = server.received().pop().expect("a request");
        assert_eq!(got.method, "PUT");
        assert_eq!(got.path, "/users/a%2Fb%26c%3Dd?x=a%2Fb%26c%3Dd&q=a%2Fb%26c%3Dd");
        assert_eq!(got.header("x-name"), "a/b&c=d");
        assert_eq!(got.body, sent);
        assert_eq!(got.header("content-type"), content_type);
    }
}

#[test]
fn a_value_in_a_url_leads_to_no_other_host_or_directory() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::text("x")]);
    let host = server.url.trim_start_matches("http://localhost");
    for (url, value) in [
        (format!("http://{{{{ inputs.v }}}}{host}/"), "evil.example/x?"),
        (format!("http://{{{{ inputs.v }}}}{host}/"), "a@evil.example"),
        (format!("http://localhost{host}/a/{{{{ inputs.v }}}}/b"), ".."),
        ("{{ inputs.v }}".to_owned(), "file:///etc/passwd"),
    ] {
        let playbook = format!(
            "inputs: {{v: {{}}}}\nchecks: {{call: {{type: http, allow_private: true, url: '{url}'}}}}\n"
        );
        let (code, document) = desk.run_with(&playbook, &["--input", &format!("v={value}")]);
        assert_eq!(code, Some(1), "{value}: {document:#}");
    }
    assert!(server.received().is_empty());
}

#[test]
fn a_file_outside_the_directory_of_the_run_is_not_sent() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::text("x")]);
    for path in ["/etc/passwd", "../secret", "link"] {
        let _ = std::os::unix::fs::symlink("/etc/passwd", desk.path().join("link"));
        let check = format!("url: SERVER\nmethod: POST\ncriticality: info\nfile: {path}");
        let (code, document) = run(&desk, &server, &check);
        assert_eq!((code, issue(&document)), (Some(1), "http/unsendable"), "{path}: {document:#}");
    }
    assert!(server.received().is_empty());
}

#[test]
fn a_file_of_the_state_is_not_sent_and_an_artifact_is() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::text("x")]);
    desk.write(".escrow/config.toml", "");
    desk.write("sub/.escrow/escrow.db", "another state");
    std::os::unix::fs::symlink(desk.path().join(".escrow"), desk.path().join("innocent")).expect("a link");
    for path in
        [".escrow/config.toml", "./x/../.escrow/escrow.db", "innocent/config.toml", "sub/.escrow/escrow.db"]
    {
        std::fs::create_dir_all(desk.path().join("x")).expect("a folder");
        let check = format!("url: SERVER\nmethod: POST\ncriticality: info\nfile: {path}");
        let (code, document) = run(&desk, &server, &check);
        assert_eq!((code, issue(&document)), (Some(1), "http/unsendable"), "{path}: {document:#}");
        assert!(message(&document).contains("state of Escrow"), "{}", message(&document));
    }
    assert!(server.received().is_empty());
    let playbook = format!(
        "checks:\n  make: {{type: command, exec: 'printf made > \"$ESCROW_ARTIFACTS/made.txt\"'}}\n  call:\n    type: http\n    allow_private: true\n    depends_on: make\n{}",
        indented("url: SERVER\nmethod: POST\ncriticality: info\nfile: made.txt")
    );
    let (code, document) = desk.run_with(&playbook.replace("SERVER", &server.url), &[]);
    assert_eq!(code, Some(0), "{document:#}");
    assert_eq!(server.received()[0].body, "made");
}

#[test]
fn headers_that_frame_the_message_cannot_be_set() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::text("x")]);
    for name in ["Content-Length", "transfer-encoding", "Host", "Connection", "TE", "Expect"] {
        let check = format!("url: {}\nmethod: POST\ncriticality: info\nbody: x\n", server.url);
        desk.write(
            "p.yaml",
            &format!(
                "checks:\n  call:\n    type: http\n{}",
                indented(&format!("{check}headers: {{{name}: '1'}}"))
            ),
        );
        let done = desk.escrow(&["check", "p.yaml"]);
        assert_eq!(done.code, Some(2), "{name}: {}", done.stderr);
        assert!(done.stderr.contains(&format!("the header `{name}` cannot be set")), "{}", done.stderr);
        // A map that a template gives is known only when it is rendered.
        let check = format!("{check}headers: \"{{{{ {{'{name}': '1'}} }}}}\"\nallow_private: true");
        let (code, document) =
            desk.run_with(&format!("checks:\n  call:\n    type: http\n{}", indented(&check)), &[]);
        assert_eq!((code, issue(&document)), (Some(1), "http/unsendable"), "{name}: {document:#}");
    }
    assert!(server.received().is_empty());
}

#[test]
fn a_secret_that_is_not_granted_is_warned_of() {
    let desk = Desk::new();
    let shown = |more: &str, header: &str| {
        desk.write(
            "p.yaml",
            &format!("secrets: [TOKEN]\nchecks:\n  call:\n    type: http\n    url: https://a.example\n    headers: {{A: '{header}'}}\n{more}"),
        );
        desk.escrow(&["check", "p.yaml"]).stderr
    };
    let told = shown("", "Bearer $TOKEN");
    assert!(told.contains("W0233") && told.contains("did you forget `secrets: TOKEN`"), "{told}");
    assert!(shown("", "x ${API_KEY}").contains("Declare `API_KEY`"));
    assert!(!shown("    secrets: TOKEN\n", "Bearer $TOKEN").contains("W0233"));
    assert!(!shown("", "$$TOKEN $ref $5").contains("W0233"));
}

#[test]
fn a_sandbox_without_network_forbids_requests() {
    let desk = Desk::new();
    for (network, check) in [
        ("none", "{type: http, url: 'https://a.example'}"),
        ("loopback", "{type: http, url: 'https://a.example'}"),
        ("none", "{type: github, op: pr.get, repo: a/b, number: 1}"),
    ] {
        desk.write("p.yaml", &format!("sandbox: {{network: {network}}}\nchecks:\n  call: {check}\n"));
        let done = desk.escrow(&["check", "p.yaml"]);
        assert_eq!(done.code, Some(2), "{check}: {}", done.stderr);
        assert!(done.stderr.contains(&format!("has `network: {network}`")), "{}", done.stderr);
    }
    desk.write(
        "p.yaml",
        "sandbox: {network: full}\nchecks:\n  call: {type: http, url: 'https://a.example'}\n",
    );
    assert_eq!(desk.escrow(&["check", "p.yaml"]).code, Some(0));
}

#[test]
fn explain_and_runs_show_tell_the_request_with_the_names_of_secrets() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::text("ok")]);
    desk.write("key", "s3cr3t-value");
    let playbook = format!(
        "secrets: {{TOKEN: {{file: key}}}}\nchecks:\n  call:\n    type: http\n    allow_private: true\n{}",
        indented(
            "url: SERVER/pay\nmethod: POST\nsecrets: TOKEN\nheaders: {Authorization: Bearer $TOKEN}\njson: {n: 1}\nquery: {a: 1}"
        )
    );
    let (code, document) = desk.run_with(&playbook.replace("SERVER", &server.url), &[]);
    assert_eq!(code, Some(0), "{document:#}");
    let sent = json!({"method": "POST", "url": format!("{}/pay", server.url), "query": {"a": 1}});
    assert_eq!(document["checks"]["call"]["result"]["request"], sent);
    let told = desk.escrow(&["explain", "last", "call"]).stdout;
    for text in ["with this request:", "url: http", "/pay", "method: POST", "Bearer $TOKEN", "{\"n\":1}"] {
        assert!(told.contains(text), "{text}: {told}");
    }
    let shown = desk.escrow(&["runs", "show", "last"]).stdout;
    assert!(shown.contains("requests") && shown.contains("POST http"), "{shown}");
    assert!(!told.contains("s3cr3t") && !shown.contains("s3cr3t"));
}

#[test]
fn a_pause_of_twenty_digits_is_an_hour_and_not_none() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::status(429).with("Retry-After", "99999999999999999999")]);
    let check = "url: SERVER\non_fail: {retry: {max: 1, backoff: {mode: fixed, delay_ms: 1}}}";
    let (_, document) = run_with(&desk, &server, check, &["--timeout", "2s"]);
    assert_eq!(document["run"]["reason"]["code"], "run.timed_out.deadline", "{document:#}");
    let told = desk.escrow(&["explain", "last", "call"]).stdout;
    assert!(told.contains("retry 1 in 3600000 ms"), "{told}");
    assert_eq!(server.received().len(), 1);
}

#[test]
fn every_way_to_write_this_machine_needs_to_be_allowed() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::text("x")]);
    let port = server.url.rsplit(':').next().expect("a port").to_owned();
    for host in [
        "0.0.0.0",
        "127.1",
        "2130706433",
        "[::]",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:0.0.0.0]",
        "[64:ff9b::7f00:1]",
    ] {
        let playbook = format!("checks: {{call: {{type: http, url: 'http://{host}:{port}/'}}}}\n");
        let (code, document) = desk.run_with(&playbook, &[]);
        assert_eq!((code, issue(&document)), (Some(1), "http/address_refused"), "{host}: {document:#}");
    }
    assert!(server.received().is_empty());
}

#[test]
fn statuses_that_were_not_expected_are_faults() {
    let desk = Desk::new();
    for (status, expect, expected) in [
        (200, "", None),
        (204, "", None),
        (404, "", Some("http/status")),
        (404, "expect: [200, 404]", None),
        (200, "expect: [201]", Some("http/unexpected_success")),
        (302, "", Some("http/status")),
    ] {
        let server = Server::saying(vec![Says::status(status)]);
        let (code, document) = run(&desk, &server, &format!("url: SERVER\n{expect}"));
        assert_eq!(code, Some(i32::from(expected.is_some())), "{status}: {document:#}");
        if let Some(expected) = expected {
            assert_eq!(issue(&document), expected);
            assert!(message(&document).contains(&status.to_string()));
        }
    }
}

#[test]
fn only_mutating_methods_are_external_unless_the_criticality_is_written() {
    let desk = Desk::new();
    for (method, criticality) in [
        ("GET", "info"),
        ("HEAD", "info"),
        ("OPTIONS", "info"),
        ("POST", "external"),
        ("PUT", "external"),
        ("PATCH", "external"),
        ("DELETE", "external"),
        ("POST\n    criticality: internal", "internal"),
    ] {
        desk.write(
            "p.yaml",
            &format!("checks:\n  call:\n    type: http\n    url: https://a.example\n    method: {method}\n"),
        );
        let report = desk.escrow(&["check", "p.yaml", "--output", "json"]).json();
        assert_eq!(report["report"]["checks"][0]["criticality"], criticality, "{method}");
    }
}

#[test]
fn only_transient_statuses_are_retried_and_the_server_says_when() {
    let desk = Desk::new();
    for status in [408, 425, 429, 500, 503] {
        let server = Server::saying(vec![Says::status(status).with("Retry-After", "1"), Says::text("ok")]);
        let check = "url: SERVER\non_fail: {retry: {max: 1, backoff: {mode: fixed, delay_ms: 1}}}";
        let (code, document) = run(&desk, &server, check);
        assert_eq!(code, Some(0), "{status}: {document:#}");
        let id = document["run"]["id"].as_str().expect("an id");
        let journal = desk.escrow(&["runs", "export", id]).stdout;
        assert!(journal.contains("retry_after_ms"), "{status}: {journal}");
    }
    let server = Server::saying(vec![Says::status(404), Says::text("ok")]);
    let check = "url: SERVER\non_fail: {retry: {max: 1, backoff: {mode: fixed, delay_ms: 1}}}";
    let (code, _) = run(&desk, &server, check);
    assert_eq!((code, server.received().len()), (Some(1), 1));
}

/// A check that changes something, without anything that would answer for its effect.
const POST: &str = "url: SERVER/pay\nmethod: POST\njson: {n: 1}\ntimeout: 2s";

#[test]
fn what_may_have_happened_is_unknown_and_waits_for_a_person() {
    for says in [
        Says::status(502),
        Says::status(408),
        Says::Cut,
        Says::CutAfterHeaders { status: 200 },
        Says::Nothing,
    ] {
        let desk = Desk::new();
        let server = Server::saying(vec![says.clone()]);
        let (code, document) = run(&desk, &server, POST);
        assert_eq!(code, Some(4), "{says:?}: {document:#}");
        assert_eq!(document["run"]["reason"]["code"], "run.waiting.unknown_effect", "{says:?}");
        assert_eq!(state_of_effect(&desk), "unknown", "{says:?}");
        assert_eq!(server.received().len(), 1, "{says:?}");
    }
}

#[test]
fn a_success_that_was_not_expected_has_happened_and_broke_its_contract() {
    for status in [200, 202, 206] {
        let desk = Desk::new();
        let server = Server::saying(vec![Says::json(status, &json!({ "id": 1 }))]);
        let check = format!("{POST}\nexpect: [201]\neffect_key: pay-1");
        for runs in [1, 0] {
            let (code, document) = run(&desk, &server, &check);
            assert_eq!(
                (code, issue(&document)),
                (Some(1), "http/unexpected_success"),
                "{status}: {document:#}"
            );
            assert_eq!(document["checks"]["call"]["runs"], runs, "{status}");
            assert_eq!(document["checks"]["call"]["output"]["id"], 1, "{status}");
            assert_eq!(state_of_effect(&desk), "confirmed", "{status}");
        }
        assert_eq!(server.received().len(), 1, "{status}: the ledger answers the second run");
    }
}

#[test]
fn a_success_that_was_not_expected_is_repeated_only_by_the_word_of_a_person() {
    let retry =
        "retry_on: [transient, logical]\non_fail: {retry: {max: 2, backoff: {mode: fixed, delay_ms: 1}}}";
    let desk = Desk::new();
    let server =
        Server::saying(vec![Says::json(202, &json!({ "id": 1 })), Says::json(201, &json!({ "id": 2 }))]);
    let (code, document) = run(&desk, &server, &format!("{POST}\nexpect: [201]\n{retry}"));
    assert_eq!((code, state_of_effect(&desk).as_str()), (Some(4), "confirmed"), "{document:#}");
    assert_eq!(server.received().len(), 1);
    let resumed = desk.escrow(&["resume", "last", "--assume", "call=retry", "--output", "json"]);
    assert_eq!(resumed.json()["checks"]["call"]["output"]["id"], 2);
    assert_eq!(server.received().len(), 2);
}

#[test]
fn no_effect_stands_on_a_success_that_was_not_expected() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::json(202, &json!({}))]);
    let playbook = "checks:\n  call: {type: http, allow_private: true, url: SERVER, method: POST, criticality: info, expect: [201], \
                    continue_on_failure: true}\n  ship: {type: command, criticality: external, depends_on: call, exec: 'true'}\n";
    let (_, document) = desk.run(&playbook.replace("SERVER", &server.url));
    assert_eq!(document["checks"]["ship"]["skip_reason"], "contract_blocked", "{document:#}");
}

#[test]
fn a_redirect_that_was_not_followed_tells_nothing() {
    for status in [302, 304, 307] {
        let desk = Desk::new();
        let server = Server::saying(vec![Says::status(status).with("Location", "/elsewhere")]);
        let (code, document) = run(&desk, &server, POST);
        assert_eq!((code, state_of_effect(&desk).as_str()), (Some(4), "unknown"), "{status}: {document:#}");
    }
}

#[test]
fn a_get_that_is_declared_external_may_have_happened_too() {
    for says in [Says::status(502), Says::Cut] {
        let desk = Desk::new();
        let server = Server::saying(vec![says.clone()]);
        let (code, document) = run(&desk, &server, "url: SERVER/trigger\ncriticality: external");
        assert_eq!((code, state_of_effect(&desk).as_str()), (Some(4), "unknown"), "{says:?}: {document:#}");
    }
}

#[test]
fn what_cannot_have_happened_failed() {
    for status in [400, 404, 409, 422, 425, 429] {
        let desk = Desk::new();
        let server = Server::saying(vec![Says::status(status)]);
        let (code, document) = run(&desk, &server, POST);
        assert_eq!(code, Some(1), "{status}: {document:#}");
        assert_eq!(state_of_effect(&desk), "failed", "{status}");
    }
    for (url, expected) in [
        ("http://127.0.0.1:1/", "http/connect"),
        ("http://no-such-host.invalid/", "http/connect"),
        ("http://169.254.169.254/", "http/address_refused"),
    ] {
        let desk = Desk::new();
        let playbook =
            format!("checks: {{call: {{type: http, allow_private: true, url: '{url}', method: POST}}}}\n");
        let (code, document) = desk.run(&playbook);
        assert_eq!((code, issue(&document)), (Some(1), expected), "{document:#}");
        assert_eq!(state_of_effect(&desk), "failed", "{url}");
    }
}

#[test]
fn a_certificate_of_an_unknown_authority_is_refused_before_anything_is_sent() {
    let desk = Desk::new();
    let server = Server::start_tls(|_| Says::text("over TLS"));
    let (code, document) = run(&desk, &server, POST);
    assert_eq!((code, issue(&document)), (Some(1), "http/tls"), "{document:#}");
    assert_eq!(state_of_effect(&desk), "failed");
    assert!(server.received().is_empty());
    let own = format!("url: SERVER\nca_file: {}", server::data("authority.pem"));
    let (code, document) = run(&desk, &server, &own);
    assert_eq!(code, Some(0), "{document:#}");
    assert_eq!(document["checks"]["call"]["output"], "over TLS");
    let (code, document) = run(&desk, &server, "url: SERVER\nca_file: missing.pem");
    assert_eq!((code, issue(&document)), (Some(1), "http/unsendable"), "{document:#}");
}

#[test]
fn an_answer_that_is_too_large_is_a_fault() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::text(&"x".repeat(2000))]);
    let (code, document) = run(&desk, &server, "url: SERVER\nmax_bytes: 1K");
    assert_eq!((code, issue(&document)), (Some(1), "http/too_large"), "{document:#}");
    let (code, _) = run(&desk, &server, "url: SERVER\nmax_bytes: 2000");
    assert_eq!(code, Some(0));
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::Nothing]);
    let (code, document) = run(&desk, &server, "url: SERVER\ntimeout: 300ms");
    assert_eq!((code, issue(&document)), (Some(1), "http/timeout"), "{document:#}");
}

#[test]
fn a_server_that_answers_byte_by_byte_is_given_up_as_a_whole() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::Drip]);
    let (code, document) = run(&desk, &server, "url: SERVER\ntimeout: 500ms");
    assert_eq!((code, issue(&document)), (Some(1), "http/timeout"), "{document:#}");
    assert_eq!(document["checks"]["call"]["result"]["request"]["method"], "GET");
}

#[test]
fn redirects_are_followed_only_when_asked_for() {
    let desk = Desk::new();
    let serve = |got: &Received| match got.path.as_str() {
        "/end" => Says::text("the end"),
        "/loop" => Says::status(302).with("Location", "/loop"),
        _ => Says::status(302).with("Location", "/end"),
    };
    let server = Server::start(serve);
    let (code, document) = run(&desk, &server, "url: SERVER/begin");
    assert_eq!((code, issue(&document)), (Some(1), "http/status"), "{document:#}");
    assert_eq!(server.asked(), ["GET /begin"]);
    for follow in ["true", "1"] {
        let (code, document) = run(&desk, &server, &format!("url: SERVER/begin\nfollow_redirects: {follow}"));
        assert_eq!(code, Some(0), "{document:#}");
        assert_eq!(document["checks"]["call"]["output"], "the end");
        assert_eq!(document["checks"]["call"]["result"]["redirects"], 1);
    }
    let (code, document) = run(&desk, &server, "url: SERVER/loop\nfollow_redirects: 3");
    assert_eq!((code, issue(&document)), (Some(1), "http/redirect"), "{document:#}");
}

#[test]
fn an_effect_may_have_happened_before_a_redirect_whatever_the_last_address_answers() {
    for status in [404, 425, 429] {
        let desk = Desk::new();
        let server = Server::start(move |got| match got.path.as_str() {
            "/pay" => Says::status(303).with("Location", "/receipt"),
            _ => Says::status(status),
        });
        let check = "url: SERVER/pay\nmethod: POST\nfollow_redirects: true\nguarantee: output.id > 0\n\
                     on_fail: {retry: {max: 2, backoff: {delay_ms: 1}}}";
        let (code, document) = run(&desk, &server, check);
        assert_eq!(code, Some(4), "{document:#}");
        assert_eq!(document["run"]["reason"]["code"], "run.waiting.unknown_effect");
        assert_eq!(state_of_effect(&desk), "unknown");
        assert_eq!(server.asked(), ["POST /pay", "GET /receipt"], "it is sent once");
    }
}

#[test]
fn a_redirect_to_a_metadata_service_is_refused() {
    let desk = Desk::new();
    for target in [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://[::ffff:169.254.169.254]/",
        "http://[fe80::1]/",
        "http://2852039166/",
    ] {
        let server = Server::saying(vec![Says::status(302).with("Location", target)]);
        let (code, document) = run(&desk, &server, "url: SERVER\nfollow_redirects: true");
        assert_eq!((code, issue(&document)), (Some(1), "http/address_refused"), "{target}: {document:#}");
    }
}

#[test]
fn a_private_address_needs_to_be_allowed() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::text("x")]);
    let port = server.url.rsplit(':').next().expect("a port").to_owned();
    for host in ["localhost", "127.0.0.1", "0.0.0.0", "[::ffff:127.0.0.1]", "2130706433"] {
        let (code, document) =
            desk.run(&format!("checks: {{call: {{type: http, url: 'http://{host}:{port}/'}}}}\n"));
        assert_eq!((code, issue(&document)), (Some(1), "http/address_refused"), "{host}: {document:#}");
        assert!(message(&document).contains("allow_private"), "{host}: {document:#}");
    }
    assert!(server.received().is_empty());
}

const SECRET: &str = "s3cr3t-v4lue";

fn run_with_secret(desk: &Desk, playbook: &str) -> (Option<i32>, String) {
    desk.write("playbook.yaml", playbook);
    let mut command = desk.command(&["run", "playbook.yaml", "--output", "json", "--quiet"]);
    let done = command.env("TOKEN", SECRET).env("OTHER", "another-secret").output().expect("it runs");
    (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
}

#[test]
fn a_granted_secret_is_sent_and_the_journal_keeps_its_name() {
    let desk = Desk::new();
    let server = Server::start(|got| Says::text(got.header("authorization")));
    let playbook = format!(
        "secrets: [TOKEN, OTHER]\ninputs: {{note: {{default: 'mine is $TOKEN'}}}}\nchecks:\n  call:\n    type: http\n    \
         url: {}/hook/$TOKEN?k=${{TOKEN}}\n    method: POST\n    allow_private: true\n    secrets: TOKEN\n    \
         query: {{t: $TOKEN}}\n    headers: {{Authorization: Bearer $TOKEN, X-Other: $OTHER}}\n    \
         json: {{token: $TOKEN, note: '{{{{ inputs.note }}}}', price: $5}}\n",
        server.url
    );
    let (code, document) = run_with_secret(&desk, &playbook);
    assert_eq!(code, Some(0), "{document}");
    let got = server.received().pop().expect("a request");
    assert_eq!(got.path, format!("/hook/{SECRET}?k={SECRET}&t={SECRET}"));
    assert_eq!(got.header("authorization"), format!("Bearer {SECRET}"));
    assert_eq!(got.header("x-other"), "$OTHER", "only granted names are replaced");
    assert_eq!(got.json(), json!({ "token": SECRET, "note": "mine is $TOKEN", "price": "$5" }));
    assert!(!document.contains(SECRET), "{document}");
    let id = serde_json::from_str::<Value>(&document).expect("JSON")["run"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let journal = desk.escrow(&["runs", "export", &id]).stdout;
    assert!(journal.contains("Bearer $TOKEN") && journal.contains("/hook/$TOKEN"), "{journal}");
    assert!(!journal.contains(SECRET));
    for entry in walk(&desk.path().join(".escrow")) {
        let bytes = std::fs::read(&entry).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{}", entry.display());
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => files.extend(walk(&entry.path())),
            false => files.push(entry.path()),
        }
    }
    files
}

#[test]
fn a_redirect_to_another_origin_gets_no_secret() {
    let desk = Desk::new();
    let other = Server::saying(vec![Says::text("got it")]);
    let target = other.url.clone();
    let server = Server::start(move |_| Says::status(307).with("Location", &target));
    let playbook = |body: &str| {
        format!(
            "secrets: [TOKEN]\nchecks:\n  call:\n    type: http\n    url: {}\n    method: POST\n    criticality: info\n    \
             allow_private: true\n    follow_redirects: true\n    secrets: TOKEN\n    \
             headers: {{X-Key: $TOKEN, Authorization: plain, X-Plain: yes}}\n    body: '{body}'\n",
            server.url
        )
    };
    let (code, document) = run_with_secret(&desk, &playbook("nothing secret"));
    assert_eq!(code, Some(0), "{document}");
    let got = other.received().pop().expect("a request");
    assert_eq!((got.header("x-key"), got.header("authorization"), got.header("x-plain")), ("", "", "yes"));
    assert_eq!(server.received()[0].header("x-key"), SECRET);
    let (code, document) = run_with_secret(&desk, &playbook("the key is $TOKEN"));
    assert_eq!(code, Some(1), "{document}");
    assert!(document.contains("http/redirect"), "{document}");
    assert_eq!(other.received().len(), 1);
}

#[test]
fn the_idempotency_header_is_the_same_for_every_attempt_of_an_effect() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::status(503), Says::status(503), Says::text("ok")]);
    let retry = "on_fail: {retry: {max: 3, backoff: {mode: fixed, delay_ms: 1}}}";
    let (code, document) = run(&desk, &server, &format!("{POST}\nidempotent: true\n{retry}"));
    assert_eq!(code, Some(0), "{document:#}");
    let keys: Vec<String> =
        server.received().iter().map(|got| got.header("idempotency-key").to_owned()).collect();
    assert_eq!(keys.len(), 3);
    assert!(!keys[0].is_empty() && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    let (_, document) = run(&desk, &server, &format!("{POST}\nidempotency_header: X-Once\neffect_key: once"));
    assert_eq!(document["checks"]["call"]["status"], "succeeded", "{document:#}");
    let got = server.received().pop().expect("a request");
    assert!(!got.header("x-once").is_empty() && got.header("idempotency-key").is_empty());
    let (_, document) = run(&desk, &server, &format!("{POST}\nidempotency_header: ''"));
    assert_eq!(document["checks"]["call"]["status"], "succeeded", "{document:#}");
    let got = server.received().pop().expect("a request");
    assert!(got.headers.keys().all(|name| !name.contains("key")), "{got:?}");
    let (_, document) = run(&desk, &server, "url: SERVER");
    assert_eq!(document["checks"]["call"]["status"], "succeeded", "{document:#}");
    assert_eq!(server.received().pop().expect("a request").header("idempotency-key"), "");
}

#[test]
fn a_proxy_of_the_environment_carries_the_request() {
    let desk = Desk::new();
    let proxy = Server::saying(vec![Says::status(503)]);
    desk.write("playbook.yaml", "checks: {call: {type: http, url: 'https://a.example/x', timeout: 5s}}\n");
    let run = |no_proxy: &str| {
        let mut command = desk.command(&["run", "playbook.yaml", "--output", "json", "--quiet"]);
        let command = command.env("https_proxy", &proxy.url).env("no_proxy", no_proxy);
        command.output().expect("it runs")
    };
    run("");
    assert_eq!(proxy.asked(), ["CONNECT a.example:443"]);
    run(".example");
    assert_eq!(proxy.asked().len(), 1);
}

#[test]
fn a_proxy_that_is_not_spoken_is_an_error_and_never_passed_over() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::text("x")]);
    let playbook = format!("checks: {{call: {{type: http, allow_private: true, url: '{}'}}}}\n", server.url);
    desk.write("playbook.yaml", &playbook);
    let run = |variables: &[(&str, &str)]| -> Value {
        let mut command = desk.command(&["run", "playbook.yaml", "--output", "json", "--quiet"]);
        let done = command.envs(variables.iter().copied()).output().expect("it runs");
        serde_json::from_slice(&done.stdout).expect("a document")
    };
    for (variable, proxy, why) in [
        ("ALL_PROXY", "socks5://user:hunter22@127.0.0.1:1", "`ALL_PROXY` is a SOCKS proxy"),
        ("all_proxy", "socks5h://127.0.0.1:1", "`all_proxy` is a SOCKS proxy"),
        ("http_proxy", "SOCKS4a://127.0.0.1:1", "`http_proxy` is a SOCKS proxy"),
        ("http_proxy", "ftp://127.0.0.1:1", "`http_proxy`"),
        ("http_proxy", "::::", "`http_proxy` has no valid address"),
    ] {
        let document = run(&[(variable, proxy)]);
        assert_eq!(issue(&document), "http/unsendable", "{proxy}: {document:#}");
        assert!(message(&document).contains(why) && message(&document).contains("NO_PROXY"), "{document:#}");
        assert!(!document.to_string().contains("hunter22"), "{document:#}");
    }
    assert!(server.received().is_empty());
    let document = run(&[("ALL_PROXY", "socks5://127.0.0.1:1"), ("NO_PROXY", "localhost")]);
    assert_eq!(document["run"]["status"], "completed", "{document:#}");
}

#[test]
fn a_request_that_contradicts_itself_does_not_load() {
    let desk = Desk::new();
    for (check, code) in [
        ("url: https://a.example\nmethod: POST\njson: {}\nbody: x", "E0130"),
        ("url: https://a.example\njson: {}", "E0106"),
        ("url: https://a.example\nmethod: GET\njson: {}", "E0130"),
        ("url: https://a.example\nmethod: FETCH", "E0108"),
        ("url: https://a.example\nexpect: [99]", "E0105"),
        ("url: https://a.example\nexpect: 200", "E0105"),
        ("url: https://a.example\nfollow_redirects: 99", "E0122"),
        ("url: https://a.example\nmax_bytes: many", "E0105"),
        ("url: https://a.example\nconnect_timeout: soon", "E0121"),
        ("url: https://a.example\nheaders: [a]", "E0105"),
        ("method: GET", "E0106"),
    ] {
        desk.write("p.yaml", &format!("checks:\n  call:\n    type: http\n{}", indented(check)));
        let done = desk.escrow(&["check", "p.yaml"]);
        assert_eq!(done.code, Some(2), "{check}");
        assert!(done.stderr.contains(code), "{check}: {}", done.stderr);
    }
}

#[test]
fn safe_mode_shows_what_would_be_sent() {
    let desk = Desk::new();
    let server = Server::saying(vec![Says::text("x")]);
    let (_, document) = run_with(&desk, &server, POST, &["--safe-mode"]);
    assert_eq!(document["checks"]["call"]["skip_reason"], "safe_mode", "{document:#}");
    assert!(server.received().is_empty());
}

#[test]
fn the_examples_of_the_page_run() {
    let page = include_str!("../../../docs/http.md");
    let server = Server::start(|got| {
        let ok = json!({ "id": 7, "path": got.path, "token": got.header("authorization") });
        Says::json(if got.method == "POST" { 201 } else { 200 }, &ok)
    });
    let examples: Vec<&str> =
        page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        let desk = Desk::new();
        let here = example
            .replace("https://api.example.com", &server.url)
            .replace("    type: http\n", "    type: http\n    allow_private: true\n");
        desk.write("playbook.yaml", &here);
        let mut command = desk.command(&["run", "playbook.yaml", "--output", "json", "--quiet"]);
        let done = command.env("DEPLOY_TOKEN", SECRET).output().expect("it runs");
        assert_eq!(done.status.code(), Some(0), "{here}\n{}", String::from_utf8_lossy(&done.stdout));
    }
    let got = server.received();
    assert_eq!(got[0].path, "/users/ann%2Fb?fields=id&fields=mail&page=1");
    assert_eq!(got[1].header("authorization"), format!("Bearer {SECRET}"));
    assert!(!got[1].header("idempotency-key").is_empty());
}
