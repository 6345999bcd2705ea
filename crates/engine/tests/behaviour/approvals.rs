//! Approvals and questions: what waits for a person.

use escrow_testkit::{Options, check, play, tells};

#[test]
fn a_check_that_requires_approval_waits_before_its_intent() {
    check(
        "post external {requires_approval: true}; b",
        &["approve post"],
        "
        asks post approval
        started b #1
        succeeded b
        run.waiting.approval
        started post #1
        succeeded post
        run.completed.ok",
    );
}

#[test]
fn a_denied_approval_aborts_the_run() {
    tells(
        "post external {requires_approval: true}; b<post; c",
        &["deny post"],
        "
        post failed x0 approval/denied
        b skipped x0 run_ended
        c succeeded x1
        run.aborted.denied",
    );
}

#[test]
fn an_approval_is_resolved_once() {
    check(
        "a {requires_approval: true}",
        &["a: never", "approve a", "approve a", "deny a", "cancel"],
        "
        asks a approval
        run.waiting.approval
        started a #1
        refused approve
        refused deny
        failed a command/cancelled
        run.cancelled.user",
    );
}

#[test]
fn an_approval_may_come_until_the_day_is_over() {
    tells(
        "a {requires_approval: true}",
        &["wait 86399s", "approve a"],
        "
        a succeeded x1
        run.completed.ok",
    );
    tells(
        "a {requires_approval: true}",
        &["wait 86400s", "approve a"],
        "
        a failed x0 approval/denied
        run.aborted.denied",
    );
}

#[test]
fn an_approval_that_nobody_gives_expires_to_a_denial() {
    tells(
        "a {requires_approval: true}",
        &["wait 25h"],
        "
        a failed x0 approval/denied
        run.aborted.denied",
    );
}

#[test]
fn an_approval_goes_stale_when_what_it_approves_changes() {
    // `x` is sent back once, so what `post` would do changes under the approval.
    let played = check(
        r#"x; post<x external {requires_approval: true, note: "{{ outputs.x }}"}
           back<x {on_success: {transitions: [{when: "attempt < 2", to: x}]}}"#,
        &["x: 1 then 2", "back: 1 after 5s", "wait 1s", "wait 10s", "approve post"],
        "started x #1
         succeeded x
         asks post approval
         started back #1
         succeeded back
         routed back -> x on_success.transition
         started x #2
         succeeded x
         asks post approval
         started back #2
         succeeded back
         run.waiting.approval
         started post #1
         succeeded post
         run.completed.ok",
    );
    assert_eq!(played.check("post")["runs"], 1);
}

#[test]
fn an_approval_outlives_a_crash() {
    check(
        "a {requires_approval: true}",
        &["crash", "approve a"],
        "
        asks a approval
        run.waiting.approval
        resumed
        run.waiting.approval
        started a #1
        succeeded a
        run.completed.ok",
    );
}

#[test]
fn a_retry_of_what_was_approved_does_not_ask_again() {
    check(
        "a {requires_approval: true, on_fail: {retry: {max: 1}}}",
        &["a: exit 1 then 1", "approve a"],
        "
        asks a approval
        run.waiting.approval
        started a #1
        failed a command/exit_nonzero
        retry a #1
        started a #2
        succeeded a
        run.completed.ok",
    );
}

#[test]
fn a_question_is_answered_by_a_message() {
    tells(
        r#"ask {type: human-input, prompt: "which?", choices: [red, blue]}; b<ask {guarantee: "outputs.ask === 'blue'"}"#,
        &["answer ask green", "answer ask blue"],
        "ask succeeded x1
         b succeeded x1
         run.completed.ok",
    );
}

#[test]
fn a_question_without_an_answer_expires_to_its_default() {
    tells(
        r#"ask {type: human-input, prompt: "which?", default: red}; b<ask {guarantee: "outputs.ask === 'red'"}"#,
        &["wait 25h"],
        "ask succeeded x1
         b succeeded x1
         run.completed.ok",
    );
}

#[test]
fn a_question_without_a_default_expires_to_a_denial() {
    tells(
        r#"ask {type: human-input, prompt: "which?"}; b<ask"#,
        &["wait 25h"],
        "
        ask failed x1 human-input/denied
        b skipped x0 run_ended
        run.aborted.denied",
    );
}

#[test]
fn a_question_may_be_denied() {
    tells(
        r#"ask {type: human-input, prompt: "which?"}; b"#,
        &["deny ask"],
        "
        ask failed x1 human-input/denied
        b succeeded x1
        run.aborted.denied",
    );
}

#[test]
fn messages_that_match_no_wait_are_refused() {
    check(
        r#"ask {type: human-input, prompt: "which?"}"#,
        &["approve ask", "answer nobody x", "answer ask x"],
        "
        started ask #1
        asks ask input
        run.waiting.input
        refused approve
        refused answer
        succeeded ask
        run.completed.ok",
    );
}

#[test]
fn what_is_waited_for_is_listed_with_its_prompt() {
    let played = play(
        r#"a {requires_approval: true}; ask {type: human-input, prompt: "which?", choices: [x, y]}"#,
        &[],
        &Options::default(),
    );
    let mut waits = played.run.waits();
    waits.sort_by_key(|wait| wait.check.clone());
    assert_eq!(waits.len(), 2);
    assert_eq!(waits[1].prompt, "which?");
    assert_eq!(waits[1].choices, ["x", "y"]);
    assert_eq!(played.reason(), "run.waiting.approval");
}

#[test]
fn each_item_asks_for_itself() {
    tells(
        "list forEach; post<list {requires_approval: true}",
        &["list: [0, 1]", "approve post[1]", "approve post[0]"],
        "list succeeded x1
         post succeeded x2
         post[0] succeeded x1
         post[1] succeeded x1
         run.completed.ok",
    );
}

#[test]
fn an_approved_external_item_does_not_hold_up_those_that_wait_for_approval() {
    tells(
        "list forEach; post<list external {requires_approval: true}",
        &["list: [0, 1]", "approve post[1]"],
        "list succeeded x1
         post waiting x1
         post[0] waiting x0
         post[1] succeeded x1
         run.waiting.approval",
    );
}

#[test]
fn a_default_that_is_none_of_the_choices_answers_nothing() {
    tells(
        r#"word; ask<word {type: human-input, prompt: "which?", choices: [red, blue], default: "{{ outputs.word }}"}"#,
        &[r#"word: "green""#, "wait 25h"],
        "
        word succeeded x1
        ask failed x1 human-input/denied
        run.aborted.denied",
    );
    tells(
        r#"word; ask<word {type: human-input, prompt: "which?", choices: [red, blue], default: "{{ outputs.word }}"}"#,
        &[r#"word: "blue""#, "wait 25h"],
        "
        word succeeded x1
        ask succeeded x1
        run.completed.ok",
    );
}
