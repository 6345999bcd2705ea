//! Compares two journals of the same world: where they decide differently, and why.

use std::collections::BTreeMap;

use escrow_model::{Entry, Event, ReasonCode, RunStatus, ScopePath, Verdict, WaitKind};
use serde::Serialize;

use super::{Redecided, Unknown};
use crate::explain::{Account, Question, decisive, explain};
use crate::run::{ReplayError, Run};

/// A recorded run beside the run that the other plan gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub run: escrow_model::RunId,
    pub change: Change,
    pub was: RunSummary,
    pub now: RunSummary,
    /// Each check that is decided differently, by its first difference, in the order of the new journal.
    pub differences: Vec<Difference>,
    /// The first difference, explained.
    pub first: Option<Account>,
    pub unknown: Vec<Unknown>,
    pub assumed: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Same,
    /// It completed, and would not.
    Blocks,
    /// It did not complete, and would.
    Passes,
    /// The verdict is of the same kind, but decisions differ.
    Differs,
    /// The record does not say enough.
    Undecidable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    pub status: RunStatus,
    pub reason: Option<ReasonCode>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub check: String,
    pub scope: ScopePath,
    pub was: String,
    pub now: String,
}

/// Compares a recorded run with the same run under another plan.
pub fn compare(recorded: &[Entry], redecided: &Redecided) -> Result<Comparison, ReplayError> {
    let before = Run::replay(recorded)?;
    let after = &redecided.run;
    let (was, now) = (summary(&before), summary(after));
    let open = !redecided.unknown.is_empty() && !after.status().is_terminal();
    let found = differences(recorded, &redecided.entries, &before, after, open);
    let first = match found.first() {
        Some((Some(index), difference)) => {
            let question =
                Question { check: difference.check.clone(), scope: Some(difference.scope.clone()) };
            explain(&redecided.entries[..=*index], Some(&question)).ok()
        }
        Some((None, _)) => None,
        None if was != now && !open => explain(&redecided.entries, None).ok(),
        None => None,
    };
    let completed = |summary: RunSummary| summary.status == RunStatus::Completed;
    let change = match (completed(was), completed(now)) {
        (_, _) if open => Change::Undecidable,
        (true, false) => Change::Blocks,
        (false, true) => Change::Passes,
        (_, _) if was == now && found.is_empty() => Change::Same,
        (_, _) => Change::Differs,
    };
    Ok(Comparison {
        run: before.state.options.run.clone(),
        change,
        was,
        now,
        differences: found.into_iter().map(|(_, difference)| difference).collect(),
        first,
        unknown: redecided.unknown.clone(),
        assumed: redecided.assumed.iter().cloned().collect(),
    })
}

fn summary(run: &Run) -> RunSummary {
    RunSummary { status: run.status(), reason: run.reason().map(|reason| reason.code) }
}

type Decisions<'a> = BTreeMap<(&'a str, &'a ScopePath), Vec<(usize, String)>>;

/// Each difference, with its entry in the new journal if it has one.
fn differences(
    recorded: &[Entry],
    new: &[Entry],
    before: &Run,
    after: &Run,
    open: bool,
) -> Vec<(Option<usize>, Difference)> {
    let (old_decisions, new_decisions) = (decisions(recorded), decisions(new));
    let mut found = Vec::new();
    for ((check, scope), decided) in &new_decisions {
        let old = old_decisions.get(&(*check, *scope)).map(Vec::as_slice).unwrap_or_default();
        let differing = decided
            .iter()
            .enumerate()
            .find(|(turn, (_, now))| old.get(*turn).is_none_or(|(_, was)| was != now));
        if let Some((turn, (index, now))) = differing {
            let missing =
                if before.graph.find(check).is_some() { "not decided" } else { "not in the playbook" };
            let was = old.get(turn).map_or_else(|| missing.to_owned(), |(_, was)| was.clone());
            found.push((Some(*index), difference(check, scope, was, now.clone())));
        } else if let (false, Some((_, was))) = (open, old.get(decided.len())) {
            found.push((None, difference(check, scope, was.clone(), "not decided".into())));
        }
    }
    for ((check, scope), decided) in &old_decisions {
        if new_decisions.contains_key(&(*check, *scope)) || (open && after.graph.find(check).is_some()) {
            continue;
        }
        let now = if after.graph.find(check).is_some() { "not decided" } else { "not in the playbook" };
        if let Some((_, was)) = decided.first() {
            found.push((None, difference(check, scope, was.clone(), now.into())));
        }
    }
    found.sort_by_key(|(index, _)| index.unwrap_or(usize::MAX));
    found
}

fn difference(check: &str, scope: &ScopePath, was: String, now: String) -> Difference {
    Difference { check: check.to_owned(), scope: scope.clone(), was, now }
}

/// The decisions about each location, in order.
fn decisions(entries: &[Entry]) -> Decisions<'_> {
    let mut all = Decisions::new();
    for (index, entry) in entries.iter().enumerate() {
        let (check, scope, what) = match &entry.event {
            Event::CheckSkipped { check, scope, reason, .. } => {
                (check, scope, format!("skipped {}", reason.as_str()))
            }
            Event::CheckJudged { check, scope, verdict: Verdict::Succeeded, .. } => {
                (check, scope, "succeeded".to_owned())
            }
            Event::CheckJudged { check, scope, verdict: Verdict::Failed, issues, .. } => {
                let what = match decisive(issues) {
                    Some(issue) => format!("failed {}", issue.code),
                    None => "failed".to_owned(),
                };
                (check, scope, what)
            }
            Event::WaitStarted { check, scope, kind, .. } => {
                let what = match kind {
                    WaitKind::Approval => "waits for approval",
                    WaitKind::Input => "waits for an answer",
                    WaitKind::UnknownEffect => "waits, effect unknown",
                    // Decided in the journal of the nested run.
                    WaitKind::Nested => continue,
                };
                (check, scope, what.to_owned())
            }
            _ => continue,
        };
        all.entry((check.as_str(), scope)).or_default().push((index, what));
    }
    all
}
