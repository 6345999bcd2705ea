//! What people said of an invocation: kept beside the journals, and carried with a run from one store to another.

use escrow_model::{Evidence, InvocationCode, InvocationStatus, Millis, ReasonCode};
use serde::{Deserialize, Serialize};

use crate::invocation::{InvocationReason, StartedInvocation};

/// More statements about one invocation are refused.
const SAID_MAX: usize = 1_000;

/// How long each text may be.
const TEXT_BYTES_MAX: usize = 100_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InvocationRecord {
    pub id: String,
    pub(crate) said: Vec<Said>,
}

impl InvocationRecord {
    /// Why the record cannot be genuine. Nothing but the record itself proves it.
    pub fn problem(&self) -> Option<&'static str> {
        if self.said.is_empty() || self.said.len() > SAID_MAX {
            return Some("says nothing, or too much");
        }
        self.said.iter().enumerate().find_map(|(place, said)| match said {
            Said::Started(_) if place > 0 => Some("starts twice"),
            Said::Started(started) => {
                let mut texts =
                    [&started.name, &started.skill, &started.prompt, &started.by].into_iter().flatten();
                texts.any(|text| text.len() > TEXT_BYTES_MAX).then_some("has too long a text")
            }
            Said::Ended(ended) => {
                let code = ended.reason.code.as_str();
                let of_a_person = InvocationCode::parse(code).map(InvocationCode::status);
                let means = of_a_person.or_else(|| ReasonCode::parse(code).map(ReasonCode::status));
                match means {
                    Some(status) if status == ended.status && status.is_terminal() => {
                        (ended.reason.summary.len() > TEXT_BYTES_MAX).then_some("has too long a text")
                    }
                    _ => Some("ends with an unknown reason"),
                }
            }
        })
    }
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    Started(StartedInvocation),
    Ended(Ended),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ended {
    pub(crate) at: Millis,
    pub(crate) status: InvocationStatus,
    pub(crate) reason: SaidReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
}

/// As it is written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SaidReason {
    pub(crate) code: String,
    pub(crate) summary: String,
    pub(crate) evidence: Vec<Evidence>,
}

impl From<SaidReason> for InvocationReason {
    fn from(SaidReason { code, summary, evidence }: SaidReason) -> InvocationReason {
        InvocationReason { code, summary, evidence }
    }
}

impl From<InvocationReason> for SaidReason {
    fn from(InvocationReason { code, summary, evidence }: InvocationReason) -> SaidReason {
        SaidReason { code, summary, evidence }
    }
}
