//! Concurrency groups: runs of one group do not overlap, across processes.

use serde::{Deserialize, Serialize};

use crate::Text;

/// `concurrency` of a playbook.
#[derive(Clone, Debug, PartialEq)]
pub struct ConcurrencyRule {
    /// The name of the group, rendered when the run starts.
    pub group: Text,
    pub on_conflict: OnConflict,
}

impl ConcurrencyRule {
    /// Longer names of groups are refused: a name that was cut could be that of another group.
    pub const NAME_LENGTH_MAX: usize = 200;
}

/// What a run does when another one has its group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// It starts when the other one has ended.
    #[default]
    Wait,
    /// It ends at once.
    Refuse,
    /// It ends the other one first, unless that has an effect under way or unknown.
    Cancel,
}

impl OnConflict {
    pub const ALL: [OnConflict; 3] = [OnConflict::Wait, OnConflict::Refuse, OnConflict::Cancel];

    pub fn as_str(self) -> &'static str {
        match self {
            OnConflict::Wait => "wait",
            OnConflict::Refuse => "refuse",
            OnConflict::Cancel => "cancel",
        }
    }

    pub fn parse(text: &str) -> Option<OnConflict> {
        OnConflict::ALL.into_iter().find(|rule| rule.as_str() == text)
    }
}
