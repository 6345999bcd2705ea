//! One fixture and the result of checking it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::judge::judge;

/// A document and the claim about it. Other keys are comments.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Fixture {
    pub kind: String,
    pub expect: Expectation,
    pub expect_error: Option<String>,
    pub description: Option<String>,
    pub data: Value,
}

/// What a fixture claims about its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    Valid,
    Invalid,
}

crate::vocabulary::vocabulary! {
    /// Whether the claim holds.
    FixtureOutcome {
        ValidOk = "valid_ok",
        InvalidOk = "invalid_ok",
        ExpectedValidButInvalid = "expected_valid_but_invalid",
        ExpectedInvalidButValid = "expected_invalid_but_valid",
        InvalidWrongMessage = "invalid_wrong_message",
    }
}

impl FixtureOutcome {
    pub const fn is_as_expected(self) -> bool {
        match self {
            Self::ValidOk | Self::InvalidOk => true,
            Self::ExpectedValidButInvalid | Self::ExpectedInvalidButValid | Self::InvalidWrongMessage => {
                false
            }
        }
    }
}

/// The line printed for a fixture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FixtureRow {
    pub path: String,
    pub kind: String,
    pub expect: Expectation,
    pub outcome: FixtureOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl Fixture {
    pub fn read(contents: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(contents)
    }

    pub fn check(mut self, path: &str) -> FixtureRow {
        // Which of several errors is reported depends on the order of keys; release 0.9.0 sorts them.
        self.data.sort_all_objects();
        let error = judge(&self.kind, self.data).err();
        let outcome = match (self.expect, &error, &self.expect_error) {
            (Expectation::Valid, None, _) => FixtureOutcome::ValidOk,
            (Expectation::Valid, Some(_), _) => FixtureOutcome::ExpectedValidButInvalid,
            (Expectation::Invalid, None, _) => FixtureOutcome::ExpectedInvalidButValid,
            (Expectation::Invalid, Some(message), Some(part)) if !message.contains(part.as_str()) => {
                FixtureOutcome::InvalidWrongMessage
            }
            (Expectation::Invalid, Some(_), _) => FixtureOutcome::InvalidOk,
        };
        FixtureRow {
            path: path.to_owned(),
            kind: self.kind,
            expect: self.expect,
            outcome,
            error,
            description: self.description,
        }
    }
}
