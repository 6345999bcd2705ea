//! Applies waits and the messages that answer them.

use escrow_model::{
    ApprovalStatus, Assumption, CheckIndex, EffectInQuestion, Message, Millis, ScopePath, WaitKind,
};

use crate::admission::{Denial, StopCause};
use crate::apply_error::ApplyError;
use crate::effect::EffectStanding;
use crate::location::Location;
use crate::phase::{Certainty, Phase};
use crate::run::Run;
use crate::state::{Approved, Node, RecordedDecision, Wait};

impl Run {
    pub(super) fn wait(&mut self, id: &str, wait: Wait) -> Result<(), ApplyError> {
        let Location { check, scope } = wait.location.clone();
        let cell = self.expect_cell(check, &scope)?;
        let may_wait = match wait.kind {
            WaitKind::Approval => matches!(cell.phase, Phase::Pending | Phase::Due),
            WaitKind::Input | WaitKind::Nested => matches!(cell.phase, Phase::Running { .. }),
            // After an answer that does not tell, in place of an attempt that may repeat a confirmed effect, or
            // in a run that was opened again.
            WaitKind::UnknownEffect => match cell.phase {
                Phase::Answered | Phase::Pending | Phase::Due => true,
                Phase::Settled { .. } => cell.certainty == Certainty::Unknown,
                Phase::Running { .. }
                | Phase::Reconciling { .. }
                | Phase::Consulting { .. }
                | Phase::Inspecting { .. }
                | Phase::Judged { .. }
                | Phase::RetryWait { .. }
                | Phase::Waiting { .. } => false,
            },
        };
        if !may_wait {
            return Err(self.wrong_phase(check, &scope));
        }
        if self.state.waits.contains_key(id) {
            return Err(ApplyError::WaitTwice(id.to_owned()));
        }
        let request = match wait.kind {
            WaitKind::Input | WaitKind::Nested => cell.phase.request().cloned(),
            WaitKind::Approval | WaitKind::UnknownEffect => None,
        };
        if self.node(check, &scope).is_some_and(Node::is_settled) {
            // It was counted as settled above, and is open again.
            self.uncount(check, &scope)?;
        }
        self.set_phase(check, &scope, Phase::Waiting { id: id.to_owned(), request })?;
        let elsewhere = self.asks_elsewhere(&wait.location);
        let cell = self.expect_cell_mut(check, &scope)?;
        cell.certainty = match wait.kind {
            // The effect of another run is not an effect of this one.
            WaitKind::UnknownEffect if elsewhere.is_some() => cell.certainty.once_answered(),
            WaitKind::UnknownEffect => Certainty::Unknown,
            WaitKind::Approval | WaitKind::Input | WaitKind::Nested => cell.certainty.once_answered(),
        };
        if wait.kind == WaitKind::UnknownEffect {
            cell.asked_elsewhere = elsewhere;
        }
        if wait.kind == WaitKind::Approval {
            // The answer of `reconcile` is not awaited for as long as a person may take.
            cell.cleared = false;
            cell.asked_elsewhere = None;
            cell.cleared_elsewhere = None;
        }
        self.state.waits.insert(id.to_owned(), wait);
        // It may have been started because its group had room, which it does not take while it waits.
        self.release_capacity(check, &scope);
        Ok(())
    }

    /// The attempt of the check is open as it was before the nested run waited.
    pub(super) fn nested_resumed(&mut self, check: CheckIndex, scope: &ScopePath) -> Result<(), ApplyError> {
        let location = Location::new(check, scope.clone());
        if !self.waits_with_nested(&location) {
            return Err(self.wrong_phase(check, scope));
        }
        let request = self.expect_cell(check, scope)?.phase.request().cloned();
        let request = request.ok_or_else(|| self.wrong_phase(check, scope))?;
        self.set_phase(check, scope, Phase::Running { request })?;
        self.mark_running();
        Ok(())
    }

    pub(super) fn note_decision(&mut self, at: Millis, message: &Message) {
        match message {
            Message::Approve { id, by, claim, note } => {
                self.decided(at, id, ApprovalStatus::Approved, [by.as_ref(), claim.as_ref(), note.as_ref()]);
            }
            Message::Deny { id, by, claim, note } => {
                self.decided(at, id, ApprovalStatus::Denied, [by.as_ref(), claim.as_ref(), note.as_ref()]);
            }
            Message::Answer { id, text, by } => {
                self.decided(at, id, ApprovalStatus::Answered, [by.as_ref(), None, Some(text)]);
            }
            Message::Assume { .. } | Message::Cancel { .. } => {}
        }
    }

    pub(super) fn decided(
        &mut self,
        at: Millis,
        id: &str,
        decision: ApprovalStatus,
        [by, claim, note]: [Option<&String>; 3],
    ) {
        let Some(wait) = self.state.waits.get(id) else { return };
        let Location { check, scope } = wait.location.clone();
        let decision = RecordedDecision {
            at,
            wait: id.to_owned(),
            check: self.state.plan.check(check).name.clone(),
            scope,
            decision,
            by: by.cloned(),
            claim: claim.cloned(),
            note: note.cloned(),
        };
        self.state.decisions.push(decision);
    }

    /// A person's decision about the effect of another check or run settles its key, as an attempt of this check would.
    pub(super) fn note_effect_elsewhere(
        &mut self,
        message: &Message,
        effect: Option<&EffectInQuestion>,
    ) -> Result<(), ApplyError> {
        let Message::Assume { check, scope, assumption, .. } = message else { return Ok(()) };
        self.note_confirmation(Some(*assumption), effect);
        let Some(EffectInQuestion { key, attempts_elsewhere: Some(_), .. }) = effect else { return Ok(()) };
        let check = self.index(check)?;
        self.expect_cell_mut(check, scope)?.last_key = Some(key.clone());
        Ok(())
    }

    pub(super) fn message_delivered(&mut self, message: &Message) -> Result<(), ApplyError> {
        match message {
            Message::Approve { id, by, .. } => {
                let Some(wait) = self.state.waits.get_mut(id) else {
                    return Err(ApplyError::NoWait(id.clone()));
                };
                wait.approved_by.push(by.clone());
                if wait.approved_by.len() < usize::try_from(wait.terms().count).unwrap_or(usize::MAX) {
                    return Ok(());
                }
                let (Location { check, scope }, digest) = (wait.location.clone(), wait.digest.clone());
                self.make_due(check, &scope)?;
                let approved = Approved { wait: id.clone(), digest };
                self.expect_cell_mut(check, &scope)?.approved = Some(Box::new(approved));
            }
            // The verdict or the attempt's answer follows as an entry of its own.
            Message::Deny { id, by, claim, note } => {
                let wait = self.state.waits.get(id).ok_or_else(|| ApplyError::NoWait(id.clone()))?;
                self.stop(StopCause::Denied(Denial::Here {
                    check: wait.location.check,
                    by: by.clone(),
                    claim: claim.clone(),
                    note: note.clone(),
                }));
            }
            Message::Answer { .. } => {}
            Message::Assume { check, scope, assumption, .. } => {
                let check = self.index(check)?;
                self.expect_cell_mut(check, scope)?.question = None;
                match assumption {
                    Assumption::Retry => {
                        self.set_standing(check, scope, EffectStanding::Failed);
                        self.repeat(check, scope)?;
                    }
                    Assumption::Done => self.effect_confirmed(check, scope, None)?,
                    Assumption::Failed => self.set_standing(check, scope, EffectStanding::Failed),
                }
            }
            Message::Cancel { system: true, successor, .. } => {
                self.stop(StopCause::CancelledBySystem { successor: successor.clone() });
            }
            Message::Cancel { system: false, inside, .. } => {
                self.stop(StopCause::CancelledByUser { inside: inside.clone() });
            }
        }
        Ok(())
    }
}
