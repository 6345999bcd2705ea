//! Runs as lists show them, filters, and lookup by name.

use escrow_model::{DeliveryStatus, Millis, Reason, RunId, RunStatus, Warning};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::error::StoreError;

/// Which runs to list; the default lists all.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    pub status: Option<RunStatus>,
    pub playbook: Option<String>,
    pub invocation: Option<String>,
    pub kinds: RunKinds,
    /// Those that started then or later.
    pub since: Option<Millis>,
    pub limit: Option<usize>,
}

/// Runs of which kinds of plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunKinds {
    Playbooks,
    Shows,
    /// Also those of chains and shows.
    #[default]
    All,
}

#[derive(Debug, Error)]
pub enum LookupError {
    #[error("no run is called `{0}`")]
    None(String),
    /// The first few that match, newest first.
    #[error("`{name}` could be any of {}", list(.candidates))]
    Ambiguous { name: String, candidates: Vec<RunId> },
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn list(candidates: &[RunId]) -> String {
    candidates.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    pub id: RunId,
    /// The name of its plan.
    pub playbook: String,
    /// What the plan was compiled from: `playbook`, `chain` or `show`.
    pub kind: String,
    /// `title` of the playbook, as it was rendered when the run started.
    pub title: Option<String>,
    /// With the defaults of those that were not given.
    pub inputs: Map<String, Value>,
    pub status: RunStatus,
    /// Absent while it runs.
    pub reason: Option<Reason>,
    pub invocation_id: Option<String>,
    /// The name of its event. [`crate::Queries::event_payload`] has the rest.
    pub event: Option<String>,
    /// How many playbook runs this one is nested in.
    pub depth: u32,
    /// The outermost run around it; itself if it is nested in none.
    pub root: RunId,
    pub safe_mode: bool,
    pub directory: String,
    pub artifacts_directory: String,
    pub artifacts_status: Option<DeliveryStatus>,
    pub warnings: Vec<Warning>,
    pub started_at: Millis,
    pub ended_at: Option<Millis>,
    /// A person has overridden its status: `from`, `by`, `why`, `at`.
    pub overridden: Option<Value>,
    /// The last entry.
    pub seq: u64,
}
