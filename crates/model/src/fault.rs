//! How a provider says that it did not do its work.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ReasonCode;

/// The provider did not do its work, or cannot say whether it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderFault {
    pub code: FaultCode,
    pub message: String,
    pub class: FaultClass,
    /// No definite answer came back, so an effect may have happened.
    pub effect_unknown: bool,
    /// How long the other side asked to wait before the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// Whether trying again may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultClass {
    Transient,
    Logical,
}

/// What went wrong: the tail of the issue's `rule_id`, `<provider>/<fault>`. It is text in journals and documents.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultCode {
    ExitNonzero,
    Signal,
    Timeout,
    Spawn,
    Exception,
    Cancelled,
    /// Escrow was ended while the attempt was under way.
    Lost,
    Denied,
    /// It spent what it was given.
    BudgetExhausted,
    /// The work was done, and what was printed is not the JSON that was asked for.
    OutputNotJson,
    /// The other side took the request, and answered with a success that is not one of those that were expected.
    UnexpectedSuccess,
    /// A nested run ended for this reason.
    Nested(ReasonCode),
    /// A code of the provider's own.
    Own(Cow<'static, str>),
}

impl ProviderFault {
    pub fn transient(code: FaultCode, message: impl Into<String>) -> ProviderFault {
        ProviderFault::new(code, message.into(), FaultClass::Transient)
    }

    pub fn logical(code: FaultCode, message: impl Into<String>) -> ProviderFault {
        ProviderFault::new(code, message.into(), FaultClass::Logical)
    }

    fn new(code: FaultCode, message: String, class: FaultClass) -> ProviderFault {
        ProviderFault { code, message, class, effect_unknown: false, retry_after_ms: None }
    }

    /// Whether the work was done, and only what it gave is not what was asked for: an effect has happened, and its
    /// contract is broken.
    pub fn has_happened(&self) -> bool {
        matches!(self.code, FaultCode::OutputNotJson | FaultCode::UnexpectedSuccess)
    }

    /// The same fault, after which the other side asks for a pause.
    pub fn with_retry_after(mut self, pause_ms: Option<u64>) -> ProviderFault {
        self.retry_after_ms = pause_ms;
        self
    }

    /// The same fault, with an effect that may have happened.
    pub fn with_unknown_effect(mut self) -> ProviderFault {
        self.effect_unknown = true;
        self
    }
}

impl FaultClass {
    pub fn as_str(self) -> &'static str {
        match self {
            FaultClass::Transient => "transient",
            FaultClass::Logical => "logical",
        }
    }
}

/// Codes that every provider may give. `as_str` names them, and `parse` reads them back.
const COMMON: [FaultCode; 9] = [
    FaultCode::ExitNonzero,
    FaultCode::Signal,
    FaultCode::Timeout,
    FaultCode::Spawn,
    FaultCode::Exception,
    FaultCode::Cancelled,
    FaultCode::Lost,
    FaultCode::Denied,
    FaultCode::BudgetExhausted,
];

impl FaultCode {
    /// The codes that every provider may give.
    pub fn common() -> impl Iterator<Item = FaultCode> {
        COMMON.into_iter()
    }

    pub const fn own(code: &'static str) -> FaultCode {
        FaultCode::Own(Cow::Borrowed(code))
    }

    pub fn as_str(&self) -> &str {
        match self {
            FaultCode::ExitNonzero => "exit_nonzero",
            FaultCode::Signal => "signal",
            FaultCode::Timeout => "timeout",
            FaultCode::Spawn => "spawn",
            FaultCode::Exception => "exception",
            FaultCode::Cancelled => "cancelled",
            FaultCode::Lost => "lost",
            FaultCode::Denied => "denied",
            FaultCode::BudgetExhausted => "budget_exhausted",
            FaultCode::OutputNotJson => "output_not_json",
            FaultCode::UnexpectedSuccess => "unexpected_success",
            FaultCode::Nested(reason) => reason.as_str(),
            FaultCode::Own(code) => code,
        }
    }

    pub fn parse(text: &str) -> FaultCode {
        let mut named = COMMON.into_iter().chain([FaultCode::OutputNotJson, FaultCode::UnexpectedSuccess]);
        named
            .find(|code| code.as_str() == text)
            .or_else(|| ReasonCode::parse(text).map(FaultCode::Nested))
            .unwrap_or_else(|| FaultCode::Own(Cow::Owned(text.to_owned())))
    }
}

impl fmt::Display for FaultCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for FaultCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FaultCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FaultCode, D::Error> {
        Ok(FaultCode::parse(&Cow::<str>::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_read_back_as_what_they_were() {
        let others = [
            FaultCode::OutputNotJson,
            FaultCode::UnexpectedSuccess,
            FaultCode::Nested(ReasonCode::FailedGuarantee),
            FaultCode::own("bad_input"),
        ];
        for code in COMMON.into_iter().chain(others) {
            assert_eq!(FaultCode::parse(code.as_str()), code);
        }
    }
}
