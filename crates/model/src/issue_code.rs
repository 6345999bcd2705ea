//! The codes of issues. Outside tools match on their text, so the text is stable.

use std::borrow::Cow;
use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{FaultCode, ProviderName};

/// What is wrong. Journals and documents have the text, as `rule_id`; `parse` is its only reader.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IssueCode {
    SchemaValidationFailed,
    RuleFailed,
    GuaranteeFailed,
    AssumeFailed,
    ArtifactMissing,
    OutcomeInvalid,
    ExpressionError,
    TemplateError,
    RedactedValue,
    SecretRendered,
    OutputTruncated,
    NoAnswer,
    NotAnArray,
    TooManyItems,
    ApprovalDenied,
    EffectAssumedFailed,
    EffectReconciledFailed,
    EffectKeyConflict,
    EffectOutputLost,
    UnknownTarget,
    LoopBudgetExceeded,
    /// `<check>_fail_if`
    FailIf {
        check: String,
    },
    /// `<provider>/<fault>`
    Fault {
        provider: ProviderName,
        fault: FaultCode,
    },
}

/// Every code whose text is always the same, for `parse` to find.
const FIXED: [IssueCode; 21] = [
    IssueCode::SchemaValidationFailed,
    IssueCode::RuleFailed,
    IssueCode::GuaranteeFailed,
    IssueCode::AssumeFailed,
    IssueCode::ArtifactMissing,
    IssueCode::OutcomeInvalid,
    IssueCode::ExpressionError,
    IssueCode::TemplateError,
    IssueCode::RedactedValue,
    IssueCode::SecretRendered,
    IssueCode::OutputTruncated,
    IssueCode::NoAnswer,
    IssueCode::NotAnArray,
    IssueCode::TooManyItems,
    IssueCode::ApprovalDenied,
    IssueCode::EffectAssumedFailed,
    IssueCode::EffectReconciledFailed,
    IssueCode::EffectKeyConflict,
    IssueCode::EffectOutputLost,
    IssueCode::UnknownTarget,
    IssueCode::LoopBudgetExceeded,
];

const FAIL_IF: &str = "_fail_if";

impl IssueCode {
    /// The codes whose text is always the same.
    pub fn fixed() -> impl Iterator<Item = IssueCode> {
        FIXED.into_iter()
    }

    pub fn parse(text: &str) -> Option<IssueCode> {
        if let Some(code) = FIXED.into_iter().find(|code| code.text() == text) {
            return Some(code);
        }
        // No fault ends like this, so a check may have a slash in its name.
        if let Some(check) = text.strip_suffix(FAIL_IF) {
            return Some(IssueCode::FailIf { check: check.to_owned() });
        }
        let (provider, fault) = text.split_once('/')?;
        let provider = ProviderName::from(provider.to_owned());
        Some(IssueCode::Fault { provider, fault: FaultCode::parse(fault) })
    }

    pub fn text(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            IssueCode::SchemaValidationFailed => "contract/schema_validation_failed",
            IssueCode::RuleFailed => "contract/rule_failed",
            IssueCode::GuaranteeFailed => "contract/guarantee_failed",
            IssueCode::AssumeFailed => "contract/assume_failed",
            IssueCode::ArtifactMissing => "contract/artifact_missing",
            IssueCode::OutcomeInvalid => "contract/outcome_invalid",
            IssueCode::ExpressionError => "system/expression_error",
            IssueCode::TemplateError => "system/template_error",
            IssueCode::RedactedValue => "system/redacted_value",
            IssueCode::SecretRendered => "system/secret_rendered",
            IssueCode::OutputTruncated => "contract/output_truncated",
            IssueCode::NoAnswer => "system/no_answer",
            IssueCode::NotAnArray => "forEach/not_an_array",
            IssueCode::TooManyItems => "forEach/too_many_items",
            IssueCode::ApprovalDenied => "approval/denied",
            IssueCode::EffectAssumedFailed => "effect/assumed_failed",
            IssueCode::EffectReconciledFailed => "effect/reconciled_failed",
            IssueCode::EffectKeyConflict => "effect/key_conflict",
            IssueCode::EffectOutputLost => "effect/output_lost",
            IssueCode::UnknownTarget => "routing/unknown_target",
            IssueCode::LoopBudgetExceeded => "routing/loop_budget_exceeded",
            IssueCode::FailIf { check } => return Cow::Owned(format!("{check}{FAIL_IF}")),
            IssueCode::Fault { provider, fault } => return Cow::Owned(format!("{provider}/{fault}")),
        })
    }
}

impl fmt::Display for IssueCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text())
    }
}

impl Serialize for IssueCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for IssueCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<IssueCode, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        IssueCode::parse(&text).ok_or_else(|| D::Error::custom(format!("unknown issue code `{text}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_read_back_as_what_they_were() {
        let fault = |provider: &'static str, fault| IssueCode::Fault {
            provider: ProviderName::from_static(provider),
            fault,
        };
        let others = [
            IssueCode::FailIf { check: "collect".into() },
            IssueCode::FailIf { check: "a/b".into() },
            fault("command", FaultCode::ExitNonzero),
            fault("playbook", FaultCode::Nested(crate::ReasonCode::FailedGuarantee)),
            fault("http", FaultCode::own("status")),
        ];
        for code in FIXED.into_iter().chain(others) {
            assert_eq!(IssueCode::parse(&code.text()), Some(code));
        }
        assert_eq!(IssueCode::parse("nothing of the kind"), None);
    }
}
