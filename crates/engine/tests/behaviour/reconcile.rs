//! Unknown effects, and `reconcile` commands that find out.

use escrow_engine::{Question, compare, explain, redecide};
use escrow_model::{Event, Request};
use escrow_testkit::{Options, Played, check, plan, play, tells};

#[test]
fn an_effect_that_reconcile_finds_done_is_not_repeated() {
    for fault in ["timeout", "signal", "lost"] {
        check(
            "post external {reconcile: ./look}; b<post",
            &[&format!("post: {fault}"), "post?: \"done\""],
            "
            started post #1
            reconcile post #1
            found post done
            succeeded post
            started b #1
            succeeded b
            run.completed.ok",
        );
    }
}

#[test]
fn an_effect_that_reconcile_finds_failed_fails_the_check() {
    tells(
        "post external {reconcile: ./look, on_fail: {run: [tell], retry: {max: 2}}}; b<post; tell",
        &["post: timeout", "post?: \"failed\""],
        "
        post failed x1 effect/reconciled_failed
        b skipped x0 dependency_failed
        tell succeeded x1
        run.failed.check_failed",
    );
}

#[test]
fn an_effect_that_reconcile_wants_again_is_repeated_once_with_the_same_key() {
    let played = check(
        "post external {reconcile: ./look}",
        &["post: lost then 1", "post?: \"retry\""],
        "
        started post #1
        reconcile post #1
        found post retry
        started post #2
        succeeded post
        run.completed.ok",
    );
    let keys: Vec<String> = requests(&played).into_iter().map(|request| request.idempotency_key).collect();
    assert_eq!(keys.len(), 3, "two attempts and one look");
    assert!(keys.iter().all(|key| *key == keys[0]), "so that the look and the repeat speak of one effect");
}

#[test]
fn a_person_is_asked_when_the_same_effect_is_lost_again_and_again() {
    let played =
        play("post external {reconcile: ./look}", &["post: lost", "post?: \"retry\""], &Options::default());
    assert_eq!(played.check("post")["runs"], 4, "three repeats, and no more by themselves");
    assert_eq!(played.reason(), "run.waiting.unknown_effect");
}

#[test]
fn anything_else_leaves_it_to_a_person() {
    for answer in [
        "\"maybe\"",
        "null",
        "{\"state\": \"done\"}",
        "\"done failed\"",
        "exit 1 \"done\"",
        "timeout",
        "signal",
    ] {
        check(
            "post external {reconcile: ./look}",
            &["post: lost", &format!("post?: {answer}"), "assume post done"],
            "
            started post #1
            reconcile post #1
            found post nothing
            asks post unknown_effect
            run.waiting.unknown_effect
            succeeded post
            run.completed.ok",
        );
    }
}

/// What each of these answers means to the same three expressions.
#[test]
fn expressions_read_the_answer() {
    let text = "post external {reconcile: {exec: ./look, done: output.state === 'merged', \
                failed: output.state === 'closed' || output.odd, retry: result.exitCode === 4}}";
    for (answer, finding) in [
        ("{\"state\": \"merged\"}", "done"),
        ("{\"state\": \"closed\"}", "failed"),
        ("exit 4 {}", "retry"),
        ("exit 1 {}", "nothing"),
        ("{\"state\": \"open\"}", "nothing"),
        // It contradicts itself.
        ("{\"state\": \"merged\", \"odd\": true}", "nothing"),
        // Nothing can be read from what is not there.
        ("null", "nothing"),
        ("timeout", "nothing"),
    ] {
        let played = play(text, &["post: lost then 1", &format!("post?: {answer}")], &Options::default());
        let found = played.journal.iter().find_map(|entry| match &entry.event {
            Event::Reconciled { finding, .. } => Some(finding.map_or("nothing", |finding| finding.as_str())),
            _ => None,
        });
        assert_eq!(found, Some(finding), "{answer}");
    }
}

#[test]
fn reconcile_is_asked_only_about_effects_that_cannot_simply_be_repeated() {
    tells(
        "post external {reconcile: ./look, on_fail: {retry: {max: 1}}}; \
         again external {idempotent: true, reconcile: ./look, on_fail: {retry: {max: 1}}}; \
         a {reconcile: ./look, on_fail: {retry: {max: 1}}}",
        &["post: exit 1 then 1", "post?: \"retry\"", "again: timeout then 1", "a: timeout then 1"],
        "
        post succeeded x2
        again succeeded x2
        a succeeded x2
        run.completed.ok",
    );
    let options = Options::default();
    let safe =
        Options { run: escrow_model::RunOptions { safe_mode: true, ..options.run.clone() }, ..options };
    let played = play("post external {reconcile: ./look}", &[], &safe);
    assert!(requests(&played).is_empty(), "in safe mode nothing is done, so nothing is looked for");
}

#[test]
fn the_command_knows_the_item_and_its_values_stay_out_of_the_shell() {
    let played = play(
        "@inputs: {to: {default: \"$(reboot)\"}}
         list forEach; post<list external {env: {REGION: \"{{ item }}\"}, reconcile: \"./look {{ inputs.to }} {{ attempt }}\"}",
        &["list: [\"eu\"]", "post: lost", "post?: \"done\""],
        &Options::default(),
    );
    let look = requests(&played).pop().expect("it looked");
    let exec = &look.fields["exec"];
    assert!(!exec["shell"].as_str().unwrap_or_default().contains("reboot"), "{exec}");
    let values: Vec<&str> =
        exec["values"].as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["$(reboot)", "1"]);
    assert_eq!(look.env["REGION"], "eu");
    assert_eq!(look.item, Some("eu".into()));
    assert_eq!(look.timeout_ms, 60_000);
}

#[test]
fn a_template_that_cannot_be_rendered_leaves_it_to_a_person() {
    let played = play(
        "a; post<a external {reconcile: \"./look {{ outputs.a.id }}\"}",
        &["post: lost"],
        &Options::default(),
    );
    assert_eq!(played.reason(), "run.waiting.unknown_effect");
    let prompt = played.run.waits().remove(0).prompt;
    assert!(prompt.starts_with("`post` may or may not have taken effect: `reconcile`: "), "{prompt}");
}

#[test]
fn a_look_that_was_cut_off_is_taken_again() {
    check(
        "post external {reconcile: ./look}",
        &["post: never", "post?: \"done\" after 5s", "crash", "crash"],
        "
        started post #1
        resumed
        reconcile post #1
        resumed
        found post done
        succeeded post
        run.completed.ok",
    );
}

#[test]
fn a_person_who_knows_is_faster_than_reconcile() {
    for (word, timeline) in [
        ("done", "succeeded post\nrun.completed.ok"),
        ("failed", "failed post effect/assumed_failed\nrun.failed.check_failed"),
        ("retry", "started post #2\nsucceeded post\nrun.completed.ok"),
    ] {
        check(
            "post external {reconcile: ./look}",
            &["post: lost then 1", "post?: never", "wait 1s", &format!("assume post {word}")],
            &format!("started post #1\nreconcile post #1\n{timeline}"),
        );
    }
}

#[test]
fn a_run_that_is_cancelled_does_not_look() {
    tells(
        "post external {reconcile: ./look}",
        &["post: never", "post?: \"done\"", "cancel"],
        "
        post unknown x1
        run.cancelled.user",
    );
    tells(
        "post external {reconcile: ./look}",
        &["post: lost", "post?: never", "wait 1s", "cancel"],
        "
        post unknown x1
        run.cancelled.user",
    );
}

#[test]
fn dependents_wait_until_reconcile_has_found_out() {
    check(
        "post external {reconcile: ./look}; b<post; other",
        &["post: lost", "post?: \"done\" after 5s", "other: 1 after 2s"],
        "
        started post #1
        started other #1
        reconcile post #1
        succeeded other
        found post done
        succeeded post
        started b #1
        succeeded b
        run.completed.ok",
    );
}

#[test]
fn what_reconcile_found_is_explained() {
    let text = "post external {reconcile: {exec: ./look, done: output.n > 0}}";
    let played = play(text, &["post: lost", "post?: {\"n\": 2}"], &Options::default());
    let question = Question { check: "post".into(), scope: None };
    let account = explain(&played.journal, Some(&question)).expect("it is explained");
    assert_eq!(account.cause.summary, "`post` was done, as `reconcile` found: `output.n > 0` holds");
    assert_eq!(account.cause.evaluations.len(), 1);
    assert_eq!(account.cause.evaluations[0].construct.as_str(), "reconcile.done");
    let told: Vec<&str> = account.timeline.iter().map(|moment| moment.what.as_str()).collect();
    assert_eq!(
        told,
        [
            "attempt 1 started",
            "effect unknown: `reconcile` runs",
            "`reconcile` found `done`: `output.n > 0` holds",
            "attempt 1 succeeded"
        ]
    );
    let played = play(text, &["post: lost", "post?: {\"n\": 0}"], &Options::default());
    let account = explain(&played.journal, None).expect("it is explained");
    assert!(account.cause.summary.contains("`reconcile` found neither"), "{}", account.cause.summary);
    assert_eq!(account.cause.evaluations[0].held, Some(false));
}

#[test]
fn a_recorded_look_is_read_again_by_another_playbook() {
    let text = "post external {reconcile: {exec: ./look, done: output.n > 0}}; b<post";
    let played = play(text, &["post: lost", "post?: {\"n\": 2} after 3s"], &Options::default());
    let stricter =
        plan("post external {reconcile: {exec: ./look, done: output.n > 5, failed: output.n < 3}}; b<post");
    let again = redecide(&played.journal, stricter).expect("it replays");
    let compared = compare(&played.journal, &again).expect("it compares");
    assert_eq!(compared.now.status, escrow_model::RunStatus::Failed);
    assert!(again.unknown.is_empty() && again.assumed.is_empty());

    let same = redecide(&played.journal, plan(text)).expect("it replays");
    assert!(same.entries == played.journal, "under the same plan it is the same journal");

    let without = play("post external; b<post", &["post: lost", "assume post done"], &Options::default());
    let new = redecide(&without.journal, plan(text)).expect("it replays");
    assert_eq!(new.unknown[0].what, "`reconcile` was never asked about attempt 1 of `post`");
}

/// Every request of attempts and looks, in order.
fn requests(played: &Played) -> Vec<Request> {
    played
        .journal
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::AttemptStarted { request, external: true, .. }
            | Event::ReconcileStarted { request, .. } => Some((**request).clone()),
            _ => None,
        })
        .collect()
}
