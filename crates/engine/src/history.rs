//! Every change of status of every check, as the journal has them.
//!
//! A run changes status a few times and its checks thousands of times, so these changes are not stored. They are
//! computed from the journal on demand.

use std::collections::BTreeMap;

use escrow_model::{CheckStatus, Entry, Event, Millis, ScopePath};

use crate::explain::decisive;
use crate::location::Location;
use crate::run::{ReplayError, Run};

/// One change of one check, or of one item of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckChange {
    /// The journal's entry.
    pub entry: u64,
    pub at: Millis,
    pub check: String,
    pub scope: ScopePath,
    pub from: CheckStatus,
    pub to: CheckStatus,
    /// The skip reason, or the rule that was broken; empty when there is neither.
    pub code: String,
    pub detail: String,
}

/// The changes of all checks, in the order of the journal.
pub fn history(entries: &[Entry]) -> Result<Vec<CheckChange>, ReplayError> {
    let first = entries.first().ok_or(ReplayError::Empty)?;
    let mut run = Run::replay([first])?;
    let mut seen: BTreeMap<Location, CheckStatus> = BTreeMap::new();
    let mut changes = Vec::new();
    for (position, entry) in entries.iter().enumerate().skip(1) {
        run.next(position, entry)?;
        let touched = match &entry.event {
            // These invalidate other checks too, among those that changed before.
            Event::Routed { .. } | Event::RunReopened { .. } => seen.keys().cloned().collect(),
            event => location_of(event, &run).into_iter().collect::<Vec<_>>(),
        };
        for location in touched {
            let from = seen.get(&location).copied().unwrap_or(CheckStatus::Pending);
            let to = run.status_at(location.check, &location.scope);
            if from == to {
                continue;
            }
            let (code, detail) = why(&entry.event);
            let name = run.plan_of().check(location.check).name.clone();
            changes.push(CheckChange {
                entry: position as u64 + 1,
                at: entry.at,
                check: name,
                scope: location.scope.clone(),
                from,
                to,
                code,
                detail,
            });
            seen.insert(location, to);
        }
    }
    Ok(changes)
}

fn location_of(event: &Event, run: &Run) -> Option<Location> {
    let (Event::CheckSkipped { scope, .. }
    | Event::AttemptStarted { scope, .. }
    | Event::CheckJudged { scope, .. }
    | Event::RetryScheduled { scope, .. }
    | Event::WaitStarted { scope, .. }) = event
    else {
        return None;
    };
    Some(Location::new(run.graph.find(event.check()?)?, scope.clone()))
}

fn why(event: &Event) -> (String, String) {
    match event {
        Event::CheckSkipped { reason, detail, .. } => (reason.as_str().to_owned(), detail.clone()),
        Event::CheckJudged { issues, .. } => {
            let found = decisive(issues).map(|issue| (issue.code.to_string(), issue.message.clone()));
            found.unwrap_or_default()
        }
        Event::WaitStarted { prompt, .. } => (String::new(), prompt.clone()),
        Event::Routed { check, to, .. } => (String::new(), format!("`{check}` routed to `{to}`")),
        Event::RunReopened { .. } => (String::new(), "the run was opened again".to_owned()),
        _ => (String::new(), String::new()),
    }
}
