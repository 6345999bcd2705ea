//! People answer runs from anywhere: the process that drives the run reads it; if none does, the caller drives it.

mod site;

use escrow_app::driver::block_on;
use escrow_app::messages::{Decision, Delivered, Reply, Then, reply};
use escrow_app::{Class, Error, runs};
use escrow_model::RunStatus;
use site::Site;

fn approve(site: &Site, wait: &str, then: Then) -> Result<Delivered, Error> {
    let decision = Decision::Approve { claim: None, note: Some("looks good".into()) };
    block_on(reply(&site.app(), Reply { wait: wait.to_owned(), decision, shown: None, then }))
}

#[test]
fn an_approval_reaches_a_run_that_another_caller_drives() {
    let site = Site::new();
    let order = site.order(
        "checks:
  busy: {type: command, exec: 'until test -e deployed; do sleep 0.02; done'}
  deploy: {type: command, exec: 'touch deployed', requires_approval: true}",
    );
    let driver = site.driver(1);
    let driven = driver.spawn(move |app| async move { Ok(runs::start(&app, order).await?.status()) });
    let wait = site.await_wait();
    match approve(&site, &wait.id, Then::Drive).expect("it is recorded") {
        Delivered::ToDriver { wait: answered, run } => assert_eq!((answered, run), (wait.id, wait.run)),
        other => panic!("another process drives it: {other:?}"),
    }
    assert_eq!(block_on(driven.join()).expect("it ends"), RunStatus::Completed);
}

#[test]
fn an_approval_drives_a_run_that_waits_and_a_second_one_is_refused() {
    let site = Site::new();
    let order =
        site.order("checks: {deploy: {type: command, exec: 'touch deployed', requires_approval: true}}");
    let run = block_on(runs::start(&site.app(), order)).expect("it waits");
    assert_eq!((run.status(), site.has("deployed")), (RunStatus::Waiting, false));
    let wait = site.await_wait();
    match approve(&site, &wait.id, Then::Drive).expect("it is driven") {
        Delivered::Rested(run) => assert_eq!(run.status(), RunStatus::Completed),
        other => panic!("no process drives it, so the reply must: {other:?}"),
    }
    assert!(site.has("deployed"));
    let again = approve(&site, &wait.id, Then::Drive).expect_err("once is enough");
    assert_eq!((again.class(), again.code()), (Class::Person, "resolved"));
}

#[test]
fn a_message_that_cannot_answer_is_refused_by_class_and_code() {
    let site = Site::new();
    let order = site.order("checks: {ask: {type: human-input, prompt: 'Sure?', choices: ['yes', 'no']}}");
    block_on(runs::start(&site.app(), order)).expect("it waits");
    let wait = site.await_wait().id;
    let answer = |text: &str| Decision::Answer { text: text.into() };
    for (id, decision, class, code) in [
        ("a_nothing", answer("yes"), Class::Author, "unknown_wait"),
        (&wait, answer("perhaps"), Class::Author, "bad_answer"),
        (&wait, Decision::Approve { claim: None, note: None }, Class::Author, "wrong_message"),
    ] {
        let request = Reply { wait: id.to_owned(), decision, shown: None, then: Then::Record };
        let error = block_on(reply(&site.app(), request)).expect_err(code);
        assert_eq!((error.class(), error.code()), (class, code), "{error}");
    }
}
