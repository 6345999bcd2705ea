//! What a judged attempt is reproached with.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Warning,
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    pub rule_id: String,
    pub severity: Severity,
    pub message: String,
}

impl Issue {
    pub fn error(rule_id: impl Into<String>, message: impl Into<String>) -> Issue {
        Issue { rule_id: rule_id.into(), severity: Severity::Error, message: message.into() }
    }

    pub fn warning(rule_id: impl Into<String>, message: impl Into<String>) -> Issue {
        Issue { rule_id: rule_id.into(), severity: Severity::Warning, message: message.into() }
    }
}

/// Whether trying again may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultClass {
    Transient,
    Logical,
}

impl FaultClass {
    pub fn as_str(self) -> &'static str {
        match self {
            FaultClass::Transient => "transient",
            FaultClass::Logical => "logical",
        }
    }
}

/// Something about a run that a person should know and that did not fail it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    pub code: String,
    pub message: String,
    pub check: Option<String>,
}
