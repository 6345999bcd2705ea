//! What a person or another process sends to a run.

use serde::{Deserialize, Serialize};

use crate::ScopePath;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "letter", rename_all = "snake_case")]
pub enum Letter {
    Approve { id: String, by: Option<String>, note: Option<String> },
    Deny { id: String, by: Option<String>, note: Option<String> },
    Answer { id: String, text: String, by: Option<String> },
    Assume { check: String, scope: ScopePath, assumption: Assumption, by: Option<String> },
    Cancel { by: Option<String>, system: bool },
}

/// What a person knows of an effect that Escrow does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assumption {
    Done,
    Failed,
    Retry,
}
