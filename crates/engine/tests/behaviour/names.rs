//! The names that expressions and templates see.

use escrow_model::{Event, GitFacts};
use escrow_testkit::{Options, play, tells};
use serde_json::json;

#[test]
fn branch_and_changed_files_come_from_git_when_the_event_has_none() {
    let mut options = Options::default();
    options.facts.git = Some(Ok(GitFacts {
        files_changed: vec!["a.rs".into()],
        branch: Some("feature".into()),
        base_branch: Some("main".into()),
    }));
    let text = r#"a {guarantee: ["filesChanged[0] === 'a.rs'", "filesCount === 1", "branch === 'feature'", "baseBranch === 'main'"]}"#;
    assert_eq!(play(text, &[], &options).reason(), "run.completed.ok");
}

#[test]
fn inputs_have_their_defaults() {
    tells(
        r#"@inputs: {depth: {type: number, default: 3}}
           a {if: "inputs.depth === 3"}"#,
        &[],
        "a succeeded x1
         run.completed.ok",
    );
}

#[test]
fn histories_grow_over_loops_and_items() {
    tells(
        r#"a {on_success: {transitions: [{when: "outputs_history.a.length < 3", to: a}]}}
           b<a {guarantee: "JSON.stringify(outputs_history.a) === '[1,2,3]'"}"#,
        &["a: 1 then 2 then 3"],
        "a succeeded x3
         b succeeded x1
         run.completed.ok",
    );
}

#[test]
fn goto_js_sees_the_result_it_follows() {
    tells(
        r#"a {on_success: {goto_js: "return outputs_history.a.length < 2 && output.x === outputs.a.x ? 'a' : null"}}"#,
        &[r#"a: {"x": 1}"#],
        "a succeeded x2
         run.completed.ok",
    );
}

#[test]
fn outputs_raw_of_a_mapped_check_is_every_item() {
    tells(
        r#"list forEach; a<list; b<a map {guarantee: "outputs.a === item && outputs_raw.list.length === 2"}
           c<b {guarantee: "outputs_raw.a.length === 2 && outputs.a.length === 2"}"#,
        &["list: [0, 1]", "a[0]: 0", "a[1]: 1"],
        "list succeeded x1
         a succeeded x2
         a[0] succeeded x1
         a[1] succeeded x1
         b succeeded x2
         b[0] succeeded x1
         b[1] succeeded x1
         c succeeded x1
         run.completed.ok",
    );
}

#[test]
fn a_nested_playbook_is_an_ordinary_effect() {
    let played = play(
        r#"a {type: playbook, playbook: other.yaml, with: {n: "{{ 1 + 1 }}"}}"#,
        &[],
        &Options::default(),
    );
    let request = played.journal.iter().find_map(|entry| match &entry.event {
        Event::AttemptStarted { request, .. } => Some(request.clone()),
        _ => None,
    });
    assert_eq!(request.expect("it started").fields["with"]["n"], 2);
}

#[test]
fn a_log_is_in_the_journal() {
    let played =
        play(r#"a {type: log, message: "hello {{ checkName }}", level: warning}"#, &[], &Options::default());
    assert_eq!(played.check("a")["output"]["message"], "hello a");
    assert_eq!(played.check("a")["output"]["level"], "warning");
}

#[test]
fn every_check_of_the_playbook_is_in_the_document() {
    let played = play(r#"a; b {if: "false"}; c<b; d {start: false}"#, &[], &Options::default());
    let document = played.document();
    let names: Vec<&String> = document["checks"].as_object().expect("an object").keys().collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_eq!(document["run"]["status"], "completed");
}

#[test]
fn the_payload_of_a_pull_request_says_its_branches() {
    let mut options = Options::default();
    let payload = json!({"pull_request": {"head": {"ref": "feature"}, "base": {"ref": "trunk"}}});
    options.run.payload = payload.as_object().expect("an object").clone();
    options.facts.git = Some(Err("not a git repository".into()));
    let text = r#"a {guarantee: ["branch === 'feature'", "baseBranch === 'trunk'"]}"#;
    assert_eq!(play(text, &[], &options).reason(), "run.completed.ok");
}

#[test]
fn a_script_that_needs_git_says_why_there_is_none() {
    let mut options = Options::default();
    options.facts.git = Some(Err("not a git repository".into()));
    let played = play(r#"a {type: script, content: "return branch"}"#, &[], &options);
    assert!(played.message("a").contains("not a git repository"), "{}", played.message("a"));
}

#[test]
fn event_name_has_two_spellings() {
    let mut options = Options::default();
    options.run.event = Some("pr_opened".into());
    let text = r#"a {if: "event.name === 'pr_opened' && event.event_name === event.name"}"#;
    assert_eq!(play(text, &[], &options).reason(), "run.completed.ok");
}

#[test]
fn a_script_counts_attempts_like_everybody_else() {
    tells(
        r#"a {type: script, content: "return attempt", if: "attempt < 4", guarantee: "output === attempt",
                      on_success: {transitions: [{when: "attempt < 2", to: a}]}}
           b<a {guarantee: "JSON.stringify(outputs_history.a) === '[1,2]'"}"#,
        &[],
        "a succeeded x2
         b succeeded x1
         run.completed.ok",
    );
}
