//! The OpenAPI document of Studio, compared with real answers: every call, every member.

mod desk;
mod studio_client;

use std::path::Path;

use desk::Desk;
use serde_json::{Value, json};
use studio_client::{Answer, Studio};

/// Compares answers with the document. Objects are open for clients; here no member may be missing from the document.
struct Described {
    document: Value,
    components: Value,
}

impl Described {
    fn of(studio: &Studio) -> Described {
        let document = studio.json("/api/openapi.json");
        let mut components = document["components"].clone();
        for schema in components["schemas"].as_object_mut().expect("schemas").values_mut() {
            schema["additionalProperties"] = json!(false);
        }
        Described { document, components }
    }

    #[track_caller]
    fn check(&self, method: &str, path: &str, answer: &Answer) {
        let response = &self.document["paths"][path][method]["responses"][answer.status.to_string()];
        let mut schema = response["content"]["application/json"]["schema"].clone();
        assert!(schema.is_object(), "{method} {path} does not describe {}", answer.status);
        assert_ne!(schema, json!({ "type": "object" }), "{method} {path} has no shape");
        schema["components"] = self.components.clone();
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let body = answer.json();
        let problems: Vec<String> =
            validator.iter_errors(&body).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(problems.is_empty(), "{method} {path}: {problems:#?}\n{body:#}");
    }
}

/// A project with a run of each kind: completed, failed with findings, waiting for each kind of answer, nested, mapped, a
/// chain that has run, a dismissed cause and an outcome.
fn project() -> Desk {
    let desk = Desk::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/studio");
    for name in ["pr-review", "headline", "rollout", "nightly", "nightly-chain"] {
        let text = std::fs::read_to_string(data.join(format!("{name}.yaml"))).expect("a playbook");
        desk.write(&format!("{name}.yaml"), &text);
    }
    desk.write(
        "outer.yaml",
        "name: outer
checks:
  ask: {type: playbook, playbook: rollout.yaml, criticality: external, requires_approval: true}
",
    );
    desk.write(
        "mapped.yaml",
        "name: mapped
checks:
  list: {type: command, exec: 'echo [1,2]', forEach: true}
  each: {type: command, depends_on: list, exec: 'test {{ item }} = 1'}
  post: {type: command, criticality: external, exec: echo posted}
",
    );
    let invocation = desk.escrow(&["invocation", "start", "--name", "Review 482"]).stdout;
    let run = |arguments: &[&str]| drop(desk.escrow(&[&["run"], arguments, &["--quiet"]].concat()));
    run(&["nightly.yaml"]);
    run(&["pr-review.yaml", "--invocation", invocation.trim()]);
    run(&["pr-review.yaml", "--input", "pr=481", "--input", "blocking=low"]);
    run(&["headline.yaml"]);
    run(&["rollout.yaml"]);
    run(&["outer.yaml"]);
    run(&["mapped.yaml", "--safe-mode", "--event", "pushed"]);
    assert_eq!(desk.escrow(&["chain", "define", "nightly-chain.yaml", "--quiet"]).code, Some(0));
    drop(desk.escrow(&["chain", "fire", "nightly-chain", "--quiet"]));
    desk
}

#[test]
fn every_answer_of_the_api_has_the_shape_that_is_described() {
    let desk = project();
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let described = Described::of(&studio);
    let ask = |path: &str| {
        let host = &studio.host;
        let answer =
            studio.send(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer
    };
    for path in described.document["paths"].as_object().expect("paths").keys() {
        let is_read = described.document["paths"][path]["get"].is_object() && !path.contains('{');
        if is_read && path != "/api/feed" && path != "/api/openapi.json" {
            let answer = ask(path);
            described.check("get", path, &answer);
            let list =
                answer.json().as_object().and_then(|all| all.values().find_map(Value::as_array).cloned());
            assert!(
                path == "/api/receipts" || !list.expect("a list").is_empty(),
                "{path} has nothing to compare"
            );
        }
    }
    described.check("get", "/api/runs", &ask("/api/runs?all=true"));
    described.check("get", "/api/approvals", &ask("/api/approvals?all=true"));
    described.check("get", "/api/chains/{name}", &ask("/api/chains/nightly-chain"));
    for run in studio.json("/api/runs?all=true")["runs"].as_array().expect("runs") {
        let id = run["id"].as_str().expect("an id");
        described.check("get", "/api/runs/{id}", &ask(&format!("/api/runs/{id}")));
        described.check("get", "/api/runs/{id}/journal", &ask(&format!("/api/runs/{id}/journal")));
    }
    let missing = studio.send(&format!(
        "GET /api/runs/r_nothing HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        studio.host
    ));
    described.check("get", "/api/runs/{id}", &missing);
}

#[test]
fn every_action_answers_with_the_shape_that_is_described() {
    let desk = project();
    let made = desk.escrow(&["studio", "token", "add", "ci", "--role", "admin", "--output", "json"]).json();
    let bearer = format!("Authorization: Bearer {}\r\n", made["token"]["text"].as_str().expect("a token"));
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let described = Described::of(&studio);
    let act = |path: &str, place: &str, body: &Value| {
        let answer = studio.post_json(place, body, &bearer);
        assert!(matches!(answer.status, 200 | 202), "{place}: {}: {}", answer.status, answer.body);
        described.check("post", path, &answer);
    };
    let waits = studio.json("/api/approvals")["approvals"].as_array().cloned().expect("a list");
    let of = |kind: &str| waits.iter().filter(|wait| wait["kind"] == kind).cloned().collect::<Vec<_>>();
    let place =
        |wait: &Value, verb: &str| format!("/api/approvals/{}/{verb}", wait["id"].as_str().expect("an id"));
    let approvals = of("approval");
    let digest = |wait: &Value| json!({ "digest": wait["digest"] });
    act("/api/approvals/{id}/deny", &place(&approvals[0], "deny"), &digest(&approvals[0]));
    act("/api/approvals/{id}/approve", &place(&approvals[1], "approve"), &digest(&approvals[1]));
    act("/api/approvals/{id}/answer", &place(&of("input")[0], "answer"), &json!({ "text": "Neither" }));
    let unknown = of("unknown_effect")[0]["run_id"].as_str().expect("a run").to_owned();
    let assumed = json!({ "check": "rollout", "assumption": "done" });
    act("/api/runs/{id}/assume", &format!("/api/runs/{unknown}/assume"), &assumed);
    let failed = studio.json("/api/runs?status=failed")["runs"][0]["id"].as_str().expect("a run").to_owned();
    act("/api/runs/{id}/retry", &format!("/api/runs/{failed}/retry"), &json!({}));
    let item =
        studio.json("/api/attention")["attention"][0]["fingerprint"].as_str().expect("a cause").to_owned();
    let dismissed = json!({ "note": "TICKET-1" });
    act("/api/attention/{fingerprint}/dismiss", &format!("/api/attention/{item}/dismiss"), &dismissed);
    for verb in ["pause", "resume", "fire"] {
        let path = format!("/api/chains/{{name}}/{verb}");
        act(&path, &format!("/api/chains/nightly-chain/{verb}"), &json!({}));
    }
    assert_eq!(desk.escrow(&["run", "headline.yaml", "--quiet"]).code, Some(4));
    act("/api/runs/{id}/resume", "/api/runs/last/resume", &json!({}));
    act("/api/runs/{id}/cancel", "/api/runs/last/cancel", &json!({}));
    described.check("get", "/api/attention", &{
        let host = &studio.host;
        studio
            .send(&format!("GET /api/attention?all=1 HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    });
}
