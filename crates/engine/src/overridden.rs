//! Overrides: a person changes the status of a run that has ended. What happened in it does not change.
//!
//! **Invariant:** the reason names the person, why, and the status before. A run that was
//! overridden never reads like one that earned its status.

use escrow_model::{Event, Evidence, Millis, Reason, ReasonCode, RunStatus};
use thiserror::Error;

use crate::exchange::Turn;
use crate::run::Run;
use crate::turn::Deciding;

/// The status that a person gives a run, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    pub status: RunStatus,
    pub by: String,
    pub why: String,
}

/// An override that is in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Overridden {
    pub from: RunStatus,
    pub by: String,
    pub why: String,
    pub at: Millis,
}

/// Why a run cannot be overridden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotOverridden {
    #[error("it has not ended: it is {}", .0.as_str())]
    NotEnded(RunStatus),
    #[error("the status of a run cannot be set to {}", .0.as_str().replace('_', " "))]
    NotForPeople(RunStatus),
    #[error("it is {} already", .0.as_str().replace('_', " "))]
    Same(RunStatus),
    #[error("an override needs a name and a reason")]
    Nameless,
}

impl Run {
    /// Overrides the status of a run that has ended.
    pub fn override_status(&mut self, at: Millis, word: Override) -> Result<Turn, NotOverridden> {
        let status = self.state.status;
        let code = ReasonCode::overridden(word.status).ok_or(NotOverridden::NotForPeople(word.status))?;
        if !status.is_terminal() {
            return Err(NotOverridden::NotEnded(status));
        }
        if status == word.status {
            return Err(NotOverridden::Same(status));
        }
        let Override { by, why, .. } = word;
        if by.trim().is_empty() || why.trim().is_empty() {
            return Err(NotOverridden::Nameless);
        }
        let mut evidence = vec![Evidence::person(&by, &why)];
        if let Some(earlier) = &self.state.reason {
            evidence.push(Evidence::earlier(earlier.code.as_str(), &earlier.summary));
        }
        let (was, is) = (status.as_str().replace('_', " "), word.status.as_str());
        let reason = Reason { code, summary: format!("{by} says {is}, not {was}: {why}"), evidence };
        let mut deciding = Deciding::new(self, at);
        deciding.record(Event::RunOverridden { reason, by, why });
        Ok(deciding.into_turn())
    }

    /// Applies `RunOverridden`.
    pub(crate) fn apply_override(&mut self, at: Millis, reason: &Reason, by: &str, why: &str) {
        let from = self.state.status;
        self.state.overridden = Some(Overridden { from, by: by.to_owned(), why: why.to_owned(), at });
        self.state.status = reason.code.status();
        self.state.reason = Some(reason.clone());
    }
}
