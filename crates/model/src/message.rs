//! What a person or another process sends to a run.

use serde::{Deserialize, Serialize};

use crate::{RunId, ScopePath};

/// `by` is the actor, `os:NAME` or `token:NAME`, as the system knows it. `claim` is the name that the sender gave and
/// that never counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub enum Message {
    Approve {
        id: String,
        by: Option<String>,
        claim: Option<String>,
        note: Option<String>,
    },
    Deny {
        id: String,
        by: Option<String>,
        claim: Option<String>,
        note: Option<String>,
    },
    Answer {
        id: String,
        text: String,
        by: Option<String>,
    },
    Assume {
        check: String,
        scope: ScopePath,
        assumption: Assumption,
        by: Option<String>,
        why: Option<String>,
    },
    Cancel {
        by: Option<String>,
        system: bool,
        /// The run of the same concurrency group that wants to start. Such a message is refused while an effect is under
        /// way or unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        successor: Option<RunId>,
        /// The run whose command sent it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inside: Option<RunId>,
        /// The run may end the effects that are under way, and begins nothing further. Such a message is remembered while
        /// it is refused because of an effect.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        patient: bool,
    },
}

impl Message {
    /// The actor, if it is known.
    pub fn by(&self) -> Option<&str> {
        match self {
            Message::Approve { by, .. }
            | Message::Deny { by, .. }
            | Message::Answer { by, .. }
            | Message::Assume { by, .. }
            | Message::Cancel { by, .. } => by.as_deref(),
        }
    }
}

/// Why a message changed nothing, for decisions that depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    NoWait,
    OtherKind,
    NotAChoice,
    NotNamed,
    NotIndependent,
    Again,
    NoCheck,
    NoItem,
    PerItem,
    NotUnknown,
    Settled,
    LookedFor,
    EffectUnderWay,
    Stopping,
}

/// What a person or `reconcile` says about an unknown effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assumption {
    Done,
    Failed,
    Retry,
}

impl Assumption {
    pub const ALL: [Assumption; 3] = [Assumption::Done, Assumption::Failed, Assumption::Retry];

    pub fn as_str(self) -> &'static str {
        match self {
            Assumption::Done => "done",
            Assumption::Failed => "failed",
            Assumption::Retry => "retry",
        }
    }

    pub fn parse(text: &str) -> Option<Assumption> {
        Assumption::ALL.into_iter().find(|assumption| assumption.as_str() == text)
    }
}
