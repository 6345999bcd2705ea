//! `escrow attention` and `escrow wait`: what needs a person, and waiting for the rest.

mod desk;

use std::time::Instant;

use desk::{Desk, signal};
use serde_json::{Value, json};

const FLAKY: &str = "name: flaky\nchecks:\n  lint:\n    type: command\n    exec: test -e fixed\n";

fn attention(desk: &Desk) -> Vec<Value> {
    let done = desk.escrow(&["attention", "--output", "json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    done.json()["attention"].as_array().cloned().expect("a list")
}

#[test]
fn failures_are_grouped_and_a_success_clears_them() {
    let desk = Desk::new();
    assert_eq!(desk.escrow(&["attention"]).stdout.trim(), "nothing needs attention");
    desk.run(FLAKY);
    desk.run(FLAKY);
    let (_, last) = desk.run(FLAKY);
    let items = attention(&desk);
    assert_eq!(items.len(), 1, "{items:#?}");
    let item = &items[0];
    assert_eq!((item["count"].as_u64(), item["kind"].as_str()), (Some(3), Some("failed")));
    assert_eq!((item["check"].as_str(), item["playbook"].as_str()), (Some("lint"), Some("flaky")));
    assert_eq!(item["reason_code"], last["run"]["reason"]["code"]);
    assert_eq!(item["run_ids"][0], last["run"]["id"], "the newest first");
    let next: Vec<&str> = item["next"].as_str().expect("a command").split(' ').skip(1).collect();
    assert_eq!(desk.escrow(&next).code, Some(0), "what is next works as it stands");
    let page = desk.escrow(&["attention"]).stdout;
    assert!(page.contains("3 times") && page.contains("next: escrow explain r_"), "{page}");
    // Another request that goes well says nothing about this one.
    desk.write("fixed", "");
    let (code, _) = desk.run_with(FLAKY, &["--event", "pr_opened"]);
    assert_eq!(code, Some(0));
    assert_eq!(attention(&desk).len(), 1);
    assert_eq!(desk.run(FLAKY).0, Some(0));
    assert_eq!(attention(&desk), Vec::<Value>::new());
}

#[test]
fn what_is_dismissed_stays_away_until_it_happens_again() {
    let desk = Desk::new();
    let (_, document) = desk.run(FLAKY);
    let fingerprint = attention(&desk)[0]["fingerprint"].as_str().expect("a fingerprint").to_owned();
    assert_eq!(desk.escrow(&["attention", "dismiss", &fingerprint]).code, Some(2), "a note is needed");
    assert_eq!(desk.escrow(&["attention", "dismiss", &fingerprint, "--note", " "]).code, Some(2));
    let run = document["run"]["id"].as_str().expect("an id");
    let done = desk.escrow(&["attention", "dismiss", run, "--note", "known, ticket 7", "--by", "ann"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let quiet = desk.escrow(&["attention", "--output", "json"]);
    assert_eq!(quiet.json()["attention"], serde_json::json!([]));
    assert_eq!(quiet.json()["dismissed"], 1);
    let all = desk.escrow(&["attention", "--all"]).stdout;
    assert!(all.contains("dismissed by ann: known, ticket 7"), "{all}");
    assert_eq!(desk.escrow(&["attention", "dismiss", &fingerprint, "--note", "again"]).code, Some(4));
    desk.run(FLAKY);
    let back = attention(&desk);
    assert_eq!((back.len(), back[0]["count"].as_u64()), (1, Some(1)));
    assert_eq!(back[0]["fingerprint"], fingerprint.as_str());
    for unknown in ["f_000000000000", "r_nope", "nothing"] {
        let done = desk.escrow(&["attention", "dismiss", unknown, "--note", "x"]);
        assert_eq!(done.code, Some(2), "{unknown}: {}", done.stderr);
    }
}

#[test]
fn what_waits_and_what_was_interrupted_need_a_person() {
    let desk = Desk::new();
    desk.run("name: asks\nchecks:\n  ask:\n    type: human-input\n    prompt: go on?\n");
    let waiting = &attention(&desk)[0];
    assert_eq!((waiting["kind"].as_str(), waiting["check"].as_str()), (Some("waiting"), Some("ask")));
    let wait = waiting["wait_id"].as_str().expect("an id");
    assert_eq!(waiting["next"], format!("escrow answer {wait} TEXT"));
    assert_eq!(desk.escrow(&["answer", wait, "yes"]).code, Some(0));
    assert_eq!(attention(&desk), Vec::<Value>::new());

    desk.write(
        "slow.yaml",
        "name: slow\nchecks:\n  a:\n    type: command\n    exec: sleep 30; echo attention-slow\n",
    );
    let mut child = desk.start(&["run", "slow.yaml"]);
    desk.until("it runs", || desk.escrow(&["runs", "--playbook", "slow"]).stdout.contains("running"));
    assert_eq!(attention(&desk), Vec::<Value>::new(), "somebody drives it");
    signal(child.id(), rustix::process::Signal::KILL);
    child.wait().expect("it is gone");
    let gone = &attention(&desk)[0];
    assert_eq!(gone["kind"], "interrupted");
    assert!(gone["next"].as_str().is_some_and(|next| next.starts_with("escrow resume r_")), "{gone}");
    let waited = desk.escrow(&["wait", "last"]);
    assert_eq!(waited.code, Some(3));
    assert!(waited.stderr.contains("is gone"), "{}", waited.stderr);
    assert_eq!(desk.escrow(&["cancel", "last"]).code, Some(0));
    assert_eq!(attention(&desk), Vec::<Value>::new());
}

#[test]
fn every_item_has_the_documented_fields() {
    let desk = Desk::new();
    desk.run(FLAKY);
    let items = attention(&desk);
    let mut keys: Vec<&str> = items[0].as_object().expect("an item").keys().map(String::as_str).collect();
    keys.sort_unstable();
    const PAGE: &str = include_str!("../../../docs/attention.md");
    for key in &keys {
        assert!(PAGE.contains(&format!("`{key}`")), "`{key}` is not in docs/attention.md");
    }
    assert_eq!(keys.len(), 17);
    let lines = desk.escrow(&["attention", "--output", "jsonl"]).stdout;
    assert_eq!(lines.lines().count(), 1);
}

#[test]
fn a_delivery_with_warnings_is_worth_a_look() {
    let desk = Desk::new();
    let playbook = "name: book\nartifacts:\n  expected:\n    - { id: notes, path: notes.md, required: false }\nchecks:\n  a:\n    type: noop\n";
    let (code, document) = desk.run(playbook);
    assert_eq!((code, document["artifacts"]["status"].as_str()), (Some(0), Some("warning")));
    assert_eq!(attention(&desk)[0]["kind"], "warning");
}

#[test]
fn wait_exits_as_the_run_does() {
    let desk = Desk::new();
    desk.write("slow.yaml", "name: slow\nchecks:\n  a:\n    type: command\n    exec: while [ ! -e go ]; do sleep 0.05; done; exit 3\n");
    let mut child = desk.start(&["run", "slow.yaml"]);
    desk.until("it runs", || desk.escrow(&["runs"]).stdout.contains("running"));
    let began = Instant::now();
    let early = desk.escrow(&["wait", "last", "--timeout", "300ms"]);
    assert_eq!(early.code, Some(124), "{}", early.stderr);
    assert!(began.elapsed().as_millis() >= 300);
    let waiting =
        desk.command(&["wait", "last", "--output", "json"]).stdout(std::process::Stdio::piped()).spawn();
    desk.write("go", "");
    let done = waiting.expect("it waits").wait_with_output().expect("it ends");
    assert_eq!(done.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&done.stdout).expect("the document of the run");
    assert_eq!(document, desk.show("last"));
    child.wait().expect("the run ends");
    assert_eq!(desk.escrow(&["wait", "last"]).code, Some(1), "again, of one that has ended");
    assert_eq!(desk.escrow(&["wait", "r_nope"]).code, Some(2));
    assert_eq!(desk.escrow(&["wait", "last", "--timeout", "soon"]).code, Some(2));
    desk.run("checks:\n  ask:\n    type: human-input\n    prompt: go on?\n");
    assert_eq!(desk.escrow(&["wait", "last"]).code, Some(4), "it waits for a person, and says so");
}

/// A shell once read `|` in it as pipes.
#[test]
fn the_next_command_for_an_unknown_effect_is_one_word_to_a_shell() {
    let desk = Desk::new();
    let (code, _) =
        desk.run("checks: {act: {type: command, criticality: external, timeout: 300ms, exec: 'sleep 30'}}");
    assert_eq!(code, Some(4));
    let next = desk.escrow(&["attention", "--output", "json"]).json()["attention"][0]["next"].clone();
    assert!(next.as_str().is_some_and(|next| next.ends_with("--assume 'act=done|failed|retry'")), "{next}");
}

#[test]
fn an_approval_shows_its_rendered_request_and_is_an_item_of_its_own() {
    let desk = Desk::new();
    let playbook = "name: ship\ninputs: {to: {default: test}}\nchecks:\n  ship: {type: command, requires_approval: true, exec: './ship {{ inputs.to }}'}\n";
    desk.write("ship.yaml", playbook);
    for to in ["test", "prod", "prod"] {
        assert_eq!(desk.escrow(&["run", "ship.yaml", "--input", &format!("to={to}")]).code, Some(4));
    }
    let items = attention(&desk);
    assert_eq!(items.len(), 3, "{items:?}");
    let values = |item: &Value| item["request"]["fields"]["exec"]["values"]["ESCROW_VALUE_1"].clone();
    let mut shown: Vec<String> = items.iter().map(|item| values(item).to_string()).collect();
    shown.sort();
    assert_eq!(shown, ["\"prod\"", "\"prod\"", "\"test\""]);
    let page = desk.escrow(&["attention"]).stdout;
    assert_eq!(page.matches("exec: ./ship \"‹prod›\"").count(), 2, "{page}");
    assert_eq!(page.matches("exec: ./ship \"‹test›\"").count(), 1, "{page}");
}

#[test]
fn refused_messages_add_no_items_of_their_own() {
    let desk = Desk::new();
    desk.run(
        "checks: {deploy: {type: command, exec: 'true', requires_approval: {by: [somebody-else, another], count: 2}}}",
    );
    let id = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0]["id"].clone();
    let id = id.as_str().expect("it waits").to_owned();
    for _ in 0..3 {
        assert_eq!(desk.escrow(&["approve", &id]).code, Some(4));
        assert_eq!(desk.escrow(&["approve", "a_000000000000"]).code, Some(2));
        desk.escrow(&["resume", "last"]);
    }
    let items = desk.escrow(&["attention", "--output", "json"]).json();
    assert_eq!(items["attention"].as_array().map(Vec::len), Some(1), "{items}");
    assert_eq!(items["attention"][0]["count"], 1, "{items}");
}

/// It is cut off by its own time, by a person while it waits for the answer, or by a person at work.
#[test]
fn an_effect_that_an_ended_run_left_unknown_is_an_item_until_it_is_settled() {
    const SHIP: &str = "
name: w
timeout: 30s
checks: {ship: {type: command, criticality: external, assume: 'true', timeout: 20s, effect_key: 'w 1', exec: 'touch begun; exec sleep 20'}}";
    for (status, playbook) in [
        ("cancelled", SHIP.to_owned()),
        ("cancelled", SHIP.replace("timeout: 20s", "timeout: 200ms")),
        ("timed_out", SHIP.replace("timeout: 30s", "timeout: 1s")),
    ] {
        let desk = Desk::new();
        desk.write("w.yaml", &playbook);
        let mut child = desk.start(&["run", "w.yaml"]);
        desk.until("the effect has begun", || desk.path().join("begun").exists());
        let run = desk.escrow(&["effects", "--output", "json"]).json()["effects"][0]["run_id"].clone();
        let run = run.as_str().expect("an id");
        let ended = if playbook.contains("200ms") {
            child.wait().expect("it waits");
            desk.escrow(&["cancel", run]).stderr
        } else {
            if status == "cancelled" {
                assert_eq!(desk.escrow(&["cancel", run]).code, Some(0));
            }
            child.wait().expect("it ends");
            desk.escrow(&["runs", "show", run]).stdout
        };
        let settles = "escrow effects resolve 'w 1' 'done|failed' --by NAME --why TEXT";
        assert!(ended.contains(settles), "{ended}");
        let listed = desk.escrow(&["attention", "--output", "json"]).json();
        let items = listed["attention"].as_array().expect("a list");
        let item = items.iter().find(|item| item["kind"] == "unknown_effect").expect("an item");
        assert_eq!(item["next"], settles);
        assert_eq!(item["subject"], json!({"kind": "effect", "id": "w 1"}));
        assert_eq!(item["run_ids"], json!([run]));
        let summary = item["summary"].as_str().expect("a text");
        assert!(summary.starts_with("`ship` may or may not have taken effect"), "{summary}");
        let resolved =
            desk.escrow(&["effects", "resolve", "w 1", "failed", "--by", "ada", "--why", "not there"]);
        assert_eq!(resolved.code, Some(0), "{}", resolved.stderr);
        let left = desk.escrow(&["attention", "--output", "json"]).json();
        let kinds: Vec<_> =
            left["attention"].as_array().expect("a list").iter().map(|item| &item["kind"]).collect();
        assert!(!kinds.contains(&&json!("unknown_effect")), "{kinds:?}");
        assert!(!desk.escrow(&["runs", "show", run]).stdout.contains("may or may not"));
        assert_eq!(desk.show(run)["run"]["status"], status);
    }
}

#[test]
fn an_unknown_effect_is_dismissed_by_its_run() {
    let desk = Desk::new();
    let (code, document) =
        desk.run("checks: {x: {type: command, criticality: external, assume: 'true', exec: 'kill -9 $$'}}");
    assert_eq!(code, Some(4), "{document}");
    let run = document["run"]["id"].as_str().expect("an id");
    desk.escrow(&["cancel", run]);
    let dismissed = desk.escrow(&["attention", "dismiss", run, "--note", "known"]);
    assert_eq!(dismissed.code, Some(0), "{}", dismissed.stderr);
    assert_eq!(desk.escrow(&["attention", "--output", "json"]).json()["attention"], json!([]));
}
