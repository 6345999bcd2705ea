//! What a run waits for, and how the wait ended.

use escrow_model::{ApprovalSubject, Millis, RunId, WaitKind};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq)]
pub struct WaitRow {
    pub run: RunId,
    /// The title of the run; without one, that of the outermost run around it.
    pub title: Option<String>,
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
    /// `approved`, `denied`, `answered`, `assumed_done`, `assumed_failed`, `assumed_retry`, `expired`, `stale` or
    /// `run_ended`.
    pub resolution: Option<String>,
    pub resolved_by: Option<String>,
    /// The name that the sender of the decision gave, which never counts.
    pub claim: Option<String>,
    pub note: Option<String>,
    /// What is approved.
    pub subject: Option<Box<ApprovalSubject>>,
    /// The approvals that the run has taken in.
    pub approvals: Vec<GivenApproval>,
    /// Those that no process has delivered to it yet.
    pub recorded_approvals: Vec<GivenApproval>,
    /// A decision is recorded that no process has delivered to the run yet.
    pub has_recorded_decision: bool,
}

/// One of the approvals of a wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenApproval {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub at: Millis,
}

impl WaitRow {
    /// Whether its time is up, and no decision was recorded before.
    pub fn is_past(&self, now: Millis) -> bool {
        self.resolution.is_none()
            && !self.has_recorded_decision
            && self.expires_at.is_some_and(|expiry| expiry <= now)
    }

    /// How many actors must approve.
    pub fn approvals_needed(&self) -> usize {
        let count = self.subject.as_ref().map_or(1, |subject| subject.terms.count);
        usize::try_from(count).unwrap_or(usize::MAX)
    }
}
