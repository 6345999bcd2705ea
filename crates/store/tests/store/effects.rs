//! The ledger of effects: who may take a key over, and whose word settles an effect.

use std::sync::Arc;

use escrow_model::{
    Answer, Assumption, EffectInQuestion, EffectIntent, EffectState, Event, FaultCode, FlawKind, Message,
    NestedFlaw, ProviderFault, ReasonCode, ScopePath,
};
use escrow_store::Committed;
use serde_json::{Value, json};

use crate::support::{House, request};

#[test]
fn an_effect_that_was_attempted_since_is_not_taken_over() {
    let house = House::new();
    let (mut first, second, third) = (house.start("a", 1), house.start("b", 2), house.start("c", 3));
    first.commit(&[intent(1, None), lost(1)]);
    assert_eq!(effect(&house), (EffectState::Unknown, 1));
    let committed = second.try_commit(&[intent(1, Some(1))], &[]).unwrap();
    assert!(matches!(committed, Committed::Done { .. }), "what was asked about is what is there");
    assert_eq!(effect(&house), (EffectState::Intended, 2));
    let committed = third.try_commit(&[intent(1, Some(1))], &[]).unwrap();
    let Committed::Taken(taken) = committed else { panic!("{committed:?}") };
    assert_eq!(taken.effect.run, *second.run());
}

#[test]
fn reconcile_settles_the_effect_that_it_was_asked_about_and_no_later_one() {
    let house = House::new();
    let (mut first, mut second, mut third) = (house.start("a", 1), house.start("b", 2), house.start("c", 3));
    first.commit(&[intent(1, None), lost(1)]);
    second.commit(&[intent(1, Some(1))]);
    first.commit(&[reconciled(None)]);
    third.commit(&[reconciled(Some(1))]);
    assert_eq!(effect(&house), (EffectState::Intended, 2), "the answers are about the first attempt");
    second.commit(&[lost(1)]);
    third.commit(&[reconciled(Some(2))]);
    assert_eq!(effect(&house), (EffectState::Failed, 2));
}

#[test]
fn a_person_settles_an_effect_of_the_run_that_has_it() {
    let house = House::new();
    let (mut first, mut second) = (house.start("a", 1), house.start("b", 2));
    first.commit(&[intent(1, None), lost(1)]);
    second.commit(&[intent(1, Some(1)), done(1)]);
    first.commit(&[assumed(false)]);
    assert_eq!(effect(&house), (EffectState::Confirmed, 2), "the other run has it now");
    second.commit(&[assumed(false)]);
    assert_eq!(effect(&house), (EffectState::Confirmed, 2), "the question was asked before it was confirmed");
    second.commit(&[assumed(true)]);
    assert_eq!(effect(&house), (EffectState::Failed, 2));
}

#[test]
fn the_ledger_keeps_the_whole_answer_of_the_attempt_that_had_the_effect() {
    let house = House::new();
    let mut first = house.start("a", 1);
    let mut whole = Answer::done(json!(7));
    whole.record.insert("exit_code".into(), json!(3));
    whole.mark_redacted();
    whole.flaw = Some(NestedFlaw { kind: FlawKind::BrokenContract, detail: "f broke it".into() });
    first.commit(&[intent(1, None), answered(1, whole.clone())]);
    assert_eq!(kept(&house), Some(whole));
}

#[test]
fn output_that_cannot_be_read_is_that_of_a_confirmed_effect() {
    let house = House::new();
    let mut first = house.start("a", 1);
    let fault = ProviderFault::logical(FaultCode::OutputNotJson, "the output is not JSON");
    first.commit(&[intent(1, None), answered(1, Answer::fault(fault.clone()))]);
    assert_eq!(effect(&house), (EffectState::Confirmed, 1));
    assert_eq!(kept(&house), Some(Answer::fault(fault)));
}

#[test]
fn what_a_failed_attempt_printed_does_not_outlast_the_word_that_the_effect_happened() {
    let house = House::new();
    let mut first = house.start("a", 1);
    first.commit(&[intent(1, None), lost(1), found(None, false)]);
    assert_eq!((effect(&house), kept(&house)), ((EffectState::Confirmed, 1), None));
}

#[test]
fn why_a_nested_run_did_not_complete_does() {
    let house = House::new();
    let mut first = house.start("a", 1);
    let code = FaultCode::Nested(ReasonCode::FailedFailIf);
    let fault = Answer::fault(ProviderFault::logical(code, "f failed").with_unknown_effect());
    first.commit(&[intent(1, None), answered(1, fault.clone()), found(Some(json!(1)), false)]);
    assert_eq!((effect(&house), kept(&house)), ((EffectState::Confirmed, 1), Some(fault)));
}

#[test]
fn the_output_that_reconcile_gives_says_that_nothing_else_is_known_and_whether_a_secret_was_in_it() {
    for is_redacted in [false, true] {
        let house = House::new();
        let mut first = house.start("a", 1);
        first.commit(&[intent(1, None), lost(1), found(Some(json!("id-***")), is_redacted)]);
        let kept = kept(&house).expect("it is kept");
        assert_eq!(kept.output, "id-***");
        assert!(kept.is_confirmed_later());
        assert_eq!(kept.is_redacted(), is_redacted);
    }
}

#[test]
fn an_attempt_that_is_answered_after_another_run_said_done_tells_the_rest() {
    let house = House::new();
    let (mut first, mut second) = (house.start("a", 1), house.start("b", 2));
    first.commit(&[intent(1, None)]);
    second.commit(&[found_elsewhere(None)]);
    assert_eq!((effect(&house), kept(&house)), ((EffectState::Confirmed, 1), None));
    first.commit(&[done(1)]);
    assert_eq!((effect(&house), kept(&house)), ((EffectState::Confirmed, 1), Some(Answer::done(json!(7)))));
}

#[test]
fn an_entry_of_which_only_the_output_was_kept_says_that_the_rest_is_not_known() {
    let old = br#"{"v":3,"at":1,"event":{"ledger_answered":{"check":"n","key":"k","effect":{"run":"r_1","check":"n",
        "attempts":1,"state":"confirmed","digest":"d","output":"id-***"}}}}"#;
    let entry = escrow_store::decode_entry(old).expect("it can be read");
    let Event::LedgerAnswered { effect: Some(effect), .. } = &entry.event else { panic!("{entry:?}") };
    let answer = effect.answer.as_deref().expect("the output is there");
    assert!(answer.output == "id-***" && answer.is_confirmed_later() && answer.is_redacted());
    let written = escrow_store::encode_entry(&entry).expect("it can be written");
    assert_eq!(escrow_store::decode_entry(&written).expect("it can be read"), entry);
}

fn kept(house: &House) -> Option<Answer> {
    house.store.effect("publish").unwrap().unwrap().answer.as_deref().cloned()
}

/// `reconcile` says that it happened.
fn found(output: Option<Value>, is_redacted: bool) -> Event {
    let mut event = found_elsewhere(output);
    let Event::Reconciled { answer, effect: Some(effect), .. } = &mut event else { return event };
    effect.attempts_elsewhere = None;
    if is_redacted {
        answer.mark_redacted();
    }
    event
}

fn found_elsewhere(output: Option<Value>) -> Event {
    let mut event = reconciled(Some(1));
    if let Event::Reconciled { finding, output: given, .. } = &mut event {
        (*finding, *given) = (Some(Assumption::Done), output);
    }
    event
}

fn effect(house: &House) -> (EffectState, u32) {
    let row = house.store.effect("publish").unwrap().unwrap();
    (row.state, row.attempts)
}

fn intent(attempt: u32, takes_over: Option<u32>) -> Event {
    let (key, digest) = ("publish".to_owned(), "d".to_owned());
    Event::AttemptStarted {
        check: "post".into(),
        scope: ScopePath::root(),
        attempt,
        external: true,
        request: Arc::new(request()),
        effect: Some(Box::new(EffectIntent { key, generation: None, digest, scope: Vec::new(), takes_over })),
    }
}

fn lost(attempt: u32) -> Event {
    let fault = ProviderFault::transient(FaultCode::Lost, "cut off").with_unknown_effect();
    answered(attempt, Answer::fault(fault))
}

fn done(attempt: u32) -> Event {
    answered(attempt, Answer::done(json!(7)))
}

fn answered(attempt: u32, answer: Answer) -> Event {
    Event::AttemptAnswered {
        check: "post".into(),
        scope: ScopePath::root(),
        attempt,
        answer: Arc::new(answer),
    }
}

fn reconciled(attempts_elsewhere: Option<u32>) -> Event {
    Event::Reconciled {
        check: "post".into(),
        scope: ScopePath::root(),
        attempt: 0,
        answer: Box::new(Answer::done(json!("retry"))),
        finding: Some(Assumption::Retry),
        detail: "it printed `retry`".into(),
        output: None,
        effect: Some(EffectInQuestion { key: "publish".into(), attempts_elsewhere, confirmed: false }),
    }
}

fn assumed(confirmed: bool) -> Event {
    let (check, scope, assumption) = ("post".to_owned(), ScopePath::root(), Assumption::Retry);
    let message = Message::Assume { check, scope, assumption, by: Some("ann".into()), why: None };
    let effect = EffectInQuestion { key: "publish".into(), attempts_elsewhere: None, confirmed };
    Event::MessageDelivered { message, refused: None, refusal: None, effect: Some(effect), sent_at: None }
}
