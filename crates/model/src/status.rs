//! Statuses of runs, checks, approvals and invocations.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Running,
    Waiting,
    Completed,
    Failed,
    TimedOut,
    Aborted,
    Cancelled,
}

impl RunStatus {
    pub const ALL: [RunStatus; 7] = [
        RunStatus::Running,
        RunStatus::Waiting,
        RunStatus::Completed,
        RunStatus::Failed,
        RunStatus::TimedOut,
        RunStatus::Aborted,
        RunStatus::Cancelled,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Waiting => "waiting",
            RunStatus::Completed => "completed",
            RunStatus::Failed => "failed",
            RunStatus::TimedOut => "timed_out",
            RunStatus::Aborted => "aborted",
            RunStatus::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<RunStatus> {
        RunStatus::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// The highest of several represents them. A run that has not ended ranks between one that completed and one that
    /// did not.
    pub fn health(self) -> u8 {
        match self {
            RunStatus::Completed => 0,
            RunStatus::Running => 1,
            RunStatus::Waiting => 2,
            RunStatus::Cancelled => 3,
            RunStatus::TimedOut => 4,
            RunStatus::Aborted => 5,
            RunStatus::Failed => 6,
        }
    }

    /// A terminal status is final.
    pub fn is_terminal(self) -> bool {
        match self {
            RunStatus::Running | RunStatus::Waiting => false,
            RunStatus::Completed
            | RunStatus::Failed
            | RunStatus::TimedOut
            | RunStatus::Aborted
            | RunStatus::Cancelled => true,
        }
    }
}

/// The status of a check, as documents show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    Pending,
    Running,
    Waiting,
    Succeeded,
    Failed,
    Skipped,
    Unknown,
}

impl CheckStatus {
    pub const ALL: [CheckStatus; 7] = [
        CheckStatus::Pending,
        CheckStatus::Running,
        CheckStatus::Waiting,
        CheckStatus::Succeeded,
        CheckStatus::Failed,
        CheckStatus::Skipped,
        CheckStatus::Unknown,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            CheckStatus::Pending => "pending",
            CheckStatus::Running => "running",
            CheckStatus::Waiting => "waiting",
            CheckStatus::Succeeded => "succeeded",
            CheckStatus::Failed => "failed",
            CheckStatus::Skipped => "skipped",
            CheckStatus::Unknown => "unknown",
        }
    }
}

/// The status of an invocation: that of its runs, or the one that a person gave it.
pub type InvocationStatus = RunStatus;

/// The status of something that waits for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    Pending,
    Approved,
    Denied,
    Answered,
    AssumedDone,
    AssumedFailed,
    AssumedRetry,
    Expired,
    RunEnded,
    /// What it approved, or asked about, has changed.
    Stale,
}

impl ApprovalStatus {
    pub const ALL: [ApprovalStatus; 10] = [
        ApprovalStatus::Pending,
        ApprovalStatus::Approved,
        ApprovalStatus::Denied,
        ApprovalStatus::Answered,
        ApprovalStatus::AssumedDone,
        ApprovalStatus::AssumedFailed,
        ApprovalStatus::AssumedRetry,
        ApprovalStatus::Expired,
        ApprovalStatus::RunEnded,
        ApprovalStatus::Stale,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            ApprovalStatus::Pending => "pending",
            ApprovalStatus::Approved => "approved",
            ApprovalStatus::Denied => "denied",
            ApprovalStatus::Answered => "answered",
            ApprovalStatus::AssumedDone => "assumed_done",
            ApprovalStatus::AssumedFailed => "assumed_failed",
            ApprovalStatus::AssumedRetry => "assumed_retry",
            ApprovalStatus::Expired => "expired",
            ApprovalStatus::RunEnded => "run_ended",
            ApprovalStatus::Stale => "stale",
        }
    }

    /// Approvals resolve once.
    pub fn is_terminal(self) -> bool {
        self != ApprovalStatus::Pending
    }
}

/// The result of a judged attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Succeeded,
    Failed,
}

/// Why a check did not run. The names are stable: outside tools match on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SkipReason {
    #[serde(rename = "if_condition")]
    IfCondition,
    #[serde(rename = "assume")]
    Assume,
    #[serde(rename = "dependency_failed")]
    DependencyFailed,
    #[serde(rename = "forEach_empty")]
    ForEachEmpty,
    #[serde(rename = "contract_blocked")]
    ContractBlocked,
    #[serde(rename = "safe_mode")]
    SafeMode,
    #[serde(rename = "event")]
    Event,
    #[serde(rename = "tags")]
    Tags,
    #[serde(rename = "only")]
    Only,
    #[serde(rename = "not_routed")]
    NotRouted,
    #[serde(rename = "loop_budget")]
    LoopBudget,
    #[serde(rename = "run_ended")]
    RunEnded,
}

impl SkipReason {
    pub const ALL: [SkipReason; 12] = [
        SkipReason::IfCondition,
        SkipReason::Assume,
        SkipReason::DependencyFailed,
        SkipReason::ForEachEmpty,
        SkipReason::ContractBlocked,
        SkipReason::SafeMode,
        SkipReason::Event,
        SkipReason::Tags,
        SkipReason::Only,
        SkipReason::NotRouted,
        SkipReason::LoopBudget,
        SkipReason::RunEnded,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            SkipReason::IfCondition => "if_condition",
            SkipReason::Assume => "assume",
            SkipReason::DependencyFailed => "dependency_failed",
            SkipReason::ForEachEmpty => "forEach_empty",
            SkipReason::ContractBlocked => "contract_blocked",
            SkipReason::SafeMode => "safe_mode",
            SkipReason::Event => "event",
            SkipReason::Tags => "tags",
            SkipReason::Only => "only",
            SkipReason::NotRouted => "not_routed",
            SkipReason::LoopBudget => "loop_budget",
            SkipReason::RunEnded => "run_ended",
        }
    }
}
