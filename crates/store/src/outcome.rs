//! Outcomes of runs, and those that were added by hand.

use escrow_model::{Millis, OutcomeId, RecordedOutcome, RunId};
use serde::{Deserialize, Serialize};

/// An outcome in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct OutcomeRow {
    pub created_at: Millis,
    pub run_id: Option<RunId>,
    pub invocation_id: Option<String>,
    /// Without its check and scope: outcomes of files and added ones have none.
    pub outcome: RecordedOutcome,
}

/// Which outcomes to list; the default lists all.
#[derive(Clone, Debug, Default)]
pub struct OutcomeFilter {
    pub kind: Option<String>,
    pub passed: Option<bool>,
    /// Those from then or later.
    pub since: Option<Millis>,
    pub run: Option<RunId>,
    pub invocation: Option<String>,
    /// Those that follow this one.
    pub after: Option<OutcomeId>,
    pub oldest_first: bool,
    pub limit: Option<usize>,
}

/// An outcome that was added by hand, with the run or invocation that it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddedOutcome {
    pub created_at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocation_id: Option<String>,
    pub outcome: RecordedOutcome,
}
