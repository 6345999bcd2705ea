//! Questions about effects that were answered in another run: the first word counts everywhere.

mod desk;

use desk::{Desk, Done};
use serde_json::{Value, json};

/// Has an effect of the key `w1` that takes too long, unless the file `fast` exists.
const SHIP: &str = r#"
name: w
checks:
  ship:
    type: command
    criticality: external
    assume: attempt < 9
    timeout: 500ms
    effect_key: w1
    exec: "echo $ESCROW_RUN >> world; test -e fast || sleep 5; echo ok"
"#;

/// A run that left the effect unknown, and another one that waits for it.
fn owner_and_other(desk: &Desk) -> (String, String) {
    let runs = [(); 2].map(|()| {
        let (code, document) = desk.run(SHIP);
        assert_eq!(code, Some(4), "{document}");
        document["run"]["id"].as_str().expect("an id").to_owned()
    });
    let [owner, other] = runs;
    (owner, other)
}

fn assume(desk: &Desk, run: &str, word: &str) -> Done {
    desk.escrow(&["resume", run, "--assume", &format!("ship={word}")])
}

fn resolve(desk: &Desk, word: &str) -> Done {
    desk.escrow(&["effects", "resolve", "w1", word, "--by", "bob", "--why", "I looked"])
}

fn state(desk: &Desk) -> Value {
    desk.escrow(&["effects", "--key", "w1", "--output", "json"]).json()["effects"][0]["state"].clone()
}

/// What `attention`, `approvals` and `runs show` give as the next command for a run.
fn next_of(desk: &Desk, run: &str) -> Vec<String> {
    let attention = desk.escrow(&["attention", "--output", "json"]).json();
    let approvals = desk.escrow(&["approvals", "--output", "json"]).json();
    let items = attention["attention"].as_array().expect("a list").iter();
    let items = items.filter(|item| item["run_ids"][0] == run);
    let waits = approvals["approvals"].as_array().expect("a list").iter();
    let waits = waits.filter(|wait| wait["run_id"] == run);
    let listed = items.chain(waits).map(|one| one["next"].as_str().expect("a command").to_owned());
    let shown = desk.escrow(&["runs", "show", run]).stdout;
    let waited = desk.escrow(&["wait", run]).stderr;
    let told = [shown, waited].map(|text| {
        let at = text.rfind("escrow resume").expect("the next command");
        text[at..].lines().next().expect("a line").trim_end().to_owned()
    });
    listed.chain(told).collect()
}

fn refused(done: &Done, first: &str) {
    assert_eq!(done.code, Some(4), "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains(&format!("is not unknown: it is {first}")), "{}", done.stderr);
}

#[test]
fn the_run_that_owns_an_effect_continues_with_what_another_run_was_told() {
    for (word, settled, status) in [("done", "confirmed", "completed"), ("failed", "failed", "failed")] {
        for all in [true, false] {
            let desk = Desk::new();
            let (owner, other) = owner_and_other(&desk);
            assume(&desk, &other, word);
            assert_eq!(state(&desk), settled);
            assert_eq!(next_of(&desk, &owner), vec![format!("escrow resume {owner}"); 4], "{word}");
            let resumed = desk.escrow(&["resume", if all { "--all" } else { &owner }]);
            let shown = desk.show(&owner);
            assert_eq!(shown["run"]["status"], status, "{word}: {}", resumed.stderr);
            assert_eq!(shown["checks"]["ship"]["runs"], 1, "{shown}");
            assert_eq!(desk.read("world").lines().count(), 1, "nothing was repeated");
            assert_eq!(state(&desk), settled);
            let waiting = desk.escrow(&["approvals", "--output", "json"]).json();
            assert_eq!(waiting["approvals"], json!([]));
            assert_eq!(desk.escrow(&["verify", &owner]).code, Some(0));
        }
    }
}

#[test]
fn a_second_word_about_a_settled_effect_is_refused_whoever_asks() {
    for (first, settled) in [("done", "confirmed"), ("failed", "failed")] {
        let desk = Desk::new();
        let (owner, other) = owner_and_other(&desk);
        assume(&desk, &other, first);
        for second in ["done", "failed"] {
            refused(&assume(&desk, &owner, second), settled);
            refused(&resolve(&desk, second), settled);
        }
        let third = assume(&desk, &owner, "retry");
        refused(&third, settled);
        let named = format!("said `{first}` in run `{other}`");
        assert!(third.stderr.contains(&named), "the first word is named: {}", third.stderr);
        assert_eq!(state(&desk), settled);
        assert_eq!(desk.show(&owner)["run"]["status"], "waiting", "a refused word resumes nothing");
    }
}

#[test]
fn the_owner_takes_the_output_of_the_run_that_performed_its_effect_since() {
    let desk = Desk::new();
    let (owner, other) = owner_and_other(&desk);
    assume(&desk, &other, "failed");
    desk.write("fast", "");
    let (code, third) = desk.run(SHIP);
    assert_eq!(code, Some(0), "{third}");
    refused(&assume(&desk, &owner, "failed"), "confirmed");
    assert_eq!(desk.escrow(&["resume", &owner]).code, Some(0));
    let ship = &desk.show(&owner)["checks"]["ship"];
    assert_eq!((&ship["status"], &ship["output"]), (&json!("succeeded"), &json!("ok")), "{ship}");
    assert_eq!(ship["result"]["effect_run"], third["run"]["id"], "{ship}");
}

/// Its process was killed at work. Before it is resumed, a person answers in another run.
#[test]
fn a_run_that_was_killed_at_work_asks_nobody_when_the_ledger_has_the_answer() {
    let desk = Desk::new();
    desk.write("slow.yaml", &SHIP.replace("timeout: 500ms", "timeout: 60s").replace("sleep 5", "sleep 60"));
    let mut child = desk.start(&["run", "slow.yaml"]);
    desk.until("the effect has begun", || desk.path().join("world").exists());
    child.kill().expect("it can be killed");
    child.wait().expect("it is gone");
    let owner = desk.read("world").trim().to_owned();
    let waits = desk.escrow(&["run", "slow.yaml", "--output", "json"]);
    assert_eq!(waits.code, Some(4), "{}", waits.stderr);
    let other = waits.json()["run"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(assume(&desk, &other, "done").code, Some(0));
    refused(&assume(&desk, &owner, "failed"), "confirmed");
    let resumed = desk.escrow(&["resume", &owner]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(desk.read("world").lines().count(), 1);
}

/// Its process was killed at work. Another run found the effect missing and performed it, so the ledger has the output.
#[test]
fn a_run_that_was_killed_at_work_takes_the_output_in_the_ledger_before_it_asks_reconcile() {
    for (retry, says) in
        [("", "retry"), ("on_fail: {retry: {max: 1, backoff: {delay_ms: 3600000}}}", "failed")]
    {
        let desk = Desk::new();
        let keys = format!(
            "guarantee: output === 'ok'\n    {retry}\n    reconcile: 'echo look >> looks; test -e done && echo {says} || echo retry'"
        );
        let text = SHIP.replace("assume: attempt < 9", &keys).replace("timeout: 500ms", "timeout: 60s");
        desk.write("w.yaml", &text.replace("sleep 5", "sleep 60"));
        let mut child = desk.start(&["run", "w.yaml"]);
        desk.until("the effect has begun", || desk.path().join("world").exists());
        child.kill().expect("it can be killed");
        child.wait().expect("it is gone");
        let owner = desk.read("world").trim().to_owned();
        desk.write("fast", "");
        let other = desk.escrow(&["run", "w.yaml"]);
        assert_eq!(other.code, Some(0), "{}", other.stderr);
        assert_eq!(desk.read("looks").lines().count(), 1, "the other run looked");
        desk.write("done", "");
        let resumed = desk.escrow(&["resume", "--all"]);
        assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
        let ship = &desk.show(&owner)["checks"]["ship"];
        assert_eq!((&ship["status"], &ship["output"]), (&json!("succeeded"), &json!("ok")), "{ship}");
        assert_eq!(desk.read("looks").lines().count(), 1, "the answer makes the probe unnecessary");
        assert_eq!(desk.read("world").lines().count(), 2);
    }
}

#[test]
fn a_run_that_waits_for_an_effect_elsewhere_is_resumed_once_the_ledger_has_the_answer() {
    let desk = Desk::new();
    let (owner, other) = owner_and_other(&desk);
    assert!(next_of(&desk, &other).iter().all(|next| next.contains("--assume")), "nothing is settled yet");
    assert_eq!(assume(&desk, &owner, "done").code, Some(0));
    assert_eq!(next_of(&desk, &other), vec![format!("escrow resume {other}"); 4]);
    assert_eq!(desk.escrow(&["resume", &other]).code, Some(0));
    assert_eq!(desk.show(&other)["checks"]["ship"]["result"]["already_done"], true);
}

#[test]
fn every_view_of_an_expired_approval_gives_resume_as_the_next_command() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        "checks: {ship: {type: command, criticality: external, assume: 'true', exec: echo, requires_approval: {expires: 200ms}}}",
    );
    assert_eq!(code, Some(4), "{document}");
    let run = document["run"]["id"].as_str().expect("an id");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(next_of(&desk, run), vec![format!("escrow resume {run}"); 4]);
}
