//! Whether a decision about a wait is accepted. Judged inside the transaction that records it, so that of several
//! processes exactly one wins.

use escrow_model::{Message, Millis};

use crate::message::MessageId;
use crate::wait::WaitRow;

/// What a decision is judged by.
#[derive(Clone, Debug)]
pub struct DecidedWait<'a> {
    /// How the wait was resolved, if it was.
    pub resolution: Option<String>,
    pub expires_at: Option<Millis>,
    /// The actors whose approvals the run has taken in.
    pub approvers: Vec<Option<&'a str>>,
    /// How many actors must approve.
    pub approvals_needed: usize,
}

/// What became of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decided {
    /// It is in the inbox of the run, synced to the disk, and nothing can overrule it.
    Accepted(MessageId),
    Refused(NotAccepted),
}

/// Why a decision is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAccepted {
    /// The run asks for no such thing.
    Gone,
    /// `approved`, `denied`, `expired`, `stale` and the like.
    Resolved(String),
    Expired,
    /// Another decision is recorded, and the run will act on that one.
    Decided,
    /// The same actor has approved before.
    Again,
    /// The journal has grown since the person's word was compared with it.
    Moved,
}

impl<'a> From<&'a WaitRow> for DecidedWait<'a> {
    fn from(row: &'a WaitRow) -> DecidedWait<'a> {
        DecidedWait {
            resolution: row.resolved_at.map(|_| row.resolution.clone().unwrap_or_default()),
            expires_at: row.expires_at,
            approvers: row.approvals.iter().map(|given| given.by.as_deref()).collect(),
            approvals_needed: row.approvals_needed(),
        }
    }
}

/// `recorded` are the messages in the inbox that no commit has delivered, oldest first.
pub fn judge_decision(
    wait: DecidedWait<'_>,
    recorded: &[Message],
    message: &Message,
    now: Millis,
) -> Result<(), NotAccepted> {
    let DecidedWait { resolution, expires_at, approvers, approvals_needed } = wait;
    if let Some(resolution) = resolution {
        return Err(NotAccepted::Resolved(resolution));
    }
    let mut actors = approvers;
    for earlier in recorded.iter().filter(|earlier| wait_of(earlier) == wait_of(message)) {
        match earlier {
            Message::Approve { by, .. } => actors.push(by.as_deref()),
            Message::Deny { .. } | Message::Answer { .. } => return Err(NotAccepted::Decided),
            Message::Assume { .. } | Message::Cancel { .. } => {}
        }
    }
    // What was decided in time stays decided when the time is up.
    if actors.len() >= approvals_needed {
        return Err(NotAccepted::Decided);
    }
    if expires_at.is_some_and(|expiry| expiry <= now) {
        return Err(NotAccepted::Expired);
    }
    match message {
        Message::Approve { by, .. } if actors.contains(&by.as_deref()) => Err(NotAccepted::Again),
        Message::Approve { .. }
        | Message::Deny { .. }
        | Message::Answer { .. }
        | Message::Assume { .. }
        | Message::Cancel { .. } => Ok(()),
    }
}

/// Whether a word about an effect is the first one. `recorded` are the messages that no commit has delivered.
pub fn judge_assumption(recorded: &[Message], message: &Message) -> Result<(), NotAccepted> {
    let place = |message: &Message| match message {
        Message::Assume { check, scope, .. } => Some((check.clone(), scope.clone())),
        Message::Approve { .. } | Message::Deny { .. } | Message::Answer { .. } | Message::Cancel { .. } => {
            None
        }
    };
    let asked = place(message);
    let is_second = recorded.iter().any(|earlier| place(earlier).is_some_and(|place| Some(place) == asked));
    if is_second { Err(NotAccepted::Decided) } else { Ok(()) }
}

/// The wait that a message decides about.
pub fn wait_of(message: &Message) -> Option<&str> {
    match message {
        Message::Approve { id, .. } | Message::Deny { id, .. } | Message::Answer { id, .. } => Some(id),
        Message::Assume { .. } | Message::Cancel { .. } => None,
    }
}
