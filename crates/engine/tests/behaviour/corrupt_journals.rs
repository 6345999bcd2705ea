//! Journals that no run wrote: what cannot follow is refused, with the position of the entry.

use escrow_engine::{ApplyError, ReplayError, Run};
use escrow_model::{Entry, Event, Message, Reason, ReasonCode, ScopePath, SkipReason};
use escrow_testkit::{Options, play};

fn journal(text: &str, script: &[&str]) -> Vec<Entry> {
    play(text, script, &Options::default()).journal
}

fn entry(event: Event) -> Entry {
    Entry { at: 2_000_000, event }
}

fn position(journal: &[Entry], wanted: impl Fn(&Event) -> bool) -> usize {
    journal.iter().position(|entry| wanted(&entry.event)).expect("the journal has such an entry")
}

/// Where a journal is refused, and why.
fn refusal(journal: &[Entry]) -> (usize, String) {
    match Run::replay(journal) {
        Err(ReplayError::CannotFollow { seq, source }) => (seq, source.to_string()),
        Err(other) => panic!("refused for another reason: {other}"),
        Ok(_) => panic!("the journal was accepted"),
    }
}

fn skipped(check: &str) -> Entry {
    entry(Event::CheckSkipped {
        check: check.into(),
        scope: ScopePath::root(),
        reason: SkipReason::Only,
        detail: String::new(),
        request: None,
    })
}

#[test]
fn a_check_of_another_plan_is_refused() {
    let mut journal = journal("a; b<a", &[]);
    journal.insert(1, skipped("other"));
    assert_eq!(refusal(&journal), (1, "the plan has no check `other`".into()));
}

#[test]
fn an_item_that_does_not_exist_is_refused() {
    let mut journal = journal("list forEach; each<list", &["list: [1, 2]"]);
    let at =
        position(&journal, |event| matches!(event, Event::AttemptStarted { check, .. } if check == "each"));
    let Event::AttemptStarted { scope, .. } = &mut journal[at].event else { unreachable!() };
    *scope = ScopePath::new(vec![7]);
    assert_eq!(refusal(&journal), (at, "`each[7]` does not exist".into()));
}

#[test]
fn an_answer_that_is_recorded_twice_is_refused() {
    let mut journal = journal("a", &[]);
    let at = position(&journal, |event| matches!(event, Event::AttemptAnswered { .. }));
    journal.insert(at + 1, journal[at].clone());
    assert_eq!(refusal(&journal), (at + 1, "`a` is answered and not judged".into()));
}

#[test]
fn an_attempt_that_was_never_started_has_no_answer() {
    let mut journal = journal("a", &[]);
    let at = position(&journal, |event| matches!(event, Event::AttemptStarted { .. }));
    journal.remove(at);
    let why = "attempt 1 of `a` is not the expected one, 0";
    assert_eq!(refusal(&journal), (at, why.into()));
}

#[test]
fn attempts_count_up() {
    let mut journal = journal("a", &[]);
    let at = position(&journal, |event| matches!(event, Event::AttemptStarted { .. }));
    let Event::AttemptStarted { attempt, .. } = &mut journal[at].event else { unreachable!() };
    *attempt = 2;
    assert_eq!(refusal(&journal), (at, "attempt 2 of `a` is not the expected one, 1".into()));
}

#[test]
fn nothing_follows_the_end_of_a_run() {
    let mut journal = journal("a", &[]);
    journal.push(entry(Event::RunResumed { by: Vec::new() }));
    assert_eq!(refusal(&journal), (journal.len() - 1, "the run has ended".into()));
}

#[test]
fn a_run_starts_once() {
    let mut journal = journal("a", &["a: never"]);
    journal.push(journal[0].clone());
    assert_eq!(refusal(&journal), (journal.len() - 1, "the run has already started".into()));
}

#[test]
fn a_run_does_not_end_while_an_attempt_is_open() {
    let mut journal = journal("a", &["a: never"]);
    let reason = Reason { code: ReasonCode::CompletedOk, summary: String::new(), evidence: Vec::new() };
    journal.push(entry(Event::RunEnded { reason }));
    assert_eq!(refusal(&journal).1, "attempts are still open, so the run cannot end");
}

#[test]
fn an_accepted_message_must_have_been_awaited() {
    let mut journal = journal("a", &["a: never"]);
    let message = Message::Approve { id: "a_1".into(), by: None, claim: None, note: None };
    journal.push(entry(Event::MessageDelivered {
        message,
        refused: None,
        refusal: None,
        effect: None,
        sent_at: None,
    }));
    let (seq, why) = refusal(&journal);
    assert_eq!(seq, journal.len() - 1);
    assert!(why.contains("`a_1`"), "{why}");
}

#[test]
fn a_follower_is_told_what_cannot_follow() {
    let journal = journal("a", &["a: never"]);
    let mut run = Run::replay(&journal).expect("a good journal replays");
    assert_eq!(run.follow(&skipped("other")), Err(ApplyError::UnknownCheck("other".into())));
}
