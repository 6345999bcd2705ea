//! Notifications that wait to be delivered.

use escrow_model::{Millis, RunId};
use serde_json::{Map, Value};

/// A message to a person, kept until it is delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    /// Unique: what is told twice is delivered once.
    pub key: String,
    pub run: RunId,
    pub body: Map<String, Value>,
    pub at: Millis,
}

/// A notification that is due.
#[derive(Clone, Debug, PartialEq)]
pub struct DueNotification {
    pub id: u64,
    pub notification: Notification,
    /// How often it was tried.
    pub attempts: u32,
}

/// What became of an attempt to deliver one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryResult {
    Delivered,
    Failed {
        why: String,
        next_at: Millis,
    },
    /// What it tells is settled.
    Obsolete,
}
