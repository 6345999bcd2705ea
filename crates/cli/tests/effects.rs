//! Effects of real runs: the ledger that they share, and the words of people about it.

mod desk;

use desk::Desk;
use serde_json::{Value, json};

/// Publishes a version once: a line in the file `world`.
const PUBLISH: &str = r#"
name: publish
inputs: {version: {type: string, default: "1"}, note: {type: string, default: ""}}
checks:
  publish:
    type: command
    criticality: external
    assume: inputs.version !== ''
    exec: |
      echo {{ inputs.version }} {{ inputs.note }} >> world
      echo $ESCROW_IDEMPOTENCY_KEY >> keys
      echo '{"id": 7}'
    guarantee: output.id === 7
    effect_key: "publish-{{ inputs.version }}"
"#;

/// The same, but it waits for the file `go` before it is done.
fn slow() -> String {
    PUBLISH.replace(
        "echo {{ inputs.version }}",
        "touch started; until test -e go; do sleep 0.05; done; echo {{ inputs.version }}",
    )
}

fn lines(desk: &Desk, file: &str) -> usize {
    desk.read(file).lines().count()
}

fn effects(desk: &Desk, more: &[&str]) -> Vec<Value> {
    let mut arguments = vec!["effects", "--output", "json"];
    arguments.extend(more);
    let done = desk.escrow(&arguments);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    done.json()["effects"].as_array().expect("a list").clone()
}

#[test]
fn an_effect_with_a_key_happens_once_over_all_runs() {
    let desk = Desk::new();
    let (code, first) = desk.run(PUBLISH);
    assert_eq!((code, &first["checks"]["publish"]["runs"]), (Some(0), &json!(1)), "{first}");
    let (code, second) = desk.run(PUBLISH);
    let publish = &second["checks"]["publish"];
    assert_eq!(code, Some(0), "{second}");
    assert_eq!(second["run"]["reason"]["code"], "run.completed.ok");
    assert_eq!((&publish["runs"], &publish["status"]), (&json!(0), &json!("succeeded")));
    assert_eq!((&publish["result"]["already_done"], &publish["output"]), (&json!(true), &json!({"id": 7})));
    assert_eq!(lines(&desk, "world"), 1);
    let explained = desk.escrow(&["explain", "last", "publish"]).stdout;
    assert!(explained.contains("was already done: run r_"), "{explained}");
    let (_, other) = desk.run_with(PUBLISH, &["--input", "version=2"]);
    assert_eq!(other["checks"]["publish"]["runs"], 1);
    assert_eq!(lines(&desk, "world"), 2);
}

#[test]
fn the_ledger_is_listed_in_the_documented_shape() {
    let desk = Desk::new();
    let (_, run) = desk.run(PUBLISH);
    let listed = effects(&desk, &["--key", "publish-1"]);
    let effect = &listed[0];
    assert_eq!(listed.len(), 1);
    assert_eq!(effect["key"], "publish-1");
    assert_eq!(effect["state"], "confirmed");
    assert_eq!(effect["run_id"], run["run"]["id"]);
    assert_eq!(effect["check"], "publish");
    assert_eq!(effect["scope"], json!([]));
    assert_eq!(effect["generation"], Value::Null);
    assert_eq!(effect["attempts"], 1);
    assert_eq!(effect["output"], json!({"id": 7}));
    for time in ["intended_at", "answered_at"] {
        assert!(effect[time].as_str().is_some_and(|time| time.ends_with('Z')), "{effect}");
    }
    assert_eq!(effect["request_digest"].as_str().map(str::len), Some(64));
    assert_eq!(effects(&desk, &["--run", "last"]), listed);
    assert_eq!(effects(&desk, &["--key", "another"]), Vec::<Value>::new());
    assert!(desk.escrow(&["effects"]).stdout.contains("publish-1  confirmed  publish"));
}

#[test]
fn a_check_without_an_effect_key_has_a_generation_and_a_key_of_its_run() {
    let desk = Desk::new();
    let playbook = r#"
checks:
  list: {type: command, exec: "echo '[\"a\"]'", forEach: true}
  post: {type: command, criticality: external, exec: "true", depends_on: list}
"#;
    desk.run(playbook);
    let listed = effects(&desk, &[]);
    assert_eq!(listed[0]["generation"], 1);
    assert_eq!(listed[0]["scope"], json!([{"check": "list", "index": 0}]));
    assert!(listed[0]["key"].as_str().is_some_and(|key| key.starts_with("e_")), "{listed:?}");
    desk.run(playbook);
    assert_eq!(effects(&desk, &[]).len(), 2, "another run has another effect");
}

#[test]
fn the_same_key_for_another_request_is_a_conflict() {
    let desk = Desk::new();
    desk.run(PUBLISH);
    let (code, document) = desk.run_with(PUBLISH, &["--input", "note=again"]);
    assert_eq!(code, Some(1), "{document}");
    assert_eq!(document["checks"]["publish"]["issues"][0]["rule_id"], "effect/key_conflict");
    assert_eq!(lines(&desk, "world"), 1);
}

#[test]
fn an_effect_that_definitely_failed_may_be_attempted_by_another_run() {
    let desk = Desk::new();
    let failing = PUBLISH.replace("exec: |", "exec: |\n      test -e repaired || exit 1");
    let (code, _) = desk.run(&failing);
    assert_eq!(code, Some(1));
    assert_eq!(effects(&desk, &[])[0]["state"], "failed");
    desk.write("repaired", "");
    let (code, document) = desk.run(&failing);
    assert_eq!((code, &document["checks"]["publish"]["runs"]), (Some(0), &json!(1)), "{document}");
    let listed = effects(&desk, &[]);
    assert_eq!((&listed[0]["state"], &listed[0]["attempts"]), (&json!("confirmed"), &json!(2)));
}

#[test]
fn again_is_a_persons_word_against_the_ledger_and_a_new_key() {
    let desk = Desk::new();
    desk.run(PUBLISH);
    let (code, document) = desk.run_with(PUBLISH, &["--again", "publish"]);
    assert_eq!((code, &document["checks"]["publish"]["runs"]), (Some(0), &json!(1)), "{document}");
    assert_eq!(lines(&desk, "world"), 2);
    let keys = desk.read("keys");
    let keys: Vec<&str> = keys.lines().collect();
    assert_ne!(keys[0], keys[1], "a receiver must not take it for a repeat");
    let (code, _) = desk.run_with(PUBLISH, &["--again", "publihs"]);
    assert_eq!(code, Some(2));
    let plain = PUBLISH.replace("    effect_key: \"publish-{{ inputs.version }}\"\n", "");
    let (code, _) = desk.run_with(&plain, &["--again", "publish"]);
    assert_eq!(code, Some(2), "without an `effect_key` there is nothing to say against");
}

#[test]
fn an_effect_under_way_elsewhere_waits_names_the_run_and_is_found_done_on_resume() {
    let desk = Desk::new();
    desk.write("slow.yaml", &slow());
    let mut first = desk.start(&["run", "slow.yaml"]);
    desk.until("the effect has begun", || desk.path().join("started").exists());
    let listed = effects(&desk, &[]);
    assert_eq!(listed[0]["state"], "intended");
    let holder = listed[0]["run_id"].as_str().expect("an id").to_owned();
    let (code, document) = desk.run(&slow());
    assert_eq!(code, Some(4), "{document}");
    assert_eq!(document["run"]["reason"]["code"], "run.waiting.unknown_effect");
    let summary = document["run"]["reason"]["summary"].as_str().expect("a text");
    assert!(summary.contains(&holder) && summary.contains("under way"), "{summary}");
    desk.write("go", "");
    first.wait().expect("it ends");
    let second = document["run"]["id"].as_str().expect("an id");
    let resumed = desk.escrow(&["resume", "--all"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let publish = &desk.show(second)["checks"]["publish"];
    assert_eq!((&publish["runs"], &publish["result"]["already_done"]), (&json!(0), &json!(true)));
    assert_eq!(lines(&desk, "world"), 1);
}

#[test]
fn runs_that_start_together_have_the_effect_once() {
    let desk = Desk::new();
    desk.write("playbook.yaml", PUBLISH);
    let mut all: Vec<_> = (0..6).map(|_| desk.start(&["run", "playbook.yaml"])).collect();
    for one in &mut all {
        one.wait().expect("it ends");
    }
    assert_eq!(lines(&desk, "world"), 1);
    desk.escrow(&["resume", "--all", "--jobs", "3"]);
    assert_eq!(lines(&desk, "world"), 1);
    let listed = desk.escrow(&["runs", "--output", "json"]).json();
    let statuses: Vec<&Value> =
        listed["runs"].as_array().expect("a list").iter().map(|run| &run["status"]).collect();
    assert!(statuses.iter().all(|status| **status == "completed"), "{statuses:?}");
}

/// A run that was killed while its effect was under way.
fn killed(desk: &Desk) -> String {
    desk.write("slow.yaml", &slow());
    let mut child = desk.start(&["run", "slow.yaml"]);
    desk.until("the effect has begun", || desk.path().join("started").exists());
    child.kill().expect("it can be killed");
    child.wait().expect("it is gone");
    let listed = effects(desk, &[]);
    assert_eq!(listed[0]["state"], "unknown", "the effect of a dead holder is unknown");
    listed[0]["run_id"].as_str().expect("an id").to_owned()
}

fn resolve(desk: &Desk, word: &str) -> desk::Done {
    desk.escrow(&["effects", "resolve", "publish-1", word, "--by", "ada", "--why", "the registry has it"])
}

#[test]
fn a_person_settles_an_effect_that_a_dead_run_left_unknown() {
    let desk = Desk::new();
    let holder = killed(&desk);
    let (code, document) = desk.run(&slow());
    assert_eq!(code, Some(4));
    let summary = document["run"]["reason"]["summary"].as_str().expect("a text");
    assert!(summary.contains(&holder), "{summary}");
    let resolved = resolve(&desk, "failed");
    assert_eq!(resolved.code, Some(0), "{}", resolved.stderr);
    assert_eq!(effects(&desk, &[])[0]["state"], "failed");
    assert_eq!(desk.show(&holder)["run"]["status"], "failed");
    desk.write("go", "");
    let second = document["run"]["id"].as_str().expect("an id");
    assert_eq!(desk.escrow(&["resume", second]).code, Some(0));
    assert_eq!(desk.show(second)["checks"]["publish"]["runs"], 1);
}

/// The command of a killed Escrow lives on. Before another run asks whether the effect happened, that command is ended:
/// otherwise both would have it.
#[test]
fn a_command_that_outlives_its_escrow_is_ended_before_another_run_looks_for_its_effect() {
    let desk = Desk::new();
    killed(&desk);
    let looks = "    reconcile: test -s world && echo done || echo retry\n";
    let playbook = slow().replace("    effect_key:", &format!("{looks}    effect_key:"));
    desk.write("second.yaml", &playbook);
    std::fs::remove_file(desk.path().join("started")).expect("the first run has begun");
    let mut second = desk.start(&["run", "second.yaml"]);
    desk.until("the second run has begun", || desk.path().join("started").exists());
    desk.write("go", "");
    assert_eq!(second.wait().expect("it ends").code(), Some(0));
    assert_eq!(lines(&desk, "world"), 1, "the first command was ended before the second began");
}

#[test]
fn a_person_may_answer_for_the_effect_of_another_run_while_the_ledger_is_asked_again() {
    let desk = Desk::new();
    killed(&desk);
    let (code, document) = desk.run(&slow());
    assert_eq!(code, Some(4));
    desk.write("go", "");
    let second = document["run"]["id"].as_str().expect("an id");
    let resumed = desk.escrow(&["resume", second, "--assume", "publish=retry"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(desk.show(second)["checks"]["publish"]["runs"], 1);
}

#[test]
fn a_person_settles_an_effect_after_its_run_has_ended() {
    let desk = Desk::new();
    let holder = killed(&desk);
    assert_eq!(desk.escrow(&["cancel", &holder]).code, Some(0));
    assert_eq!(desk.show(&holder)["run"]["status"], "cancelled");
    assert_eq!(effects(&desk, &[])[0]["state"], "unknown");
    let explained = desk.escrow(&["explain", &holder, "publish"]).stdout;
    let words = explained.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("it is unknown whether `publish` happened"), "{explained}");
    assert!(words.contains("escrow effects resolve KEY 'done|failed'"), "{explained}");
    assert!(words.contains("KEY is `publish-1`"), "{explained}");
    let resolved = resolve(&desk, "done");
    assert_eq!(resolved.code, Some(0), "{}", resolved.stderr);
    assert_eq!(effects(&desk, &[])[0]["state"], "confirmed");
    assert_eq!(desk.show(&holder)["run"]["status"], "cancelled", "the run stays as it ended");
    assert_eq!(resolve(&desk, "failed").code, Some(4), "it is not unknown any more");
    assert_eq!(desk.escrow(&["verify", &holder]).code, Some(0));
    // Confirmed without its output: a contract that reads the output fails, and nothing is repeated.
    let (code, document) = desk.run(&slow());
    assert_eq!(code, Some(1), "{document}");
    assert_eq!(document["checks"]["publish"]["issues"][0]["rule_id"], "effect/output_lost");
    assert_eq!(lines(&desk, "world"), 0);
}

#[test]
fn a_secret_that_a_command_prints_is_not_kept_in_the_reason_for_a_resolution() {
    let desk = Desk::new();
    let playbook = "secrets: {TOKEN: {command: [cat, token]}}\nchecks: {x: {type: command, secrets: [TOKEN], criticality: external, exec: 'kill -9 $$'}}";
    desk.write("token", "hunter2-hunter2-hunter2");
    let (code, document) = desk.run(playbook);
    assert_eq!((code, &document["checks"]["x"]["status"]), (Some(4), &json!("unknown")), "{document}");
    desk.escrow(&["cancel", "last"]);
    let key = effects(&desk, &[])[0]["key"].as_str().expect("a key").to_owned();
    let why = "hunter2-hunter2-hunter2 had expired";
    let resolved = desk.escrow(&["effects", "resolve", &key, "failed", "--by", "ada", "--why", why]);
    assert_eq!(resolved.code, Some(0), "{}", resolved.stderr);
    let told = desk.escrow(&["explain", "last", "x"]).stdout;
    assert!(told.contains("*** had expired") && !told.contains("hunter2"), "{told}");
}

#[test]
fn a_check_whose_effect_was_resolved_after_the_end_is_what_the_person_said() {
    const DIES: &str = "checks: {x: {type: command, criticality: external, exec: 'kill -9 $$'}}";
    for (word, status, says) in
        [("done", "succeeded", "it was done"), ("failed", "failed", "it did not happen")]
    {
        let desk = Desk::new();
        let (code, document) = desk.run(DIES);
        assert_eq!((code, &document["checks"]["x"]["status"]), (Some(4), &json!("unknown")), "{document}");
        desk.escrow(&["cancel", "last"]);
        assert_eq!(desk.show("last")["checks"]["x"]["status"], "unknown");
        let key = effects(&desk, &[])[0]["key"].as_str().expect("a key").to_owned();
        let resolved = desk.escrow(&["effects", "resolve", &key, word, "--by", "ada", "--why", "I looked"]);
        assert_eq!(resolved.code, Some(0), "{}", resolved.stderr);
        let check = &desk.show("last")["checks"]["x"];
        assert_eq!((&check["status"], &check["skip_reason"]), (&json!(status), &json!(null)), "{check}");
        let told = desk.escrow(&["explain", "last", "x"]).stdout;
        assert!(told.contains("ada resolved the effect") && told.contains(says), "{told}");
        assert!(!told.starts_with("`x` waits for"), "{told}");
    }
}

/// The attempt failed for certain, `reconcile` prints no answer, so a person is asked before the retry.
#[test]
fn an_effect_that_a_run_asks_about_can_be_resolved_whatever_its_state() {
    const ASKS: &str = r#"
checks:
  ship:
    type: command
    criticality: external
    exec: "echo x >> world; exit 1"
    reconcile: echo maybe
    on_fail: {retry: {max: 1, backoff: {delay_ms: 1}}}
"#;
    for (word, status, code) in [("done", "succeeded", Some(0)), ("failed", "failed", Some(0))] {
        let desk = Desk::new();
        let (waits, document) = desk.run(ASKS);
        assert_eq!(waits, Some(4), "{document}");
        assert_eq!(document["run"]["reason"]["code"], "run.waiting.unknown_effect");
        let effect = effects(&desk, &[])[0].clone();
        assert_eq!(effect["state"], "failed", "{effect}");
        let key = effect["key"].as_str().expect("a key");
        let resolved = desk.escrow(&["effects", "resolve", key, word, "--by", "ada", "--why", "I looked"]);
        assert_eq!(resolved.code, code, "{word}: {}", resolved.stderr);
        assert_eq!(desk.show("last")["checks"]["ship"]["status"], status, "{word}");
        assert_ne!(desk.show("last")["run"]["status"], "waiting", "{word}");
        assert_eq!(lines(&desk, "world"), 1, "nothing was repeated");
        let again = desk.escrow(&["effects", "resolve", key, word, "--by", "ada", "--why", "again"]);
        assert_eq!(again.code, Some(4), "it is settled: {}", again.stderr);
    }
}

#[test]
fn resolving_what_does_not_exist_is_a_usage_error() {
    let desk = Desk::new();
    desk.run(PUBLISH);
    let unknown = desk.escrow(&["effects", "resolve", "nothing", "done", "--by", "ada", "--why", "so"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
    assert_eq!(resolve(&desk, "done").code, Some(4), "it is confirmed already");
    assert_eq!(desk.escrow(&["effects", "resolve", "publish-1", "done"]).code, Some(2));
}

const NESTED: &str = r#"
name: inner
checks:
  publish:
    type: command
    criticality: external
    exec: echo $ESCROW_IDEMPOTENCY_KEY >> world
  settle:
    type: command
    depends_on: publish
    exec: echo x >> tries; test $(wc -l < tries) -ge 2
"#;

#[test]
fn a_retried_playbook_check_reopens_its_nested_run_and_keeps_confirmed_effects() {
    let desk = Desk::new();
    desk.write("inner.yaml", NESTED);
    let (code, document) = desk.run(
        "checks: {nest: {type: playbook, playbook: inner.yaml, on_fail: {retry: {max: 2, backoff: {delay_ms: 1}}}}}",
    );
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(document["checks"]["nest"]["runs"], 2);
    assert_eq!(lines(&desk, "world"), 1, "the effect is confirmed, so it is not repeated");
    assert_eq!(
        effects(&desk, &["--run", "last"]).len(),
        1,
        "the effects of nested runs are listed with the run"
    );
}

#[test]
fn a_nested_effect_keeps_its_key_when_the_outer_run_is_reopened() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        "checks: {publish: {type: command, criticality: external, exec: echo $ESCROW_IDEMPOTENCY_KEY >> world; test -e repaired}}",
    );
    let (code, _) = desk.run("checks: {nest: {type: playbook, playbook: inner.yaml}}");
    assert_eq!(code, Some(1));
    desk.write("repaired", "");
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(0));
    let world = desk.read("world");
    let keys: Vec<&str> = world.lines().collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn the_key_is_the_same_when_a_failed_run_is_reopened() {
    let desk = Desk::new();
    let (code, _) = desk.run(
        "checks: {post: {type: command, criticality: external, exec: echo $ESCROW_IDEMPOTENCY_KEY >> world; test -e repaired}}",
    );
    assert_eq!(code, Some(1));
    desk.write("repaired", "");
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(0));
    let world = desk.read("world");
    let keys: Vec<&str> = world.lines().collect();
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn a_run_whose_effect_the_ledger_needs_is_not_removed() {
    let desk = Desk::new();
    desk.run(PUBLISH);
    desk.run("checks: {a: {type: noop}}");
    desk.run("checks: {a: {type: noop}}");
    assert_eq!(desk.escrow(&["gc", "--keep", "1"]).code, Some(0));
    let (_, document) = desk.run(PUBLISH);
    assert_eq!(document["checks"]["publish"]["runs"], 0);
    assert_eq!(lines(&desk, "world"), 1);
}

#[test]
fn the_deadline_of_a_run_that_waits_is_noticed_when_all_are_resumed() {
    let desk = Desk::new();
    let (code, _) = desk.run("timeout: 1s\nchecks: {ask: {type: human-input, prompt: 'Sure?'}}");
    assert_eq!(code, Some(4));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(desk.escrow(&["resume", "--all"]).code, Some(124));
    assert_eq!(desk.show("last")["run"]["status"], "timed_out");
}

#[test]
fn items_that_render_differently_are_two_effects_under_an_effect_key() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        r#"
checks:
  list: {type: command, exec: "echo [1,1.0]", forEach: true}
  post: {type: command, depends_on: list, criticality: external, effect_key: "k-{{ item }}", exec: "echo {{ item }} >> world"}
"#,
    );
    assert_eq!(code, Some(0), "{document}");
    let keys: Vec<Value> = effects(&desk, &[]).iter().map(|effect| effect["key"].clone()).collect();
    assert!(keys.contains(&json!("k-1")) && keys.contains(&json!("k-1.0")), "{keys:?}");
}

#[test]
fn a_failed_playbook_check_is_listed_beside_the_effects_that_happened_inside_it() {
    let desk = Desk::new();
    desk.write("inner.yaml", NESTED);
    let (code, document) = desk
        .run("checks: {nest: {type: playbook, criticality: external, playbook: inner.yaml, effect_key: n1}}");
    assert_eq!(code, Some(1), "{document}");
    let mut listed: Vec<(Value, Value)> =
        effects(&desk, &[]).iter().map(|effect| (effect["check"].clone(), effect["state"].clone())).collect();
    listed.sort_by_key(|(check, _)| check.to_string());
    assert_eq!(
        listed,
        [(json!("nest"), json!("failed")), (json!("publish"), json!("confirmed"))],
        "the row of the check is about its nested run as a whole"
    );
}

/// `n` with an `effect_key`, and an effect that depends on it.
fn and_after(n: &str) -> String {
    format!(
        "checks:\n  n: {{type: command, criticality: external, effect_key: key-1, {n}}}
  after: {{type: command, depends_on: n, criticality: external, exec: 'echo {{{{ outputs.n }}}} >> after'}}"
    )
}

#[test]
fn contracts_over_the_record_decide_in_every_run_as_in_the_one_that_had_the_effect() {
    let broken = and_after("exec: 'echo x >> world; exit 3', expect: [3], fail_if: result.exit_code === 3");
    let desk = Desk::new();
    for _ in 0..2 {
        let (code, document) = desk.run(&broken);
        assert_eq!(code, Some(1), "{document}");
        assert_eq!(document["checks"]["n"]["issues"][0]["rule_id"], "n_fail_if");
        assert_eq!(document["checks"]["after"]["skip_reason"], "contract_blocked");
    }
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(1));
    let retried = broken.replace(
        "expect",
        "retry_on: [transient, logical], on_fail: {retry: {max: 1, backoff: {delay_ms: 10}}}, expect",
    );
    assert_eq!(desk.run(&retried).0, Some(1));
    assert_eq!((lines(&desk, "world"), lines(&desk, "after")), (1, 0));

    let kept =
        and_after("exec: 'echo x >> world', guarantee: \"result.exit_code === 0 && result.stderr === ''\"");
    let desk = Desk::new();
    for _ in 0..2 {
        assert_eq!(desk.run(&kept).0, Some(0));
    }
    assert_eq!(lines(&desk, "world"), 1);
}

#[test]
fn stars_that_stand_for_a_secret_reach_the_world_in_no_run() {
    let desk = Desk::new();
    let stars = and_after("secrets: TOK, exec: 'echo \"id-$TOK\"'");
    desk.write("stars.yaml", &format!("secrets: [TOK]\n{stars}"));
    for _ in 0..2 {
        let mut command = desk.command(&["run", "stars.yaml", "--output", "json", "--quiet"]);
        let output = command.env("TOK", "supersecretvalue123").output().expect("the binary runs");
        let done = desk::Done::from(output);
        assert_eq!(done.code, Some(1), "{}", done.stderr);
        assert_eq!(done.json()["checks"]["after"]["issues"][0]["rule_id"], "system/redacted_value");
    }
    assert_eq!(lines(&desk, "after"), 0);
}

#[test]
fn an_effect_whose_output_is_not_the_json_that_was_asked_for_has_happened() {
    let desk = Desk::new();
    let publish =
        and_after("parse: json, guarantee: output.id > 0, exec: 'echo x >> world; echo notice; echo 7'");
    for runs in [1, 0] {
        let (code, document) = desk.run(&publish);
        assert_eq!(code, Some(1));
        let n = &document["checks"]["n"];
        assert_eq!(
            (&n["issues"][0]["rule_id"], &n["runs"]),
            (&json!("command/output_not_json"), &json!(runs))
        );
        assert_eq!(document["checks"]["after"]["skip_reason"], "contract_blocked");
    }
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(1));
    assert_eq!((lines(&desk, "world"), &effects(&desk, &[])[0]["state"]), (1, &json!("confirmed")));
    // Without a key that spans runs, a person is asked.
    let desk = Desk::new();
    let own = publish.replace(" effect_key: key-1,", "").replace("parse", "on_fail: {goto: n}, parse");
    assert_eq!(desk.run(&own).0, Some(4));
    assert_eq!(lines(&desk, "world"), 1);
}

#[test]
fn what_a_question_about_another_runs_effect_says_to_do_works() {
    let desk = Desk::new();
    killed(&desk);
    assert_eq!(desk.escrow(&["run", "slow.yaml"]).code, Some(4));
    let told = desk.escrow(&["attention"]).stdout;
    assert!(!told.contains("effects resolve"), "one command is enough: {told}");
    let explained = desk.escrow(&["explain", "last", "publish"]).stdout;
    let next = explained.lines().find_map(|line| line.trim().strip_prefix("next: ")).expect("a next command");
    let next = next.replace("done|failed|", "").replace('\'', "");
    desk.write("go", "");
    let words: Vec<&str> = next.split(' ').skip(1).collect();
    assert_eq!(desk.escrow(&words).code, Some(0), "{next}");
}
