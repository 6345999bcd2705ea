//! What a judged attempt is reproached with.

use serde::{Deserialize, Serialize};

use crate::{BrokenRule, ProducedArtifact};

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
    /// The rule that was broken, of a `contract/rule_failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Box<BrokenRule>>,
}

impl Issue {
    pub fn error(rule_id: impl Into<String>, message: impl Into<String>) -> Issue {
        Issue { rule_id: rule_id.into(), severity: Severity::Error, message: message.into(), rule: None }
    }

    /// A rule over the output was broken.
    pub fn rule(broken: BrokenRule) -> Issue {
        let message = broken.message.clone();
        Issue { rule: Some(Box::new(broken)), ..Issue::error("contract/rule_failed", message) }
    }

    pub fn warning(rule_id: impl Into<String>, message: impl Into<String>) -> Issue {
        Issue { rule_id: rule_id.into(), severity: Severity::Warning, message: message.into(), rule: None }
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

impl Warning {
    /// Delivered files are left as they are; that one holds a secret must be known.
    pub fn secret_in_artifact(produced: &ProducedArtifact) -> Warning {
        Warning {
            code: "secret_in_artifact".into(),
            message: format!("artifact `{}` ({}) holds a secret", produced.id, produced.path),
            check: None,
        }
    }
}
