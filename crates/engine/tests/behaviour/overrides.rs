//! A person's word about a run that has ended.

use escrow_engine::{CannotRetry, NotOverridden, Override, Run, compare, explain, redecide};
use escrow_model::{Entry, ReasonCode, RunStatus};
use escrow_testkit::{Options, Played, document, play};

fn word(status: RunStatus) -> Override {
    Override { status, by: "ann".into(), why: "the flaky mirror was down".into() }
}

fn failed() -> Played {
    play("a; b<a", &["a: exit 1"], &Options::default())
}

/// The journal of a run with one more turn.
fn overridden(played: Played, status: RunStatus) -> (Run, Vec<Entry>) {
    let mut journal = played.journal;
    let mut run = Run::replay(&journal).expect("a journal that replays");
    let turn = run.override_status(9_000_000, word(status)).expect("a run that has ended");
    assert!(turn.effects.is_empty(), "a word does nothing");
    journal.extend(turn.entries);
    (run, journal)
}

#[test]
fn an_override_says_who_why_and_what_it_was_before() {
    let (run, _) = overridden(failed(), RunStatus::Completed);
    let reason = run.reason().unwrap();
    assert_eq!(reason.code, ReasonCode::CompletedOverridden);
    assert_eq!(reason.summary, "ann says completed, not failed: the flaky mirror was down");
    let evidence: Vec<_> = reason.evidence.iter().map(|one| (one.kind.as_str(), one.id.as_str())).collect();
    assert_eq!(evidence, [("person", "ann"), ("earlier_reason", "run.failed.exit_nonzero")]);
}

#[test]
fn the_document_of_a_run_shows_that_it_was_overridden_and_what_its_checks_really_came_to() {
    let (run, _) = overridden(failed(), RunStatus::Completed);
    let shown = document(&run);
    assert_eq!(shown["run"]["status"], "completed");
    assert_eq!(shown["run"]["override"]["from"], "failed");
    assert_eq!(shown["run"]["override"]["by"], "ann");
    assert_eq!(shown["checks"]["a"]["status"], "failed");
    assert_eq!(failed().document()["run"].get("override"), None, "a run that was not has no such word");
}

#[test]
fn an_override_is_replayed_like_everything_else() {
    let (run, journal) = overridden(failed(), RunStatus::Cancelled);
    assert_eq!(Run::replay(&journal).unwrap(), run);
    assert_eq!(document(&run), document(&Run::replay(&journal).unwrap()));
}

#[test]
fn a_word_that_lies_or_has_no_name_is_refused() {
    let ended = || Run::replay(&failed().journal).unwrap();
    let refused = |word: Override| ended().override_status(1, word).unwrap_err();
    assert_eq!(refused(word(RunStatus::Failed)), NotOverridden::Same(RunStatus::Failed));
    for status in [RunStatus::Running, RunStatus::Waiting, RunStatus::TimedOut] {
        assert_eq!(refused(word(status)), NotOverridden::NotForPeople(status));
    }
    for (by, why) in [("", "because"), ("ann", " "), (" ", "")] {
        let word = Override { status: RunStatus::Completed, by: by.into(), why: why.into() };
        assert_eq!(refused(word), NotOverridden::Nameless);
    }
}

#[test]
fn a_run_that_has_not_ended_cannot_be_overridden() {
    let waiting = play("ask {type: human-input, prompt: p}", &[], &Options::default());
    let mut run = Run::replay(&waiting.journal).unwrap();
    let refused = run.override_status(1, word(RunStatus::Completed)).unwrap_err();
    assert_eq!(refused, NotOverridden::NotEnded(RunStatus::Waiting));
}

#[test]
fn the_last_word_counts_and_the_earlier_ones_stay_in_the_journal() {
    let (mut run, mut journal) = overridden(failed(), RunStatus::Completed);
    let back = Override { by: "ben".into(), why: "it was not the mirror".into(), ..word(RunStatus::Failed) };
    journal.extend(run.override_status(9_100_000, back).unwrap().entries);
    assert_eq!(run.reason().unwrap().evidence[1].id, "run.completed.overridden");
    assert_eq!(Run::replay(&journal).unwrap().status(), RunStatus::Failed);
}

#[test]
fn what_a_person_denied_stays_denied_whatever_is_said_afterwards() {
    let denied = play("post external {requires_approval: true}", &["deny post"], &Options::default());
    assert_eq!(denied.reason(), "run.aborted.denied");
    let (mut run, _) = overridden(denied, RunStatus::Failed);
    assert_eq!(run.retry_failed(9_100_000, None).unwrap_err(), CannotRetry::Denied);
}

#[test]
fn a_run_that_is_opened_again_is_no_longer_overridden() {
    let (mut run, _) = overridden(failed(), RunStatus::Cancelled);
    let _ = run.retry_failed(9_100_000, None).unwrap();
    assert_eq!(document(&run)["run"].get("override"), None);
}

#[test]
fn explain_tells_whose_word_it_is() {
    let (_, journal) = overridden(failed(), RunStatus::Completed);
    let account = explain(&journal, None).unwrap();
    assert_eq!(account.cause.entry, journal.len() as u64);
    assert!(account.cause.summary.contains("ann says completed"), "{}", account.cause.summary);
    assert!(
        account.cause.summary.contains("before that, run.failed.exit_nonzero"),
        "{}",
        account.cause.summary
    );
}

#[test]
fn deciding_again_takes_the_word_along_only_for_the_same_end() {
    let (run, journal) = overridden(failed(), RunStatus::Completed);
    let same = redecide(&journal, std::sync::Arc::clone(run.plan_of())).unwrap();
    assert_eq!(same.run.reason().unwrap().code, ReasonCode::CompletedOverridden);
    let comparison = compare(&journal, &same).unwrap();
    assert_eq!(comparison.was, comparison.now);
    let lenient = play("a info {continue_on_failure: true}", &[], &Options::default());
    let other =
        redecide(&journal, std::sync::Arc::clone(Run::replay(&lenient.journal).unwrap().plan_of())).unwrap();
    assert_eq!(other.run.reason().unwrap().code, ReasonCode::CompletedWithWarnings);
}
