//! Whether a run begins new work, and if not, why.
//!
//! ```text
//!   Open ──▶ Draining (effects under way may end) ──▶ Stopping
//!     └──────────────────────────────────────────────────▲
//! ```
//!
//! Only reopening a run leads back to `Open`.

use escrow_model::{CheckIndex, Message, Reason, RunId};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Admission {
    #[default]
    Open,
    /// Nothing begins. The request to cancel comes into force as soon as no effect is under way.
    Draining(Message),
    /// Nothing begins, and what is under way is ended.
    Stopping(StopCause),
}

/// Why a run is ended before its work is done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StopCause {
    CancelledByUser {
        /// The run whose command cancelled this one.
        inside: Option<RunId>,
    },
    CancelledBySystem {
        /// The run that replaces this one in its concurrency group.
        successor: Option<RunId>,
    },
    Deadline,
    Denied(Denial),
}

/// What was denied.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Denial {
    Here {
        check: CheckIndex,
        by: Option<String>,
        claim: Option<String>,
        note: Option<String>,
    },
    /// A nested run was denied, for this reason.
    Nested(Reason),
}

impl Admission {
    pub(crate) fn is_stopping(&self) -> bool {
        self.stop_cause().is_some()
    }

    pub(crate) fn stop_cause(&self) -> Option<&StopCause> {
        match self {
            Admission::Stopping(cause) => Some(cause),
            Admission::Open | Admission::Draining(_) => None,
        }
    }

    /// The request that comes into force when no effect is under way.
    pub(crate) fn drain_request(&self) -> Option<&Message> {
        match self {
            Admission::Draining(request) => Some(request),
            Admission::Open | Admission::Stopping(_) => None,
        }
    }

    /// A run that is stopping already does not go back to waiting for its effects.
    pub(crate) fn drain(&mut self, request: &Message) {
        if !self.is_stopping() {
            *self = Admission::Draining(request.clone());
        }
    }

    /// The first cause stands: a run that was cancelled does not time out afterwards.
    pub(crate) fn stop(&mut self, cause: StopCause) {
        if !self.is_stopping() {
            *self = Admission::Stopping(cause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cancel() -> Message {
        Message::Cancel { by: None, system: true, successor: None, inside: None, patient: true }
    }

    #[test]
    fn the_first_cause_stands() {
        let mut admission = Admission::Open;
        admission.drain(&cancel());
        assert_eq!(admission.drain_request(), Some(&cancel()));
        admission.stop(StopCause::CancelledByUser { inside: None });
        admission.stop(StopCause::Deadline);
        admission.drain(&cancel());
        assert_eq!(admission.stop_cause(), Some(&StopCause::CancelledByUser { inside: None }));
        assert_eq!(admission.drain_request(), None);
    }
}
