//! Invocations: what was asked for, the runs that belong to it, and how it ended.

use escrow_model::{Evidence, InvocationStatus, Millis, RunId, RunStatus};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvocationRow {
    pub id: String,
    pub name: Option<String>,
    pub skill: Option<String>,
    pub prompt: Option<String>,
    pub started_by: Option<String>,
    pub started_at: Millis,
    /// When a person ended it, or its last run ended; absent while one runs or waits.
    pub ended_at: Option<Millis>,
    /// A person said what it came to; its runs no longer do.
    pub ended_by_hand: bool,
    pub status: InvocationStatus,
    /// The worst that one of its runs came to so far, whatever a person says; absent while there is none.
    pub health: Option<RunStatus>,
    pub reason: Option<InvocationReason>,
    /// The run whose reason this is.
    pub decisive_run: Option<RunId>,
    /// How many runs stand where, in the order of [`RunStatus::ALL`].
    pub counts: [u64; 7],
}

impl InvocationRow {
    pub fn runs(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many of its runs have this status.
    pub fn count(&self, status: RunStatus) -> u64 {
        RunStatus::ALL.iter().position(|one| *one == status).map_or(0, |place| self.counts[place])
    }

    /// Whether one of its runs runs or waits.
    pub fn is_open(&self) -> bool {
        self.count(RunStatus::Running) + self.count(RunStatus::Waiting) > 0
    }
}

/// A reason as it came up from a run, or as a person gave it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct InvocationReason {
    pub code: String,
    pub summary: String,
    pub evidence: Vec<Evidence>,
}

/// Which invocations to list; the default lists all.
#[derive(Clone, Debug, Default)]
pub struct InvocationFilter {
    pub status: Option<InvocationStatus>,
    /// Those that started then or later.
    pub since: Option<Millis>,
    pub limit: Option<usize>,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartedInvocation {
    pub at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What a person wants an invocation to have come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndInvocation {
    pub at: Millis,
    /// Without one, what its runs came to.
    pub status: Option<InvocationStatus>,
    pub by: Option<String>,
    pub why: Option<String>,
}

/// What became of the wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvocationEnd {
    Done(InvocationRow),
    Unknown,
    /// Some of its runs run or wait.
    StillOpen(InvocationRow),
    /// Nothing ran, and nobody says what it came to.
    NothingRan(InvocationRow),
    /// It has ended before; an override names who and why.
    EndedBefore(InvocationRow),
    /// Its runs came to something worse; a better word needs a `why`.
    BetterThanItsRuns(InvocationRow),
    /// Nobody can say this of an invocation.
    NotForPeople(InvocationStatus),
}
