//! A run that lost its driver.

use escrow_testkit::{check, tells};

#[test]
fn what_was_confirmed_is_not_repeated_and_what_was_not_is_issued_again() {
    check(
        "a; b<a; c<b",
        &["b: 1 after 5s", "wait 1s", "crash"],
        "
        started a #1
        succeeded a
        started b #1
        resumed
        succeeded b
        started c #1
        succeeded c
        run.completed.ok",
    );
}

#[test]
fn a_retry_that_was_waited_for_still_comes() {
    check(
        "a {on_fail: {retry: {max: 1}}}",
        &["a: exit 1 then 1", "crash"],
        "
        started a #1
        failed a command/exit_nonzero
        retry a #1
        resumed
        started a #2
        succeeded a
        run.completed.ok",
    );
}

#[test]
fn items_continue_where_they_were() {
    tells(
        "list forEach; each<list; sum<each",
        &["list: [0, 1]", "each[0]: 1", "each[1]: 1 after 5s", "crash"],
        "
        list succeeded x1
        each succeeded x2
        each[0] succeeded x1
        each[1] succeeded x1
        sum succeeded x1
        run.completed.ok",
    );
}

#[test]
fn an_idempotent_external_check_is_issued_again() {
    tells(
        "post external {idempotent: true}",
        &["post: 1 after 5s", "crash"],
        "
        post succeeded x1
        run.completed.ok",
    );
}

#[test]
fn memory_outlives_a_crash() {
    tells(
        r#"a {type: memory, operation: set, key: k, value: 1}; b<a; c<b {if: "memory.has('k')"}"#,
        &["b: 1 after 5s", "crash"],
        "
        a succeeded x1
        b succeeded x1
        c succeeded x1
        run.completed.ok",
    );
}

#[test]
fn a_question_that_was_asked_is_still_open() {
    check(
        r#"ask {type: human-input, prompt: p}"#,
        &["crash", "answer ask yes"],
        "
        started ask #1
        asks ask input
        run.waiting.input
        resumed
        run.waiting.input
        succeeded ask
        run.completed.ok",
    );
}

#[test]
fn a_run_that_was_stopping_continues_stopping() {
    tells(
        "a; b<a; post external",
        &["a: never", "post: never", "cancel", "crash"],
        "
        a failed x1 command/cancelled
        b skipped x0 run_ended
        post unknown x1
        run.cancelled.user",
    );
}
