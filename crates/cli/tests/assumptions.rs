//! What a person says about unknown effects with `resume --assume`: whose effects they are, and which answers are refused.

mod desk;

use desk::{Desk, Done};
use serde_json::{Value, json};

/// Ships once for all runs, and waits for the file `go` before it is done.
const SHIP: &str = r#"
name: ship
checks:
  ship:
    type: command
    criticality: external
    assume: attempt < 9
    exec: touch began; until test -e go || ! test -e began; do sleep 0.05; done; echo shipped >> world
    guarantee: checkName !== ''
    effect_key: shipment
  tell: {type: command, criticality: external, depends_on: ship, exec: echo told >> world, assume: attempt < 9, guarantee: checkName !== ''}
"#;

fn approved() -> String {
    SHIP.replace("    effect_key: shipment", "    effect_key: shipment\n    requires_approval: true")
}

fn state_of(desk: &Desk, key: &str) -> Value {
    let listed = desk.escrow(&["effects", "--key", key, "--output", "json"]).json();
    listed["effects"][0]["state"].clone()
}

fn approvals(desk: &Desk) -> Vec<Value> {
    desk.escrow(&["approvals", "--output", "json"]).json()["approvals"].as_array().expect("a list").clone()
}

fn kinds(desk: &Desk) -> Vec<String> {
    approvals(desk).iter().map(|one| one["kind"].as_str().expect("a kind").to_owned()).collect()
}

/// A run that was killed while it shipped, and a second one that waits for its effect.
fn killed_and_waiting(desk: &Desk, second: &str) -> String {
    desk.write("first.yaml", SHIP);
    let mut first = desk.start(&["run", "first.yaml"]);
    desk.until("it ships", || desk.path().join("began").exists());
    first.kill().expect("it runs");
    first.wait().expect("it ends");
    let (code, document) = desk.run(second);
    assert_eq!(code, Some(4), "{document}");
    document["run"]["id"].as_str().expect("an id").to_owned()
}

fn assume(desk: &Desk, run: &str, word: &str) -> Done {
    desk.escrow(&["resume", run, "--assume", word])
}

#[test]
fn done_confirms_the_effect_of_another_run_for_all_runs() {
    let desk = Desk::new();
    let second = killed_and_waiting(&desk, SHIP);
    let resumed = assume(&desk, &second, "ship=done");
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(state_of(&desk, "shipment"), "confirmed");
    let (code, third) = desk.run(SHIP);
    assert_eq!(code, Some(0), "{third}");
    assert_eq!(third["checks"]["ship"]["result"]["already_done"], true);
    assert!(!desk.read("world").contains("shipped"), "no run has shipped a second time");
}

#[test]
fn failed_fails_the_effect_of_another_run_for_all_runs() {
    let desk = Desk::new();
    let second = killed_and_waiting(&desk, SHIP);
    assert_eq!(assume(&desk, &second, "ship=failed").code, Some(1));
    assert_eq!(state_of(&desk, "shipment"), "failed");
    desk.write("go", "");
    let (code, third) = desk.run(SHIP);
    assert_eq!((code, &third["checks"]["ship"]["runs"]), (Some(0), &json!(1)), "{third}");
}

#[test]
fn an_effect_that_another_run_is_at_work_on_is_not_for_a_person_to_settle() {
    let desk = Desk::new();
    desk.write("first.yaml", SHIP);
    let mut first = desk.start(&["run", "first.yaml"]);
    desk.until("it ships", || desk.path().join("began").exists());
    let (_, document) = desk.run(SHIP);
    let second = document["run"]["id"].as_str().expect("an id").to_owned();
    for word in ["ship=done", "ship=failed", "ship=retry"] {
        let refused = assume(&desk, &second, word);
        assert_eq!(refused.code, Some(4), "{}", refused.stderr);
        assert!(refused.stderr.contains("is under way in run"), "{}", refused.stderr);
    }
    desk.write("go", "");
    first.wait().expect("it ends");
    assert_eq!(desk.escrow(&["resume", &second]).code, Some(0));
    assert_eq!(desk.read("world").matches("shipped").count(), 1);
}

#[test]
fn an_answer_at_one_check_settles_the_effect_of_another_check_of_the_run() {
    let desk = Desk::new();
    let two = SHIP.replace("  tell:", "  also: {type: command, criticality: external, exec: touch began; until test -e go || ! test -e began; do sleep 0.05; done; echo shipped >> world, effect_key: shipment}\n  tell:");
    desk.write("two.yaml", &two);
    let mut run = desk.start(&["run", "two.yaml"]);
    desk.until("it ships", || desk.path().join("began").exists());
    desk.until("the other check waits", || !approvals(&desk).is_empty());
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    let waits = approvals(&desk)[0]["check"].as_str().expect("a check").to_owned();
    let own = if waits == "ship" { "also" } else { "ship" };
    assert_eq!(assume(&desk, "last", &format!("{waits}=done")).code, Some(4), "the other check still asks");
    assert_eq!(state_of(&desk, "shipment"), "confirmed");
    desk.write("go", "");
    let refused = assume(&desk, "last", &format!("{own}=retry"));
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    assert!(refused.stderr.contains("it is confirmed since"), "{}", refused.stderr);
    let resumed = desk.escrow(&["resume", "last"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert!(!desk.read("world").contains("shipped"), "it is confirmed, so it is not repeated");
}

#[test]
fn a_question_that_the_ledger_answers_is_withdrawn_and_its_answer_does_not_replace_an_approval() {
    let desk = Desk::new();
    let second = killed_and_waiting(&desk, &approved());
    assert_eq!(kinds(&desk), ["unknown_effect"]);
    let resolved =
        desk.escrow(&["effects", "resolve", "shipment", "failed", "--by", "ada", "--why", "I looked"]);
    assert_eq!(resolved.code, Some(0), "{}", resolved.stderr);
    let refused = assume(&desk, &second, "ship=done");
    assert_eq!(refused.code, Some(4), "the ledger has answered: {}", refused.stderr);
    assert!(refused.stderr.contains("it is failed"), "{}", refused.stderr);
    assert_eq!(desk.escrow(&["resume", &second]).code, Some(4));
    assert_eq!(kinds(&desk), ["approval"], "one question is left");
    let attention = desk.escrow(&["attention", "--output", "json"]).stdout;
    assert!(!attention.contains("unknown_effect"), "{attention}");
    for word in ["ship=done", "ship=retry"] {
        let refused = assume(&desk, &second, word);
        assert_eq!(refused.code, Some(4), "{}", refused.stderr);
        assert!(refused.stderr.contains("is not unknown"), "{}", refused.stderr);
    }
    assert_eq!(kinds(&desk), ["approval"], "it is asked once");
    assert!(!desk.read("world").contains("shipped"));
    let id = approvals(&desk)[0]["id"].as_str().expect("an id").to_owned();
    desk.write("go", "");
    assert_eq!(desk.escrow(&["approve", &id]).code, Some(0));
    assert_eq!(desk.show(&second)["run"]["status"], "completed");
}

#[test]
fn a_run_that_is_resumed_while_it_waits_for_another_one_asks_once() {
    let desk = Desk::new();
    let second = killed_and_waiting(&desk, SHIP);
    assert_eq!(desk.escrow(&["resume", &second]).code, Some(4));
    assert_eq!(desk.escrow(&["resume", &second]).code, Some(4));
    assert_eq!(kinds(&desk).len(), 1);
}

#[test]
fn items_with_one_key_in_one_run_do_not_wait_for_the_run_itself() {
    let desk = Desk::new();
    let playbook = r#"
checks:
  list: {type: command, exec: "echo '[\"a\", \"a\", \"b\"]'", forEach: true}
  ship:
    type: command
    criticality: external
    depends_on: list
    assume: attempt < 9
    guarantee: checkName !== ''
    requires_approval: true
    exec: touch began; until test -e go || ! test -e began; do sleep 0.05; done; echo {{ item }} >> world
    effect_key: "s-{{ item }}"
"#;
    desk.write("items.yaml", playbook);
    assert_eq!(desk.escrow(&["run", "items.yaml"]).code, Some(4));
    let run = desk.show("last")["run"]["id"].as_str().expect("an id").to_owned();
    let first = approvals(&desk)[0]["id"].as_str().expect("an id").to_owned();
    let mut driver = desk.start(&["approve", &first]);
    desk.until("it ships", || desk.path().join("began").exists());
    driver.kill().expect("it runs");
    driver.wait().expect("it ends");
    // This also ends the command that was left running.
    assert_eq!(desk.escrow(&["resume", &run]).code, Some(4));
    desk.write("go", "");
    for _ in 0..12 {
        let Some(asked) = approvals(&desk).into_iter().next() else { break };
        let id = asked["id"].as_str().expect("an id");
        let done = match asked["kind"].as_str() {
            Some("approval") => desk.escrow(&["approve", id]),
            _ => {
                let place = format!("{}{}=retry", asked["check"].as_str().expect("a check"), indices(&asked));
                assume(&desk, &run, &place)
            }
        };
        assert!(!done.stderr.contains(&format!("under way in run `{run}`")), "{}", done.stderr);
    }
    assert_eq!(desk.show(&run)["run"]["status"], "completed", "{}", desk.escrow(&["approvals"]).stdout);
    let world = desk.read("world");
    let mut shipped: Vec<&str> = world.lines().collect();
    shipped.sort_unstable();
    assert_eq!(shipped, ["a", "b"], "each key once");
}

fn indices(asked: &Value) -> String {
    asked["scope"].as_str().map(str::to_owned).unwrap_or_else(|| panic!("{asked}"))
}

#[test]
fn an_answer_about_nothing_is_a_usage_error_and_drives_nothing() {
    let desk = Desk::new();
    let playbook = r#"
checks:
  list: {type: command, exec: "echo '[1]'", forEach: true}
  m: {type: command, depends_on: list, exec: "true"}
  ask: {type: human-input, prompt: 'Sure?', depends_on: m}
"#;
    let (code, _) = desk.run(playbook);
    assert_eq!(code, Some(4));
    let entries = |desk: &Desk| desk.escrow(&["logs", "last"]).stdout.lines().count();
    let before = entries(&desk);
    for (word, code, text) in [
        ("nope=done", 2, "no check is called `nope`"),
        ("m[7]=done", 2, "no item is called `m[7]`"),
        ("m=done", 2, "`m` runs once per item"),
        ("m[0]=done", 4, "the effect of `m[0]` is not unknown"),
    ] {
        let refused = assume(&desk, "last", word);
        assert_eq!(refused.code, Some(code), "{word}: {}", refused.stderr);
        assert!(refused.stderr.contains(text), "{word}: {}", refused.stderr);
    }
    assert_eq!(entries(&desk), before, "nothing was driven");
}

#[test]
fn the_command_about_an_item_is_quoted_for_shells_that_read_brackets() {
    let desk = Desk::new();
    desk.write(
        "items.yaml",
        "checks:
  list: {type: command, exec: 'echo [1]', forEach: true}
  each: {type: command, depends_on: list, criticality: external, exec: 'kill -9 $$'}",
    );
    let waits = desk.escrow(&["run", "items.yaml"]);
    let said = format!("{}{}", waits.stdout, waits.stderr);
    assert!(said.contains("--assume 'each[0]=done'"), "{said}");
}

#[test]
fn a_key_that_no_effect_has_is_said_to_have_none() {
    let desk = Desk::new();
    desk.run("checks: {a: {type: noop}}");
    let listed = desk.escrow(&["effects", "--key", "nokey"]);
    assert_eq!(listed.code, Some(0));
    assert!(listed.stderr.contains("no effect has the key `nokey`"), "{}", listed.stderr);
}

/// The command and the key are the same. What another check hands over is not.
#[test]
fn a_variable_that_was_handed_over_makes_another_request() {
    let desk = Desk::new();
    let playbook = r#"
inputs: {to: {type: string}}
checks:
  choose: {type: command, exec: 'echo TO={{ inputs.to }} >> $ESCROW_ENV'}
  ship:
    type: command
    criticality: external
    depends_on: choose
    exec: echo $TO >> world
    effect_key: shipment
"#;
    assert_eq!(desk.run_with(playbook, &["--input", "to=rome"]).0, Some(0));
    let (code, document) = desk.run_with(playbook, &["--input", "to=oslo"]);
    assert_eq!(code, Some(1), "{document}");
    assert_eq!(document["checks"]["ship"]["issues"][0]["rule_id"], "effect/key_conflict");
    assert_eq!(desk.run_with(playbook, &["--input", "to=rome"]).0, Some(0));
    assert_eq!(desk.read("world"), "rome\n");
}

#[test]
fn a_check_that_does_not_exist_is_a_usage_error_after_the_run_has_ended_too() {
    let desk = Desk::new();
    desk.run("checks: {x: {type: command, exec: 'false'}}");
    for (word, code) in [("zz=done", 2), ("x[3]=done", 2), ("x=done", 4)] {
        let refused = assume(&desk, "last", word);
        assert_eq!(refused.code, Some(code), "{word}: {}", refused.stderr);
    }
}
