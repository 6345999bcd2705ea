//! Messages to a run, and their place in its inbox.

use escrow_model::{Message, Millis};

/// A message's place in the inbox. Later messages have greater ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

/// A message that lies in the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub id: MessageId,
    pub message: Message,
    pub from: String,
    pub at: Millis,
}
