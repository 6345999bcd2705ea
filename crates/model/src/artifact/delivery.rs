//! The verdict on an artifact contract.

use serde::{Deserialize, Serialize};

use super::{ExpectedArtifact, Source};
use crate::Millis;

/// The verdict on the contract. `runs show --output json` prints it under `artifacts`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    pub status: DeliveryStatus,
    pub checked_at_ms: Millis,
    pub missing_required: Vec<MissingArtifact>,
    pub missing_optional: Vec<MissingArtifact>,
    pub produced: Vec<ProducedArtifact>,
    /// What is not there, and was not expected because its `if` does not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_expected: Vec<UnexpectedArtifact>,
}

/// Whether an artifact with an `if` is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    Expected,
    NotExpected,
    /// The `if` could not be evaluated, so the artifact is expected.
    Undecided(String),
}

impl Delivery {
    /// Records that an artifact was not delivered.
    pub fn miss(&mut self, expected: &ExpectedArtifact, problem: Problem, detail: String) {
        let missing = MissingArtifact {
            id: expected.id.clone(),
            path: expected.location.label().to_owned(),
            required: expected.required,
            description: expected.description.clone(),
            source: expected.source,
            problem,
            detail,
        };
        if expected.required {
            self.missing_required.push(missing);
        } else {
            self.missing_optional.push(missing);
        }
    }

    /// Whether it says anything of this artifact.
    pub fn speaks_of(&self, id: &str) -> bool {
        self.produced.iter().any(|produced| produced.id == id)
            || self.missing(id).is_some()
            || self.not_expected.iter().any(|one| one.id == id)
    }

    /// Takes the `if` of an artifact into account: what is missing and not expected is no longer missing.
    pub fn apply_condition(&mut self, id: &str, condition: &str, expectation: &Expectation) {
        let missing = [&mut self.missing_required, &mut self.missing_optional];
        match expectation {
            Expectation::Expected => {}
            Expectation::Undecided(error) => {
                for missing in missing.into_iter().flatten().filter(|missing| missing.id == id) {
                    let separator = if missing.detail.is_empty() { "" } else { "; " };
                    missing.detail.push_str(&format!("{separator}its `if` cannot be evaluated: {error}"));
                }
            }
            Expectation::NotExpected => {
                for list in missing {
                    for one in list.extract_if(.., |missing| missing.id == id) {
                        let condition = condition.to_owned();
                        self.not_expected.push(UnexpectedArtifact { id: one.id, path: one.path, condition });
                    }
                }
            }
        }
        self.status = self.verdict();
    }

    /// The status that follows from what is there and what is missing.
    pub fn verdict(&self) -> DeliveryStatus {
        match (&*self.missing_required, &*self.missing_optional, &*self.produced, &*self.not_expected) {
            ([], [], [], [_, ..]) => DeliveryStatus::Skipped,
            ([], [], _, _) => DeliveryStatus::Passed,
            ([], _, _, _) => DeliveryStatus::Warning,
            (_, _, _, _) => DeliveryStatus::Failed,
        }
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
    /// Its content, as far as expressions and templates read it. Documents leave it out: the file has it.
    #[serde(skip)]
    pub text: Option<String>,
    /// A secret was replaced in `text`.
    #[serde(skip)]
    pub redacted: bool,
}

/// An artifact that is not there, and was not expected because its `if` does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnexpectedArtifact {
    pub id: String,
    pub path: String,
    /// Its `if`, as the file has it.
    #[serde(rename = "if")]
    pub condition: String,
}
