//! Nested runs: how they are shown, and how they end with the run around them.

mod desk;

use desk::Desk;
use serde_json::Value;

const INNER: &str = "
name: inner
checks:
  look: {type: command, exec: 'echo looked'}
  ask: {type: human-input, prompt: 'Sure?', choices: ['yes', 'no'], depends_on: look}
";
const MIDDLE: &str = "
name: middle
checks:
  deep: {type: playbook, playbook: inner.yaml}
";
const OUTER: &str = "
name: outer
checks:
  nest: {type: playbook, playbook: middle.yaml}
";

/// A run in a run in a run, the innermost of which asks a person.
fn waiting(outer: &str) -> Desk {
    let desk = Desk::new();
    desk.write("inner.yaml", INNER);
    desk.write("middle.yaml", MIDDLE);
    let (code, document) = desk.run(outer);
    assert_eq!((code, &document["run"]["status"]), (Some(4), &Value::from("waiting")), "{document}");
    desk
}

/// The status of each run, by its playbook.
fn statuses(desk: &Desk) -> Vec<(String, String)> {
    let listed = desk.escrow(&["runs", "--output", "json"]).json();
    let text = |run: &Value, name: &str| run[name].as_str().unwrap_or_default().to_owned();
    let mut all: Vec<_> = listed["runs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|run| (text(run, "playbook"), text(run, "status")))
        .collect();
    all.sort();
    all
}

fn all_are(desk: &Desk, outer: &str, others: &str) {
    let expected = [("inner", others), ("middle", others), ("outer", outer)];
    let expected = expected.map(|(playbook, status)| (playbook.to_owned(), status.to_owned()));
    assert_eq!(statuses(desk), expected);
    assert_eq!(desk.escrow(&["approvals"]).stdout, "nothing waits for a person\n");
}

#[test]
fn whoever_cancels_a_run_ends_the_runs_in_it_that_wait() {
    let desk = waiting(OUTER);
    assert_eq!(desk.escrow(&["cancel", "last"]).code, Some(0));
    all_are(&desk, "cancelled", "cancelled");
}

#[test]
fn a_run_whose_time_is_up_ends_the_runs_in_it_that_wait() {
    let desk = waiting(&format!("timeout: 2s\n{OUTER}"));
    std::thread::sleep(std::time::Duration::from_millis(2100));
    assert_eq!(desk.escrow(&["resume", "last"]).code, Some(124));
    all_are(&desk, "timed_out", "cancelled");
}

#[test]
fn a_nested_run_that_is_cancelled_by_hand_fails_the_checks_around_it_with_its_reason() {
    let desk = waiting(OUTER);
    let listed = desk.escrow(&["runs", "--output", "json"]).json();
    let runs = listed["runs"].as_array().expect("a list");
    let inner = runs.iter().find(|run| run["playbook"] == "inner").expect("it is there");
    let cancelled = desk.escrow(&["cancel", inner["id"].as_str().expect("an id")]);
    assert_eq!(cancelled.code, Some(0));
    all_are(&desk, "cancelled", "cancelled");
    assert_eq!(desk.show("last")["run"]["reason"]["code"], "run.cancelled.user");
}

#[test]
fn the_last_run_is_the_one_that_was_asked_for() {
    let desk = waiting(OUTER);
    assert_eq!(desk.show("last")["run"]["playbook"], "outer");
}

#[test]
fn nested_runs_tell_their_story_under_the_check_that_nests_them() {
    let desk = Desk::new();
    desk.write("inner.yaml", "checks: {a: {type: noop}, b: {type: command, exec: 'exit 3', depends_on: a}}");
    desk.write("middle.yaml", MIDDLE);
    desk.write("playbook.yaml", OUTER);
    let told = desk.escrow(&["run", "playbook.yaml"]).stderr;
    let lines: Vec<&str> = told.lines().map(str::trim_start).collect();
    let at = |start: &str| {
        let found = lines.iter().position(|line| line.starts_with(start));
        found.unwrap_or_else(|| panic!("no line starts with `{start}` in\n{told}"))
    };
    let order = [
        at("nest runs middle as r_"),
        at("nest › deep runs inner as r_"),
        at("✓ nest › deep › a"),
        at("✗ nest › deep › b"),
        at("✗ nest › deep "),
        at("✗ nest "),
        at("run: escrow runs show r_"),
    ];
    assert!(order.is_sorted(), "{told}");
    assert!(!told.contains("\"outputs\""), "the document of a nested run is not repeated:\n{told}");
}

#[test]
fn a_run_that_still_works_continues_with_what_another_process_has_approved_meanwhile() {
    let desk = Desk::new();
    desk.write("inner.yaml", "checks: {publish: {type: command, exec: 'true', requires_approval: true}}");
    desk.write(
        "playbook.yaml",
        "
checks:
  slow: {type: command, exec: 'until test -e approved; do sleep 0.05; done; sleep 0.5'}
  nest: {type: playbook, playbook: inner.yaml}
  after: {type: noop, depends_on: nest}
",
    );
    let mut outer = desk.start(&["run", "playbook.yaml", "--jobs", "4"]);
    let waiting = || desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0]["id"].clone();
    desk.until("it waits for approval", || waiting().is_string());
    let approved = desk.escrow(&["approve", waiting().as_str().expect("an id")]);
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    desk.write("approved", "");
    assert_eq!(outer.wait().expect("it ends").code(), Some(0));
    let document = desk.show("last");
    assert_eq!(document["run"]["status"], "completed", "{document}");
    assert_eq!(document["checks"]["after"]["status"], "succeeded");
}

const DEPLOY: &str = "
name: deploy
timeout: 1s
checks:
  act: {type: command, criticality: external, exec: 'echo acted >> acts; sleep 30'}
";

#[test]
fn an_effect_that_a_nested_run_left_unknown_is_unknown_around_it_too() {
    let desk = Desk::new();
    desk.write("deploy.yaml", DEPLOY);
    let (code, document) = desk.run(
        "checks:
  nest:
    type: playbook
    playbook: deploy.yaml
    on_fail:
      retry: {max: 2, backoff: {delay_ms: 5}}
      transitions: [{when: 'attempt < 3', to: nest}]
",
    );
    assert_eq!(code, Some(4), "{document}");
    assert_eq!(document["run"]["reason"]["code"], "run.waiting.unknown_effect");
    assert_eq!(document["checks"]["nest"]["status"], "unknown");
    assert_eq!(desk.read("acts"), "acted\n", "an unknown effect is not repeated");
    // The time of the nested run was up, so the check has failed, and the route opens the nested run again: what happened
    // in it is not repeated, and nobody is asked again.
    let assumed = desk.escrow(&["resume", "last", "--assume", "nest=done"]);
    assert_eq!(assumed.code, Some(0), "{}", assumed.stderr);
    assert_eq!(desk.read("acts"), "acted\n");
}

#[test]
fn a_run_that_is_opened_again_asks_about_the_effect_that_a_nested_run_left_unknown() {
    let desk = Desk::new();
    desk.write("deploy.yaml", &DEPLOY.replace("timeout: 1s\n", ""));
    let (code, document) = desk.run("timeout: 1s\nchecks: {nest: {type: playbook, playbook: deploy.yaml}}");
    assert_eq!((code, &document["checks"]["nest"]["status"]), (Some(124), &Value::from("unknown")));
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(4));
    assert_eq!(desk.read("acts"), "acted\n");
}

#[test]
fn a_nested_run_whose_time_was_up_is_tried_again_like_any_timeout() {
    let desk = Desk::new();
    desk.write("slow.yaml", "checks: {look: {type: command, exec: 'echo looked >> looks; sleep 30'}}");
    let (code, document) = desk.run(
        "checks:
  nest:
    type: playbook
    playbook: slow.yaml
    timeout: 500
    on_fail: {retry: {max: 1, backoff: {delay_ms: 5}}}
",
    );
    assert_eq!((code, &document["checks"]["nest"]["runs"]), (Some(124), &Value::from(2)), "{document}");
    assert_eq!(desk.read("looks"), "looked\nlooked\n");
}

#[test]
fn a_nested_run_that_was_killed_continues_and_repeats_no_effect_of_its_own() {
    let desk = Desk::new();
    desk.write(
        "release.yaml",
        "
checks:
  tag: {type: command, criticality: external, exec: 'echo tagged >> acts; echo v1'}
  test: {type: command, depends_on: tag, exec: 'test -f go || sleep 30'}
  push: {type: command, criticality: external, depends_on: test, exec: 'echo pushed >> acts'}
",
    );
    desk.write(
        "playbook.yaml",
        "
checks:
  nest: {type: playbook, playbook: release.yaml}
  tell: {type: script, depends_on: nest, content: 'return outputs.nest.outputs.tag'}
",
    );
    let mut killed = desk.start(&["run", "playbook.yaml"]);
    desk.until("the first effect is confirmed", || {
        desk.escrow(&["runs", "--output", "json"]).json()["runs"]
            .as_array()
            .and_then(|runs| runs.iter().find(|run| run["playbook"] == "release"))
            .and_then(|run| run["id"].as_str())
            .is_some_and(|id| desk.show(id)["checks"]["test"]["status"] == "running")
    });
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    desk.write("go", "");
    let resumed = desk.escrow(&["resume", "last", "--output", "json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let document = resumed.json();
    assert_eq!(
        (&document["checks"]["nest"]["runs"], &document["checks"]["tell"]["output"]),
        (&Value::from(1), &Value::from("v1"))
    );
    assert_eq!(desk.read("acts"), "tagged\npushed\n");
}

#[test]
fn an_effect_that_was_cut_off_in_a_nested_run_is_asked_about_there() {
    let desk = Desk::new();
    desk.write("deploy.yaml", &DEPLOY.replace("timeout: 1s\n", ""));
    desk.write(
        "playbook.yaml",
        "checks: {nest: {type: playbook, playbook: deploy.yaml}, next: {type: noop, depends_on: nest}}",
    );
    let mut killed = desk.start(&["run", "playbook.yaml"]);
    desk.until("it acts", || desk.path().join("acts").exists());
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    assert_eq!(desk.escrow(&["resume", "last"]).code, Some(4));
    let listed = desk.escrow(&["approvals", "--output", "json"]).json();
    let asked = &listed["approvals"][0];
    assert_eq!((&asked["check"], &asked["kind"]), (&Value::from("act"), &Value::from("unknown_effect")));
    let deploy = asked["run_id"].as_str().expect("an id");
    assert_eq!(desk.escrow(&["resume", deploy, "--assume", "act=done"]).code, Some(0));
    assert_eq!(desk.show("last")["run"]["status"], "completed", "the run around it goes on too");
    assert_eq!(desk.read("acts"), "acted\n");
}

const RELEASE: &str = "
checks:
  tag: {type: command, criticality: external, exec: 'echo tagged >> acts'}
  test: {type: command, depends_on: tag, exec: 'echo tested >> acts; test -f go'}
";

#[test]
fn a_nested_run_that_failed_is_opened_again_and_repeats_no_confirmed_effect() {
    let desk = Desk::new();
    desk.write("release.yaml", RELEASE);
    let (code, document) = desk.run("checks: {nest: {type: playbook, playbook: release.yaml}}");
    assert_eq!(code, Some(1), "{document}");
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(1), "it fails once more");
    desk.write("go", "");
    let resumed = desk.escrow(&["resume", "last", "--failed"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(desk.read("acts"), "tagged\ntested\ntested\ntested\n");
    assert_eq!(statuses(&desk).len(), 2, "it is the same run in the same run");
    assert_eq!(desk.show("last")["checks"]["nest"]["output"]["status"], "completed");
}

#[test]
fn a_retry_opens_the_nested_run_again_and_repeats_no_confirmed_effect() {
    let desk = Desk::new();
    desk.write("release.yaml", RELEASE);
    let nest = "checks: {nest: {type: playbook, playbook: release.yaml, on_fail: {retry: {max: 1, backoff: {delay_ms: 5}}}}}";
    assert_eq!(desk.run(nest).0, Some(1));
    assert_eq!(desk.read("acts"), "tagged\ntested\ntested\n");
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(1));
    assert_eq!(
        desk.read("acts"),
        "tagged\n".to_owned() + &"tested\n".repeat(4),
        "opened again, then retried"
    );
    assert_eq!(statuses(&desk).len(), 2, "it is one nested run all along");
}

#[test]
fn a_nested_run_is_a_new_one_where_a_route_asks_for_it() {
    let desk = Desk::new();
    desk.write("release.yaml", RELEASE);
    let nest = "checks: {nest: {type: playbook, playbook: release.yaml, on_fail: {transitions: [{when: attempt < 2, to: nest}]}}}";
    assert_eq!(desk.run(nest).0, Some(1));
    assert_eq!(desk.read("acts"), "tagged\ntested\n".repeat(2), "a route repeats effects on purpose");
}

/// `version` fails and may be passed over. Later it gives another value, with which `nest` would run again.
const VERSIONED: &str = "
checks:
  version: {type: command, exec: 'cat version || { echo one; exit 1; }', continue_on_failure: true, criticality: policy}
  nest: {type: playbook, playbook: release.yaml, depends_on: version, with: {version: '{{ outputs.version }}'}}
";

#[test]
fn a_nested_run_that_has_changed_the_world_is_opened_again_whatever_it_is_asked_for() {
    let desk = Desk::new();
    desk.write("release.yaml", &format!("inputs: {{version: {{type: string}}}}\n{RELEASE}"));
    assert_eq!(desk.run(VERSIONED).0, Some(1));
    desk.write("version", "two");
    desk.write("go", "");
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(0));
    assert_eq!(desk.read("acts"), "tagged\ntested\ntested\n", "it is tagged once");
    assert_eq!(statuses(&desk).len(), 2, "it is one nested run");
    let result = &desk.show("last")["checks"]["nest"]["result"];
    let note = result["inputs_kept"].as_str().expect("a note");
    assert!(note.contains(result["run_id"].as_str().expect("an id")), "{note}");
    let explained = desk.escrow(&["explain", "last", "nest"]).stdout;
    assert!(explained.contains("keeps the inputs that it was started with"), "{explained}");
}

#[test]
fn a_nested_run_without_effects_is_a_new_one_when_it_is_asked_for_something_else() {
    let desk = Desk::new();
    let release =
        RELEASE.replace("echo tagged >> acts", "echo tagged {{ inputs.version }} >> acts; test -f go");
    desk.write("release.yaml", &format!("inputs: {{version: {{type: string}}}}\n{release}"));
    assert_eq!(desk.run(VERSIONED).0, Some(1));
    desk.write("version", "two");
    desk.write("go", "");
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(0));
    assert_eq!(desk.read("acts"), "tagged one\ntagged two\ntested\n", "the first one definitely failed");
    assert_eq!(statuses(&desk).len(), 3, "a new nested run has begun");
    let effects = desk.escrow(&["effects", "--output", "json"]).json();
    assert_eq!(effects["effects"].as_array().map(Vec::len), Some(1), "under the same key: {effects}");
}

#[test]
fn a_retry_with_other_inputs_repeats_no_confirmed_effect_at_any_depth() {
    let desk = Desk::new();
    desk.write("release.yaml", &format!("inputs: {{a: {{type: any}}}}\n{RELEASE}"));
    desk.write(
        "middle.yaml",
        "inputs: {a: {type: any}}\nchecks: {deep: {type: playbook, playbook: release.yaml, with: {a: '{{ inputs.a }}'}}}",
    );
    let nest = "checks: {nest: {type: playbook, playbook: middle.yaml, with: {a: '{{ attempt }}'}, on_fail: {retry: {max: 2, backoff: {delay_ms: 5}}}}}";
    assert_eq!(desk.run(nest).0, Some(1));
    desk.write("go", "");
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(0));
    assert_eq!(desk.read("acts"), "tagged\n".to_owned() + &"tested\n".repeat(4));
    let effects = desk.escrow(&["effects", "--output", "json"]).json();
    assert_eq!(effects["effects"].as_array().map(Vec::len), Some(1), "{effects}");
}

/// The nested run of `a` must not be opened again for `b`, which is in its place.
#[test]
fn the_nested_run_of_an_item_is_known_by_the_value_of_the_item() {
    let desk = Desk::new();
    desk.write(
        "release.yaml",
        "inputs: {n: {type: string}}\nchecks: {tag: {type: command, criticality: external, exec: 'echo {{ inputs.n }} >> acts'}, \
         test: {type: command, depends_on: tag, exec: 'test -f go'}}",
    );
    let outer = r#"
checks:
  lint: {type: command, exec: 'test -f go', continue_on_failure: true, criticality: policy}
  list: {type: command, exec: 'test -f go && echo "[\"b\", \"a\"]" || echo "[\"a\"]"', forEach: true, depends_on: lint}
  nest: {type: playbook, playbook: release.yaml, depends_on: list, with: {n: '{{ item }}'}}
"#;
    assert_eq!(desk.run(outer).0, Some(1));
    desk.write("go", "");
    let resumed = desk.escrow(&["resume", "last", "--failed"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(desk.read("acts"), "a\nb\n");
}

#[test]
fn while_the_item_of_a_nested_run_with_effects_is_gone_a_new_item_is_left_to_a_person() {
    let desk = Desk::new();
    desk.write(
        "release.yaml",
        "inputs: {n: {type: string}}\nchecks: {tag: {type: command, criticality: external, exec: 'echo {{ inputs.n }} >> acts'}, \
         test: {type: command, depends_on: tag, exec: 'test -f go'}}",
    );
    let outer = r#"
checks:
  lint: {type: command, exec: 'test -f go', continue_on_failure: true, criticality: policy}
  list: {type: command, exec: 'test -f go && echo "[\"b\", \"c\"]" || echo "[\"a\", \"b\"]"', forEach: true, depends_on: lint}
  nest: {type: playbook, playbook: release.yaml, depends_on: list, with: {n: '{{ item }}'}}
"#;
    assert_eq!(desk.run(outer).0, Some(1));
    desk.write("go", "");
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(4));
    assert_eq!(desk.read("acts"), "a\nb\n");
    assert_eq!(desk.escrow(&["resume", "last", "--assume", "nest[1]=retry"]).code, Some(0));
    assert_eq!(desk.read("acts"), "a\nb\nc\n");
}

#[test]
fn what_was_denied_in_a_nested_run_stays_denied() {
    let desk = waiting(OUTER);
    let listed = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = listed["approvals"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(desk.escrow(&["deny", &id]).code, Some(0), "the denial was accepted");
    assert_eq!(desk.show("last")["run"]["reason"]["code"], "run.aborted.denied");
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(4), "a denial is final");
    assert_eq!(
        desk.escrow(&["approvals"]).stdout,
        "nothing waits for a person\n",
        "no person is asked again"
    );
}

/// Git was once asked from a second runtime inside that of the drive, which panicked.
#[test]
fn a_nested_playbook_may_name_git_facts() {
    let desk = Desk::new();
    for arguments in [&["init", "--quiet", "--initial-branch=work"][..], &["config", "user.name", "somebody"]]
    {
        let done = std::process::Command::new("git").args(arguments).current_dir(desk.path()).status();
        assert!(done.expect("git runs").success(), "git {arguments:?}");
    }
    let inner = "
name: inner
checks:
  look: {type: command, exec: 'echo looked', if: 'branch === \"work\" && filesChanged.includes(\"inner.yaml\")'}
";
    desk.write("inner.yaml", inner);
    let (code, document) = desk.run("checks: {nest: {type: playbook, playbook: inner.yaml}}");
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(document["checks"]["nest"]["output"]["outputs"]["look"], "looked", "{document}");
}

/// The command was once run from a second runtime inside that of the drive, which panicked.
#[test]
fn a_nested_playbook_may_have_a_secret_that_a_command_prints() {
    let desk = Desk::new();
    let inner = "
name: inner
secrets: {TOKEN: {command: [printf, 'wonderful-%s', secret]}}
checks:
  use: {type: command, exec: 'test \"${TOKEN#wonderful-}\" = secret && echo \"got $TOKEN\"', secrets: [TOKEN]}
";
    desk.write("inner.yaml", inner);
    let (code, document) = desk.run("checks: {nest: {type: playbook, playbook: inner.yaml}}");
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(document["checks"]["nest"]["output"]["outputs"]["use"], "got ***", "{document}");
}

/// The run around it once stayed `waiting` for ever: the inspection of its artifacts was not awaited.
#[test]
fn a_run_with_an_artifact_contract_ends_after_a_nested_wait() {
    let ask = "checks: {ask: {type: command, exec: 'true', requires_approval: true}}";
    let nest = "checks: {x: {type: playbook, playbook: inner.yaml}}";
    let contract = "artifacts: {expected: [{id: r, path: r.md, required: false}]}";
    for (inner, outer) in
        [(format!("{contract}\n{ask}"), nest.to_owned()), (ask.to_owned(), format!("{contract}\n{nest}"))]
    {
        for (verb, expected) in
            [("approve", "completed"), ("deny", ""), ("cancel", "cancelled"), ("--no-run", "completed")]
        {
            let desk = Desk::new();
            desk.write("inner.yaml", &inner);
            assert_eq!(desk.run(&outer).0, Some(4));
            let asked = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0].clone();
            let text = |name: &str| asked[name].as_str().expect("a text").to_owned();
            match verb {
                "cancel" => drop(desk.escrow(&["cancel", &text("run_id")])),
                "--no-run" => {
                    assert_eq!(desk.escrow(&["approve", &text("id"), "--no-run"]).code, Some(0));
                    assert_eq!(desk.escrow(&["resume", "last"]).code, Some(0));
                }
                verb => drop(desk.escrow(&[verb, &text("id")])),
            }
            let document = desk.show("last");
            let status = document["run"]["status"].as_str().unwrap_or_default();
            assert!(status == expected || (expected.is_empty() && status != "waiting"), "{verb}: {document}");
        }
    }
}

const PAYMENT: &str = "
name: payment
checks:
  pay: {type: command, criticality: external, exec: 'echo $ESCROW_IDEMPOTENCY_KEY >> paid'}
  ask: {type: command, exec: 'true', requires_approval: true, depends_on: pay}
  long: {type: command, criticality: external, exec: 'touch long; until test -e go; do sleep 0.05; done', depends_on: ask}
";

/// A run that waits for the approval of a nested one, and the process that drives it after the approval.
fn approved(inner: &str) -> (Desk, std::process::Child) {
    let desk = Desk::new();
    desk.write("payment.yaml", inner);
    assert_eq!(desk.run("checks: {x: {type: playbook, playbook: payment.yaml}}").0, Some(4));
    let asked = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0]["id"].clone();
    let driver = desk.start(&["approve", asked.as_str().expect("an id")]);
    desk.until("the nested run works again", || desk.path().join("long").exists());
    (desk, driver)
}

#[test]
fn a_run_is_running_while_a_nested_run_that_was_approved_is_driven() {
    let (desk, mut driver) = approved(PAYMENT);
    assert_eq!(desk.show("last")["run"]["status"], "running");
    assert_eq!(desk.escrow(&["wait", "last", "--timeout", "300ms"]).code, Some(124));
    driver.kill().expect("it runs");
    driver.wait().expect("it ends");
    let attention = desk.escrow(&["attention"]).stdout;
    assert!(attention.contains("the process that drove it is gone"), "{attention}");
    assert_eq!(desk.escrow(&["wait", "last"]).code, Some(3));
    assert_eq!(desk.escrow(&["resume", "--all"]).code, Some(4));
    let document = desk.show("last");
    assert_eq!(document["run"]["reason"]["code"], "run.waiting.unknown_effect", "{document}");
    assert!(document["run"]["reason"]["summary"].to_string().contains("`long`"), "{document}");
}

#[test]
fn a_confirmed_effect_of_a_nested_run_is_not_repeated_after_a_cancellation() {
    let (desk, mut driver) =
        approved(&PAYMENT.replace("long: {type: command, criticality: external,", "long: {type: command,"));
    assert_eq!(desk.escrow(&["cancel", "last"]).code, Some(0));
    driver.wait().expect("it ends");
    all_runs_are(&desk, "cancelled");
    desk.write("go", "");
    let resumed = desk.escrow(&["resume", "last", "--failed"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(desk.read("paid").lines().count(), 1, "it is paid once");
    assert_eq!(statuses(&desk).len(), 2, "the nested run is the same one");
}

fn all_runs_are(desk: &Desk, status: &str) {
    let all = statuses(desk);
    assert!(all.iter().all(|(_, is)| is == status), "{all:?}");
}

#[test]
fn no_external_effect_starts_behind_a_nested_run_that_was_cancelled_by_hand() {
    let desk = Desk::new();
    let inner = "
inputs: {n: {type: number}}
checks:
  ask: {type: command, exec: 'true', requires_approval: true}
  act: {type: command, criticality: external, exec: 'echo acted >> acts', depends_on: ask}
";
    desk.write("inner.yaml", inner);
    let outer = "
checks:
  list: {type: command, exec: 'echo [1, 2, 3]', forEach: true}
  x: {type: playbook, playbook: inner.yaml, depends_on: list, with: {n: '{{ item }}'}}
  alone: {type: command, criticality: external, exec: 'echo alone >> acts', if: 'false'}
";
    assert_eq!(desk.run(outer).0, Some(4));
    let asked = desk.escrow(&["approvals", "--output", "json"]).json();
    assert_eq!(asked["approvals"].as_array().map(Vec::len), Some(1), "one item at a time");
    let nested = asked["approvals"][0]["run_id"].as_str().expect("an id").to_owned();
    assert_eq!(desk.escrow(&["cancel", &nested]).code, Some(0));
    let document = desk.show("last");
    assert_eq!(document["run"]["reason"]["code"], "run.cancelled.user", "{document}");
    assert_eq!(desk.read("acts"), "");
    assert_eq!(
        desk.escrow(&["approvals"]).stdout,
        "nothing waits for a person\n",
        "no further item has started"
    );
    let explained = desk.escrow(&["explain", "last", "x[1]"]).stdout;
    assert!(explained.contains("a person cancelled the nested run of `x`"), "{explained}");
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(4), "the first item asks again");
}

const SECRET: &str = "
name: inner
secrets: {TOKEN: {command: [sh, -c, 'touch began; sleep 20.0417; touch printed; echo wonderful']}}
checks:
  use: {type: command, exec: 'true', secrets: [TOKEN]}
";

#[test]
fn a_signal_or_a_cancellation_ends_the_secret_command_of_a_nested_run() {
    for verb in ["INT", "TERM", "cancel", "--timeout", "kill"] {
        let desk = Desk::new();
        desk.write("inner.yaml", SECRET);
        desk.write("playbook.yaml", "checks: {nest: {type: playbook, playbook: inner.yaml}}");
        let mut arguments = vec!["run", "playbook.yaml"];
        if verb == "--timeout" {
            arguments.extend(["--timeout", "1s"]);
        }
        let mut run = desk.start(&arguments);
        desk.until("the secret is asked for", || desk.path().join("began").exists());
        let mut code = Some(130);
        match verb {
            "INT" => desk::signal(run.id(), rustix::process::Signal::INT),
            "TERM" => desk::signal(run.id(), rustix::process::Signal::TERM),
            "cancel" => assert_eq!(desk.escrow(&["cancel", "last"]).code, Some(0)),
            "--timeout" => code = Some(124),
            _ => {
                run.kill().expect("it runs");
                code = None;
            }
        }
        assert_eq!(run.wait().expect("it ends").code(), code, "{verb}");
        if verb == "kill" {
            assert_eq!(desk.escrow(&["cancel", "last"]).code, Some(0));
        }
        let here = desk.path().display().to_string();
        desk.until("the command is ended", || !secret_runs_in(&here));
        assert!(!desk.path().join("printed").exists(), "{verb}");
    }
}

/// Whether a secret command runs in this directory.
fn secret_runs_in(directory: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("the list of processes");
    processes.flatten().any(|process| {
        let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let here = std::fs::read_link(process.path().join("cwd")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("20.0417") && here.display().to_string() == directory
    })
}

#[test]
fn a_signal_ends_a_run_that_still_asks_git() {
    let inner = "checks: {look: {type: command, exec: 'touch ran', if: 'branch !== \"other\"'}}";
    let nest = "checks: {nest: {type: playbook, playbook: inner.yaml}}";
    for outer in [inner, nest] {
        let desk = Desk::new();
        let git = desk.write("bin/git", "#!/bin/sh\ntouch asked\nsleep 8\nexit 1\n");
        std::fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("it is ours");
        desk.write("inner.yaml", inner);
        desk.write("playbook.yaml", outer);
        let path =
            format!("{}:{}", desk.path().join("bin").display(), std::env::var("PATH").expect("a path"));
        let mut command = desk.command(&["run", "playbook.yaml"]);
        let mut run = command.env("PATH", path).spawn().expect("the binary starts");
        desk.until("git is asked", || desk.path().join("asked").exists());
        desk::signal(run.id(), rustix::process::Signal::INT);
        assert_eq!(run.wait().expect("it ends").code(), Some(130));
        assert!(!desk.path().join("ran").exists());
    }
}

#[test]
fn a_nested_run_that_was_interrupted_and_completed_replays_without_a_difference() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        "checks: {act: {type: command, criticality: external, exec: 'echo acted >> acts'}, long: {type: command, exec: 'touch long; until test -e go; do sleep 0.05; done', depends_on: act}}",
    );
    desk.write("playbook.yaml", "checks: {nest: {type: playbook, playbook: inner.yaml}}");
    let mut run = desk.start(&["run", "playbook.yaml"]);
    desk.until("it works", || desk.path().join("long").exists());
    desk::signal(run.id(), rustix::process::Signal::INT);
    assert_eq!(run.wait().expect("it ends").code(), Some(130));
    let reason = nested_reason(&desk, "inner");
    assert!(reason.starts_with("cancelled with run r_") && reason.ends_with(" around it"), "{reason}");
    desk.write("go", "");
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(0));
    let replayed = desk.escrow(&["replay", "last", "--with", "playbook.yaml", "--fail-on-diff"]);
    assert_eq!(replayed.code, Some(0), "{}{}", replayed.stdout, replayed.stderr);
}

fn nested_reason(desk: &Desk, playbook: &str) -> String {
    let listed = desk.escrow(&["runs", "--output", "json"]).json();
    let runs = listed["runs"].as_array().expect("a list");
    let nested = runs.iter().find(|run| run["playbook"] == playbook).expect("it is there");
    desk.show(nested["id"].as_str().expect("an id"))["run"]["reason"]["summary"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_nested_timeout_is_the_reason_of_the_run_around_it() {
    let desk = Desk::new();
    desk.write("slow.yaml", "timeout: 200ms\nchecks: {look: {type: command, exec: 'sleep 30'}}");
    let (code, document) = desk.run("checks: {nest: {type: playbook, playbook: slow.yaml}}");
    assert_eq!(
        (code, &document["run"]["reason"]["code"]),
        (Some(124), &Value::from("run.timed_out.deadline"))
    );
}

#[test]
fn gc_counts_runs_with_the_runs_nested_in_them() {
    let desk = Desk::new();
    desk.write("inner.yaml", "name: inner\nchecks: {a: {type: noop}}");
    let nest = "name: outer\nchecks: {one: {type: playbook, playbook: inner.yaml}, two: {type: playbook, playbook: inner.yaml}}";
    for _ in 0..3 {
        assert_eq!(desk.run(nest).0, Some(0));
    }
    assert_eq!(desk.escrow(&["gc", "--keep", "2"]).code, Some(0));
    assert_eq!(statuses(&desk).len(), 6, "two runs, each with its two");
    assert_eq!(desk.escrow(&["verify", "last"]).code, Some(0));
}

/// A check that fails for a secret would be retried with a new nested run, which repeats the effects of this one.
#[test]
fn a_nested_run_whose_secret_cannot_be_read_is_left_as_it_is_unless_it_is_to_end() {
    let inner = "
secrets: {TOKEN: {file: token}}
checks:
  act: {type: command, criticality: external, exec: 'echo acted >> acts'}
  use: {type: command, exec: 'true', secrets: [TOKEN], requires_approval: true, depends_on: act}
";
    for verb in ["approve", "deny"] {
        let desk = Desk::new();
        desk.write("token", "wonderful");
        desk.write("inner.yaml", inner);
        assert_eq!(desk.run("checks: {nest: {type: playbook, playbook: inner.yaml}}").0, Some(4));
        let asked = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0]["id"].clone();
        std::fs::remove_file(desk.path().join("token")).expect("it is there");
        let done = desk.escrow(&[verb, asked.as_str().expect("an id")]);
        if verb == "approve" {
            assert!(done.stderr.contains("secret `TOKEN` is missing"), "{}", done.stderr);
            desk.write("token", "wonderful");
            assert_eq!(desk.escrow(&["resume", "last"]).code, Some(0));
        }
        let open: Vec<_> =
            statuses(&desk).into_iter().filter(|(_, is)| is == "running" || is == "waiting").collect();
        assert!(open.is_empty(), "{verb}: {open:?}");
        assert_eq!(desk.read("acts"), "acted\n", "{verb}");
    }
}
