//! A run that failed, opened again: no effect that is confirmed happens twice.

use escrow_engine::Run;
use escrow_model::Event;
use escrow_testkit::{Options, Script, Stage, Step, check, plan, play, state, tells};

/// `lint` fails and may be passed over, so everything behind it runs; then it is mended, and all of that runs again.
const BEHIND_LINT: &str =
    "lint policy {continue_on_failure: true}; list<lint forEach; post<list external; sum<post reduce";

#[test]
fn effects_of_equal_items_are_not_repeated() {
    check(
        BEHIND_LINT,
        &["lint: exit 1 then 1", "list: [7, 8]", "reopen"],
        "
        started lint #1
        failed lint command/exit_nonzero
        started list #1
        succeeded list
        started post[0] #1
        succeeded post[0]
        started post[1] #1
        succeeded post[1]
        started sum #1
        succeeded sum
        run.failed.exit_nonzero
        reopened lint
        started lint #2
        succeeded lint
        started list #2
        succeeded list
        started sum #2
        succeeded sum
        run.completed.ok",
    );
}

#[test]
fn an_item_is_known_by_its_value_and_not_by_its_place() {
    let played = tells(
        BEHIND_LINT,
        &[
            "lint: exit 1 then 1",
            "list: [{\"id\": 7}, {\"id\": 8}] then [{\"id\": 8}, {\"id\": 7}, {\"id\": 9}]",
            "reopen",
        ],
        "
        lint succeeded x2
        list succeeded x2
        post succeeded x3
        post[0] succeeded x1
        post[1] succeeded x1
        post[2] succeeded x1
        sum succeeded x2
        run.completed.ok",
    );
    assert!(Run::replay(&played.journal).expect("it replays") == played.run);
}

#[test]
fn another_item_in_the_place_of_a_confirmed_one_is_left_to_a_person() {
    let answers = ["lint: exit 1 then 1", "list: [7, 8] then [7, 9]"];
    tells(
        BEHIND_LINT,
        &[answers[0], answers[1], "reopen"],
        "
        lint succeeded x2
        list succeeded x2
        post unknown x2
        post[0] succeeded x1
        post[1] unknown x1
        sum pending x1
        run.waiting.unknown_effect",
    );
    for (word, status, runs) in [("done", "succeeded", 1), ("failed", "failed", 1), ("retry", "succeeded", 2)]
    {
        let said = format!("assume post[1] {word}");
        let played = play(BEHIND_LINT, &[answers[0], answers[1], "reopen", &said], &Options::default());
        let item = &played.check("post")["items"][1];
        assert_eq!((item["status"].as_str(), item["runs"].as_u64()), (Some(status), Some(runs)), "{word}");
    }
}

/// Zoe was paid. The item that is left of her has moved, so no confirmed item had its place.
#[test]
fn while_a_confirmed_item_is_gone_each_new_item_is_left_to_a_person_wherever_it_is() {
    let before = r#"[{"id": 1, "name": "Zoe"}, {"id": 2, "name": "Bob"}]"#;
    let after = r#"[{"id": 2, "name": "Bob"}, {"id": 1, "name": "Zoë"}, {"id": 3, "name": "Eve"}]"#;
    tells(
        BEHIND_LINT,
        &["lint: exit 1 then 1", &format!("list: {before} then {after}"), "reopen", "assume post[2] retry"],
        "
        lint succeeded x2
        list succeeded x2
        post unknown x3
        post[0] succeeded x1
        post[1] unknown x1
        post[2] succeeded x1
        sum pending x1
        run.waiting.unknown_effect",
    );
}

#[test]
fn a_confirmed_item_with_a_broken_contract_that_is_gone_leaves_new_items_to_a_person() {
    let text = r#"lint policy {continue_on_failure: true}; list<lint forEach;
                  post<list external {guarantee: "output > 1"}"#;
    let answers = ["lint: exit 1 then 1", "list: [7, 8] then [8, 9]", "post[0]: 1", "post[1]: 2", "reopen"];
    let played = play(text, &answers, &Options::default());
    assert_eq!(played.reason(), "run.waiting.unknown_effect");
    assert_eq!(played.check("post")["items"][1]["status"], "unknown");
}

#[test]
fn numbers_are_equal_as_in_javascript() {
    tells(
        BEHIND_LINT,
        &[
            "lint: exit 1 then 1",
            r#"list: [1.0, "z", {"a": 2, "b": 3}] then [{"b": 3.0, "a": 2}, "z", 1]"#,
            "reopen",
        ],
        "
        lint succeeded x2
        list succeeded x2
        post succeeded x3
        post[0] succeeded x1
        post[1] succeeded x1
        post[2] succeeded x1
        sum succeeded x2
        run.completed.ok",
    );
}

#[test]
fn reconcile_knows_about_another_item_too() {
    for (found, runs) in [("done", 1), ("retry", 2)] {
        let played = play(
            "lint policy {continue_on_failure: true}; list<lint forEach; post<list external {reconcile: ./look}",
            &["lint: exit 1 then 1", "list: [8] then [9]", &format!("post?: \"{found}\""), "reopen"],
            &Options::default(),
        );
        assert_eq!(played.reason(), "run.completed.ok");
        assert_eq!(played.check("post")["items"][0]["runs"], runs, "{found}");
    }
}

#[test]
fn equal_items_count_one_effect_each() {
    tells(
        BEHIND_LINT,
        &["lint: exit 1 then 1", "list: [7] then [7, 7]", "reopen"],
        "
        lint succeeded x2
        list succeeded x2
        post succeeded x2
        post[0] succeeded x1
        post[1] succeeded x1
        sum succeeded x2
        run.completed.ok",
    );
}

#[test]
fn a_list_that_fails_again_keeps_what_is_confirmed_for_the_next_time() {
    tells(
        BEHIND_LINT,
        &["lint: exit 1 then 1", "list: [7, 8] then exit 1 then [8, 7]", "reopen", "reopen"],
        "
        lint succeeded x2
        list succeeded x3
        post succeeded x2
        post[0] succeeded x1
        post[1] succeeded x1
        sum succeeded x2
        run.completed.ok",
    );
}

#[test]
fn items_of_a_nested_list_are_known_by_the_whole_way_to_them() {
    tells(
        "lint policy {continue_on_failure: true}; list<lint forEach; sub<list forEach; post<sub external",
        &["lint: exit 1 then 1", "list: [1, 2] then [2, 1]", "sub: [5]", "reopen"],
        "
        lint succeeded x2
        list succeeded x2
        sub succeeded x4
        sub[0] succeeded x2
        sub[1] succeeded x2
        post succeeded x2
        post[0][0] succeeded x1
        post[1][0] succeeded x1
        run.completed.ok",
    );
}

#[test]
fn the_items_of_a_confirmed_list_stay() {
    // The list itself changed the world, so it is not made again; what is behind it is.
    tells(
        "lint policy {continue_on_failure: true}; list<lint external forEach; each<list",
        &["lint: exit 1 then 1", "list: [7, 8]", "reopen"],
        "
        lint succeeded x2
        list succeeded x1
        each succeeded x4
        each[0] succeeded x2
        each[1] succeeded x2
        run.completed.ok",
    );
}

#[test]
fn an_item_that_failed_runs_again_beside_the_confirmed_ones() {
    tells(
        BEHIND_LINT,
        &["lint: exit 1 then 1", "list: [7, 8]", "post[1]: exit 1 then 1", "reopen"],
        "
        lint succeeded x2
        list succeeded x2
        post succeeded x3
        post[0] succeeded x1
        post[1] succeeded x2
        sum succeeded x2
        run.completed.ok",
    );
}

#[test]
fn a_crash_at_any_commit_after_it_was_opened_again_changes_nothing() {
    let script = || Script::parse(&["lint: exit 1 then 1", "list: [7, 8] then [8, 7, 9]"]);
    let plan = plan(BEHIND_LINT);
    let mut stage = Stage::start(&plan, &Options::default(), script());
    stage.play(&[Step::Reopen]);
    let whole = state(&stage.drive.run);
    let reopened = stage
        .drive
        .journal
        .iter()
        .position(|entry| matches!(entry.event, Event::RunReopened { .. }))
        .expect("it was opened again");
    for commit in stage.drive.commits.iter().filter(|commit| **commit > reopened) {
        let mut resumed = Stage::resume(&stage.drive.journal[..*commit], script(), true);
        resumed.play(&[]);
        if resumed.drive.run.waits().is_empty() {
            assert_eq!(state(&resumed.drive.run), whole, "after entry {commit}");
        } else {
            // Only the effect that was under way is unknown.
            assert_eq!(resumed.drive.run.waits()[0].scope.to_string(), "[2]", "after entry {commit}");
        }
    }
}

#[test]
fn a_route_still_repeats_what_it_is_told_to() {
    tells(
        "list forEach; post<list external; again<post reduce {on_success: {transitions: [{when: \"attempt < 2\", to: list}]}}",
        &["list: [7]"],
        "
        list succeeded x2
        post succeeded x2
        post[0] succeeded x2
        again succeeded x2
        run.completed.ok",
    );
}
