//! What was approved is what happens: the environment, the proxy and the file of the approver change nothing, and a
//! decision that was recorded stands.

mod desk;
mod server;

use desk::Desk;
use serde_json::Value;
use server::{Says, Server};

fn question(desk: &Desk) -> Value {
    desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0].clone()
}

fn id(question: &Value) -> &str {
    question["id"].as_str().expect("it has an id")
}

fn answering() -> Server {
    Server::start(|_| Says::json(200, &serde_json::json!({})))
}

fn paths(server: &Server) -> Vec<String> {
    server.received().into_iter().map(|request| format!("{} {}", request.path, request.body)).collect()
}

#[test]
fn a_command_behind_an_approval_sees_the_variables_that_its_contract_saw() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"checks:
  gate: {type: noop, requires_approval: {prompt: 'deploy to {{ env.TARGET }}?'}}
  ship:
    {type: command, depends_on: gate, criticality: external, assume: "env.TARGET === 'prod' && !env.MODE",
     exec: 'echo "$TARGET ${MODE-unset}" {{ env.TARGET }} > shipped'}"#,
    );
    let mut run = desk.command(&["run", "playbook.yaml", "--quiet"]);
    assert_eq!(run.env("TARGET", "prod").status().expect("it runs").code(), Some(4));
    let mut approve = desk.command(&["approve", id(&question(&desk)), "--quiet"]);
    approve.env("TARGET", "dev").env("MODE", "fast");
    assert_eq!(approve.status().expect("it runs").code(), Some(0));
    assert_eq!(desk.read("shipped"), "prod unset prod\n");
}

#[test]
fn the_proxy_of_the_approver_does_not_redirect_an_approved_request() {
    let (desk, server, proxy) = (Desk::new(), answering(), answering());
    let check = format!(
        "type: http, url: '{}/deploy', method: POST, allow_private: true, body: hello, requires_approval: true",
        server.url
    );
    assert_eq!(desk.run(&format!("checks: {{call: {{{check}}}}}")).0, Some(4));
    let mut approve = desk.command(&["approve", id(&question(&desk)), "--quiet"]);
    assert_eq!(approve.env("http_proxy", &proxy.url).status().expect("it runs").code(), Some(0));
    assert_eq!(paths(&server), ["/deploy hello"]);
    assert!(proxy.received().is_empty());
}

#[test]
fn an_approval_shows_the_proxy_through_which_the_request_will_go() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "checks: {call: {type: http, url: 'http://10.1.2.3/x', method: POST, requires_approval: true}}",
    );
    let mut run = desk.command(&["run", "playbook.yaml", "--quiet"]);
    run.env("http_proxy", "http://127.0.0.1:9").env_remove("no_proxy");
    assert_eq!(run.status().expect("it runs").code(), Some(4));
    assert!(question(&desk).to_string().contains("http://127.0.0.1:9"), "{}", question(&desk));
}

#[test]
fn an_approval_covers_a_file_that_was_verified_and_no_other() {
    let (desk, server) = (Desk::new(), answering());
    let upload = |more: &str| {
        format!(
            "type: http, url: '{}/up', method: POST, allow_private: true, file: report.txt, requires_approval: true{more}",
            server.url
        )
    };
    desk.write("report.txt", "of the directory");
    let (code, document) = desk.run(&format!("checks: {{call: {{{}}}}}", upload("")));
    assert_eq!(code, Some(1), "{document}");
    assert!(document.to_string().contains("an approval covers `report.txt` only if"), "{document}");

    let (code, document) = desk.run(&format!(
        "artifacts: {{expected: [{{id: report, path: report.txt}}]}}
checks:
  write: {{type: command, artifacts: report, exec: 'printf verified > \"$ESCROW_ARTIFACTS/report.txt\"'}}
  call: {{{}}}",
        upload(", depends_on: write")
    ));
    assert_eq!(code, Some(4), "{document}");
    let asked = question(&desk);
    assert!(asked["request"].to_string().contains("file_sha256"), "{asked}");
    assert_eq!(desk.escrow(&["approve", id(&asked)]).code, Some(0));
    assert_eq!(paths(&server), ["/up verified"], "not the file of the same name beside it");
}

#[test]
fn a_denial_after_a_recorded_approval_is_told_that_it_came_second_also_past_the_expiry() {
    let desk = Desk::new();
    desk.run(
        "checks: {ship: {type: command, criticality: external, requires_approval: {expires: 1s}, exec: 'echo x >> shipped'}}",
    );
    let asked = question(&desk);
    assert_eq!(desk.escrow(&["approve", id(&asked), "--no-run"]).code, Some(0));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let denied = desk.escrow(&["deny", id(&asked), "--output", "json"]);
    assert_eq!(denied.code, Some(4));
    assert_eq!(denied.json()["error"]["code"], "resolved");
    assert_eq!(desk.escrow(&["resume", "last"]).code, Some(0), "what was approved in time happens");
    assert_eq!(desk.read("shipped"), "x\n");
}

#[test]
fn a_cancelled_run_does_not_act_on_an_approval_that_was_recorded_before() {
    let desk = Desk::new();
    desk.run(
        "checks:
  gate: {type: noop, requires_approval: true}
  set: {type: memory, operation: set, key: a, value: 1, depends_on: gate}
  ship: {type: command, criticality: external, exec: 'echo x >> shipped', depends_on: set}",
    );
    assert_eq!(desk.escrow(&["approve", id(&question(&desk)), "--no-run"]).code, Some(0));
    desk.escrow(&["cancel", "last"]);
    let document = desk.show("last");
    assert_eq!(document["run"]["status"], "cancelled", "{document}");
    assert_eq!(document["checks"]["set"]["runs"], 0, "{document}");
    assert!(!desk.path().join("shipped").exists());
}
