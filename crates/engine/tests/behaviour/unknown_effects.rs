//! External attempts of which nobody knows whether they happened.

use escrow_model::Event;
use escrow_testkit::{Options, check, play, tells};

#[test]
fn an_external_attempt_that_timed_out_is_unknown_and_waits_for_a_person() {
    for fault in ["timeout", "signal", "lost"] {
        tells(
            "post external {on_fail: {retry: {max: 2}}}; b<post",
            &[&format!("post: {fault}")],
            "
            post unknown x1
            b pending x0
            run.waiting.unknown_effect",
        );
    }
}

#[test]
fn a_definite_answer_is_an_ordinary_fault() {
    tells(
        "post external {on_fail: {retry: {max: 1}}}",
        &["post: http 503 then 1"],
        "
        post succeeded x2
        run.completed.ok",
    );
}

#[test]
fn an_unknown_effect_of_a_check_that_is_not_external_is_an_ordinary_fault() {
    tells(
        "a {on_fail: {retry: {max: 1}}}",
        &["a: timeout then 1"],
        "
        a succeeded x2
        run.completed.ok",
    );
}

#[test]
fn an_idempotent_check_is_retried_although_its_effect_is_unknown() {
    tells(
        "post external {idempotent: true, on_fail: {retry: {max: 1}}}",
        &["post: timeout then 1"],
        "
        post succeeded x2
        run.completed.ok",
    );
}

#[test]
fn a_person_may_say_that_it_happened() {
    tells(
        "post external; b<post",
        &["post: timeout", "assume post done"],
        "
        post succeeded x1
        b succeeded x1
        run.completed.ok",
    );
}

#[test]
fn a_person_may_say_that_it_did_not_happen() {
    tells(
        "post external {on_fail: {run: [tell]}}; b<post; tell",
        &["post: timeout", "assume post failed"],
        "
        post failed x1 effect/assumed_failed
        b skipped x0 dependency_failed
        tell succeeded x1
        run.failed.check_failed",
    );
}

#[test]
fn a_person_may_have_it_tried_again() {
    check(
        "post external; b<post",
        &["post: timeout then 1", "assume post retry"],
        "
        started post #1
        asks post unknown_effect
        run.waiting.unknown_effect
        started post #2
        succeeded post
        started b #1
        succeeded b
        run.completed.ok",
    );
}

#[test]
fn an_assumption_that_no_longer_holds_does_not_hide_an_unknown_effect() {
    tells(
        "post external {assume: 'attempt < 2', reconcile: './look', on_fail: {retry: {max: 1}}}",
        &["post: timeout", "post?: \"maybe\""],
        "
        post unknown x1
        run.waiting.unknown_effect",
    );
}

#[test]
fn an_effect_that_did_not_happen_and_may_not_be_tried_again_is_a_failure() {
    tells(
        "post external {assume: 'attempt < 2', reconcile: './look', on_fail: {retry: {max: 1}}}",
        &["post: timeout", "post?: \"retry\""],
        "
        post failed x1 contract/assume_failed
        run.failed.check_failed",
    );
    tells(
        "post external {assume: 'attempt < 2'}",
        &["post: timeout", "assume post retry"],
        "
        post failed x1 contract/assume_failed
        run.failed.check_failed",
    );
}

#[test]
fn an_item_can_be_named() {
    tells(
        "list forEach {concurrency: 5}; post<list external",
        &["list: [0, 1]", "post[1]: lost", "assume post[1] done"],
        "
        list succeeded x1
        post succeeded x2
        post[0] succeeded x1
        post[1] succeeded x1
        run.completed.ok",
    );
}

#[test]
fn what_does_not_depend_on_an_unknown_effect_goes_on() {
    tells(
        "post external; other; more<other",
        &["post: lost"],
        "
        post unknown x1
        other succeeded x1
        more succeeded x1
        run.waiting.unknown_effect",
    );
}

#[test]
fn an_external_attempt_that_was_running_when_the_driver_died_is_unknown() {
    check(
        "post external",
        &["post: never", "crash", "assume post done"],
        "
        started post #1
        resumed
        asks post unknown_effect
        run.waiting.unknown_effect
        succeeded post
        run.completed.ok",
    );
}

#[test]
fn a_route_never_runs_an_unknown_effect_again() {
    // `back` wants to send the run to `a`, behind which `post` waits for a person.
    let text = r#"a; post<a external; back<a {on_success: {transitions: [{when: "attempt < 2", to: a}]}}"#;
    tells(
        text,
        &["post: lost", "back: 1 after 1s"],
        "
        a succeeded x1
        post unknown x1
        back succeeded x1
        run.waiting.unknown_effect",
    );
    tells(
        text,
        &["post: lost then 1", "back: 1 after 1s", "wait 5s", "assume post done"],
        "
        a succeeded x2
        post succeeded x2
        back succeeded x2
        run.completed.ok",
    );
}

#[test]
fn a_run_that_is_cancelled_while_an_effect_is_unknown_says_so() {
    tells(
        "post external",
        &["post: lost", "cancel"],
        "
        post unknown x1
        run.cancelled.user",
    );
    tells(
        "post external",
        &["post: never", "cancel"],
        "
        post unknown x1
        run.cancelled.user",
    );
}

#[test]
fn an_assumption_about_something_that_is_not_unknown_is_refused() {
    check(
        "a; post external",
        &["post: lost", "assume a done", "assume nobody done", "assume post done"],
        "
        started a #1
        started post #1
        succeeded a
        asks post unknown_effect
        run.waiting.unknown_effect
        refused assume
        refused assume
        succeeded post
        run.completed.ok",
    );
}

#[test]
fn a_resumed_run_still_waits_for_the_same_person() {
    let played = play("post external", &["post: lost", "crash", "crash"], &Options::default());
    assert_eq!(played.run.waits().len(), 1);
    assert_eq!(played.reason(), "run.waiting.unknown_effect");
}

#[test]
fn a_repeat_that_a_person_asks_for_has_the_same_key_and_the_same_approval() {
    let played = play(
        "post external {requires_approval: true}",
        &["approve post", "post: lost then 1", "assume post retry"],
        &Options::default(),
    );
    let keys: Vec<&str> = played
        .journal
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::AttemptStarted { request, .. } => Some(request.idempotency_key.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(keys.len(), 2, "it is approved once and runs twice");
    assert_eq!(keys[0], keys[1], "so that the other side can tell the repeat");
    assert_eq!(played.reason(), "run.completed.ok");
}
