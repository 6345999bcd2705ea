//! Why a run ended as it did: a stable code `domain.status.cause`, a summary, and evidence.

use serde::{Deserialize, Serialize};

use crate::{ApprovalStatus, FireStatus, InvocationStatus, RunStatus};

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

    /// The person who decided it, and why.
    pub fn person(name: &str, why: &str) -> Evidence {
        Evidence { kind: "person".into(), id: name.into(), label: why.into() }
    }

    /// The reason before an override.
    pub fn earlier(code: &str, summary: &str) -> Evidence {
        Evidence { kind: "earlier_reason".into(), id: code.into(), label: summary.into() }
    }

    /// Another run that the reason is about.
    pub fn run(id: &str, label: impl Into<String>) -> Evidence {
        Evidence { kind: "run".into(), id: id.into(), label: label.into() }
    }

    /// The command that settles the matter.
    pub fn command(command: impl Into<String>, label: impl Into<String>) -> Evidence {
        Evidence { kind: "command".into(), id: command.into(), label: label.into() }
    }

    pub fn expected_artifact(id: &str, path: &str) -> Evidence {
        Evidence { kind: "expected_artifact".into(), id: id.into(), label: path.into() }
    }
}

/// A closed list of codes `domain.status.cause`, each with a page in `docs/reasons/`.
macro_rules! reason_codes {
    ($(#[$doc:meta])* $name:ident => $statuses:ident { $($variant:ident = $code:literal => $status:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name { $(#[serde(rename = $code)] $variant),+ }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $code),+ }
            }

            /// The status that comes with this code.
            pub const fn status(self) -> $statuses {
                match self { $($name::$variant => $statuses::$status),+ }
            }

            pub fn parse(text: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|code| code.as_str() == text)
            }
        }
    };
}

reason_codes! {
    /// Every reason a run can have.
    ReasonCode => RunStatus {
        CompletedOk = "run.completed.ok" => Completed,
        CompletedWithWarnings = "run.completed.with_warnings" => Completed,
        CompletedWithSkips = "run.completed.with_skips" => Completed,
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
        FailedArtifactChanged = "run.failed.artifact_changed" => Failed,
        FailedBudget = "run.failed.budget_exhausted" => Failed,
        FailedConflict = "run.failed.conflict" => Failed,
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
        CompletedOverridden = "run.completed.overridden" => Completed,
        FailedOverridden = "run.failed.overridden" => Failed,
        AbortedOverridden = "run.aborted.overridden" => Aborted,
        CancelledOverridden = "run.cancelled.overridden" => Cancelled,
    }
}

reason_codes! {
    /// What a person says of an invocation. Until then it has the reason of a run, unchanged.
    InvocationCode => InvocationStatus {
        RunningStarted = "invocation.running.started" => Running,
        CompletedByHand = "invocation.completed.by_hand" => Completed,
        FailedByHand = "invocation.failed.by_hand" => Failed,
        AbortedByHand = "invocation.aborted.by_hand" => Aborted,
        CancelledByHand = "invocation.cancelled.by_hand" => Cancelled,
    }
}

reason_codes! {
    /// What became of something that waited for a person.
    ApprovalCode => ApprovalStatus {
        PendingAsked = "approval.pending.asked" => Pending,
        ApprovedPerson = "approval.approved.person" => Approved,
        DeniedPerson = "approval.denied.person" => Denied,
        AnsweredPerson = "approval.answered.person" => Answered,
        AssumedDone = "approval.assumed_done.person" => AssumedDone,
        AssumedFailed = "approval.assumed_failed.person" => AssumedFailed,
        AssumedRetry = "approval.assumed_retry.person" => AssumedRetry,
        ExpiredDeadline = "approval.expired.deadline" => Expired,
        RunEnded = "approval.run_ended.unanswered" => RunEnded,
        StaleChanged = "approval.stale.changed" => Stale,
    }
}

reason_codes! {
    /// Why a fire of a chain has no run, or not yet.
    FireCode => FireStatus {
        Queued = "fire.recorded.queued" => Recorded,
        Replacing = "fire.recorded.replacing" => Recorded,
        SkippedOverlap = "fire.skipped.overlap" => Skipped,
        SkippedReplaced = "fire.skipped.replaced" => Skipped,
        SkippedDepth = "fire.skipped.depth" => Skipped,
        SkippedFork = "fire.skipped.fork" => Skipped,
        SkippedInactive = "fire.skipped.inactive" => Skipped,
        SkippedQueueFull = "fire.skipped.queue_full" => Skipped,
        MissedLate = "fire.missed.late" => Missed,
        FailedBegin = "fire.failed.begin" => Failed,
        FailedDefinition = "fire.failed.definition" => Failed,
    }
}

impl ReasonCode {
    /// The code of a run whose status a person overrides. A run cannot be overridden to `timed_out`, nor to a status
    /// that is not final.
    pub fn overridden(status: RunStatus) -> Option<ReasonCode> {
        match status {
            RunStatus::Completed => Some(ReasonCode::CompletedOverridden),
            RunStatus::Failed => Some(ReasonCode::FailedOverridden),
            RunStatus::Aborted => Some(ReasonCode::AbortedOverridden),
            RunStatus::Cancelled => Some(ReasonCode::CancelledOverridden),
            RunStatus::Running | RunStatus::Waiting | RunStatus::TimedOut => None,
        }
    }
}

impl InvocationCode {
    /// The code of an invocation that a person ends.
    pub fn by_hand(status: InvocationStatus) -> Option<InvocationCode> {
        match status {
            InvocationStatus::Completed => Some(InvocationCode::CompletedByHand),
            InvocationStatus::Failed => Some(InvocationCode::FailedByHand),
            InvocationStatus::Aborted => Some(InvocationCode::AbortedByHand),
            InvocationStatus::Cancelled => Some(InvocationCode::CancelledByHand),
            InvocationStatus::Running | InvocationStatus::Waiting | InvocationStatus::TimedOut => None,
        }
    }
}
