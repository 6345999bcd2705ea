//! What is wrong with a judged attempt, and what a person should know of a run.

use serde::{Deserialize, Serialize};

use crate::{BrokenRule, ChangedArtifact, IssueCode, ProducedArtifact};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Warning,
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    #[serde(rename = "rule_id")]
    pub code: IssueCode,
    pub severity: Severity,
    pub message: String,
    /// The rule that was broken, of a `contract/rule_failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Box<BrokenRule>>,
}

impl Issue {
    pub fn error(code: IssueCode, message: impl Into<String>) -> Issue {
        Issue { code, severity: Severity::Error, message: message.into(), rule: None }
    }

    pub fn warning(code: IssueCode, message: impl Into<String>) -> Issue {
        Issue { code, severity: Severity::Warning, message: message.into(), rule: None }
    }

    /// A rule over the output was broken.
    pub fn rule(broken: BrokenRule) -> Issue {
        let message = broken.message.clone();
        Issue { rule: Some(Box::new(broken)), ..Issue::error(IssueCode::RuleFailed, message) }
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
    /// Delivered files are left as they are, so a secret in one of them must be known.
    pub fn secret_in_artifact(produced: &ProducedArtifact) -> Warning {
        Warning {
            code: "secret_in_artifact".into(),
            message: format!("artifact `{}` ({}) holds a secret", produced.id, produced.path),
            check: None,
        }
    }

    /// What is delivered is not what was verified.
    pub fn artifact_changed(changed: &ChangedArtifact) -> Warning {
        let digests = format!("sha256 {} then, {} at the end", changed.expected, changed.found);
        Warning {
            code: "artifact/changed".into(),
            message: format!("{}: {digests}", changed.in_words()),
            check: Some(changed.gate.clone()),
        }
    }
}
