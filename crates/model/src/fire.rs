//! A fire: one occurrence of a chain's trigger, recorded before anything is decided about it.

use serde::{Deserialize, Serialize};

/// What became of a fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FireStatus {
    /// Nothing is decided yet, or it waits for its turn.
    Recorded,
    /// It has its turn. Its run begins, now or when the next process looks.
    Accepted,
    /// Its run is in the journal.
    Begun,
    Skipped,
    Missed,
    Failed,
}

impl FireStatus {
    pub const ALL: [FireStatus; 6] = [
        FireStatus::Recorded,
        FireStatus::Accepted,
        FireStatus::Begun,
        FireStatus::Skipped,
        FireStatus::Missed,
        FireStatus::Failed,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            FireStatus::Recorded => "recorded",
            FireStatus::Accepted => "accepted",
            FireStatus::Begun => "begun",
            FireStatus::Skipped => "skipped",
            FireStatus::Missed => "missed",
            FireStatus::Failed => "failed",
        }
    }

    pub fn parse(text: &str) -> Option<FireStatus> {
        FireStatus::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether nothing more is decided about it.
    pub fn is_final(self) -> bool {
        match self {
            FireStatus::Recorded | FireStatus::Accepted => false,
            FireStatus::Begun | FireStatus::Skipped | FireStatus::Missed | FireStatus::Failed => true,
        }
    }
}
