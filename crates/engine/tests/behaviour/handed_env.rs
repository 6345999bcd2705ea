//! What commands hand to later checks through `$ESCROW_ENV`, and what they cannot.

use escrow_model::{Entry, Event};
use escrow_testkit::{Options, Played, play};

/// The handed variables with which a check was started.
fn handed(played: &Played, name: &str) -> Vec<String> {
    let started = played.journal.iter().find_map(|Entry { event, .. }| match event {
        Event::AttemptStarted { check, request, .. } if check == name => Some(request),
        _ => None,
    });
    let request = started.unwrap_or_else(|| panic!("`{name}` did not start"));
    request.handed_env.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

fn warnings(played: &Played) -> Vec<&str> {
    played.run.warnings().iter().map(|warning| warning.message.as_str()).collect()
}

#[test]
fn a_variable_that_steers_programs_is_refused_with_a_warning() {
    for name in
        ["PATH", "LD_PRELOAD", "BASH_ENV", "ENV", "NODE_OPTIONS", "GIT_SSH", "PYTHONPATH", "https_proxy"]
    {
        let played = play("a; b<a", &[&format!("a: env {name}=evil")], &Options::default());
        assert_eq!(handed(&played, "b"), Vec::<String>::new(), "{name}");
        assert_eq!(played.reason(), "run.completed.with_warnings", "{name}");
        assert!(warnings(&played)[0].contains(&format!("`{name}` was not handed on")), "{name}");
    }
}

#[test]
fn a_variable_is_refused_by_the_end_of_its_name_and_the_warning_says_what_it_steers() {
    for name in ["ACME_TOKEN", "ANTHROPIC_BASE_URL", "RM", "TWINE_REPOSITORY", "TOOL_OPTIONS", "REPORT_PATH"]
    {
        let played = play("a; b<a", &[&format!("a: env {name}=evil")], &Options::default());
        assert_eq!(handed(&played, "b"), Vec::<String>::new(), "{name}");
        let warning = warnings(&played)[0].to_owned();
        assert!(warning.contains(&format!("`{name}` was not handed on: it steers")), "{warning}");
    }
    for name in ["VERSION", "IMAGE_TAG", "COUNT", "DEPLOYED_TO"] {
        let played = play("a; b<a", &[&format!("a: env {name}=fine")], &Options::default());
        assert_eq!(handed(&played, "b"), [format!("{name}=fine")]);
    }
}

/// Linux starts no program with a variable of 128 KiB, so the next check would fail for what another one wrote.
#[test]
fn a_variable_that_is_too_long_is_refused_with_a_warning() {
    let long = "x".repeat(300_000);
    let played = play("a; b<a", &[&format!("a: env VERSION={long}")], &Options::default());
    assert_eq!(handed(&played, "b"), Vec::<String>::new());
    assert!(
        warnings(&played)[0].contains("`VERSION` was not handed on: it has 300007 bytes"),
        "{:?}",
        warnings(&played)
    );
    let fits = "x".repeat(100_000);
    let played = play(
        "a; b<a; c<b; d<c; e<d",
        &[
            &format!("a: env A={fits}"),
            &format!("b: env B={fits}"),
            &format!("c: env C={fits}"),
            &format!("d: env A={fits}"),
        ],
        &Options::default(),
    );
    assert_eq!(handed(&played, "e"), [format!("A={fits}"), format!("B={fits}")]);
    assert_eq!(warnings(&played).len(), 1, "what replaces a variable takes its room");
    assert!(warnings(&played)[0].contains("`C` was not handed on"), "{:?}", warnings(&played));
}

#[test]
fn a_variable_of_the_playbook_is_never_replaced() {
    for book in [
        "@env: {DRY_RUN: 'true'}\na; b<a",
        "a; b<a {env: {DRY_RUN: 'true'}}",
        "@secrets: [DRY_RUN]\na; b<a {secrets: [DRY_RUN]}",
    ] {
        let played = play(book, &["a: env DRY_RUN=false"], &Options::default());
        assert_eq!(handed(&played, "b"), Vec::<String>::new(), "{book}");
        assert_eq!(warnings(&played).len(), 1, "{book}");
    }
}

#[test]
fn a_variable_of_the_operator_is_never_replaced() {
    let mut options = Options::default();
    options.facts.env.insert("DRY_RUN".into(), "true".into());
    let book = r#"a; post<a external {assume: "env.DRY_RUN !== 'true'"}"#;
    let played = play(book, &["a: env DRY_RUN=false"], &options);
    assert_eq!(played.check("post")["skip_reason"], "assume");
    assert!(warnings(&played)[0].contains("`DRY_RUN` was not handed on"));
}

#[test]
fn an_external_check_gets_only_the_variables_that_it_names() {
    let book = r#"a; c<a; b<c {exec: "true"}
        script<c external {exec: "deploy \"$VERSION\""}
        template<c external {exec: "deploy {{ env.VERSION }}"}
        expression<c external {exec: "deploy", guarantee: "env.VERSION !== ''"}
        none<c external {exec: "deploy"}"#;
    let played = play(book, &["a: env VERSION=1.0", "c: env OTHER=x"], &Options::default());
    assert_eq!(handed(&played, "b"), ["OTHER=x", "VERSION=1.0"]);
    for check in ["script", "template", "expression"] {
        assert_eq!(handed(&played, check), ["VERSION=1.0"], "{check}");
    }
    assert_eq!(handed(&played, "none"), Vec::<String>::new());
}

#[test]
fn a_retry_that_writes_the_same_is_told_once() {
    let book = r#"a {fail_if: "attempt < 3", retry_on: [logical], on_fail: {retry: {max: 3}}}"#;
    let played = play(book, &["a: env PATH=/evil"], &Options::default());
    assert_eq!(warnings(&played).len(), 1);
}
