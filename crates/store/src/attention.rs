//! What needs a person, grouped by cause.

use escrow_model::{ApprovalSubject, Millis, RunId, WaitKind};
use serde::{Deserialize, Serialize};

/// The kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionKind {
    /// A check waits for an approval, an answer, or a person who knows whether an effect happened.
    Waiting,
    Failed,
    TimedOut,
    Aborted,
    /// The process that drove the run is gone.
    Interrupted,
    /// It completed with warnings, or has lost the login of the user, however it ended.
    Warning,
    /// A person could not be told what waits.
    Undelivered,
    /// A run was ended, and may or may not have had an effect.
    UnknownEffect,
    /// A chain was fired, and its run could not begin.
    NotBegun,
}

/// The subject of a reason: a check or an expected artifact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    pub kind: String,
    pub id: String,
}

/// Occurrences of one cause.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionItem {
    /// `f_` and 12 characters: the same for the same kind, reason code, playbook and check or artifact. Every wait has
    /// its own.
    pub fingerprint: String,
    pub kind: AttentionKind,
    pub reason_code: Option<String>,
    pub playbook: String,
    /// The title of the newest run.
    pub title: Option<String>,
    pub subject: Option<Subject>,
    /// How often, since it was last dismissed.
    pub count: u64,
    pub first_at: Millis,
    pub last_at: Millis,
    /// Of the newest occurrence.
    pub summary: String,
    /// The newest first, at most five.
    pub runs: Vec<RunId>,
    /// The newest wait, to be answered.
    pub wait: Option<AttentionWait>,
    /// A person has seen it, and there is no newer occurrence.
    pub dismissed: Option<Dismissal>,
}

/// What a check asks of a person.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionWait {
    pub id: String,
    pub kind: WaitKind,
    /// The check, with its item.
    pub place: String,
    pub expires_at: Option<Millis>,
    /// What is to be approved, with the rendered request.
    pub subject: Option<Box<ApprovalSubject>>,
    /// A decision is recorded that no process has delivered to the run yet.
    pub has_recorded_decision: bool,
}

/// A person has seen an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dismissal {
    pub at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub note: String,
    /// The newest occurrence that was seen.
    pub up_to: Millis,
    /// Its run, which breaks a tie.
    pub up_to_run: RunId,
}
