//! Retries: whether a failed attempt is tried again, and when.

use escrow_model::{
    BackoffMode, CheckIndex, Ending, Event, FaultClass, Millis, Recovery, Retry, RetryKind, ScopePath,
    Verdict,
};
use sha2::{Digest, Sha256};

use crate::location::Location;
use crate::phase::Phase;
use crate::run::Run;
use crate::turn::Deciding;

/// No backoff waits longer.
const BACKOFF_MS_MAX: Millis = 60 * 60 * 1000;

impl Deciding<'_> {
    /// True when a retry was scheduled: the routing block begins again with its verdict.
    pub(crate) fn schedule_retry(&mut self, location: &Location) -> bool {
        let Location { check, scope } = location;
        let plan = self.plan();
        let spec = plan.check(*check);
        let Some(retry) = spec.retry else { return false };
        let Some(cell) = self.cell(*check, scope) else { return false };
        // A verdict that has settled stands.
        let Phase::Judged { fault } = cell.phase else { return false };
        if !cell.has_verdict(Verdict::Failed) || !self.may_retry(*check, scope, fault) {
            return false;
        }
        self.schedule(location, &retry);
        true
    }

    /// The effect of an attempt is unknown: `reconcile` looks for it when a retry is due, right before it. False when
    /// there is no `reconcile`, or no retry left.
    pub(crate) fn schedule_look(&mut self, location: &Location) -> bool {
        let Location { check, scope } = location;
        let plan = self.plan();
        let spec = plan.check(*check);
        let Some(retry) = spec.retry else { return false };
        let may_look = spec.reconcile.is_some() && !self.state.admission.is_stopping();
        if !may_look || !self.may_retry(*check, scope, Some(FaultClass::Transient)) {
            return false;
        }
        self.schedule(location, &retry);
        true
    }

    fn schedule(&mut self, location: &Location, retry: &Retry) {
        let Location { check, scope } = location;
        let plan = self.plan();
        let spec = plan.check(*check);
        let number = self.cell(*check, scope).map_or(0, |cell| cell.retries) + 1;
        let delay = self.backoff_ms(retry, *check, scope, number).max(self.pause_asked_for_ms(*check, scope));
        let (check, scope) = (spec.name.clone(), scope.clone());
        let started =
            Event::RecoveryStarted { check: check.clone(), scope: scope.clone(), by: Recovery::Retry };
        self.record(started);
        let at = self.at.saturating_add(delay);
        let kind = RetryKind::Retry;
        self.record(Event::RetryScheduled { check, scope, retry: number, at, kind });
    }
}

impl Run {
    pub(crate) fn may_retry(&self, check: CheckIndex, scope: &ScopePath, fault: Option<FaultClass>) -> bool {
        let spec = self.state.plan.check(check);
        let Some(retry) = spec.retry else { return false };
        let used = self.cell(check, scope).map_or(0, |cell| cell.retries + cell.repeats);
        let wanted = match fault {
            Some(FaultClass::Transient) => spec.retry_transient,
            Some(FaultClass::Logical) => spec.retry_logical,
            None => false,
        };
        wanted && used < retry.max
    }

    /// How long the other side asked to wait after the last attempt, within the limit of every backoff.
    fn pause_asked_for_ms(&self, check: CheckIndex, scope: &ScopePath) -> Millis {
        let answer = self.cell(check, scope).and_then(|cell| cell.answer.as_ref());
        match answer.map(|answer| &answer.ending) {
            Some(Ending::Fault(fault)) => fault.retry_after_ms.unwrap_or(0).min(BACKOFF_MS_MAX),
            Some(Ending::Done) | None => 0,
        }
    }

    // Jitter comes from the run id, not a random source, so a replayed run waits the same time.
    fn backoff_ms(&self, retry: &Retry, check: CheckIndex, scope: &ScopePath, number: u32) -> Millis {
        let base = match retry.backoff.mode {
            BackoffMode::Fixed => retry.backoff.delay_ms,
            BackoffMode::Exponential => retry.backoff.delay_ms.saturating_mul(1 << (number - 1).min(30)),
        }
        .min(BACKOFF_MS_MAX);
        let name = &self.state.plan.check(check).name;
        let text = format!("{}\0{name}\0{scope}\0{number}", self.state.options.run);
        let digest = Sha256::digest(text.as_bytes());
        let chance = u64::from(u16::from_be_bytes([digest[0], digest[1]]));
        let spread = base / 5;
        base - base / 10 + spread * chance / u64::from(u16::MAX)
    }
}
