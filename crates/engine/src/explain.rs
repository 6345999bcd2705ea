//! Why a run or a check ended the way it did, from the journal alone.
//!
//! ```text
//!   subject ──because of──▶ … ──because of──▶ cause: the entry that decided it
//!                                               └─▶ the journal up to there is replayed, and the deciding
//!                                                   expressions are evaluated again over the view of that moment
//! ```
//!
//! **Invariant:** pure and read only. Expressions see what they saw when it was decided, because the same door
//! leads there; nothing is looked up in the world of today.

mod cause;
mod differ;
mod journal_reader;
mod path;
mod timeline;

use std::fmt;

use escrow_expr::Explanation;
use escrow_model::{
    CheckIndex, CheckStatus, EffectState, Entry, Event, Issue, Reason, RunId, RunStatus, ScopePath, Severity,
    rfc3339,
};
use serde::{Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;

use crate::location::Location;
use crate::run::{ReplayError, Run};
use journal_reader::JournalReader;

/// What was asked about, and what led to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Account {
    pub run: RunId,
    pub playbook: String,
    pub title: Option<String>,
    /// With the defaults of those that were not given.
    pub inputs: Value,
    /// The event that the run is about: its name and its payload.
    pub event: Option<Value>,
    pub status: RunStatus,
    /// Why the run ended or waits.
    pub reason: Option<Reason>,
    /// What is explained; the run itself when there is none.
    pub subject: Option<Subject>,
    /// From the subject to the check that decided: each because of the next.
    pub path: Vec<Link>,
    /// The first decisive cause.
    pub cause: Cause,
    /// What would have to be otherwise.
    pub differs: Vec<Differ>,
    /// What happened to the subject, in order.
    pub timeline: Vec<Moment>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subject {
    pub check: String,
    pub scope: ScopePath,
    pub status: CheckStatus,
}

/// One check on the way from the subject to the cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    pub check: String,
    pub scope: ScopePath,
    /// `skipped`, `failed`, `succeeded`, `waiting` …
    pub status: &'static str,
    /// The skip reason, or the rule that was broken; empty when there is neither.
    pub code: String,
    pub detail: String,
    /// The journal's entry.
    pub entry: u64,
}

/// The entry that decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    pub entry: u64,
    pub at: String,
    /// In a sentence.
    pub summary: String,
    pub check: Option<String>,
    pub scope: ScopePath,
    pub attempt: Option<u32>,
    pub issues: Vec<Issue>,
    /// What was evaluated for it, with the values of that moment.
    pub evaluations: Vec<Evaluation>,
}

/// What would have to be otherwise. Documents have it as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Differ {
    /// A value of an expression.
    Value {
        what: String,
        is: String,
        wanted: String,
    },
    Sentence(String),
}

impl fmt::Display for Differ {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Differ::Value { what, is, wanted } => {
                write!(formatter, "`{what}` is {is}; it would have to be {wanted}")
            }
            Differ::Sentence(text) => formatter.write_str(text),
        }
    }
}

impl Serialize for Differ {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The key of a playbook whose expression was evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Construct {
    If,
    Condition,
    Assume,
    Guarantee,
    FailIf,
    When,
    ReconcileDone,
    ReconcileFailed,
    ReconcileRetry,
}

impl Construct {
    pub fn as_str(self) -> &'static str {
        match self {
            Construct::If => "if",
            Construct::Condition => "condition",
            Construct::Assume => "assume",
            Construct::Guarantee => "guarantee",
            Construct::FailIf => "fail_if",
            Construct::When => "when",
            Construct::ReconcileDone => "reconcile.done",
            Construct::ReconcileFailed => "reconcile.failed",
            Construct::ReconcileRetry => "reconcile.retry",
        }
    }
}

impl Serialize for Construct {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One gate or contract, evaluated again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    pub construct: Construct,
    /// Whether it was true; absent when it could not be evaluated.
    pub held: Option<bool>,
    /// It stood in the way.
    pub decisive: bool,
    pub explanation: Explanation,
}

/// Something that happened to a check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    pub entry: u64,
    pub at: String,
    /// For readers that leave out what is usual; `what` says the same.
    #[serde(skip)]
    pub kind: MomentKind,
    pub what: String,
    /// For a transition: the `when` that was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MomentKind {
    /// The first attempt started or was judged.
    FirstAttempt,
    Skipped,
    Other,
}

#[derive(Debug, Error)]
pub enum ExplainError {
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error("the run has no check `{0}`")]
    NoSuchCheck(String),
    #[error("`{check}{scope}` was not decided: there is no such item")]
    NoSuchItem { check: String, scope: ScopePath },
}

/// A check, or one item of it, that is to be explained.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub check: String,
    /// Without one, the first item that failed represents the check.
    pub scope: Option<ScopePath>,
}

/// Explains a check, or the run itself.
pub fn explain(entries: &[Entry], question: Option<&Question>) -> Result<Account, ExplainError> {
    let journal_reader = JournalReader::open(entries)?;
    match question {
        Some(question) => journal_reader.explain_check(question),
        None => journal_reader.explain_run(),
    }
}

impl JournalReader<'_> {
    fn explain_check(&self, question: &Question) -> Result<Account, ExplainError> {
        let check =
            self.find(&question.check).ok_or_else(|| ExplainError::NoSuchCheck(question.check.clone()))?;
        let within = question.scope.clone().unwrap_or_default();
        if within.depth() > self.plan.check(check).fan.len() {
            return Err(ExplainError::NoSuchItem { check: question.check.clone(), scope: within });
        }
        let Some(decided) = self.decision(check, &within, self.entries.len()) else {
            let now = self.now()?;
            if question.scope.as_ref().is_some_and(|scope| now.node(check, scope).is_none()) {
                return Err(ExplainError::NoSuchItem { check: question.check.clone(), scope: within });
            }
            return Ok(self.undecided(check, within, &now));
        };
        let scope = scope_of(&self.entries[decided].event).cloned().unwrap_or_default();
        Ok(self.account(Some(Location { check, scope }), decided)?)
    }

    fn explain_run(&self) -> Result<Account, ExplainError> {
        Ok(match self.run_cause() {
            Some((decided, Some(location))) => {
                let mut account = self.account(Some(location), decided)?;
                account.subject = None;
                account
            }
            Some((decided, None)) => self.account(None, decided)?,
            None => self.still_running(&*self.now()?),
        })
    }

    /// Follows the path to the cause, evaluates it, and says what would have to differ.
    fn account(&self, location: Option<Location>, decided: usize) -> Result<Account, ReplayError> {
        let (path, last) = match &location {
            Some(location) => self.path(location, decided)?,
            None => (Vec::new(), decided),
        };
        let cause = self.cause(last)?;
        let differs = self.differs(last, &cause);
        let timeline = match &location {
            Some(Location { check, scope }) => self.timeline(*check, scope)?,
            None => Vec::new(),
        };
        let now = self.now()?;
        Ok(Account { path, cause, differs, timeline, ..self.blank(location, &now) })
    }

    fn blank(&self, location: Option<Location>, now: &Run) -> Account {
        let state = &now.state;
        let last = self.entries.len().saturating_sub(1);
        Account {
            run: state.options.run.clone(),
            playbook: state.plan.name.clone(),
            title: state.title.clone(),
            inputs: state.inputs.clone(),
            event: state.options.event_object(),
            status: state.status,
            reason: state.reason.clone(),
            subject: location.map(|Location { check, scope }| Subject {
                check: state.plan.check(check).name.clone(),
                status: now.status_at(check, &scope),
                scope,
            }),
            path: Vec::new(),
            cause: self.bare_cause(last, String::new()),
            differs: Vec::new(),
            timeline: Vec::new(),
        }
    }

    fn bare_cause(&self, index: usize, summary: String) -> Cause {
        Cause {
            entry: index as u64 + 1,
            at: rfc3339(self.entries[index].at),
            summary,
            check: None,
            scope: ScopePath::root(),
            attempt: None,
            issues: Vec::new(),
            evaluations: Vec::new(),
        }
    }

    /// Nothing was decided about the check yet.
    fn undecided(&self, check: CheckIndex, scope: ScopePath, now: &Run) -> Account {
        let plan = &self.plan;
        let spec = plan.check(check);
        let open: Vec<String> = spec
            .follows()
            .filter(|dependency| {
                !matches!(
                    now.check_status(*dependency),
                    CheckStatus::Succeeded | CheckStatus::Failed | CheckStatus::Skipped
                )
            })
            .map(|dependency| format!("`{}`", plan.check(dependency).name))
            .collect();
        let summary = if !open.is_empty() {
            format!("`{}` waits until {} has settled", spec.name, open.join(", "))
        } else if !spec.starts {
            format!("`{}` waits to be routed to", spec.name)
        } else {
            format!("`{}` has not been decided yet", spec.name)
        };
        let mut account = self.blank(Some(Location { check, scope }), now);
        account.cause.summary = summary;
        account
    }

    fn still_running(&self, now: &Run) -> Account {
        let plan = &self.plan;
        let at_work: Vec<String> = plan
            .indices()
            .filter(|check| now.check_status(*check) == CheckStatus::Running)
            .map(|check| format!("`{}`", plan.check(check).name))
            .collect();
        let mut account = self.blank(None, now);
        account.cause.summary = if at_work.is_empty() {
            "the run has not ended".into()
        } else {
            format!("the run has not ended: {} was started and has not been answered", at_work.join(", "))
        };
        account
    }

    /// The latest entry before `until` that decided a check within a scope; of several items, the first that
    /// failed, then the first that waits, then the first that was skipped.
    fn decision(&self, check: CheckIndex, within: &ScopePath, until: usize) -> Option<usize> {
        let name = &self.plan.check(check).name;
        let mut latest = std::collections::BTreeMap::new();
        for (index, entry) in self.entries[..until].iter().enumerate() {
            if entry.event.check() != Some(name) || rank(&entry.event).is_none() {
                continue;
            }
            let Some(scope) = scope_of(&entry.event) else { continue };
            if scope.touches(within) {
                latest.insert(scope.clone(), index);
            }
        }
        latest.into_values().min_by_key(|index| (rank(&self.entries[*index].event), *index))
    }
}

/// The issue that made a verdict.
pub(crate) fn decisive(issues: &[Issue]) -> Option<&Issue> {
    issues.iter().find(|issue| issue.severity == Severity::Error).or(issues.first())
}

/// What a person says of an effect after the run has ended.
fn resolution_in_words(state: EffectState, by: &str, why: &str) -> String {
    let became = match state {
        EffectState::Failed => "did not happen",
        EffectState::Confirmed | EffectState::Intended | EffectState::Unknown => "was done",
    };
    format!("{by} resolved the effect after the run had ended: it {became} ({why})")
}

/// Which of several items represents a check: lower comes first. `None` for an event that decides nothing.
fn rank(event: &Event) -> Option<u8> {
    match event {
        Event::CheckJudged { verdict: escrow_model::Verdict::Failed, .. }
        | Event::EffectResolved { state: EffectState::Failed, .. } => Some(0),
        Event::WaitStarted { .. } => Some(1),
        Event::CheckSkipped { .. } => Some(2),
        Event::AttemptStarted { .. } | Event::ReconcileStarted { .. } => Some(3),
        Event::CheckJudged { .. } | Event::EffectResolved { .. } => Some(4),
        _ => None,
    }
}

/// The scope that an event is about.
fn scope_of(event: &Event) -> Option<&ScopePath> {
    match event {
        Event::CheckSkipped { scope, .. }
        | Event::AttemptStarted { scope, .. }
        | Event::AttemptAnswered { scope, .. }
        | Event::CheckInspected { scope, .. }
        | Event::CheckJudged { scope, .. }
        | Event::RetryScheduled { scope, .. }
        | Event::Routed { scope, .. }
        | Event::LoopBudgetExceeded { scope, .. }
        | Event::IssueRaised { scope, .. }
        | Event::RecoveryExhausted { scope, .. }
        | Event::WaitStarted { scope, .. }
        | Event::WaitWithdrawn { scope, .. }
        | Event::ArtifactChanged { scope, .. }
        | Event::ReconcileStarted { scope, .. }
        | Event::Reconciled { scope, .. }
        | Event::EffectResolved { scope, .. } => Some(scope),
        Event::OutcomeStored { outcome } => Some(&outcome.scope),
        _ => None,
    }
}
