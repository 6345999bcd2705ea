//! No effect stands on a matrix with a hole.

use escrow_engine::{Question, explain};
use escrow_testkit::{Options, play, tells};

#[test]
fn an_external_check_does_not_start_on_a_mapped_check_with_a_failed_item() {
    tells(
        "list forEach; test<list; publish<test external",
        &["list: [0, 1]", "test[0]: 1", "test[1]: exit 1"],
        "list succeeded x1
         test failed x2 command/exit_nonzero
         test[0] succeeded x1
         test[1] failed x1
         publish skipped x0 contract_blocked
         run.failed.exit_nonzero",
    );
}

#[test]
fn a_reduce_check_in_between_does_not_fill_the_hole() {
    let played = tells(
        "list forEach; test<list; report<test; publish<report external",
        &["list: [0, 1]", "test[0]: 1", "test[1]: exit 1"],
        "list succeeded x1
         test failed x2 command/exit_nonzero
         test[0] succeeded x1
         test[1] failed x1
         report succeeded x1
         publish skipped x0 contract_blocked
         run.failed.exit_nonzero",
    );
    let why = played.journal.iter().find_map(|entry| match &entry.event {
        escrow_model::Event::CheckSkipped { check, detail, .. } if check == "publish" => Some(detail.clone()),
        _ => None,
    });
    assert_eq!(why.as_deref(), Some("`test[1]` failed, so its items are not complete"));
}

#[test]
fn continue_on_failure_of_the_mapped_check_says_that_the_rest_is_enough() {
    tells(
        "list forEach; test<list {criticality: info, continue_on_failure: true}; report<test; publish<report external",
        &["list: [0, 1]", "test[0]: 1", "test[1]: exit 1"],
        "list succeeded x1
         test failed x2 command/exit_nonzero
         test[0] succeeded x1
         test[1] failed x1
         report succeeded x1
         publish succeeded x1
         run.completed.with_warnings",
    );
}

#[test]
fn an_external_map_dependent_looks_at_its_own_item_alone() {
    tells(
        "list forEach; test<list; publish<test map external",
        &["list: [0, 1]", "test[0]: 1", "test[1]: exit 1"],
        "list succeeded x1
         test failed x2 command/exit_nonzero
         test[0] succeeded x1
         test[1] failed x1
         publish succeeded x1
         publish[0] succeeded x1
         publish[1] skipped x0 dependency_failed
         run.failed.exit_nonzero",
    );
}

#[test]
fn an_external_map_dependent_that_also_stands_on_the_whole_matrix_is_blocked_by_any_item() {
    tells(
        "list forEach; test<list; report<test; publish<test,report map external",
        &["list: [0, 1]", "test[0]: 1", "test[1]: exit 1"],
        "list succeeded x1
         test failed x2 command/exit_nonzero
         test[0] succeeded x1
         test[1] failed x1
         report succeeded x1
         publish skipped x0 contract_blocked
         publish[0] skipped x0 contract_blocked
         publish[1] skipped x0 contract_blocked
         run.failed.exit_nonzero",
    );
}

#[test]
fn an_item_that_was_skipped_by_assume_is_a_hole() {
    let text = r#"list forEach; test<list {assume: "item > 0"}; publish<test external"#;
    let played = play(text, &["list: [0, 1]"], &Options::default());
    assert_eq!(played.check("publish")["skip_reason"], "contract_blocked");
}

#[test]
fn an_item_whose_if_cannot_be_evaluated_is_a_hole() {
    let text = r#"list forEach; test<list info {if: "item.deep.value"}; publish<test external"#;
    let played = play(text, &[r#"list: [{"deep": {"value": true}}, {}]"#], &Options::default());
    assert_eq!(played.check("publish")["skip_reason"], "contract_blocked");
}

#[test]
fn an_item_whose_if_is_false_is_no_hole() {
    let text = r#"list forEach; test<list {if: "item > 0"}; publish<test external"#;
    let played = play(text, &["list: [0, 1]"], &Options::default());
    assert_eq!(played.check("publish")["status"], "succeeded");
}

#[test]
fn an_item_that_was_skipped_behind_a_failed_one_is_a_hole_of_its_own() {
    tells(
        r#"list forEach; build<list; test<build map; publish<test external"#,
        &["list: [0, 1]", "build[1]: exit 1"],
        "list succeeded x1
         build failed x2 command/exit_nonzero
         build[0] succeeded x1
         build[1] failed x1
         test succeeded x1
         test[0] succeeded x1
         test[1] skipped x0 dependency_failed
         publish skipped x0 contract_blocked
         run.failed.exit_nonzero",
    );
}

#[test]
fn a_hole_that_a_later_attempt_filled_is_none() {
    tells(
        "list forEach; test<list {on_fail: {retry: {max: 1}}}; publish<test external",
        &["list: [0, 1]", "test[1]: exit 1 then 1"],
        "list succeeded x1
         test succeeded x3
         test[0] succeeded x1
         test[1] succeeded x2
         publish succeeded x1
         run.completed.ok",
    );
}

#[test]
fn an_empty_list_has_no_hole() {
    tells(
        "list forEach; test<list; publish<test external",
        &["list: []"],
        "list succeeded x1
         test skipped x0 forEach_empty
         publish succeeded x1
         run.completed.ok",
    );
}

/// The items of the first group are reduced before the item of the second group fails.
#[test]
fn the_explanation_ends_at_the_hole_whatever_order_the_items_settle_in() {
    let played = play(
        "a forEach; b<a forEach; t<b; s<t reduce; publish<s reduce external",
        &["a: [0, 1]", "b: [0, 1]", "t: 1", "t[1][1]: exit 1 after 5s", "wait 10s"],
        &Options::default(),
    );
    let question = Question { check: "publish".into(), scope: None };
    let explained = explain(&played.journal, Some(&question)).expect("it is in the journal");
    let last = explained.path.last().expect("the skip has a cause");
    assert_eq!(
        (last.check.as_str(), last.scope.to_string().as_str(), last.status),
        ("t", "[1][1]", "failed")
    );
}
