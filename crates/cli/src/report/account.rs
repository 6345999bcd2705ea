//! What became of every check and item, in the order of the playbook.

use std::collections::BTreeMap;

use escrow_engine::Run;
use escrow_model::{
    Criticality, Entry, Event, Issue, IssueCode, Millis, MissingArtifact, Plan, Reason, RunStatus, ScopePath,
    SkipReason, Verdict,
};
use serde_json::Value;

pub(super) struct Account {
    pub(super) run: String,
    pub(super) playbook: String,
    pub(super) status: RunStatus,
    pub(super) reason: Option<Reason>,
    pub(super) started_at: Millis,
    pub(super) ended_at: Millis,
    pub(super) cases: Vec<Case>,
    pub(super) missing: Vec<MissingArtifact>,
}

/// A check, or one item of it.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) check: String,
    pub(super) scope: ScopePath,
    pub(super) standing: Standing,
    pub(super) issues: Vec<Issue>,
    /// Over all attempts.
    pub(super) duration_ms: u64,
    pub(super) output: String,
    pub(super) stderr: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Succeeded,
    Failed,
    /// Failed, and the playbook lets it: the run goes on and completes with a warning.
    FailedSoftly,
    Skipped {
        reason: SkipReason,
        detail: String,
    },
    /// The run rests or ended before it was decided.
    Open,
}

impl Case {
    pub(super) fn label(&self) -> String {
        format!("{}{}", self.check, self.scope)
    }
}

impl Account {
    pub(super) fn of(run: &Run, entries: &[Entry]) -> Account {
        let mut gathering = Gathering::default();
        for entry in entries {
            gathering.take(entry);
        }
        let started_at = entries.first().map_or(0, |entry| entry.at);
        Account {
            run: run.options().run.to_string(),
            playbook: run.plan_of().name.clone(),
            status: run.status(),
            reason: run.reason().cloned(),
            started_at,
            ended_at: entries.last().map_or(started_at, |entry| entry.at),
            cases: gathering.into_cases(run.plan_of()),
            missing: missing(entries),
        }
    }

    pub(super) fn elapsed_ms(&self) -> u64 {
        self.ended_at.saturating_sub(self.started_at)
    }
}

fn missing(entries: &[Entry]) -> Vec<MissingArtifact> {
    let delivery = entries.iter().rev().find_map(|entry| match &entry.event {
        Event::ArtifactsVerified { delivery } => Some(delivery),
        _ => None,
    });
    delivery.map_or_else(Vec::new, |delivery| {
        delivery.missing_required.iter().chain(&delivery.missing_optional).cloned().collect()
    })
}

#[derive(Default)]
struct Gathering {
    cases: BTreeMap<(String, ScopePath), Case>,
    began: BTreeMap<(String, ScopePath), Millis>,
    /// Issues that no verdict carries; a later attempt does not take them back.
    raised: Vec<(String, ScopePath, Issue)>,
}

impl Gathering {
    fn case(&mut self, check: &str, scope: &ScopePath) -> &mut Case {
        self.cases.entry((check.to_owned(), scope.clone())).or_insert_with(|| Case {
            check: check.to_owned(),
            scope: scope.clone(),
            standing: Standing::Open,
            issues: Vec::new(),
            duration_ms: 0,
            output: String::new(),
            stderr: String::new(),
        })
    }

    fn take(&mut self, entry: &Entry) {
        match &entry.event {
            Event::AttemptStarted { check, scope, .. } => {
                self.began.insert((check.clone(), scope.clone()), entry.at);
                self.case(check, scope).standing = Standing::Open;
            }
            Event::AttemptAnswered { check, scope, answer, .. } => {
                let began = self.began.remove(&(check.clone(), scope.clone())).unwrap_or(entry.at);
                let case = self.case(check, scope);
                case.duration_ms += entry.at.saturating_sub(began);
                case.output = match &answer.output {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => serde_json::to_string_pretty(other).unwrap_or_default(),
                };
                let stderr = answer.record.get("stderr").and_then(Value::as_str);
                case.stderr = stderr.unwrap_or_default().to_owned();
            }
            Event::CheckJudged { check, scope, verdict, issues, .. } => {
                let case = self.case(check, scope);
                case.issues.clone_from(issues);
                case.standing = match verdict {
                    Verdict::Succeeded => Standing::Succeeded,
                    Verdict::Failed => Standing::Failed,
                };
            }
            Event::CheckSkipped { check, scope, reason, detail, .. } => {
                let case = self.case(check, scope);
                // A later skip does not erase what ran.
                if case.standing == Standing::Open {
                    case.standing = Standing::Skipped { reason: *reason, detail: detail.clone() };
                }
            }
            Event::IssueRaised { check, scope, issue, .. } => {
                self.raised.push((check.clone(), scope.clone(), issue.clone()));
            }
            Event::LoopBudgetExceeded { check, scope, to, limit } => {
                let message = format!("routing to `{to}` again would exceed the loop budget of {limit}");
                let issue = Issue::error(IssueCode::LoopBudgetExceeded, message);
                self.raised.push((check.clone(), scope.clone(), issue));
            }
            _ => {}
        }
    }

    /// By the order of the playbook, items by their indices. A check that nothing was decided about is there too.
    fn into_cases(mut self, plan: &Plan) -> Vec<Case> {
        for (check, scope, issue) in std::mem::take(&mut self.raised) {
            self.case(&check, &scope).issues.push(issue);
        }
        let mut cases = Vec::new();
        for check in &plan.checks {
            let root = (check.name.clone(), ScopePath::root());
            let from = root.clone();
            let places: Vec<_> = self
                .cases
                .range(from..)
                .take_while(|((name, _), _)| *name == check.name)
                .map(|(place, _)| place.clone())
                .collect();
            if places.is_empty() {
                self.case(&check.name, &ScopePath::root());
                cases.extend(self.cases.remove(&root));
            }
            for place in places {
                cases.extend(self.cases.remove(&place));
            }
            let soft = check.criticality == Criticality::Info && check.continue_on_failure;
            for case in cases.iter_mut().filter(|case| soft && case.check == check.name) {
                if case.standing == Standing::Failed {
                    case.standing = Standing::FailedSoftly;
                }
            }
        }
        cases
    }
}
