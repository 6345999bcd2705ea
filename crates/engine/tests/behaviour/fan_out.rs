//! `forEach`: items, their scopes, and what stands outside them.

use escrow_model::Event;
use escrow_testkit::{Options, check, play, tells};
use serde_json::json;

#[test]
fn a_check_that_depends_on_a_for_each_check_runs_once_per_item() {
    tells(
        r#"list forEach; each<list {guarantee: "item === outputs.list && outputs_raw.list.length === 2"}"#,
        &["list: [10, 20]"],
        "
        list succeeded x1
        each succeeded x2
        each[0] succeeded x1
        each[1] succeeded x1
        run.completed.ok",
    );
}

#[test]
fn an_output_that_is_no_array_fails_the_for_each_check() {
    tells(
        "list forEach; each<list; sum<each",
        &[r#"list: {"a": 1}"#],
        "
        list failed x1 forEach/not_an_array
        each skipped x0 dependency_failed
        sum skipped x0 dependency_failed
        run.failed.check_failed",
    );
}

#[test]
fn ten_thousand_items_are_not_too_many() {
    tells(
        r#"list forEach {type: script, content: "return Array.from({length: 10000}, (_, i) => i)"}"#,
        &[],
        "
        list succeeded x1
        run.completed.ok",
    );
}

#[test]
fn more_than_ten_thousand_items_are_too_many() {
    tells(
        r#"list forEach {type: script, content: "return Array.from({length: 10001}, (_, i) => i)"}; each<list {type: noop}"#,
        &[],
        "
        list failed x1 forEach/too_many_items
        each skipped x0 dependency_failed
        run.failed.check_failed",
    );
}

#[test]
fn an_array_of_one_is_one_item() {
    tells(
        r#"list forEach; each<list {guarantee: "item.x === 1"}"#,
        &[r#"list: [{"x": 1}]"#],
        "
        list succeeded x1
        each succeeded x1
        each[0] succeeded x1
        run.completed.ok",
    );
}

#[test]
fn after_an_empty_for_each_map_dependents_skip_and_reduce_dependents_run_with_nothing() {
    tells(
        r#"list forEach; each<list; again<each map; sum<each {guarantee: "outputs.each.length === 0"}; total<again"#,
        &["list: []"],
        "list succeeded x1
         each skipped x0 forEach_empty
         again skipped x0 forEach_empty
         sum succeeded x1
         total succeeded x1
         run.completed.ok",
    );
}

#[test]
fn outside_the_items_outputs_are_an_array_aligned_by_index() {
    tells(
        r#"list forEach; each<list {if: "item !== 1"}; sum<each {guarantee: "JSON.stringify(outputs.each) === '[10,null,12]'"}"#,
        &["list: [0, 1, 2]", "each[0]: 10", "each[2]: 12"],
        "list succeeded x1
         each succeeded x2
         each[0] succeeded x1
         each[1] skipped x0 if_condition
         each[2] succeeded x1
         sum succeeded x1
         run.completed.ok",
    );
}

#[test]
fn an_item_needs_only_its_own_item() {
    check(
        "list forEach; a<list; b<a map",
        &["list: [0, 1]", "a[0]: 1 after 9s", "a[1]: 1"],
        "
        started list #1
        succeeded list
        started a[0] #1
        started a[1] #1
        succeeded a[1]
        started b[1] #1
        succeeded b[1]
        succeeded a[0]
        started b[0] #1
        succeeded b[0]
        run.completed.ok",
    );
}

#[test]
fn a_failed_item_fails_the_check_and_the_run_but_reduce_dependents_continue() {
    tells(
        "list forEach; each<list; after<each map; sum<each",
        &["list: [0, 1]", "each[1]: exit 1"],
        "
        list succeeded x1
        each failed x2 command/exit_nonzero
        each[0] succeeded x1
        each[1] failed x1
        after succeeded x1
        after[0] succeeded x1
        after[1] skipped x0 dependency_failed
        sum succeeded x1
        run.failed.exit_nonzero",
    );
}

#[test]
fn when_every_item_failed_reduce_dependents_skip() {
    tells(
        "list forEach; each<list; sum<each",
        &["list: [0, 1]", "each: exit 1"],
        "
        list succeeded x1
        each failed x2 command/exit_nonzero command/exit_nonzero
        each[0] failed x1
        each[1] failed x1
        sum skipped x0 dependency_failed
        run.failed.exit_nonzero",
    );
}

#[test]
fn the_retry_of_an_item_touches_no_other_item() {
    tells(
        "list forEach; each<list {on_fail: {retry: {max: 1}}}; sum<each",
        &["list: [0, 1, 2]", "each: 1", "each[1]: exit 1 then 1"],
        "list succeeded x1
         each succeeded x4
         each[0] succeeded x1
         each[1] succeeded x2
         each[2] succeeded x1
         sum succeeded x1
         run.completed.ok",
    );
}

#[test]
fn a_join_runs_where_all_its_branches_succeeded() {
    tells(
        "list forEach; a<list; b<list; c<a,b map",
        &["list: [0, 1, 2]", "b[1]: exit 1"],
        "list succeeded x1
         a succeeded x3
         a[0] succeeded x1
         a[1] succeeded x1
         a[2] succeeded x1
         b failed x3 command/exit_nonzero
         b[0] succeeded x1
         b[1] failed x1
         b[2] succeeded x1
         c succeeded x2
         c[0] succeeded x1
         c[1] skipped x0 dependency_failed
         c[2] succeeded x1
         run.failed.exit_nonzero",
    );
}

#[test]
fn items_run_up_to_the_concurrency_of_their_for_each_check() {
    check(
        "list forEach {concurrency: 2}; each<list",
        &["list: [0, 1, 2]", "each[0]: 1 after 3s", "each[1]: 1 after 1s", "each[2]: 1"],
        "started list #1
         succeeded list
         started each[0] #1
         started each[1] #1
         succeeded each[1]
         started each[2] #1
         succeeded each[2]
         succeeded each[0]
         run.completed.ok",
    );
}

#[test]
fn items_of_an_external_check_run_one_at_a_time_unless_told_otherwise() {
    check(
        "list forEach; post<list external",
        &["list: [0, 1]", "post: 1 after 1s"],
        "
        started list #1
        succeeded list
        started post[0] #1
        succeeded post[0]
        started post[1] #1
        succeeded post[1]
        run.completed.ok",
    );
    check(
        "list forEach {concurrency: 2}; post<list external",
        &["list: [0, 1]", "post: 1 after 1s"],
        "
        started list #1
        succeeded list
        started post[0] #1
        started post[1] #1
        succeeded post[0]
        succeeded post[1]
        run.completed.ok",
    );
}

#[test]
fn scopes_nest_and_each_level_sees_its_own_item() {
    tells(
        r#"outer forEach
           inner<outer forEach {type: script, content: "return outputs.outer"}
           leaf<inner {guarantee: "outputs.inner === item && outputs.outer.includes(item)"}
           per<leaf {guarantee: "outputs.leaf.length === outputs.outer.length"}
           all<per {guarantee: "outputs.per.length === 2"}"#,
        &["outer: [[1, 2], [3, 4, 5]]", "leaf: true"],
        "outer succeeded x1
         inner succeeded x2
         inner[0] succeeded x1
         inner[1] succeeded x1
         leaf succeeded x5
         leaf[0][0] succeeded x1
         leaf[0][1] succeeded x1
         leaf[1][0] succeeded x1
         leaf[1][1] succeeded x1
         leaf[1][2] succeeded x1
         per succeeded x2
         per[0] succeeded x1
         per[1] succeeded x1
         all succeeded x1
         run.completed.ok",
    );
}

#[test]
fn empty_inner_arrays_are_no_failure() {
    tells(
        r#"outer forEach
           inner<outer forEach {type: script, content: "return []"}
           leaf<inner
           per<leaf {guarantee: "outputs.leaf.length === 0"}
           all<leaf,outer reduce {guarantee: "JSON.stringify(outputs.leaf) === '[[],[]]'"}"#,
        &["outer: [1, 2]"],
        "outer succeeded x1
         inner succeeded x2
         inner[0] succeeded x1
         inner[1] succeeded x1
         leaf skipped x0 forEach_empty
         per succeeded x2
         per[0] succeeded x1
         per[1] succeeded x1
         all succeeded x1
         run.completed.ok",
    );
}

#[test]
fn a_route_taken_by_an_item_runs_its_target_in_that_scope() {
    check(
        "list forEach; each<list {on_fail: {run: [fix], retry: {max: 1}}}; fix map",
        &["list: [0, 1]", "each[0]: 1", "each[1]: exit 1 then 1"],
        "started list #1
         succeeded list
         started each[0] #1
         started each[1] #1
         succeeded each[0]
         failed each[1] command/exit_nonzero
         routed each[1] -> fix[1] on_fail.run
         started fix[1] #1
         succeeded fix[1]
         retry each[1] #1
         started each[1] #2
         succeeded each[1]
         skipped fix[0] not_routed
         run.completed.ok",
    );
}

#[test]
fn a_route_taken_by_an_item_to_a_check_outside_the_fan_out_runs_it_there() {
    tells(
        "list forEach; each<list {on_fail: {run: [report]}}; report reduce",
        &["list: [0, 1]", "each[1]: exit 1"],
        "list succeeded x1
         each failed x2 command/exit_nonzero
         each[0] succeeded x1
         each[1] failed x1
         report succeeded x1
         run.failed.exit_nonzero",
    );
}

#[test]
fn a_target_of_items_runs_once_outside_unless_it_maps_whatever_else_it_depends_on() {
    for target in ["report", "report<unrelated", "report reduce"] {
        tells(
            &format!("unrelated; list forEach; each<list {{on_fail: {{run: [report]}}}}; {target}"),
            &["list: [0, 1]", "each[1]: exit 1"],
            "unrelated succeeded x1
             list succeeded x1
             each failed x2 command/exit_nonzero
             each[0] succeeded x1
             each[1] failed x1
             report succeeded x1
             run.failed.exit_nonzero",
        );
    }
    for target in ["fix map", "fix<unrelated map"] {
        tells(
            &format!("unrelated; list forEach; each<list {{on_fail: {{run: [fix]}}}}; {target}"),
            &["list: [0, 1]", "each[1]: exit 1"],
            "unrelated succeeded x1
             list succeeded x1
             each failed x2 command/exit_nonzero
             each[0] succeeded x1
             each[1] failed x1
             fix succeeded x1
             fix[0] skipped x0 not_routed
             fix[1] succeeded x1
             run.failed.exit_nonzero",
        );
    }
}

#[test]
fn on_finish_fires_once_after_all_items_of_all_map_dependents() {
    check(
        "list forEach {on_finish: {run: [agg]}}; m1<list; m2<list; agg",
        &["list: [1, 2]", "m2[1]: exit 1 after 5s"],
        "started list #1
         succeeded list
         started m1[0] #1
         started m1[1] #1
         started m2[0] #1
         started m2[1] #1
         succeeded m1[0]
         succeeded m1[1]
         succeeded m2[0]
         failed m2[1] command/exit_nonzero
         routed list -> agg on_finish.run
         started agg #1
         succeeded agg
         run.failed.exit_nonzero",
    );
}

#[test]
fn on_finish_fires_also_when_empty_or_failed() {
    tells(
        "list forEach {on_finish: {run: [agg]}}; each<list; agg",
        &["list: []"],
        "
        list succeeded x1
        each skipped x0 forEach_empty
        agg succeeded x1
        run.completed.ok",
    );
    tells(
        "list forEach {on_finish: {run: [agg]}}; each<list; agg",
        &["list: exit 1"],
        "
        list failed x1 command/exit_nonzero
        each skipped x0 dependency_failed
        agg succeeded x1
        run.failed.exit_nonzero",
    );
}

#[test]
fn the_history_of_on_finish_covers_its_pass_alone() {
    // The first pass has an invalid fact and goes back; the second has none, and stops.
    tells(
        r#"facts forEach {on_finish: {transitions: [{when: "any(outputs_history['validate'], v => v.ok === false)", to: facts}]}}
           validate<facts"#,
        &["facts: [0, 1]", r#"validate: {"ok": true}"#, r#"validate[1]: {"ok": false} then {"ok": true}"#],
        "facts succeeded x2
         validate succeeded x4
         validate[0] succeeded x2
         validate[1] succeeded x2
         run.completed.ok",
    );
}

#[test]
fn what_stands_outside_the_items_waits_while_on_finish_may_send_the_run_back() {
    check(
        r#"list forEach {on_finish: {transitions: [{when: "attempt < 2", to: list}]}}; each<list; sum<each"#,
        &["list: [1]"],
        "started list #1
         succeeded list
         started each[0] #1
         succeeded each[0]
         routed list -> list on_finish.transition
         started list #2
         succeeded list
         started each[0] #2
         succeeded each[0]
         started sum #1
         succeeded sum
         run.completed.ok",
    );
}

#[test]
fn items_that_a_new_pass_no_longer_has_no_longer_count() {
    tells(
        r#"list forEach {on_finish: {transitions: [{when: "attempt < 2", to: list}]}}; each<list"#,
        &["list: [0, 1] then [0]", "each[1]: exit 1"],
        "list succeeded x2
         each succeeded x3
         each[0] succeeded x2
         run.completed.ok",
    );
}

#[test]
fn an_item_that_failed_and_is_skipped_in_the_next_pass_is_still_failed() {
    tells(
        r#"list forEach {on_finish: {transitions: [{when: "attempt < 2", to: list}]}}
           each<list {if: "item !== 9"}"#,
        &["list: [0] then [9]", "each[0]: exit 1"],
        "list succeeded x2
         each failed x1 command/exit_nonzero
         each[0] failed x1
         run.failed.exit_nonzero",
    );
}

#[test]
fn a_mapped_target_that_is_routed_to_before_its_items_are_known_runs_for_each_of_them() {
    tells(
        r#"go {on_success: {goto: each}}; list forEach; each<list"#,
        &["list: [0, 1] after 5s"],
        "go succeeded x1
         list succeeded x1
         each succeeded x2
         each[0] succeeded x1
         each[1] succeeded x1
         run.completed.ok",
    );
}

#[test]
fn a_mapped_check_listens_to_the_event_that_a_route_put_its_parent_under() {
    let mut options = Options::default();
    options.run.event = Some("pr_opened".into());
    let played = play(
        r#"start {on_success: {goto: list, goto_event: pr_updated}}
           list forEach; each<list {on: [pr_updated], guarantee: "event.name === 'pr_updated'"}"#,
        &["list: [0, 1]"],
        &options,
    );
    assert_eq!(played.check("each")["runs"], 2);
    assert_eq!(played.reason(), "run.completed.ok");
}

#[test]
fn a_request_carries_its_item() {
    let played =
        play(r#"list forEach; each<list {note: "n {{ item }}"}"#, &["list: [5]"], &Options::default());
    let request = played.journal.iter().find_map(|entry| match &entry.event {
        Event::AttemptStarted { check, request, .. } if check == "each" => Some(request.clone()),
        _ => None,
    });
    let request = request.expect("it started");
    assert_eq!(request.item, Some(5.into()));
    assert_eq!(request.fields["note"], "n 5");
}

#[test]
fn the_target_of_a_route_from_items_has_the_items_of_the_new_pass() {
    tells(
        r#"list forEach {on_finish: {transitions: [{when: "attempt < 2", to: list}]}}
           each<list {on_fail: {run: [fix], retry: {max: 1}}}; fix map"#,
        &["list: [0] then [0, 1]", "each[0]: 1", "each[1]: exit 1 then 1"],
        "list succeeded x2
         each succeeded x4
         each[0] succeeded x2
         each[1] succeeded x2
         fix succeeded x1
         fix[0] skipped x0 not_routed
         fix[1] succeeded x1
         run.completed.ok",
    );
}

#[test]
fn on_finish_does_not_wait_for_what_has_nothing_to_do_with_it() {
    check(
        r#"list forEach {on_finish: {run: [agg]}}; each<list {on_fail: {run: [fix]}}; fix map; agg; slow"#,
        &["list: [0, 1]", "each[0]: exit 1", "fix: 1 after 5s", "slow: 1 after 1h"],
        "started list #1
         started slow #1
         succeeded list
         started each[0] #1
         started each[1] #1
         failed each[0] command/exit_nonzero
         routed each[0] -> fix[0] on_fail.run
         started fix[0] #1
         succeeded each[1]
         succeeded fix[0]
         routed list -> agg on_finish.run
         started agg #1
         succeeded agg
         succeeded slow
         skipped fix[1] not_routed
         run.failed.exit_nonzero",
    );
}

#[test]
fn on_finish_does_not_wait_for_an_inner_list_that_nobody_routed_to() {
    check(
        "list forEach {on_finish: {run: [agg]}}; each<list; inner<list forEach {start: false}
         deep<inner {start: false}; agg",
        &["list: [0]"],
        "started list #1
         succeeded list
         started each[0] #1
         succeeded each[0]
         routed list -> agg on_finish.run
         started agg #1
         succeeded agg
         skipped inner[0] not_routed
         skipped deep[0] not_routed
         run.completed.ok",
    );
}

#[test]
fn behind_a_mapped_check_a_check_reduces_unless_it_says_map() {
    tells(
        "list forEach; each<list; sum<each; also<each map; back<list reduce",
        &["list: [1, 2, 3]"],
        "list succeeded x1
         each succeeded x3
         each[0] succeeded x1
         each[1] succeeded x1
         each[2] succeeded x1
         sum succeeded x1
         also succeeded x3
         also[0] succeeded x1
         also[1] succeeded x1
         also[2] succeeded x1
         back succeeded x1
         run.completed.ok",
    );
}

#[test]
fn reduce_goes_one_level_up() {
    let played = play(
        r#"outer forEach
           inner<outer forEach
           leaf<inner
           up<leaf {type: script, content: "return outputs.leaf"}
           top<up {type: script, content: "return outputs.up"}"#,
        &["outer: [0, 1]", "inner[0]: [1, 2]", "inner[1]: [3]", "leaf: 7"],
        &Options::default(),
    );
    assert_eq!(played.reason(), "run.completed.ok");
    assert_eq!(played.check("up")["runs"], 2);
    assert_eq!(played.check("top")["output"], json!([[7, 7], [7]]));
}

#[test]
fn in_a_map_scope_the_parent_is_the_item_and_its_raw_output_the_whole_array() {
    let content = "return [item, outputs.list, outputs_raw.list]";
    let played = play(
        &format!(r#"list forEach; each<list {{type: script, content: "{content}"}}"#),
        &["list: [5, 6]"],
        &Options::default(),
    );
    assert_eq!(played.check("each")["output"], json!([[5, 5, [5, 6]], [6, 6, [5, 6]]]));
}

#[test]
fn the_raw_output_of_a_nested_parent_is_the_array_that_the_item_came_from() {
    let played = play(
        r#"list forEach; sub<list forEach; each<sub {type: script, content: "return outputs_raw.sub"}"#,
        &["list: [1, 2]", "sub[0]: [10, 11]", "sub[1]: [20]"],
        &Options::default(),
    );
    assert_eq!(played.check("each")["output"], json!([[[10, 11], [10, 11]], [[20]]]));
}

#[test]
fn if_and_assume_are_judged_per_item() {
    tells(
        r#"list forEach; some<list {if: "item > 1"}; few<list {assume: "item > 2"}"#,
        &["list: [1, 2, 3]"],
        "list succeeded x1
         some succeeded x2
         some[0] skipped x0 if_condition
         some[1] succeeded x1
         some[2] succeeded x1
         few succeeded x1
         few[0] skipped x0 assume
         few[1] skipped x0 assume
         few[2] succeeded x1
         run.completed.with_skips",
    );
}

#[test]
fn the_items_of_a_list_that_failed_and_may_fail_run_all_the_same() {
    tells(
        r#"list forEach {criticality: info, continue_on_failure: true, guarantee: "output.length < 2", on_finish: {run: [end]}}
           a<list; act<a map {criticality: external}; r<a {guarantee: "outputs.a.length === 2"}; end"#,
        &["list: [1, 2]"],
        "list failed x1 contract/guarantee_failed
         a succeeded x2
         a[0] succeeded x1
         a[1] succeeded x1
         act skipped x0 contract_blocked
         act[0] skipped x0 contract_blocked
         act[1] skipped x0 contract_blocked
         r succeeded x1
         end succeeded x1
         run.completed.with_skips",
    );
}

#[test]
fn a_list_that_failed_and_may_fail_has_no_items_when_it_gave_no_array() {
    tells(
        r#"list forEach {criticality: info, continue_on_failure: true}; a<list; r<a; s<list reduce"#,
        &["list: exit 1"],
        "list failed x1 command/exit_nonzero
         a skipped x0 dependency_failed
         r skipped x0 dependency_failed
         s succeeded x1
         run.completed.with_warnings",
    );
}

#[test]
fn a_list_that_is_computed_again_has_the_items_of_its_last_pass_alone() {
    // Item 1 fails in the first pass, and the second list does not have it any more.
    let shorter = r#"list forEach; each<list; sum<each {on_fail: {goto: list}, fail_if: "output === 1"}"#;
    tells(
        shorter,
        &["list: [1, 2, 3] then [1]", "each: 1", "each[1]: exit 1", "sum: 1 then 2"],
        "list succeeded x2
         each succeeded x4
         each[0] succeeded x2
         sum succeeded x2
         run.completed.ok",
    );
    tells(
        shorter,
        &["list: [1] then [1, 2, 3]", "each: 1", "each[2]: exit 1", "sum: 1 then 2"],
        "list succeeded x2
         each failed x4 command/exit_nonzero
         each[0] succeeded x2
         each[1] succeeded x1
         each[2] failed x1
         sum succeeded x2
         run.failed.exit_nonzero",
    );
    tells(
        shorter,
        &["list: [1, 2] then []", "each: exit 1", "each[0]: 1", "sum: 1 then 2"],
        "list succeeded x2
         each skipped x2 forEach_empty
         sum succeeded x2
         run.completed.ok",
    );
}
