//! Nested runs with a fault at each of their commits.

use escrow_model::RunStatus;
use escrow_testkit::{PlanFeatures, RandomAnswers};

use crate::case::{AnswerFaults, Case};
use crate::disk::DiskFault;
use crate::plans::Plans;
use crate::play::{Backend, Played};
use crate::shrink::{play_safely, report};

const FAULTS: &[DiskFault] = &[
    DiskFault::CrashBefore,
    DiskFault::CrashAfter,
    DiskFault::Full,
    DiskFault::Failed,
    DiskFault::FailedAfter,
    DiskFault::Slow(200),
];

/// Plays the plans with every fault at every commit, and hands each outcome to `expect`.
#[track_caller]
fn check(top: &str, nested: &[&str], expect: impl Fn(&Played) -> bool) {
    let texts = nested.iter().enumerate();
    let texts = texts.map(|(level, text)| (format!("nested{level}.yaml"), (*text).to_owned())).collect();
    let mut case = Case {
        number: 0,
        seed: 1,
        plans: Plans::read(top.to_owned(), texts).expect("the plans of this test load"),
        features: PlanFeatures { routes: false, unknown: true, people: true, keys: false },
        answers: RandomAnswers { seed: 1, fault_percent: 0, uneven: true, unknown: false },
        answer_faults: AnswerFaults::default(),
        disk_faults: 0,
        fault_at: None,
        incidents: Vec::new(),
        timeout_ms: None,
        retries_failed: false,
        unanswered: false,
        compares_replay: true,
        has_rival: false,
    };
    let commits = play_safely(&case, &Backend::Memory).commits;
    assert!(commits > 0, "something is committed");
    for fault_at in (1..=commits).flat_map(|commit| FAULTS.iter().map(move |fault| (commit, *fault))) {
        case.fault_at = Some(fault_at);
        let played = play_safely(&case, &Backend::Memory);
        assert!(played.problem.is_none() && expect(&played), "{}", report(&case, &played));
    }
}

/// A disk that failed under the nested run used to fail the parent's check, whose retry began a second nested run.
#[test]
fn a_nested_run_is_resumed_and_not_begun_again_after_any_fault() {
    check(
        "deploy {type: playbook, playbook: nested0.yaml, on_fail: {retry: {max: 2}}}",
        &["build; push<build external {idempotent: true}; announce<push external {idempotent: true}"],
        |played| played.status == Some(RunStatus::Completed) && played.journals.len() == 2,
    );
}

#[test]
fn runs_two_deep_settle_after_any_fault() {
    check(
        "list forEach; deploy<list {type: playbook, playbook: nested1.yaml, on_fail: {retry: {max: 1}}}",
        &[
            "push external {requires_approval: true}; look<push {}",
            "first external {}; inner<first {type: playbook, playbook: nested0.yaml}",
        ],
        |played| played.status.is_some_and(RunStatus::is_terminal),
    );
}
