//! What a run waits for, and how the wait ended.

use escrow_model::{Millis, RunId, WaitKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitRow {
    pub run: RunId,
    pub id: String,
    pub check: String,
    pub scope: String,
    pub kind: WaitKind,
    pub digest: String,
    pub prompt: String,
    pub choices: Vec<String>,
    pub started_at: Millis,
    pub expires_at: Option<Millis>,
    pub resolved_at: Option<Millis>,
    /// `approved`, `denied`, `answered`, `assumed_done`, `assumed_failed`, `assumed_retry`, `expired` or
    /// `run_ended`.
    pub resolution: Option<String>,
    pub resolved_by: Option<String>,
}
