//! The verdict on an artifact contract.

use serde::{Deserialize, Serialize};

use super::Source;
use crate::Millis;

/// The verdict on the contract. `runs show --output json` prints it under `artifacts`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    pub status: DeliveryStatus,
    pub checked_at_ms: Millis,
    pub missing_required: Vec<MissingArtifact>,
    pub missing_optional: Vec<MissingArtifact>,
    pub produced: Vec<ProducedArtifact>,
}

impl Delivery {
    /// Whether it says anything of this artifact.
    pub fn speaks_of(&self, id: &str) -> bool {
        self.produced.iter().any(|produced| produced.id == id) || self.missing(id).is_some()
    }

    pub fn missing(&self, id: &str) -> Option<&MissingArtifact> {
        self.missing_required.iter().chain(&self.missing_optional).find(|missing| missing.id == id)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    Passed,
    Failed,
    Warning,
    Skipped,
}

impl DeliveryStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            DeliveryStatus::Passed => "passed",
            DeliveryStatus::Failed => "failed",
            DeliveryStatus::Warning => "warning",
            DeliveryStatus::Skipped => "skipped",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingArtifact {
    pub id: String,
    pub path: String,
    pub required: bool,
    pub description: String,
    pub source: Source,
    pub problem: Problem,
    /// What was found instead, where `problem` does not say it all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// Why what was found is not a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    Absent,
    Empty,
    Stale,
    TooSmall,
    WrongType,
    Schema,
    Outside,
    Count,
}

impl Problem {
    pub fn as_str(self) -> &'static str {
        match self {
            Problem::Absent => "absent",
            Problem::Empty => "empty",
            Problem::Stale => "stale",
            Problem::TooSmall => "too_small",
            Problem::WrongType => "wrong_type",
            Problem::Schema => "schema",
            Problem::Outside => "outside",
            Problem::Count => "count",
        }
    }

    /// As it follows "the file is".
    pub fn in_words(self) -> &'static str {
        match self {
            Problem::Absent => "absent",
            Problem::Empty => "empty",
            Problem::Stale => "stale: it was there before the run",
            Problem::TooSmall => "too small",
            Problem::WrongType => "of the wrong type",
            Problem::Schema => "not what its schema says",
            Problem::Outside => "outside of the artifact directory",
            Problem::Count => "there in the wrong number",
        }
    }
}

impl MissingArtifact {
    /// In one line: what it is, where it should be, what is wrong.
    pub fn in_words(&self) -> String {
        let detail = if self.detail.is_empty() { String::new() } else { format!(" ({})", self.detail) };
        format!("`{}` ({}) is {}{detail}", self.id, self.path, self.problem.in_words())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProducedArtifact {
    pub id: String,
    pub path: String,
    pub size: u64,
    pub sha256: String,
}
