//! The phases of a check in one scope.
//!
//! ```text
//!   Pending ──▶ Running ──▶ Inspecting ──▶ Answered ──▶ Judged ──▶ Settled
//!      │          │                           │            └──▶ RetryWait ──▶ Due ──▶ Running
//!      │          └──▶ Waiting (a person, a nested run)
//!      │                                      └──▶ Reconciling, Waiting (unknown effect) ──▶ Due, Judged
//!      └──▶ Consulting (the ledger), Waiting (approval) ──▶ Due
//! ```
//!
//! A phase that is not settled may also settle by a skip, and a route or a retry leads back to `Pending`.

use std::sync::Arc;

use escrow_model::{Delivery, FaultClass, Millis, Request, SkipReason};

use crate::pure::needs_slot;

/// The phase, with everything that only means something in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Phase {
    #[default]
    Pending,
    /// An attempt is open.
    Running {
        request: Arc<Request>,
    },
    /// The effect of the last attempt is unknown, and the command of `reconcile` looks for it.
    Reconciling {
        request: Arc<Request>,
    },
    /// The ledger is asked about the effect that an attempt would have.
    Consulting {
        key: String,
        digest: String,
        /// How often this run had learned that the effect happened, when the ledger was asked.
        confirmations: u32,
    },
    /// Answered; the artifact directory is being inspected. `delivery` is the result.
    Inspecting {
        delivery: Option<Delivery>,
    },
    /// Answered; the verdict or a wait follows in the same turn.
    Answered,
    /// Judged, while its routing is still open.
    Judged {
        fault: Option<FaultClass>,
    },
    RetryWait {
        due: Millis,
    },
    /// A retry is due, an approval was given, or an unknown effect is to be repeated: past the gates.
    Due,
    /// A message is awaited. `request` is that of the attempt that a person or a nested run answers.
    Waiting {
        id: String,
        request: Option<Arc<Request>>,
    },
    Settled {
        skipped: Option<SkipReason>,
    },
}

/// What a phase takes up of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Something outside is awaited: an answer, a time, a message.
    pub(crate) busy: bool,
    /// It counts against the parallelism of the run.
    pub(crate) slot: bool,
    /// It counts against the concurrency of its groups.
    pub(crate) in_flight: bool,
}

impl Phase {
    pub(crate) fn usage(&self) -> Usage {
        let busy = match self {
            Phase::Running { .. }
            | Phase::Reconciling { .. }
            | Phase::Consulting { .. }
            | Phase::Inspecting { .. }
            | Phase::RetryWait { .. }
            | Phase::Due
            | Phase::Waiting { .. } => true,
            Phase::Pending | Phase::Answered | Phase::Judged { .. } | Phase::Settled { .. } => false,
        };
        let slot = match self {
            Phase::Running { request } => needs_slot(&request.provider),
            Phase::Reconciling { .. } => true,
            Phase::Pending
            | Phase::Consulting { .. }
            | Phase::Inspecting { .. }
            | Phase::Answered
            | Phase::Judged { .. }
            | Phase::RetryWait { .. }
            | Phase::Due
            | Phase::Waiting { .. }
            | Phase::Settled { .. } => false,
        };
        Usage { busy, slot, in_flight: self.has_open_attempt() }
    }

    /// What was asked of a provider, of a person or of `reconcile`, and is not answered yet.
    pub(crate) fn request(&self) -> Option<&Arc<Request>> {
        match self {
            Phase::Running { request } | Phase::Reconciling { request } => Some(request),
            Phase::Waiting { request, .. } => request.as_ref(),
            Phase::Pending
            | Phase::Consulting { .. }
            | Phase::Inspecting { .. }
            | Phase::Answered
            | Phase::Judged { .. }
            | Phase::RetryWait { .. }
            | Phase::Due
            | Phase::Settled { .. } => None,
        }
    }

    /// Whether an attempt was started and is not answered yet.
    pub(crate) fn has_open_attempt(&self) -> bool {
        match self {
            Phase::Running { .. } => true,
            Phase::Waiting { request, .. } => request.is_some(),
            Phase::Pending
            | Phase::Reconciling { .. }
            | Phase::Consulting { .. }
            | Phase::Inspecting { .. }
            | Phase::Answered
            | Phase::Judged { .. }
            | Phase::RetryWait { .. }
            | Phase::Due
            | Phase::Settled { .. } => false,
        }
    }

    /// What the inspected attempt delivered.
    pub(crate) fn delivery(&self) -> Option<&Delivery> {
        let Phase::Inspecting { delivery } = self else { return None };
        delivery.as_ref()
    }

    pub(crate) fn is_settled(&self) -> bool {
        matches!(self, Phase::Settled { .. })
    }
}

/// Whether it is known what the last attempt did to the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Certainty {
    #[default]
    Known,
    /// An item with an effect is no longer in the list. This item may be the same one with another value.
    Suspected,
    /// The last attempt may or may not have taken effect.
    Unknown,
}

impl Certainty {
    /// An answer makes an unknown effect known. A suspicion remains until `reconcile` or a person is asked.
    pub(crate) fn once_answered(self) -> Certainty {
        match self {
            Certainty::Known | Certainty::Unknown => Certainty::Known,
            Certainty::Suspected => Certainty::Suspected,
        }
    }
}
