//! Invocations: a request, the runs that belong to it, and how it ended.

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
    /// A person has set the status; it no longer follows the runs.
    pub ended_by_hand: bool,
    pub status: InvocationStatus,
    /// The worst status of its runs so far, whatever a person says; absent while it has none.
    pub health: Option<RunStatus>,
    pub reason: Option<InvocationReason>,
    /// The run whose reason this is.
    pub decisive_run: Option<RunId>,
    /// How many runs have each status, in the order of [`RunStatus::ALL`].
    pub counts: [u64; 7],
    /// The run of a chain that it is a step of.
    pub chain_run_id: Option<RunId>,
    pub step_index: Option<u32>,
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

/// The reason of a run, or one that a person gave.
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

/// A request that begins an invocation.
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

/// The end that a person wants an invocation to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndInvocation {
    pub at: Millis,
    /// Without one, the status of its runs.
    pub status: Option<InvocationStatus>,
    pub by: Option<String>,
    pub why: Option<String>,
}

/// The result of ending an invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvocationEnd {
    Done(InvocationRow),
    Unknown,
    /// Some of its runs run or wait.
    StillOpen(InvocationRow),
    /// Nothing ran, and no status was given.
    NothingRan(InvocationRow),
    /// It has ended before; an override needs a name and a reason.
    EndedBefore(InvocationRow),
    /// Its runs ended worse; a better status needs a `why`.
    BetterThanItsRuns(InvocationRow),
    /// People cannot set this status.
    NotForPeople(InvocationStatus),
}
