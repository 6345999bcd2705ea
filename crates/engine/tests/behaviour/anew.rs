//! Fan-outs and nested runs after a route or a change of driver.

use escrow_engine::{AttemptKey, Input, NestedLease};
use escrow_model::{Answer, Message, Reason, ReasonCode, RunId, RunStatus, ScopePath};
use escrow_testkit::{Options, Script, Stage, Step, document, plan, tells};

#[test]
fn a_route_to_the_items_of_a_list_that_stays_runs_each_of_them_again() {
    tells(
        "list forEach; each<list; after<each reduce {fail_if: \"output === 0\", on_fail: {goto: each}}",
        &["list: [0, 1]", "after: 0 then 1"],
        "
        list succeeded x1
        each succeeded x4
        each[0] succeeded x2
        each[1] succeeded x2
        after succeeded x2
        run.completed.ok",
    );
}

#[test]
fn items_that_were_skipped_together_are_there_when_they_may_run_after_all() {
    tells(
        "list forEach; gate {start: true}; each<list,gate; mender {on_success: {goto: gate}}",
        &["list: [0, 1]", "gate: exit 1 then 1", "mender: 1 after 5s"],
        "
        list succeeded x1
        gate succeeded x2
        each succeeded x2
        each[0] succeeded x1
        each[1] succeeded x1
        mender succeeded x1
        run.completed.ok",
    );
}

fn nested() -> Stage<Script> {
    let plan = plan("sub {type: playbook, playbook: other.yaml}; ask {type: human-input, prompt: Sure?}");
    let script = Script::parse(&["sub: never"]);
    let mut stage = Stage::start(&plan, &Options::default(), script);
    let check = plan.find("sub").expect("it is in the plan");
    let reason =
        Reason { code: ReasonCode::WaitingApproval, summary: "it waits".into(), evidence: Vec::new() };
    let child = RunId::new(1, 2);
    let attempt = AttemptKey { check, scope: ScopePath::root(), number: 1 };
    stage.input(Input::NestedWaits { attempt, child, reason, lease: NestedLease::Free });
    stage
}

/// The nested run may have ended meanwhile, so it is looked up. The question to a person is not performed.
#[test]
fn a_new_driver_looks_after_nested_runs_that_waited() {
    let mut stage = nested();
    assert_eq!(stage.drive.run.waits().len(), 2);
    let before = stage.drive.pending();
    stage.crash();
    assert_eq!(stage.drive.pending(), before, "the nested run is looked at, and nothing else");
    assert_eq!(before, 1);
}

/// Nothing else would ever end it.
#[test]
fn a_nested_run_that_waits_is_ended_with_the_run_around_it() {
    let mut stage = nested();
    stage.message(Message::Cancel { by: None, system: false, successor: None, inside: None, patient: false });
    assert!(!stage.drive.run.status().is_terminal(), "the nested run has not said yet how it ended");
    stage.play(&[]);
    assert_eq!(stage.drive.run.reason().map(|reason| reason.code), Some(ReasonCode::CancelledUser));
    assert_eq!(document(&stage.drive.run)["checks"]["sub"]["status"], "failed");
}

#[test]
fn a_crash_while_a_nested_run_is_ended_changes_nothing() {
    let mut stage = nested();
    stage.message(Message::Cancel { by: None, system: false, successor: None, inside: None, patient: false });
    stage.crash();
    assert_eq!(stage.drive.pending(), 1, "the nested run is told again");
    stage.play(&[]);
    assert_eq!(stage.drive.run.reason().map(|reason| reason.code), Some(ReasonCode::CancelledUser));
}

/// It may have an effect in doubt, which the run around it does not know.
#[test]
fn a_nested_run_that_waits_makes_way_before_the_run_around_it() {
    let mut stage = nested();
    let successor = Some(RunId::new(1, 3));
    stage.message(Message::Cancel { by: None, system: true, successor, inside: None, patient: true });
    assert_eq!(stage.drive.run.status(), RunStatus::Running, "the nested run is asked");
    let attempt = AttemptKey {
        check: stage.drive.run.plan_of().find("sub").expect("a check"),
        scope: ScopePath::root(),
        number: 1,
    };
    let (code, child) = (ReasonCode::WaitingUnknownEffect, RunId::new(1, 2));
    let reason = Reason { code, summary: "an effect is unknown".into(), evidence: Vec::new() };
    let lease = NestedLease::Free;
    stage.input(Input::NestedWaits { attempt: attempt.clone(), child: child.clone(), reason, lease });
    assert_eq!(stage.drive.run.status(), RunStatus::Waiting, "it stays until a person has answered");
    stage.crash();
    assert!(!stage.drive.run.status().is_terminal());
    stage.input(Input::NestedReady { run: child });
    stage.input(Input::Answered { attempt, answer: Answer::done(serde_json::json!({})) });
    assert_eq!(stage.drive.run.reason().map(|reason| reason.code), Some(ReasonCode::CancelledSystem));
}

#[test]
fn a_nested_run_that_another_process_holds_is_not_waited_for() {
    let mut stage = nested();
    let check = stage.drive.run.plan_of().find("sub").expect("it is in the plan");
    stage.message(Message::Cancel { by: None, system: false, successor: None, inside: None, patient: false });
    let reason =
        Reason { code: ReasonCode::WaitingApproval, summary: "it waits".into(), evidence: Vec::new() };
    let attempt = AttemptKey { check, scope: ScopePath::root(), number: 1 };
    stage.input(Input::NestedWaits {
        attempt,
        child: RunId::new(1, 2),
        reason,
        lease: NestedLease::HeldElsewhere,
    });
    assert_eq!(stage.drive.run.reason().map(|reason| reason.code), Some(ReasonCode::CancelledUser));
}

/// Its last word was sent before it could know that the run around it had begun to stop.
#[test]
fn a_nested_run_that_came_to_rest_as_its_parent_began_to_stop_is_ended_too() {
    let mut stage = nested();
    let check = stage.drive.run.plan_of().find("sub").expect("it is in the plan");
    stage.message(Message::Cancel { by: None, system: false, successor: None, inside: None, patient: false });
    let reason =
        Reason { code: ReasonCode::WaitingApproval, summary: "it waits".into(), evidence: Vec::new() };
    let attempt = AttemptKey { check, scope: ScopePath::root(), number: 1 };
    let (child, lease) = (RunId::new(1, 2), NestedLease::Free);
    stage.input(Input::NestedWaits { attempt, child, reason, lease });
    assert!(!stage.drive.run.status().is_terminal(), "the nested run is told to end first");
    stage.play(&[]);
    assert_eq!(stage.drive.run.reason().map(|reason| reason.code), Some(ReasonCode::CancelledUser));
}

/// The retry was counted as something under way, so the run neither waited nor continued.
#[test]
fn a_retry_behind_an_item_that_waits_for_its_nested_run_lets_the_run_wait() {
    let plan = plan(
        "list forEach; each<list external {type: playbook, playbook: other.yaml, on_fail: {retry: {max: 1}}}",
    );
    let script = Script::parse(&["list: [0, 1]", "each[0]: exit 1", "each[1]: never"]);
    let mut stage = Stage::start(&plan, &Options::default(), script);
    stage.play_one(&Step::WaitMs(10_000));
    let check = plan.find("each").expect("it is in the plan");
    let reason =
        Reason { code: ReasonCode::WaitingApproval, summary: "it waits".into(), evidence: Vec::new() };
    let attempt = AttemptKey { check, scope: ScopePath::new(vec![1]), number: 1 };
    stage.input(Input::NestedWaits { attempt, child: RunId::new(1, 2), reason, lease: NestedLease::Free });
    assert_eq!(stage.drive.run.reason().map(|reason| reason.code), Some(ReasonCode::WaitingApproval));
}

/// The status was once still that of the earlier wait, so a reader saw a question that was answered.
#[test]
fn a_run_no_longer_waits_once_its_nested_run_is_driven_again() {
    let plan = plan("sub {type: playbook, playbook: other.yaml}");
    let mut stage = Stage::start(&plan, &Options::default(), Script::parse(&["sub: never"]));
    let check = plan.find("sub").expect("it is in the plan");
    let child = RunId::new(1, 2);
    let wait = |stage: &mut Stage<Script>, code: ReasonCode, summary: &str| {
        let reason = Reason { code, summary: summary.into(), evidence: Vec::new() };
        let attempt = AttemptKey { check, scope: ScopePath::root(), number: 1 };
        stage.input(Input::NestedWaits { attempt, child: child.clone(), reason, lease: NestedLease::Free });
    };
    let told = |stage: &Stage<Script>| stage.drive.run.reason().map(|reason| reason.code);
    wait(&mut stage, ReasonCode::WaitingApproval, "approve `ask`");
    assert_eq!(told(&stage), Some(ReasonCode::WaitingApproval));
    stage.input(Input::NestedReady { run: child.clone() });
    assert_eq!((stage.drive.run.status(), told(&stage)), (RunStatus::Running, None));
    wait(&mut stage, ReasonCode::WaitingUnknownEffect, "`pay` may or may not have taken effect");
    assert_eq!(told(&stage), Some(ReasonCode::WaitingUnknownEffect));
    stage.input(Input::Resume { by: Vec::new(), ledger: Vec::new() });
    assert_eq!((stage.drive.run.status(), told(&stage)), (RunStatus::Running, None));
}
