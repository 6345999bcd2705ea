//! The loop that looks at everything worth a look until nothing more follows.
//!
//! Routes are looked at before checks: where a route re-decides something, its dependents must not start on
//! what is about to change.

use escrow_model::{CheckIndex, Event, Issue, Millis, ReasonCode, ScopePath, SkipReason, Verdict};

use crate::gate::Gate;
use crate::pure::needs_slot;
use crate::run::{Run, Turn};
use crate::state::{Node, Phase, Place, Stopping};
use crate::view::View;

impl Run {
    /// What `--only`, `--tags` and a broken `env:` decide before anything else.
    pub(crate) fn begin(&mut self, turn: &mut Turn, at: Millis) {
        if let Some(problem) = self.env_problem.clone() {
            let place = (CheckIndex(0), ScopePath::root());
            let issue = Issue::error("system/template_error", problem);
            self.raise_issue(turn, at, &place, issue, Some(ReasonCode::FailedExpression));
            let letter = escrow_model::Letter::Cancel { by: None, system: true };
            self.record(turn, at, Event::LetterOpened { letter, refused: None });
        }
        for (check, reason) in self.left_out.clone() {
            self.skip_check(turn, at, check, &ScopePath::root(), reason, String::new());
        }
    }

    pub(crate) fn decide(&mut self, turn: &mut Turn, at: Millis) {
        let deferred = std::mem::take(&mut self.state.agenda.0.deferred);
        self.state.agenda.0.routes.extend(deferred);
        loop {
            if self.state.status.is_terminal() {
                return;
            }
            if let Some(place) = self.state.agenda.0.routes.pop_first() {
                self.consider_route(turn, at, &place);
            } else if let Some(place) = self.state.agenda.0.checks.pop_first() {
                self.consider(turn, at, &place);
            } else if self.has_slot()
                && let Some(place) = self.state.agenda.0.ready.pop_first()
            {
                self.consider(turn, at, &place);
            } else if !self.settle_the_rest(turn, at) {
                return;
            }
        }
    }

    fn has_slot(&self) -> bool {
        self.state.slots_used < self.state.options.parallelism.max(1)
    }

    fn consider(&mut self, turn: &mut Turn, at: Millis, place: &Place) {
        let (check, scope) = place;
        match self.node(*check, scope) {
            Some(Node::Unexpanded) => self.consider_group(turn, at, *check, scope),
            Some(Node::Leaf(cell)) => match cell.phase {
                Phase::Pending if cell.activated || self.state.stopping.is_some() => {
                    self.consider_cell(turn, at, place);
                    if self.cell(*check, scope).is_some_and(|cell| cell.phase == Phase::Settled) {
                        for group in self.groups_of(*check, scope) {
                            self.unpark(&group);
                        }
                    }
                }
                Phase::Due => self.go_on(turn, at, place),
                Phase::RetryWait | Phase::Waiting(_) | Phase::Judged if self.state.stopping.is_some() => {
                    self.wind_up(turn, at, place);
                }
                Phase::Pending
                | Phase::Running
                | Phase::Judged
                | Phase::RetryWait
                | Phase::Waiting(_)
                | Phase::Settled => {}
            },
            Some(Node::Group(_) | Node::SkippedGroup(_)) | None => {}
        }
    }

    /// The items of a mapped check cannot be known, or there are none.
    fn consider_group(&mut self, turn: &mut Turn, at: Millis, check: CheckIndex, scope: &ScopePath) {
        let plan = self.plan();
        let spec = plan.check(check);
        if let Some(reason) = self.stop_reason(scope) {
            self.skip_check(turn, at, check, scope, reason, String::new());
            return;
        }
        if !spec.starts {
            return;
        }
        if let Some(reason) = self.event_filter(check, None) {
            self.skip_check(turn, at, check, scope, reason, String::new());
            return;
        }
        let Some(parent) = spec.fan.get(scope.depth()).copied() else { return };
        let Some(node) = self.node(parent, scope).filter(|node| node.is_settled()) else { return };
        let parent_name = &plan.check(parent).name;
        if node.cell().is_some_and(|cell| cell.has_succeeded()) {
            let detail = format!("`{parent_name}` gave no items");
            self.skip_check(turn, at, check, scope, SkipReason::ForEachEmpty, detail);
        } else {
            self.skip_unsatisfied(turn, at, check, scope, parent);
        }
    }

    fn consider_cell(&mut self, turn: &mut Turn, at: Millis, place: &Place) {
        let (check, scope) = place;
        let plan = self.plan();
        let spec = plan.check(*check);
        if let Some(reason) = self.stop_reason(scope) {
            self.skip_check(turn, at, *check, scope, reason, String::new());
            return;
        }
        let cell = self.cell(*check, scope);
        if let Some(reason) = self.event_filter(*check, cell.and_then(|cell| cell.event.as_deref())) {
            let detail = format!("listens to {}", spec.on.join(", "));
            self.skip_check(turn, at, *check, scope, reason, detail);
            return;
        }
        match self.gate(*check, scope, cell) {
            Gate::Wait => return,
            Gate::Shut(dependency) => {
                self.skip_unsatisfied(turn, at, *check, scope, dependency);
                return;
            }
            Gate::Open => {}
        }
        if let Some(blocker) = self.blocking_violation(*check, scope, cell) {
            let detail = format!("`{}` broke its contract", plan.check(blocker).name);
            self.skip_check(turn, at, *check, scope, SkipReason::ContractBlocked, detail);
            return;
        }
        if let Some(condition) = &spec.condition {
            let answer = condition.test(&View::before(self, *check, scope), crate::view::BUDGET);
            match answer {
                Ok(true) => {}
                Ok(false) => {
                    let detail = format!("`{}` is false", condition.source());
                    self.skip_check(turn, at, *check, scope, SkipReason::IfCondition, detail);
                    return;
                }
                Err(fault) => {
                    let detail = format!("`if` could not be evaluated: {fault}");
                    self.skip_for_error(turn, at, place, SkipReason::IfCondition, detail);
                    return;
                }
            }
        }
        self.go_on(turn, at, place);
    }

    /// Past the gates: the check starts as soon as there is room for it.
    fn go_on(&mut self, turn: &mut Turn, at: Millis, place: &Place) {
        let (check, scope) = place;
        if self.state.stopping.is_some() {
            self.wind_up(turn, at, place);
            return;
        }
        let plan = self.plan();
        let spec = plan.check(*check);
        if needs_slot(&spec.provider) {
            for group in self.groups_of(*check, scope) {
                let used = self.state.in_flight.get(&group).copied().unwrap_or(0);
                if used >= self.group_limit(*check, &group) {
                    self.state.agenda.0.parked.entry(group).or_default().insert(place.clone());
                    return;
                }
            }
            if !self.has_slot() {
                self.state.agenda.0.ready.insert(place.clone());
                return;
            }
        }
        self.attempt(turn, at, place);
    }

    /// The run is stopping: what waits does so no longer.
    fn wind_up(&mut self, turn: &mut Turn, at: Millis, place: &Place) {
        let (check, scope) = place;
        let name = self.plan().check(*check).name.clone();
        let judged = self.cell(*check, scope).is_some_and(|cell| cell.verdict.is_some());
        if judged {
            self.record(turn, at, Event::CheckSettled { check: name, scope: scope.clone() });
        } else if self.state.stopping == Some(Stopping::Denied)
            && self.cell(*check, scope).is_some_and(|cell| cell.phase == Phase::Judged)
        {
            let issue = Issue::error("approval/denied", "a person denied it");
            self.record_verdict(turn, at, place, Verdict::Failed, vec![issue], None, false);
        } else {
            self.skip_check(turn, at, *check, scope, SkipReason::RunEnded, String::new());
        }
    }

    fn stop_reason(&self, scope: &ScopePath) -> Option<SkipReason> {
        if self.state.stopping.is_some() {
            return Some(SkipReason::RunEnded);
        }
        let halted = (0..=scope.depth()).any(|depth| self.state.halted.contains(&scope.truncated(depth)));
        halted.then_some(SkipReason::LoopBudget)
    }

    /// Nothing filters without `--event`, until a route puts a check under one.
    fn event_filter(&self, check: CheckIndex, routed: Option<&str>) -> Option<SkipReason> {
        if let Some(reason) = self.left_out.get(&check) {
            return Some(*reason);
        }
        let on = &self.state.plan.check(check).on;
        let event = routed.or(self.state.options.event.as_deref())?;
        (!on.is_empty() && !on.iter().any(|name| name == event)).then_some(SkipReason::Event)
    }

    pub(crate) fn skip_unsatisfied(
        &mut self,
        turn: &mut Turn,
        at: Millis,
        check: CheckIndex,
        scope: &ScopePath,
        dependency: CheckIndex,
    ) {
        let plan = self.plan();
        let blocker = self.blocking_violation(check, scope, self.cell(check, scope));
        let (reason, detail) = match blocker {
            Some(blocker) => {
                (SkipReason::ContractBlocked, format!("`{}` broke its contract", plan.check(blocker).name))
            }
            None => {
                (SkipReason::DependencyFailed, format!("`{}` did not succeed", plan.check(dependency).name))
            }
        };
        self.skip_check(turn, at, check, scope, reason, detail);
    }

    pub(crate) fn skip_check(
        &mut self,
        turn: &mut Turn,
        at: Millis,
        check: CheckIndex,
        scope: &ScopePath,
        reason: SkipReason,
        detail: String,
    ) {
        let name = self.plan().check(check).name.clone();
        self.record(turn, at, skipped(name, scope.clone(), reason, detail));
    }

    /// A gate that cannot be evaluated skips, says so, and on a critical check fails the run.
    pub(crate) fn skip_for_error(
        &mut self,
        turn: &mut Turn,
        at: Millis,
        place: &Place,
        reason: SkipReason,
        message: String,
    ) {
        let (check, scope) = place;
        let spec_critical = self.plan().check(*check).is_critical();
        let event = Event::IssueRaised {
            check: self.plan().check(*check).name.clone(),
            scope: scope.clone(),
            issue: Issue::error("system/expression_error", message.clone()),
            fails_run: spec_critical.then_some(ReasonCode::FailedExpression),
        };
        self.record(turn, at, event);
        self.skip_check(turn, at, *check, scope, reason, message);
    }
}

fn skipped(check: String, scope: ScopePath, reason: SkipReason, detail: String) -> Event {
    Event::CheckSkipped { check, scope, reason, detail, request: None }
}
