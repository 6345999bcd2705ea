//! Leaves out payloads whose time is over. Release 0.9.0 reads `expires_at_epoch_s` and never looks at it, so only the
//! extended rules do.

use super::Dispatch;
use crate::envelope::Warning;
use crate::negotiation::PlacementVerdict;
use crate::vocabulary::{FailureClass, NegotiationOutcome};

impl Dispatch {
    /// Takes out the payloads that had expired by then: no client sees them. One that was required blocks the dispatch.
    pub fn leave_out_expired(&mut self, now_epoch_s: u64) {
        let Self { envelope, negotiation, .. } = self;
        let mut position = 0;
        envelope.payloads.retain(|payload| {
            let decision = negotiation.decisions.get_mut(position);
            position += 1;
            let Some(expiry) = payload.expires_at_epoch_s.filter(|expiry| *expiry <= now_epoch_s) else {
                return true;
            };
            let id = &payload.payload_id;
            let message = format!("payload `{id}` expired at {expiry}, and the event is of {now_epoch_s}");
            negotiation.warnings.push(Warning::new("payload_expired", message));
            let is_required = !payload.can_be_skipped();
            if is_required {
                negotiation.outcome = negotiation.outcome.worse(NegotiationOutcome::Unsupported);
                if negotiation.failure_class.is_none_or(|known| known == FailureClass::OperatorRequired) {
                    negotiation.failure_class = Some(FailureClass::PayloadRejected);
                }
            } else {
                negotiation.outcome = negotiation.outcome.worse(NegotiationOutcome::Degraded);
            }
            if let Some(decision) = decision {
                let (PlacementVerdict::Chosen(placement)
                | PlacementVerdict::Skipped(placement)
                | PlacementVerdict::Failed(placement)) = decision.verdict;
                decision.verdict = match is_required {
                    true => PlacementVerdict::Failed(placement),
                    false => PlacementVerdict::Skipped(placement),
                };
            }
            false
        });
    }
}
