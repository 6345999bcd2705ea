//! Effects of nested runs: under an `effect_key` they span runs, and what a nested run did not keep stays unkept.

mod desk;

use desk::Desk;

const NESTED: &str = "checks: {nest: {type: playbook, playbook: inner.yaml, effect_key: rel}}";

fn paid(desk: &Desk) -> usize {
    desk.read("paid").lines().count()
}

#[test]
fn a_confirmed_effect_inside_a_keyed_playbook_check_is_not_repeated_by_another_run() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        r#"checks:
  pay: {type: command, exec: 'echo "$ESCROW_IDEMPOTENCY_KEY" >> paid; echo paid', criticality: external, guarantee: "output === 'paid'"}
  after: {type: command, depends_on: pay, exec: 'test -e okay'}"#,
    );
    assert_eq!(desk.run(NESTED).0, Some(1));
    assert_eq!(desk.run(NESTED).0, Some(1));
    desk.write("okay", "");
    let (code, document) = desk.run(NESTED);
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(paid(&desk), 1);
}

#[test]
fn one_that_broke_its_contract_is_judged_again_and_not_repeated() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        r#"checks: {pay: {type: command, exec: 'echo x >> paid', criticality: external, guarantee: "output === 'paid'"}}"#,
    );
    for _ in 0..3 {
        assert_eq!(desk.run(NESTED).0, Some(1));
    }
    assert_eq!(paid(&desk), 1);
}

#[test]
fn an_edited_nested_playbook_is_another_request_under_the_same_key() {
    let desk = Desk::new();
    let inner = |word: &str| {
        format!("checks: {{pay: {{type: command, exec: 'echo {word} >> paid', criticality: external}}}}")
    };
    desk.write("inner.yaml", &inner("one"));
    assert_eq!(desk.run(NESTED).0, Some(0));
    desk.write("inner.yaml", &inner("two"));
    let (code, document) = desk.run(NESTED);
    assert_eq!(code, Some(1), "{document}");
    assert_eq!(document["checks"]["nest"]["issues"][0]["rule_id"], "effect/key_conflict");
    assert_eq!(desk.read("paid"), "one\n");
}

#[test]
fn done_confirms_the_effect_of_a_nested_run_and_does_not_keep_its_contracts() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        r#"timeout: 500ms
checks:
  migrate: {type: command, exec: 'echo migrate >> paid; sleep 30', criticality: external, guarantee: "output === 'ok'"}
  smoke: {type: command, depends_on: migrate, exec: 'echo bad', guarantee: "output === 'good'"}"#,
    );
    let outer = "checks:
  nest: {type: playbook, playbook: inner.yaml}
  ship: {type: command, depends_on: nest, exec: 'touch shipped', criticality: external}";
    let (code, document) = desk.run(outer);
    assert_eq!(code, Some(4), "{document}");
    let run = document["run"]["id"].as_str().expect("an id");
    assert_eq!(desk.escrow(&["resume", run, "--assume", "nest=done"]).code, Some(124), "its time was up");
    assert_eq!(desk.show(run)["run"]["reason"]["code"], "run.timed_out.deadline");
    assert!(!desk.path().join("shipped").exists());
}

const AND_SHIP: &str = "checks:
  nest: {type: playbook, playbook: inner.yaml, effect_key: rel}
  ship: {type: command, depends_on: nest, exec: 'touch shipped', criticality: external}";

/// An effect that takes a while, and a check behind it that breaks its contract.
const SLOW: &str = r#"checks:
  migrate: {type: command, exec: 'echo x >> paid; touch begun; sleep 5', criticality: external}
  smoke: {type: command, depends_on: migrate, exec: 'echo bad', guarantee: "output === 'good'"}"#;

fn is_shipped(desk: &Desk) -> bool {
    desk.path().join("shipped").exists()
}

#[test]
fn done_about_a_nested_run_that_was_cut_off_is_green_in_no_other_run() {
    let desk = Desk::new();
    desk.write("inner.yaml", SLOW);
    let (code, _) = desk.run_with(AND_SHIP, &["--timeout", "1s"]);
    assert_eq!(code, Some(124));
    let said = desk.escrow(&["effects", "resolve", "rel", "done", "--by", "ann", "--why", "seen"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for _ in 0..2 {
        let (_, document) = desk.run(AND_SHIP);
        assert_eq!(document["checks"]["nest"]["issues"][0]["rule_id"], "playbook/run.cancelled.system");
        assert_eq!(document["run"]["status"], "cancelled", "{document}");
    }
    assert!(!is_shipped(&desk));
}

#[test]
fn a_word_about_a_nested_run_settles_what_it_left_unknown_and_nobody_is_asked_again() {
    let inner = "checks: {migrate: {type: command, exec: 'echo x >> paid; test -e fast || sleep 9', criticality: external}}";
    for (word, by_resolve, paid_then) in [("failed", true, 2), ("failed", false, 2), ("done", true, 1)] {
        let desk = Desk::new();
        desk.write("inner.yaml", inner);
        let (code, document) = desk.run_with(AND_SHIP, &["--timeout", "1s"]);
        assert_eq!(code, Some(124), "{document}");
        let run = document["run"]["id"].as_str().expect("an id").to_owned();
        let said = desk.escrow(&["effects", "resolve", "rel", word, "--by", "ann", "--why", "looked"]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let states = desk.escrow(&["effects", "--output", "json"]).json();
        let states = states["effects"].as_array().expect("a list").clone();
        assert!(states.len() == 2 && states.iter().all(|one| one["state"] != "unknown"), "{states:?}");
        let items = desk.escrow(&["attention", "--output", "json"]).json();
        let asks = items["attention"].as_array().expect("a list").iter();
        assert_eq!(asks.filter(|item| item["kind"] == "unknown_effect").count(), 0, "{items}");
        desk.write("fast", "");
        if by_resolve {
            desk.escrow(&["resume", &run, "--failed", "--quiet"]);
        } else {
            desk.run(AND_SHIP);
        }
        let waits = desk.escrow(&["approvals", "--output", "json"]).json();
        assert_eq!(waits["approvals"], serde_json::json!([]), "{word}");
        assert_eq!(paid(&desk), paid_then, "{word}");
        assert_eq!(
            is_shipped(&desk),
            word == "failed",
            "{word}: nothing says that what was cut off was kept"
        );
    }
}

#[test]
fn a_nested_run_of_a_dead_process_is_continued_and_nobody_else_can_say_that_it_completed() {
    let desk = Desk::new();
    desk.write("inner.yaml", SLOW);
    desk.write("outer.yaml", AND_SHIP);
    let mut first = desk.start(&["run", "outer.yaml"]);
    desk.until("the effect has begun", || desk.path().join("begun").exists());
    first.kill().expect("it can be killed");
    first.wait().expect("it is gone");
    let (code, document) = desk.run(AND_SHIP);
    assert_eq!(code, Some(4), "{document}");
    let listed = desk.escrow(&["effects", "--key", "rel", "--output", "json"]).json();
    let holder = listed["effects"][0]["run_id"].as_str().expect("an id").to_owned();
    let summary = document["run"]["reason"]["summary"].as_str().expect("a text");
    assert!(summary.contains(&format!("`escrow resume {holder}` continues it")), "{summary}");
    let refused = desk.escrow(&["effects", "resolve", "rel", "done", "--by", "ann", "--why", "seen"]);
    assert_eq!(refused.code, Some(4));
    assert!(refused.stderr.contains(&format!("escrow resume {holder}")), "{}", refused.stderr);
    let second = document["run"]["id"].as_str().expect("an id");
    assert_eq!(desk.escrow(&["resume", second, "--assume", "nest=done"]).code, Some(1));
    let document = desk.show(second);
    assert_eq!(document["checks"]["nest"]["issues"][0]["rule_id"], "effect/output_lost");
    assert_eq!(document["checks"]["ship"]["skip_reason"], "contract_blocked");
    assert!(!is_shipped(&desk));
}

#[test]
fn a_broken_contract_or_a_missing_item_inside_a_nested_run_blocks_effects_of_every_run_with_its_key() {
    let broken = "smoke: {type: command, exec: 'echo bad', fail_if: output === 'bad', criticality: info, continue_on_failure: true}";
    let hole = "list: {type: command, exec: 'echo [1,2]', forEach: true}
  each: {type: command, depends_on: list, exec: 'true', assume: item !== 2}";
    for inside in [broken, hole] {
        let desk = Desk::new();
        let pay = "pay: {type: command, exec: 'echo x >> paid', criticality: external}";
        desk.write("inner.yaml", &format!("checks:\n  {pay}\n  {inside}"));
        for _ in 0..3 {
            let (_, document) = desk.run(AND_SHIP);
            assert_eq!(document["checks"]["nest"]["status"], "succeeded", "{document}");
            assert_eq!(document["checks"]["ship"]["skip_reason"], "contract_blocked", "{document}");
        }
        assert!(paid(&desk) == 1 && !is_shipped(&desk));
    }
}

#[test]
fn the_effect_of_a_nested_run_is_blocked_whatever_criticality_its_check_claims() {
    for criticality in ["policy", "internal", "info"] {
        let desk = Desk::new();
        desk.write(
            "inner.yaml",
            "checks: {x: {type: command, criticality: external, exec: 'touch shipped'}}",
        );
        let (_, document) = desk.run(&format!(
            "checks:
  tests: {{type: command, exec: 'echo 1', guarantee: 'output === 0', continue_on_failure: true}}
  n: {{type: playbook, playbook: inner.yaml, depends_on: tests, criticality: {criticality}}}"
        ));
        assert_eq!(document["checks"]["n"]["skip_reason"], "contract_blocked", "{document}");
        assert!(!desk.path().join("shipped").exists());
    }
}

#[test]
fn a_guard_inside_a_nested_run_that_could_not_be_evaluated_holds_back_the_outer_effect() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        "checks:
  tests: {type: command, exec: 'exit 1', if: 'outputs.b.x.y'}
  b: {type: command, exec: 'echo {}'}",
    );
    let (_, document) = desk.run(
        "checks:
  n: {type: playbook, playbook: inner.yaml}
  ship: {type: command, depends_on: n, criticality: external, exec: 'touch shipped'}",
    );
    assert_eq!(document["checks"]["ship"]["skip_reason"], "contract_blocked", "{document}");
    assert!(!desk.path().join("shipped").exists());
}

#[test]
fn of_two_people_who_settle_one_effect_at_once_exactly_one_is_told_that_it_counts() {
    for round in 0..6 {
        let desk = Desk::new();
        desk.run("checks: {x: {type: command, criticality: external, exec: 'kill -9 $$'}}");
        let effects = desk.escrow(&["effects", "--output", "json"]).json();
        let key = effects["effects"][0]["key"].as_str().expect("a key").to_owned();
        if round % 2 == 1 {
            desk.escrow(&["cancel", "last"]);
        }
        let words = ["done", "failed"].map(|word| {
            (word, desk.start(&["effects", "resolve", &key, word, "--by", "ann", "--why", "seen"]))
        });
        let mut accepted = Vec::new();
        for (word, child) in words {
            let code = child.wait_with_output().expect("it ends").status.code();
            // The run fails when the effect did not happen, and its code is then that of the run.
            match code {
                Some(0 | 1) => accepted.push(word),
                other => assert_eq!(other, Some(4), "{word} in round {round}"),
            }
        }
        let state = desk.escrow(&["effects", "--output", "json"]).json()["effects"][0]["state"].clone();
        let expected = if accepted == ["done"] { "confirmed" } else { "failed" };
        assert_eq!(accepted.len(), 1, "round {round}: {accepted:?}");
        assert_eq!(state, expected, "round {round}");
    }
}
