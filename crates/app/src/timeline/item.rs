//! What a run's journal says, as typed items for display.

use std::fmt;

use escrow_model::{
    Answer, ApprovedPlaybook, Assumption, Delivery, Issue, Millis, Plan, Reason, Request, RetryKind,
    RoutingBlock, RunId, RunOptions, ScopePath, ScopedCheck, SkipReason, Verdict, WaitKind,
};

use serde_json::Value;

use super::fan::FanProgress;
use crate::words::Evaluated;

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Item<'e> {
    pub at: Millis,
    pub what: What<'e>,
}

/// A check in one scope, borrowed from an entry. `each[2]` is the third item of `each`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckScope<'e> {
    pub check: &'e str,
    pub scope: &'e ScopePath,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What<'e> {
    RunStarted {
        plan: &'e Plan,
        options: &'e RunOptions,
    },
    RunResumed,
    RunReopened {
        places: &'e [ScopedCheck],
    },
    DeadlinePassed,
    ArtifactsVerified {
        delivery: &'e Delivery,
    },
    RunEnded {
        reason: &'e Reason,
    },

    AttemptStarted {
        of: CheckScope<'e>,
        attempt: u32,
        external: bool,
        provider: &'e str,
        /// The value that an item is for.
        item: Option<&'e Value>,
        /// In safe mode, what an agent is told.
        prompt: Option<&'e str>,
    },
    AttemptAnswered {
        of: CheckScope<'e>,
        attempt: u32,
        answer: &'e Answer,
        /// Since the attempt started. 0 if its start is not part of what was read.
        duration_ms: u64,
    },
    Judged(Judged<'e>),
    /// Every item of a fan-out has settled, or the run ended before that.
    FanSettled {
        check: String,
        progress: FanProgress,
        duration_ms: u64,
    },
    Skipped {
        of: CheckScope<'e>,
        reason: SkipReason,
        detail: &'e str,
        /// Of its `if`, `assume` or `condition`.
        evaluated: Evaluated,
        /// In safe mode, what would have been done.
        request: Option<&'e Request>,
        /// In safe mode, what the nested playbook would have done.
        nested: Option<Box<ApprovedPlaybook>>,
    },
    /// A retry whose verdict was read earlier. A verdict in the same batch carries its retry itself.
    RetryScheduled {
        of: CheckScope<'e>,
        retry: Retry,
    },
    Routed {
        from: CheckScope<'e>,
        block: RoutingBlock,
        to: CheckScope<'e>,
        goto_event: Option<&'e str>,
    },
    LoopBudgetExceeded {
        from: CheckScope<'e>,
        to: &'e str,
        limit: u32,
    },
    /// An issue that no verdict carries.
    IssueRaised {
        of: CheckScope<'e>,
        issue: &'e Issue,
    },

    WaitStarted {
        of: CheckScope<'e>,
        kind: WaitKind,
        id: &'e str,
        prompt: &'e str,
    },
    WaitResolved {
        id: String,
        how: Resolution,
    },
    ReconcileStarted {
        of: CheckScope<'e>,
        attempt: u32,
    },
    /// Without a finding the effect stays unknown.
    Reconciled {
        of: CheckScope<'e>,
        finding: Option<Assumption>,
        detail: &'e str,
    },
    /// The effect was confirmed before, by this run or another.
    EffectReused {
        of: CheckScope<'e>,
        key: &'e str,
        run: &'e RunId,
    },
    MessageRefused {
        why: &'e str,
    },
    CancelRequested,

    /// A check runs another playbook.
    NestedStarted {
        playbook: &'e str,
        run: &'e RunId,
    },
}

/// The verdict on an attempt, or on a check without one.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged<'e> {
    pub of: CheckScope<'e>,
    pub verdict: Verdict,
    pub issues: &'e [Issue],
    /// Since the attempt started. `None` if its start is not part of what was read.
    pub duration_ms: Option<u64>,
    pub retry: Option<Retry>,
    /// How many attempts before this one failed and were retried. A success behind them is flaky.
    pub retried: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    pub number: u32,
    pub delay_ms: u64,
    pub kind: RetryKind,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    Approved,
    Denied,
    Answered,
    Assumed(Assumption),
    Expired,
    /// A route re-decides the check.
    Stale,
}

impl Resolution {
    pub fn as_str(self) -> &'static str {
        match self {
            Resolution::Approved => "approved",
            Resolution::Denied => "denied",
            Resolution::Answered => "answered",
            Resolution::Assumed(assumption) => assumption.as_str(),
            Resolution::Expired => "expired",
            Resolution::Stale => "stale",
        }
    }
}

impl CheckScope<'_> {
    pub fn scoped_check(self) -> ScopedCheck {
        ScopedCheck::new(self.check, self.scope)
    }
}

impl fmt::Display for CheckScope<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.check, self.scope)
    }
}
