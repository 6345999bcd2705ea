//! Where runs and checks stand.

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

/// Where a check stands, as documents show it.
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

/// What an attempt came to once it was judged.
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
