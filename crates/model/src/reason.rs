//! Why a run ended as it did: a stable code `domain.status.cause`, a summary, and evidence.

use serde::{Deserialize, Serialize};

use crate::RunStatus;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    pub code: ReasonCode,
    pub summary: String,
    pub evidence: Vec<Evidence>,
}

/// What a reason points at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub kind: String,
    pub id: String,
    pub label: String,
}

impl Evidence {
    pub fn check(name: &str, label: impl Into<String>) -> Evidence {
        Evidence { kind: "check".into(), id: name.into(), label: label.into() }
    }

    pub fn expected_artifact(id: &str, path: &str) -> Evidence {
        Evidence { kind: "expected_artifact".into(), id: id.into(), label: path.into() }
    }
}

macro_rules! reason_codes {
    ($($variant:ident = $code:literal => $status:ident),+ $(,)?) => {
        /// Every reason a run can have, each with a page in `docs/reasons/`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum ReasonCode { $(#[serde(rename = $code)] $variant),+ }

        impl ReasonCode {
            pub const ALL: &[ReasonCode] = &[$(ReasonCode::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self { $(ReasonCode::$variant => $code),+ }
            }

            /// The status that a run with this reason has.
            pub fn status(self) -> RunStatus {
                match self { $(ReasonCode::$variant => RunStatus::$status),+ }
            }
        }
    };
}

reason_codes! {
    CompletedOk = "run.completed.ok" => Completed,
    CompletedWithWarnings = "run.completed.with_warnings" => Completed,
    CompletedNothingRan = "run.completed.nothing_ran" => Completed,
    FailedCheck = "run.failed.check_failed" => Failed,
    FailedGuarantee = "run.failed.guarantee_failed" => Failed,
    FailedSchema = "run.failed.schema_failed" => Failed,
    FailedFailIf = "run.failed.fail_if" => Failed,
    FailedRule = "run.failed.rule_failed" => Failed,
    FailedOutcome = "run.failed.outcome_invalid" => Failed,
    FailedLoopBudget = "run.failed.loop_budget" => Failed,
    FailedExpression = "run.failed.expression_error" => Failed,
    FailedMissingArtifact = "run.failed.missing_artifact" => Failed,
    FailedBudget = "run.failed.budget_exhausted" => Failed,
    FailedExit = "run.failed.exit_nonzero" => Failed,
    FailedException = "run.failed.exception" => Failed,
    TimedOutDeadline = "run.timed_out.deadline" => TimedOut,
    AbortedDenied = "run.aborted.denied" => Aborted,
    AbortedWorld = "run.aborted.world" => Aborted,
    CancelledUser = "run.cancelled.user" => Cancelled,
    CancelledSystem = "run.cancelled.system" => Cancelled,
    WaitingApproval = "run.waiting.approval" => Waiting,
    WaitingInput = "run.waiting.input" => Waiting,
    WaitingUnknownEffect = "run.waiting.unknown_effect" => Waiting,
}

impl ReasonCode {
    pub fn parse(text: &str) -> Option<ReasonCode> {
        ReasonCode::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_names_the_status_it_belongs_to() {
        for code in ReasonCode::ALL {
            let middle = code.as_str().split('.').nth(1);
            assert_eq!(middle, Some(code.status().as_str()), "{}", code.as_str());
        }
    }

    #[test]
    fn codes_are_unique() {
        let mut codes: Vec<_> = ReasonCode::ALL.iter().map(|code| code.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ReasonCode::ALL.len());
    }
}
