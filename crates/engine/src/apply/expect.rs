//! What an event must find before it is applied.

use escrow_model::{CheckIndex, Reason, ScopePath, ScopedCheck};

use crate::apply_error::{ApplyError, PhaseName};
use crate::phase::Phase;
use crate::run::Run;
use crate::state::{Cell, Node};

impl Run {
    pub(crate) fn index(&self, name: &str) -> Result<CheckIndex, ApplyError> {
        self.graph.find(name).ok_or_else(|| ApplyError::UnknownCheck(name.to_owned()))
    }

    pub(crate) fn expect_cell(&self, check: CheckIndex, scope: &ScopePath) -> Result<&Cell, ApplyError> {
        self.cell(check, scope).ok_or_else(|| self.wrong_phase(check, scope))
    }

    pub(crate) fn expect_cell_mut(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
    ) -> Result<&mut Cell, ApplyError> {
        let at = || ScopedCheck::new(&self.state.plan.check(check).name, scope);
        match self.state.checks[check.place()].nodes.get_mut(scope) {
            Some(Node::Leaf(cell)) => Ok(cell),
            None => Err(ApplyError::UnknownScope(at())),
            Some(Node::Unexpanded(_) | Node::Group(_) | Node::SkippedGroup(_)) => {
                Err(ApplyError::WrongPhase { at: at(), phase: PhaseName::Group })
            }
        }
    }

    pub(crate) fn expect_phase(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        allowed: &[PhaseName],
    ) -> Result<(), ApplyError> {
        let phase = PhaseName::of(&self.expect_cell(check, scope)?.phase);
        if allowed.contains(&phase) { Ok(()) } else { Err(self.wrong_phase(check, scope)) }
    }

    /// A verdict follows an answer, or a decision that needs no attempt.
    pub(super) fn expect_judgeable(&self, check: CheckIndex, scope: &ScopePath) -> Result<(), ApplyError> {
        let judgeable = match &self.expect_cell(check, scope)?.phase {
            Phase::Answered | Phase::Inspecting { .. } | Phase::Reconciling { .. } => true,
            // A person's word does not wait for the ledger.
            Phase::Pending | Phase::Due | Phase::Consulting { .. } => true,
            Phase::Waiting { request, .. } => request.is_none(),
            Phase::Running { .. }
            | Phase::Judged { .. }
            | Phase::RetryWait { .. }
            | Phase::Settled { .. } => false,
        };
        if judgeable { Ok(()) } else { Err(self.wrong_phase(check, scope)) }
    }

    pub(super) fn expect_last_attempt(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        number: u32,
    ) -> Result<(), ApplyError> {
        self.expect_attempt(check, scope, number, self.next_attempt(check, scope) - 1)
    }

    pub(super) fn expect_attempt(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        number: u32,
        expected: u32,
    ) -> Result<(), ApplyError> {
        if number == expected {
            return Ok(());
        }
        Err(ApplyError::WrongAttempt { at: self.named(check, scope), number, expected })
    }

    pub(crate) fn wrong_phase(&self, check: CheckIndex, scope: &ScopePath) -> ApplyError {
        let at = self.named(check, scope);
        match self.node(check, scope) {
            None => ApplyError::UnknownScope(at),
            Some(Node::Leaf(cell)) => ApplyError::WrongPhase { at, phase: PhaseName::of(&cell.phase) },
            Some(Node::Unexpanded(_) | Node::Group(_) | Node::SkippedGroup(_)) => {
                ApplyError::WrongPhase { at, phase: PhaseName::Group }
            }
        }
    }

    pub(crate) fn named(&self, check: CheckIndex, scope: &ScopePath) -> ScopedCheck {
        ScopedCheck::new(&self.state.plan.check(check).name, scope)
    }
}

pub(super) fn expect_status(reason: &Reason, fits: bool) -> Result<(), ApplyError> {
    if fits { Ok(()) } else { Err(ApplyError::WrongReason(reason.code)) }
}
