//! The decision loop: works through the agenda until nothing more follows.
//!
//! Routes come before checks: where a route invalidates something, its dependents must not start on
//! what is about to change.

use escrow_model::{
    Answer, CheckIndex, Event, FaultCode, Issue, IssueCode, ProviderFault, ReasonCode, ScopePath, SkipReason,
};

use crate::gate::{Footing, Gate};
use crate::location::Location;
use crate::phase::Phase;
use crate::pure::needs_slot;
use crate::state::{Activation, Node};
use crate::turn::Deciding;
use crate::view::View;

/// A check that is ready queues first, and starts, in the order of the file, when nothing else is left to decide.
/// Which check gets a slot then depends on the state alone and not on the order of decisions, so a replayed run
/// continues in the same way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Admission {
    Queue,
    Start,
}

impl Deciding<'_> {
    /// What `--only`, `--tags` and a template of the file that cannot be rendered decide before anything else.
    pub(crate) fn begin(&mut self) {
        let plan = self.plan();
        if let Some(issue) = self.start_issue() {
            let location = Location::new(CheckIndex(0), ScopePath::root());
            self.raise_issue(&location, issue, Some(ReasonCode::FailedExpression));
            for check in plan.indices() {
                self.skip_check(check, &ScopePath::root(), SkipReason::RunEnded, String::new());
            }
            return;
        }
        for (check, reason) in self.left_out.clone() {
            self.skip_check(check, &ScopePath::root(), reason, String::new());
        }
    }

    pub(crate) fn decide(&mut self) {
        let deferred = std::mem::take(&mut self.agenda().deferred);
        self.agenda().routes.extend(deferred);
        let held_back = std::mem::take(&mut self.agenda().held_back);
        self.agenda().checks.extend(held_back);
        loop {
            if self.state.status.is_terminal() {
                return;
            }
            if let Some(location) = self.agenda().routes.pop_first() {
                self.consider_route(&location);
            } else if let Some(location) = self.agenda().checks.pop_first() {
                self.consider(&location, Admission::Queue);
            } else if self.has_freed_capacity() {
                self.wake_parked();
            } else if self.has_slot()
                && let Some(location) = self.agenda().ready.pop_first()
            {
                self.consider(&location, Admission::Start);
            } else if !self.makes_way() && !self.settle_the_rest() {
                return;
            }
        }
    }

    fn consider(&mut self, location: &Location, admission: Admission) {
        let Location { check, scope } = location;
        match self.node(*check, scope) {
            Some(Node::Unexpanded(activation)) => {
                let activation = activation.clone();
                self.consider_group(*check, scope, &activation);
            }
            Some(Node::Leaf(cell)) => match cell.phase {
                Phase::Pending if cell.activation.activated || self.state.admission.is_stopping() => {
                    self.consider_cell(location, admission);
                }
                Phase::Due => self.start_or_park(location, admission),
                // The nested run is told to end, and its answer is awaited.
                Phase::Waiting { .. } if self.waits_with_nested(location) => {}
                Phase::RetryWait { .. } | Phase::Waiting { .. } | Phase::Judged { .. }
                    if self.state.admission.is_stopping() =>
                {
                    self.wind_up(location);
                }
                Phase::Pending
                | Phase::Running { .. }
                | Phase::Reconciling { .. }
                | Phase::Consulting { .. }
                | Phase::Inspecting { .. }
                | Phase::Answered
                | Phase::Judged { .. }
                | Phase::RetryWait { .. }
                | Phase::Waiting { .. }
                | Phase::Settled { .. } => {}
            },
            Some(Node::Group(_) | Node::SkippedGroup(_)) | None => {}
        }
    }

    /// A fan-out without items: its list was empty, failed or was skipped.
    fn consider_group(&mut self, check: CheckIndex, scope: &ScopePath, activation: &Activation) {
        let plan = self.plan();
        let spec = plan.check(check);
        if let Some(reason) = self.stop_reason(check, scope) {
            self.skip_check(check, scope, reason, String::new());
            return;
        }
        if !activation.activated {
            return;
        }
        let Some(parent) = spec.fan.get(scope.depth()).copied() else { return };
        let parent_event = self.cell(parent, scope).and_then(|cell| cell.activation.event.clone());
        let event = activation.event.clone().or(parent_event);
        if let Some(reason) = self.filter(check, event.as_deref()) {
            self.skip_check(check, scope, reason, String::new());
            return;
        }
        if !self.node(parent, scope).is_some_and(Node::is_settled) {
            return;
        }
        let parent_name = &plan.check(parent).name;
        if self.items_given(parent, scope).is_some() {
            let detail = format!("`{parent_name}` gave no items");
            self.skip_check(check, scope, SkipReason::ForEachEmpty, detail);
        } else {
            self.skip_unsatisfied(check, scope, parent);
        }
    }

    fn consider_cell(&mut self, location: &Location, admission: Admission) {
        let Location { check, scope } = location;
        let plan = self.plan();
        let spec = plan.check(*check);
        if let Some(reason) = self.stop_reason(*check, scope) {
            self.skip_check(*check, scope, reason, String::new());
            return;
        }
        let cell = self.cell(*check, scope);
        if let Some(reason) = self.filter(*check, cell.and_then(|cell| cell.activation.event.as_deref())) {
            let detail = format!("listens to {}", spec.on.join(", "));
            self.skip_check(*check, scope, reason, detail);
            return;
        }
        match self.gate(*check, scope, cell) {
            Gate::Wait => {
                self.release_capacity(location);
                return;
            }
            Gate::Shut(dependency) => {
                self.skip_unsatisfied(*check, scope, dependency);
                return;
            }
            Gate::Open => {}
        }
        if spec.step.is_some() && self.is_step_left_out(location) {
            return;
        }
        if self.lacks_footing(location) {
            return;
        }
        if let Some(condition) = &spec.condition {
            let answer = condition.test(&View::before(self, *check, scope), crate::view::BUDGET);
            match answer {
                Ok(true) => {}
                Ok(false) => {
                    let detail = format!("`{}` is false", condition.source());
                    self.skip_check(*check, scope, SkipReason::IfCondition, detail);
                    return;
                }
                Err(fault) => {
                    let fault = self.surroundings.in_words(&fault);
                    let detail = format!("`if` could not be evaluated: {fault}");
                    self.skip_for_error(location, SkipReason::IfCondition, detail);
                    return;
                }
            }
        }
        self.start_or_park(location, admission);
    }

    /// A step whose condition does not hold, or that has none and comes after one that failed.
    fn is_step_left_out(&mut self, location: &Location) -> bool {
        let Location { check, scope } = location;
        let plan = self.plan();
        let condition = plan.check(*check).step.as_ref().and_then(|step| step.condition.as_ref());
        let Some(condition) = condition else {
            let failed = self.failed_step_before(*check);
            if let Some(failed) = failed {
                self.skip_unsatisfied(*check, scope, failed);
            }
            return failed.is_some();
        };
        let view = View::before(self, *check, scope);
        let (held, notes) = (condition.holds(&view), self.absent_notes(*check, &view));
        drop(view);
        match held {
            Ok(true) => false,
            Ok(false) => {
                let told = std::iter::once(format!("`{}` is false", condition.source())).chain(notes);
                let detail = told.collect::<Vec<_>>().join("; ");
                self.skip_check(*check, scope, SkipReason::IfCondition, detail);
                true
            }
            Err(fault) => {
                let fault = self.surroundings.in_words(&fault.to_string());
                let detail = format!("`condition` could not be evaluated: {fault}");
                self.skip_for_error(location, SkipReason::IfCondition, detail);
                true
            }
        }
    }

    /// Whether an effect must not start now: it is skipped, or waits for what it depends on to settle.
    pub(crate) fn lacks_footing(&mut self, location: &Location) -> bool {
        let Location { check, scope } = location;
        match self.footing(*check, scope, self.cell(*check, scope)) {
            Footing::Sound => false,
            Footing::Undecided => {
                self.agenda().undecided.insert(location.clone());
                self.release_capacity(location);
                true
            }
            Footing::Blocked(blocker) => {
                let detail = blocker.in_words(&self.plan());
                self.skip_check(*check, scope, SkipReason::ContractBlocked, detail);
                true
            }
        }
    }

    /// Past the gates: the check starts as soon as its groups and the run have capacity.
    fn start_or_park(&mut self, location: &Location, admission: Admission) {
        let Location { check, scope } = location;
        if self.state.admission.is_stopping() {
            self.wind_up(location);
            return;
        }
        if self.is_held_back(location) {
            return;
        }
        if needs_slot(&self.state.plan.check(*check).provider) {
            for group in self.groups_of(*check, scope).into_iter().flatten() {
                if !self.has_capacity(&group) {
                    self.agenda().parked.entry(group).or_default().insert(location.clone());
                    return;
                }
            }
            if admission == Admission::Queue {
                self.agenda().ready.insert(location.clone());
                return;
            }
        }
        self.attempt(location);
    }

    /// The run is stopping: ends a wait.
    pub(crate) fn wind_up(&mut self, location: &Location) {
        let Location { check, scope } = location;
        let Some(cell) = self.cell(*check, scope) else { return };
        if cell.phase.request().is_some() {
            // An open question: its answer is no longer needed.
            let attempt = self.last_attempt(location);
            let fault = ProviderFault::logical(FaultCode::Cancelled, "the run ended before it was answered");
            self.take_answer(&attempt, Answer::fault(fault));
        } else if cell.is_unknown() || cell.last_result.verdict.is_some() {
            let check = self.plan().check(*check).name.clone();
            self.record(Event::CheckSettled { check, scope: scope.clone() });
        } else {
            self.skip_check(*check, scope, SkipReason::RunEnded, String::new());
        }
    }

    fn stop_reason(&self, check: CheckIndex, scope: &ScopePath) -> Option<SkipReason> {
        if self.state.admission.is_stopping() {
            return Some(SkipReason::RunEnded);
        }
        let was_ready = self.cell(check, scope).is_some_and(|cell| cell.was_ready_at_halt);
        (self.is_halted(check, scope) && !was_ready).then_some(SkipReason::LoopBudget)
    }

    pub(crate) fn skip_unsatisfied(&mut self, check: CheckIndex, scope: &ScopePath, dependency: CheckIndex) {
        let plan = self.plan();
        let blocker = self.blocker(check, scope, self.cell(check, scope));
        let (reason, detail) = match blocker {
            Some(blocker) => (SkipReason::ContractBlocked, blocker.in_words(&plan)),
            None => {
                (SkipReason::DependencyFailed, format!("`{}` did not succeed", plan.check(dependency).name))
            }
        };
        self.skip_check(check, scope, reason, detail);
    }

    pub(crate) fn skip_check(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        reason: SkipReason,
        detail: String,
    ) {
        let name = self.plan().check(check).name.clone();
        self.record(skipped(name, scope.clone(), reason, detail));
    }

    /// A gate that cannot be evaluated skips, says so, and on a critical check fails the run.
    pub(crate) fn skip_for_error(&mut self, location: &Location, reason: SkipReason, message: String) {
        let Location { check, scope } = location;
        let spec_critical = self.plan().check(*check).is_critical();
        let event = Event::IssueRaised {
            check: self.plan().check(*check).name.clone(),
            scope: scope.clone(),
            issue: Issue::error(IssueCode::ExpressionError, message.clone()),
            fails_run: spec_critical.then_some(ReasonCode::FailedExpression),
        };
        self.record(event);
        self.skip_check(*check, scope, reason, message);
    }
}

fn skipped(check: String, scope: ScopePath, reason: SkipReason, detail: String) -> Event {
    Event::CheckSkipped { check, scope, reason, detail, request: None }
}
