//! Every change of status of a check, read off the journal.

use escrow_engine::history;
use escrow_testkit::{Options, play};

fn check(text: &str, script: &[&str], expected: &[&str]) {
    let played = play(text, script, &Options::default());
    let told: Vec<String> = history(&played.journal)
        .expect("a journal that replays")
        .iter()
        .map(|one| {
            let line =
                format!("{}{} {} {} {}", one.check, one.scope, one.from.as_str(), one.to.as_str(), one.code);
            line.trim_end().to_owned()
        })
        .collect();
    assert_eq!(told, expected);
}

#[test]
fn a_check_that_fails_takes_its_dependents_along() {
    check(
        "a; b<a",
        &["a: exit 1"],
        &[
            "a pending running",
            "a running failed command/exit_nonzero",
            "b pending skipped dependency_failed",
        ],
    );
}

#[test]
fn a_route_opens_what_had_settled() {
    check(
        r#"a; b<a {fail_if: "attempt === 1", on_fail: {goto: a}}"#,
        &[],
        &[
            "a pending running",
            "a running succeeded",
            "b pending running",
            "b running failed b_fail_if",
            "a succeeded pending",
            "b failed pending",
            "a pending running",
            "a running succeeded",
            "b pending running",
            "b running succeeded",
        ],
    );
}
