//! Checks that wait while a route may still re-run what they depend on.

use escrow_model::{Event, RunStatus};
use escrow_testkit::{Options, Script, Stage, Step, check, plan, tells};

#[test]
fn what_stands_outside_the_items_waits_for_on_finish() {
    tells(
        r#"
        list forEach {on_finish: {run: [fix], transitions: [{when: "attempt < 2", to: list}]}}
        each<list
        sum<each reduce
        fix
        "#,
        &["list: [0]", "fix: 1 after 5s"],
        "
        list succeeded x2
        each succeeded x2
        each[0] succeeded x2
        sum succeeded x1
        fix succeeded x2
        run.completed.ok",
    );
}

#[test]
fn on_finish_without_a_route_back_delays_no_check() {
    check(
        "list forEach {on_finish: {run: [note]}}; each<list; sum<each reduce; note",
        &["list: [0]", "note: 1 after 5s"],
        "
        started list #1
        succeeded list
        started each[0] #1
        succeeded each[0]
        routed list -> note on_finish.run
        started sum #1
        started note #1
        succeeded sum
        succeeded note
        run.completed.ok",
    );
}

#[test]
fn dependents_wait_while_on_finish_may_run_the_check_again() {
    check(
        r#"a {on_finish: {transitions: [{when: "attempt < 2", to: a}]}}; b<a"#,
        &[],
        "
        started a #1
        succeeded a
        routed a -> a on_finish.transition
        started a #2
        succeeded a
        started b #1
        succeeded b
        run.completed.ok",
    );
}

#[test]
fn dependents_wait_while_on_fail_may_run_the_check_again() {
    check(
        r#"a {continue_on_failure: true, on_fail: {run: [fix], goto: a}}; fix; b<a"#,
        &["a: exit 1 then 1", "fix: 1 after 5s"],
        "
        started a #1
        failed a command/exit_nonzero
        routed a -> fix on_fail.run
        started fix #1
        succeeded fix
        routed a -> a on_fail.goto
        started a #2
        succeeded a
        started b #1
        succeeded b
        run.completed.ok",
    );
}

/// Two items wait for room, the first of them for an approval too: it must not keep the second one out. A simulated
/// run stood still over it.
#[test]
fn an_item_that_asks_a_person_leaves_its_room_to_the_next() {
    let script = Script::parse(&["list: [0, 1, 2]", "each[1]: 1 after 2s", "post[0]: 1 after 5s"]);
    let text = "list forEach; each<list; post<list,each external {requires_approval: true}";
    let mut stage = Stage::start(&plan(text), &Options::default(), script);
    let steps =
        [Step::Approve("post[0]".into(), None), Step::Approve("post[2]".into(), None), Step::WaitMs(6_000)];
    for step in &steps {
        stage.play_one(step);
    }
    let started: Vec<String> = stage
        .drive
        .journal
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::AttemptStarted { check, scope, .. } if check == "post" => Some(scope.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(started, ["[0]", "[2]"]);
    assert_eq!(stage.drive.run.status(), RunStatus::Waiting, "only a person can go on");
}
