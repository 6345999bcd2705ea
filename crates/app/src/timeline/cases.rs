//! Every check and item of a run with its result, in the order of the playbook: what reports list.

use std::collections::BTreeMap;

use escrow_engine::Run;
use escrow_model::{
    Criticality, Delivery, Entry, Issue, IssueCode, Millis, MissingArtifact, Plan, Reason, RunStatus,
    ScopePath, ScopedCheck, SkipReason, Verdict,
};
use serde_json::Value;

use super::Timeline;
use super::item::{CheckScope, Item, What};

/// A run as reports show it.
pub struct RunCases {
    pub run: String,
    pub playbook: String,
    pub title: Option<String>,
    pub status: RunStatus,
    pub reason: Option<Reason>,
    pub started_at: Millis,
    pub ended_at: Millis,
    pub cases: Vec<Case>,
    pub missing: Vec<MissingArtifact>,
}

/// A check, or one item of it.
#[derive(Clone, Debug)]
pub struct Case {
    pub check: String,
    pub scope: ScopePath,
    pub standing: CaseResult,
    pub issues: Vec<Issue>,
    /// The issues of attempts that failed and were retried before it succeeded: it is flaky.
    pub flaky: Vec<Issue>,
    /// Over all attempts.
    pub duration_ms: u64,
    pub output: String,
    pub stderr: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseResult {
    Succeeded,
    Failed,
    /// Failed, and the playbook allows it: the run continues and completes with a warning.
    FailedSoftly,
    Skipped {
        reason: SkipReason,
        detail: String,
    },
    /// The run waits or ended before the check was decided.
    Open,
}

impl Case {
    pub fn label(&self) -> String {
        format!("{}{}", self.check, self.scope)
    }
}

impl RunCases {
    pub fn of(run: &Run, entries: &[Entry]) -> RunCases {
        let mut gathering = Gathering::default();
        for item in Timeline::new(run.plan_of()).read(entries) {
            gathering.take(&item);
        }
        gathering.forget_former_items(run);
        let started_at = entries.first().map_or(0, |entry| entry.at);
        RunCases {
            run: run.options().run.to_string(),
            playbook: run.plan_of().name.clone(),
            title: run.title().map(str::to_owned),
            status: run.status(),
            reason: run.reason().cloned(),
            started_at,
            ended_at: entries.last().map_or(started_at, |entry| entry.at),
            missing: std::mem::take(&mut gathering.missing),
            cases: gathering.into_cases(run.plan_of()),
        }
    }

    pub fn elapsed_ms(&self) -> u64 {
        self.ended_at.saturating_sub(self.started_at)
    }
}

#[derive(Default)]
struct Gathering {
    cases: BTreeMap<ScopedCheck, Case>,
    /// Issues that no verdict carries. A later attempt does not clear them.
    raised: Vec<(ScopedCheck, Issue)>,
    missing: Vec<MissingArtifact>,
}

impl Gathering {
    fn case(&mut self, of: CheckScope<'_>) -> &mut Case {
        self.cases.entry(of.scoped_check()).or_insert_with(|| Case {
            check: of.check.to_owned(),
            scope: of.scope.clone(),
            standing: CaseResult::Open,
            issues: Vec::new(),
            flaky: Vec::new(),
            duration_ms: 0,
            output: String::new(),
            stderr: String::new(),
        })
    }

    fn take(&mut self, item: &Item<'_>) {
        match &item.what {
            What::AttemptStarted { of, .. } => self.case(*of).standing = CaseResult::Open,
            What::AttemptAnswered { of, answer, duration_ms, .. } => {
                let case = self.case(*of);
                case.duration_ms += duration_ms;
                case.output = match &answer.output {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => serde_json::to_string_pretty(other).unwrap_or_default(),
                };
                let stderr = answer.record.get("stderr").and_then(Value::as_str);
                case.stderr = stderr.unwrap_or_default().to_owned();
            }
            What::Judged(judged) => {
                let case = self.case(judged.of);
                if judged.retry.is_some() {
                    case.flaky.extend(judged.issues.first().cloned());
                } else if judged.verdict == Verdict::Failed {
                    case.flaky.clear();
                }
                case.issues = judged.issues.to_vec();
                case.standing = match judged.verdict {
                    Verdict::Succeeded => CaseResult::Succeeded,
                    Verdict::Failed => CaseResult::Failed,
                };
            }
            What::Skipped { of, reason, detail, .. } => {
                let case = self.case(*of);
                // A later skip does not erase a result.
                if case.standing == CaseResult::Open {
                    case.standing = CaseResult::Skipped { reason: *reason, detail: (*detail).to_owned() };
                }
            }
            What::IssueRaised { of, issue } => self.raise(*of, (*issue).clone()),
            What::LoopBudgetExceeded { from, to, limit } => {
                let message = format!("routing to `{to}` again would exceed the loop budget of {limit}");
                self.raise(*from, Issue::error(IssueCode::LoopBudgetExceeded, message));
            }
            What::ArtifactsVerified { delivery } => {
                let Delivery { missing_required, missing_optional, .. } = delivery;
                self.missing = missing_required.iter().chain(missing_optional).cloned().collect();
            }
            What::RunStarted { .. }
            | What::RunResumed
            | What::RunReopened { .. }
            | What::DeadlinePassed
            | What::RunEnded { .. }
            | What::FanSettled { .. }
            | What::RetryScheduled { .. }
            | What::Routed { .. }
            | What::WaitStarted { .. }
            | What::WaitResolved { .. }
            | What::ReconcileStarted { .. }
            | What::Reconciled { .. }
            | What::EffectReused { .. }
            | What::MessageRefused { .. }
            | What::CancelRequested
            | What::NestedStarted { .. } => {}
        }
    }

    fn raise(&mut self, of: CheckScope<'_>, issue: Issue) {
        self.raised.push((of.scoped_check(), issue));
    }

    /// A list that was computed again may have fewer items than before.
    fn forget_former_items(&mut self, run: &Run) {
        let plan = run.plan_of();
        let is_former = |at: &ScopedCheck| {
            plan.find(&at.check).is_some_and(|check| {
                let is_item = !at.scope.is_root() && at.scope.depth() == plan.check(check).fan.len();
                is_item && !run.has_item(check, &at.scope)
            })
        };
        self.cases.retain(|at, _| !is_former(at));
        self.raised.retain(|(at, _)| !is_former(at));
    }

    /// In the order of the playbook, items by their indices. A check without any decision is listed too.
    fn into_cases(mut self, plan: &Plan) -> Vec<Case> {
        for (at, issue) in std::mem::take(&mut self.raised) {
            self.case(CheckScope { check: &at.check, scope: &at.scope }).issues.push(issue);
        }
        let mut cases = Vec::new();
        for check in &plan.checks {
            let root = ScopedCheck::new(&check.name, &ScopePath::root());
            let of_check = self.cases.range(root.clone()..).take_while(|(at, _)| at.check == check.name);
            let scopes: Vec<ScopedCheck> = of_check.map(|(at, _)| at.clone()).collect();
            if scopes.is_empty() {
                self.case(CheckScope { check: &check.name, scope: &ScopePath::root() });
                cases.extend(self.cases.remove(&root));
            }
            for at in scopes {
                cases.extend(self.cases.remove(&at));
            }
            let soft = check.criticality == Criticality::Info && check.continue_on_failure;
            for case in cases.iter_mut().filter(|case| soft && case.check == check.name) {
                if case.standing == CaseResult::Failed {
                    case.standing = CaseResult::FailedSoftly;
                }
            }
        }
        cases
    }
}
