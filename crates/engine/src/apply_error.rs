//! Why an event cannot be applied: it does not follow from what the journal says before it.

use std::fmt;

use escrow_model::{ReasonCode, ScopedCheck};
use thiserror::Error;

use crate::phase::Phase;

/// The event does not belong here: the journal is corrupt, incomplete or another run's.
///
/// The run may have taken in a part of the event and must be dropped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ApplyError {
    #[error("the run has already started")]
    AlreadyStarted,
    #[error("the run has ended")]
    AfterEnd,
    #[error("the run has not ended")]
    NotEnded,
    #[error("attempts are still open, so the run cannot end")]
    StillBusy,
    #[error("the run is already stopping")]
    AlreadyStopping,
    #[error("the artifacts are already verified")]
    AlreadyVerified,
    #[error("the plan has no check `{0}`")]
    UnknownCheck(String),
    #[error("`{0}` does not exist")]
    UnknownScope(ScopedCheck),
    #[error("`{at}` is {phase}")]
    WrongPhase { at: ScopedCheck, phase: PhaseName },
    #[error("attempt {number} of `{at}` is not the expected one, {expected}")]
    WrongAttempt { at: ScopedCheck, number: u32, expected: u32 },
    #[error("`{0}` has no such routing block open")]
    NoRoute(ScopedCheck),
    #[error("the route to `{0}` would withdraw an attempt that is open")]
    WithdrawsAttempt(String),
    #[error("effect `{0}` is resolved as neither confirmed nor failed")]
    Unresolved(String),
    #[error("no wait `{0}` is open")]
    NoWait(String),
    #[error("wait `{0}` is open already")]
    WaitTwice(String),
    #[error("a message that would have been refused is recorded as accepted: {0}")]
    Refused(String),
    #[error("`{}` cannot be the reason of this event", .0.as_str())]
    WrongReason(ReasonCode),
    #[error("the counter of {0} would leave its range")]
    Counter(Counter),
}

/// The name of a phase, without what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseName {
    Pending,
    Running,
    Reconciling,
    Consulting,
    Inspecting,
    Answered,
    Judged,
    RetryWait,
    Due,
    Waiting,
    Settled,
    /// A fan-out whose items are not known yet, or that has items or was skipped as a whole.
    Group,
}

/// What the accounting of a run counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    Slots,
    Busy,
    InFlight,
    GroupOpen,
    GroupSucceeded,
    Violations,
}

impl PhaseName {
    pub(crate) fn of(phase: &Phase) -> PhaseName {
        match phase {
            Phase::Pending => PhaseName::Pending,
            Phase::Running { .. } => PhaseName::Running,
            Phase::Reconciling { .. } => PhaseName::Reconciling,
            Phase::Consulting { .. } => PhaseName::Consulting,
            Phase::Inspecting { .. } => PhaseName::Inspecting,
            Phase::Answered => PhaseName::Answered,
            Phase::Judged { .. } => PhaseName::Judged,
            Phase::RetryWait { .. } => PhaseName::RetryWait,
            Phase::Due => PhaseName::Due,
            Phase::Waiting { .. } => PhaseName::Waiting,
            Phase::Settled { .. } => PhaseName::Settled,
        }
    }
}

impl fmt::Display for PhaseName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            PhaseName::Pending => "pending",
            PhaseName::Running => "running",
            PhaseName::Reconciling => "being reconciled",
            PhaseName::Consulting => "looked up in the ledger",
            PhaseName::Inspecting => "being inspected",
            PhaseName::Answered => "answered and not judged",
            PhaseName::Judged => "judged",
            PhaseName::RetryWait => "waiting for a retry",
            PhaseName::Due => "due",
            PhaseName::Waiting => "waiting for a message",
            PhaseName::Settled => "settled",
            PhaseName::Group => "a group of items",
        })
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Counter::Slots => "slots in use",
            Counter::Busy => "busy cells",
            Counter::InFlight => "items in flight",
            Counter::GroupOpen => "open items of a group",
            Counter::GroupSucceeded => "succeeded items of a group",
            Counter::Violations => "broken contracts",
        })
    }
}
