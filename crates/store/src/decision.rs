//! Whether a decision about a wait is accepted. Judged inside the transaction that records it, so that of several
//! processes exactly one wins.

use escrow_model::{Message, Millis};

use crate::message::MessageId;
use crate::wait::WaitRow;

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
}

/// `recorded` are the messages about the wait that no commit has delivered, oldest first.
pub(crate) fn judge(
    wait: &WaitRow,
    recorded: &[Message],
    message: &Message,
    now: Millis,
) -> Result<(), NotAccepted> {
    if wait.resolved_at.is_some() {
        return Err(NotAccepted::Resolved(wait.resolution.clone().unwrap_or_default()));
    }
    if wait.expires_at.is_some_and(|expiry| expiry <= now) {
        return Err(NotAccepted::Expired);
    }
    let mut actors: Vec<Option<&str>> = wait.approvals.iter().map(|given| given.by.as_deref()).collect();
    for earlier in recorded {
        match earlier {
            Message::Approve { by, .. } => actors.push(by.as_deref()),
            Message::Deny { .. } | Message::Answer { .. } => return Err(NotAccepted::Decided),
            Message::Assume { .. } | Message::Cancel { .. } => {}
        }
    }
    if actors.len() >= wait.approvals_needed() {
        return Err(NotAccepted::Decided);
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

/// The wait that a message decides about.
pub(crate) fn wait_of(message: &Message) -> Option<&str> {
    match message {
        Message::Approve { id, .. } | Message::Deny { id, .. } | Message::Answer { id, .. } => Some(id),
        Message::Assume { .. } | Message::Cancel { .. } => None,
    }
}
