//! The ledger of effects: who may take a key over, and whose word settles an effect.

use std::sync::Arc;

use escrow_model::{
    Answer, Assumption, EffectInQuestion, EffectIntent, EffectState, Event, FaultCode, Message,
    ProviderFault, ScopePath,
};
use escrow_store::Committed;
use serde_json::json;

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
