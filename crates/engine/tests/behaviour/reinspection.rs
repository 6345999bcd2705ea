//! What a check has verified is looked at again just before an effect that stands on it.

use escrow_testkit::{check, tells};

fn with(checks: &str) -> String {
    format!("@artifacts: {{expected: [{{id: verdict, path: verdict.json}}]}}\n{checks}")
}

#[test]
fn an_unchanged_artifact_lets_the_effect_start() {
    check(
        &with("review {artifacts: verdict}; merge<review external"),
        &[r#"seen {"verdict": 5}"#],
        "started review #1
         inspected review passed
         succeeded review
         started merge #1
         succeeded merge
         run.completed.ok",
    );
}

#[test]
fn a_changed_artifact_blocks_the_effect_and_fails_the_run() {
    let played = check(
        &with("review {artifacts: verdict}; merge<review external"),
        &[r#"seen {"verdict": 5}"#, r#"seen from 2 {"verdict": 6}"#],
        "started review #1
         inspected review passed
         succeeded review
         changed merge verdict
         skipped merge contract_blocked
         run.failed.artifact_changed",
    );
    let reason = played.run.reason().expect("it ended");
    assert_eq!(
        reason.summary,
        "`merge` was blocked: artifact `verdict` (verdict.json) has changed since `review` verified it"
    );
}

#[test]
fn an_artifact_is_looked_at_through_checks_in_between() {
    tells(
        &with("review {artifacts: verdict}; wait<review; merge<wait external"),
        &[r#"seen {"verdict": 5}"#, r#"seen from 2 {"verdict": 6}"#],
        "review succeeded x1
         wait succeeded x1
         merge skipped x0 contract_blocked
         run.failed.artifact_changed",
    );
}

#[test]
fn a_changed_artifact_is_not_asked_about() {
    // The second look comes before the question, the third after the approval.
    tells(
        &with("review {artifacts: verdict}; merge<review external {requires_approval: true}"),
        &[r#"seen {"verdict": 5}"#, r#"seen from 2 {"verdict": 6}"#],
        "review succeeded x1
         merge skipped x0 contract_blocked
         run.failed.artifact_changed",
    );
    check(
        &with("review {artifacts: verdict}; merge<review external {requires_approval: true}"),
        &[r#"seen {"verdict": 5}"#, r#"seen from 3 {"verdict": 6}"#, "approve merge"],
        "started review #1
         inspected review passed
         succeeded review
         asks merge approval
         run.waiting.approval
         changed merge verdict
         skipped merge contract_blocked
         run.failed.artifact_changed",
    );
}

#[test]
fn a_check_that_is_not_external_starts_all_the_same() {
    tells(
        &with("review {artifacts: verdict}; note<review"),
        &[r#"seen {"verdict": 5}"#, r#"seen from 2 {"verdict": 6}"#],
        "review succeeded x1
         note succeeded x1
         run.completed.with_warnings",
    );
}

#[test]
fn a_check_is_not_blocked_by_its_own_artifacts() {
    tells(
        &with("merge external {artifacts: verdict, on_fail: {retry: {max: 1}}, idempotent: true}"),
        &[r#"seen {"verdict": 5}"#, "merge: exit 1 then 1"],
        "merge succeeded x2
         run.completed.ok",
    );
}

#[test]
fn the_last_successful_check_that_lists_the_artifact_decides() {
    // `edit` verifies what it has changed itself.
    tells(
        &with("review {artifacts: verdict}; edit<review {artifacts: verdict}; merge<edit external"),
        &[r#"seen {"verdict": 5}"#, r#"seen from 2 {"verdict": 6}"#],
        "review succeeded x1
         edit succeeded x1
         merge succeeded x1
         run.completed.ok",
    );
}

#[test]
fn the_effect_starts_when_the_gate_has_run_again() {
    // The gate runs again, verifies the new file, and `merge` is decided anew.
    tells(
        &with(
            r#"review {artifacts: verdict}; merge<review external
               back<review {on_success: {transitions: [{when: "attempt < 2", to: review}]}}"#,
        ),
        &[r#"seen {"verdict": 5}"#, r#"seen from 2 {"verdict": 6}"#, "back: 1 after 5s then 1", "wait 10s"],
        "review succeeded x2
         merge succeeded x1
         back succeeded x2
         run.completed.ok",
    );
}

#[test]
fn a_run_that_was_blocked_verifies_again_when_it_is_opened_again() {
    tells(
        &with("review {artifacts: verdict}; merge<review external"),
        &[r#"seen {"verdict": 5}"#, r#"seen from 2 {"verdict": 6}"#, "reopen"],
        "review succeeded x2
         merge succeeded x1
         run.completed.ok",
    );
}

#[test]
fn a_crash_while_the_look_is_under_way_changes_nothing() {
    tells(
        &with("review {artifacts: verdict}; merge<review external {requires_approval: true}"),
        &[r#"seen {"verdict": 5}"#, "crash", "approve merge", "crash"],
        "review succeeded x1
         merge succeeded x1
         run.completed.ok",
    );
}

#[test]
fn an_artifact_that_a_later_check_overwrote_is_a_warning_at_the_end() {
    let played = tells(
        &with("review {artifacts: verdict}; tamper<review"),
        &[r#"seen {"verdict": 5}"#, r#"seen from 2 {"verdict": 6}"#],
        "review succeeded x1
         tamper succeeded x1
         run.completed.with_warnings",
    );
    let warning = played.run.warnings().first().expect("a warning");
    assert_eq!((warning.code.as_str(), warning.check.as_deref()), ("artifact/changed", Some("review")));
    let told = "artifact `verdict` (verdict.json) has changed since `review` verified it: sha256 ";
    assert!(warning.message.starts_with(told), "{}", warning.message);
}

#[test]
fn an_artifact_that_the_last_check_with_its_id_has_verified_is_no_warning() {
    tells(
        &with("review {artifacts: verdict}; mend<review {artifacts: verdict}"),
        &[r#"seen {"verdict": 5}"#, r#"seen from 2 {"verdict": 6}"#],
        "review succeeded x1
         mend succeeded x1
         run.completed.ok",
    );
}
