//! Events, tags and `--only`: what is left out before anything is decided.

use escrow_testkit::{Options, Played, play, tells};

fn under(event: &str, text: &str, world: &[&str]) -> Played {
    let mut options = Options::default();
    options.run.event = Some(event.into());
    play(text, world, &options)
}

#[test]
fn without_an_event_nothing_is_filtered_and_the_event_is_called_manual() {
    tells(
        r#"a {on: [pr_opened], guarantee: "event.name === 'manual' && event.event_name === 'manual'"}"#,
        &[],
        "
        a succeeded x1
        run.completed.ok",
    );
}

#[test]
fn a_check_that_does_not_listen_to_the_event_skips() {
    let played = under("pr_opened", "a {on: [pr_opened, x]}; b {on: [issue]}; c<b; d", &[]);
    assert_eq!(played.check("a")["status"], "succeeded");
    assert_eq!(played.check("b")["skip_reason"], "event");
    assert_eq!(played.check("c")["skip_reason"], "dependency_failed");
    assert_eq!(played.check("d")["status"], "succeeded");
}

#[test]
fn a_run_in_which_everything_was_filtered_ran_nothing() {
    let played = under("pr_opened", "a {on: [issue]}", &[]);
    assert_eq!(played.reason(), "run.completed.nothing_ran");
    assert_eq!(played.document()["run"]["warnings"][0]["code"], "nothing_ran");
}

#[test]
fn goto_event_really_changes_the_event() {
    let text = r#"a; b<a {on_success: {transitions: [{when: "attempt < 2", to: a, goto_event: pr_updated}]}}
                  c<a {on: [pr_updated]}; d<a {if: "event.event_name === 'pr_updated'"}"#;
    let played = under("pr_opened", text, &[]);
    assert_eq!(played.check("a")["runs"], 2);
    assert_eq!(played.check("c")["runs"], 1);
    assert_eq!(played.check("d")["runs"], 1);
    assert_eq!(played.reason(), "run.completed.ok");
}

#[test]
fn goto_event_filters_even_when_the_run_has_no_event() {
    tells(
        r#"a {on_success: {goto: b, goto_event: pr_updated}}; b {on: [pr_updated]}; c<b {on: [other]}"#,
        &[],
        "a succeeded x1
         b succeeded x1
         c skipped x0 event
         run.completed.ok",
    );
}

#[test]
fn the_event_passes_on_along_a_chain_of_routes() {
    tells(
        r#"a {on_success: {goto: b, goto_event: pr_updated}}; b {on_success: {goto: c}}
           c {guarantee: "event.name === 'pr_updated'"}"#,
        &[],
        "a succeeded x1
         b succeeded x1
         c succeeded x1
         run.completed.ok",
    );
}

#[test]
fn the_payload_of_an_event_can_be_read() {
    let mut options = Options::default();
    options.run.event = Some("issue".into());
    options.run.payload = serde_json::from_str(
        r#"{"issue": {"number": 7}, "author_association": "MEMBER", "filesChanged": ["a", "b"], "branch": "x"}"#,
    )
    .expect("it is JSON");
    let text = r#"a {guarantee: ["event.issue.number === 7", "isMember()", "filesCount === 2", "branch === 'x'"]}
                  b {guarantee: "filesChanged.includes('b')"}"#;
    let played = play(text, &[], &options);
    assert_eq!(played.reason(), "run.completed.ok", "{:#}", played.document());
}

#[test]
fn nobody_is_a_member_without_an_association() {
    tells(
        r#"a {assume: "isMember()"}"#,
        &[],
        "
        a skipped x0 assume
        run.completed.nothing_ran",
    );
}

#[test]
fn only_brings_dependencies_along_and_leaves_out_the_rest() {
    let mut options = Options::default();
    options.run.only = vec!["b".into()];
    let played = play("a; b<a {on_success: {goto: d}}; c<b; d; e", &[], &options);
    for (name, reason) in [("c", "only"), ("d", "only"), ("e", "only")] {
        assert_eq!(played.check(name)["skip_reason"], reason, "{name}");
    }
    assert_eq!(played.check("a")["status"], "succeeded");
    assert_eq!(played.check("b")["status"], "succeeded");
    assert_eq!(played.reason(), "run.completed.ok");
}

#[test]
fn tags_bring_dependencies_along_and_excluded_tags_win() {
    let mut options = Options::default();
    options.run.tags = vec!["fast".into()];
    options.run.exclude_tags = vec!["slow".into()];
    let played = play("a; b<a {tags: [fast]}; c {tags: [fast, slow]}; d", &[], &options);
    assert_eq!(played.check("a")["status"], "succeeded");
    assert_eq!(played.check("b")["status"], "succeeded");
    assert_eq!(played.check("c")["skip_reason"], "tags");
    assert_eq!(played.check("d")["skip_reason"], "tags");
}

#[test]
fn a_fan_out_can_be_left_out() {
    let mut options = Options::default();
    options.run.only = vec!["list".into()];
    let played = play("list forEach; each<list; sum<each", &["list: [1, 2]"], &options);
    assert_eq!(played.check("each")["skip_reason"], "only");
    assert_eq!(played.check("sum")["skip_reason"], "only");
    assert_eq!(played.reason(), "run.completed.ok");
}
