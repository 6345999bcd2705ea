//! The one place where the state of a run changes. Live runs and replay go through this door.
//!
//! **Invariant:** applying never decides. It records what an entry says and notes, on the agenda, what may now
//! be worth a look.

use std::sync::Arc;

use escrow_model::{
    Assumption, CheckIndex, Entry, Event, Issue, Message, Millis, Plan, Reason, ReasonCode, RunStatus,
    ScopePath, SkipReason, Verdict, WaitKind,
};
use serde_json::Value;

use crate::graph::BlockName;
use crate::location::Location;
use crate::run::Run;
use crate::state::{Failure, History, Node, Phase, Remembered, Route, RunFailure, Stopping, Wait};
use crate::verdict::failure_code;

impl Run {
    /// Records one entry. `RunStarted` is the first and made this run; it is not applied twice.
    pub(crate) fn apply(&mut self, entry: &Entry) {
        self.state.entries += 1;
        let at = entry.at;
        match &entry.event {
            Event::RunStarted { .. } => {}
            Event::CheckSkipped { check, scope, reason, .. } => {
                let check = self.index(check);
                self.skip(check, scope, *reason);
            }
            Event::AttemptStarted { check, scope, request, .. } => {
                let check = self.index(check);
                let slot = crate::pure::needs_slot(&request.provider);
                self.state.slots_used += u32::from(slot);
                for group in self.groups_of(check, scope).into_iter().flatten() {
                    *self.state.in_flight.entry(group).or_default() += 1;
                }
                let state = &mut self.state.checks[check.place()];
                state.runs += 1;
                *state.attempts.get_or_default(scope.clone()) += 1;
                self.set_phase(check, scope, Phase::Running);
                if let Some(cell) = self.cell_mut(check, scope) {
                    cell.request = Some(Arc::clone(request));
                    cell.slot = slot;
                    cell.past.runs += 1;
                    cell.skip = None;
                    cell.unknown = false;
                }
            }
            Event::AttemptAnswered { check, scope, answer, .. } => {
                let check = self.index(check);
                self.answered(check, scope, Arc::clone(answer));
            }
            Event::CheckJudged { check, scope, verdict, issues, violation, fault, settled, .. } => {
                let check = self.index(check);
                if let Some(cell) = self.cell_mut(check, scope) {
                    cell.fault = *fault;
                }
                self.judged(check, scope, *verdict, issues, *violation);
                if *settled {
                    self.settle(check, scope);
                }
            }
            Event::OutcomeStored { outcome } => {
                self.state.outcomes.push((at, Arc::new((**outcome).clone())));
            }
            Event::CheckSettled { check, scope } => {
                let check = self.index(check);
                self.settle(check, scope);
            }
            Event::RetryScheduled { check, scope, at, .. } => {
                let check = self.index(check);
                self.set_phase(check, scope, Phase::RetryWait(*at));
                if let Some(cell) = self.cell_mut(check, scope) {
                    cell.retries += 1;
                }
                self.forget_route(check, scope);
                self.state.retries.insert((*at, Location::new(check, scope.clone())));
            }
            Event::RetryDue { check, scope } => {
                let check = self.index(check);
                self.go_on_running();
                self.set_phase(check, scope, Phase::Due);
                self.state.agenda.0.checks.insert(Location::new(check, scope.clone()));
            }
            Event::Routed { check, scope, by, to, to_scope, goto_event, again, .. } => {
                let (source, target) = (self.index(check), self.index(to));
                if *again {
                    *self.state.loops.entry(self.region(target, to_scope)).or_default() += 1;
                }
                let source = Location::new(source, scope.clone());
                self.decide_anew(&source, target, to_scope, goto_event.as_deref());
                self.note_run_target(source, by, Location::new(target, to_scope.clone()));
            }
            Event::RoutingDone { check, scope, block } => {
                let check = self.index(check);
                self.routing_done(check, scope, block);
            }
            Event::LoopBudgetExceeded { check, scope, to, limit } => {
                let (source, target) = (self.index(check), self.index(to));
                let message = format!("routing to `{to}` again would exceed the loop budget of {limit}");
                self.halt(target, scope);
                self.raise(source, scope, &Issue::error("routing/loop_budget_exceeded", message.clone()));
                self.fail_run(ReasonCode::FailedLoopBudget, source, message);
            }
            Event::IssueRaised { check, scope, issue, fails_run } => {
                let check = self.index(check);
                self.raise(check, scope, issue);
                if let Some(code) = fails_run {
                    self.fail_run(*code, check, issue.message.clone());
                }
            }
            Event::WarningRaised { warning } => self.state.warnings.push(warning.clone()),
            Event::FaultDetected { .. } | Event::FaultIsolated { .. } => {}
            Event::RecoveryStarted { check, scope, .. } => {
                let check = self.index(check);
                if let Some(cell) = self.cell_mut(check, scope) {
                    cell.recovering = true;
                }
            }
            Event::RecoverySucceeded { check, scope } | Event::RecoveryExhausted { check, scope } => {
                let check = self.index(check);
                if let Some(cell) = self.cell_mut(check, scope) {
                    cell.recovering = false;
                }
            }
            Event::WaitStarted { check, scope, kind, id, digest, prompt, choices, expires_at } => {
                let check = self.index(check);
                let wait = Wait {
                    location: Location::new(check, scope.clone()),
                    kind: *kind,
                    digest: digest.clone(),
                    prompt: prompt.clone(),
                    choices: choices.clone(),
                    expires_at: *expires_at,
                };
                if self.node(check, scope).is_some_and(Node::is_settled) {
                    // A run that was opened again asks once more about what nobody knows.
                    self.uncount(check, scope);
                }
                self.set_phase(check, scope, Phase::Waiting(id.clone()));
                if let Some(cell) = self.cell_mut(check, scope) {
                    cell.unknown = *kind == WaitKind::UnknownEffect;
                    cell.suspect &= !cell.unknown;
                    // Who waits needs no slot.
                    if std::mem::take(&mut cell.slot) {
                        self.state.slots_used = self.state.slots_used.saturating_sub(1);
                    }
                }
                self.state.waits.insert(id.clone(), wait);
                // It may have been called because there was room, and does not take it.
                self.leave_room(check, scope);
            }
            Event::ReconcileStarted { check, scope, request, .. } => {
                let check = self.index(check);
                self.set_phase(check, scope, Phase::Reconciling);
                if let Some(cell) = self.cell_mut(check, scope) {
                    cell.unknown = true;
                    cell.suspect = false;
                    cell.request = Some(Arc::clone(request));
                    // The attempt has just left its slot, so there is one.
                    cell.slot = true;
                    self.state.slots_used += 1;
                }
            }
            Event::Reconciled { check, scope, finding, .. } => {
                let check = self.index(check);
                match finding {
                    Some(Assumption::Retry) => self.repeat(check, scope),
                    // The verdict or the wait follows as an entry of its own.
                    Some(Assumption::Done | Assumption::Failed) | None => {
                        self.set_phase(check, scope, Phase::Judged);
                    }
                }
            }
            Event::MessageDelivered { message, refused: None } => {
                self.go_on_running();
                self.message_delivered(message);
            }
            Event::MessageDelivered { refused: Some(_), .. } => {}
            Event::WaitExpired { id } => {
                self.go_on_running();
                if let Some(wait) = self.state.waits.get_mut(id) {
                    wait.expires_at = None;
                }
            }
            Event::MemoryChanged { namespace, key, value } => {
                let space = self
                    .state
                    .memory
                    .entry(namespace.clone())
                    .or_insert_with(|| Value::Object(Default::default()));
                if let Value::Object(space) = space {
                    match value {
                        Some(value) => drop(space.insert(key.clone(), value.clone())),
                        None => drop(space.shift_remove(key)),
                    }
                }
            }
            Event::RunResumed {} => self.go_on_running(),
            Event::RunReopened { places, .. } => self.reopened(at, places),
            Event::RunWaiting { reason } => {
                self.state.status = RunStatus::Waiting;
                self.state.reason = Some(reason.clone());
            }
            Event::DeadlinePassed {} => self.stop(Stopping::Deadline),
            Event::CheckInspected { check, scope, delivery, .. } => {
                let check = self.index(check);
                if let Some(cell) = self.cell_mut(check, scope) {
                    cell.delivery = Some(delivery.clone());
                }
            }
            Event::ArtifactsVerified { delivery } => self.state.delivery = Some(delivery.clone()),
            Event::RunEnded { reason } => self.ended(at, reason),
            Event::RunOverridden { reason, by, why } => self.apply_override(at, reason, by, why),
        }
    }

    /// Nobody is waited for any more; if somebody still is, the run will say so again.
    fn go_on_running(&mut self) {
        self.state.status = RunStatus::Running;
        self.state.reason = None;
    }

    fn ended(&mut self, at: Millis, reason: &Reason) {
        self.state.status = reason.code.status();
        self.state.reason = Some(reason.clone());
        self.state.ended_at = Some(at);
    }

    fn skip(&mut self, check: CheckIndex, scope: &ScopePath, reason: SkipReason) {
        if scope.depth() < self.plan().check(check).fan.len() {
            self.skip_group(check, scope, reason);
            return;
        }
        if self.set_phase(check, scope, Phase::Settled) {
            if let Some(cell) = self.cell_mut(check, scope) {
                cell.skip = Some(reason);
            }
            self.close(check, scope);
        }
    }

    fn answered(&mut self, check: CheckIndex, scope: &ScopePath, answer: Arc<escrow_model::Answer>) {
        let entry = self.state.entries;
        for (name, value) in &answer.env {
            self.state.env.insert(name.clone(), Value::String(value.clone()));
        }
        for group in self.groups_of(check, scope).into_iter().flatten() {
            if let Some(count) = self.state.in_flight.get_mut(&group) {
                *count = count.saturating_sub(1);
            }
            self.state.agenda.0.freed.insert(group);
        }
        let histories = &mut self.state.checks[check.place()].histories;
        for depth in 0..=scope.depth() {
            let History(remembered) = histories.get_or_default(scope.truncated(depth));
            remembered.push(Remembered { entry, answer: Arc::clone(&answer) });
        }
        let phase = if self.inspects(check, &answer) { Phase::Inspecting } else { Phase::Judged };
        self.set_phase(check, scope, phase);
        let mut freed = false;
        if let Some(cell) = self.cell_mut(check, scope) {
            freed = std::mem::take(&mut cell.slot);
            cell.answer = Some(answer);
            cell.delivery = None;
            cell.request = None;
            cell.pass_from = entry;
        }
        self.forget_outputs(check, scope);
        if freed {
            self.state.slots_used = self.state.slots_used.saturating_sub(1);
        }
    }

    fn judged(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        verdict: Verdict,
        issues: &[Issue],
        violation: bool,
    ) {
        let entry = self.state.entries;
        self.set_phase(check, scope, Phase::Judged);
        if let Some(cell) = self.cell_mut(check, scope) {
            cell.past.verdict = Some(verdict);
            cell.past.issues = issues.to_vec();
            cell.skip = None;
            cell.unknown = false;
        }
        let state = &mut self.state.checks[check.place()];
        match verdict {
            Verdict::Succeeded => {
                state.failures.remove(scope);
                self.state.violations -= u32::from(state.violations.remove(scope));
            }
            Verdict::Failed => {
                let code = failure_code(issues);
                let message = issues.first().map(|issue| issue.message.clone()).unwrap_or_default();
                state.failures.insert(scope.clone(), Failure { code, message, entry });
                if violation {
                    self.state.violations += u32::from(state.violations.insert(scope.clone()));
                }
            }
        }
        if self.state.stopping.is_none() {
            self.open_route(check, scope, verdict);
        }
    }

    /// The first routing block that has something to do, if any.
    fn open_route(&mut self, check: CheckIndex, scope: &ScopePath, verdict: Verdict) {
        let plan = self.plan();
        let spec = plan.check(check);
        let block = match verdict {
            Verdict::Succeeded if !spec.on_success.is_empty() => Some(BlockName::Success),
            Verdict::Failed if !spec.on_fail.is_empty() || spec.retry.is_some() => Some(BlockName::Fail),
            Verdict::Succeeded | Verdict::Failed if !spec.on_finish.is_empty() => Some(BlockName::Finish),
            Verdict::Succeeded | Verdict::Failed => None,
        };
        if let Some(block) = block {
            self.insert_route(check, scope, block);
        }
    }

    fn insert_route(&mut self, check: CheckIndex, scope: &ScopePath, block: BlockName) {
        let location = Location::new(check, scope.clone());
        self.state.agenda.0.routes.insert(location.clone());
        self.state.routes.insert(location, Route::new(block));
    }

    fn routing_done(&mut self, check: CheckIndex, scope: &ScopePath, block: &str) {
        self.forget_route(check, scope);
        let plan = self.plan();
        let spec = plan.check(check);
        let finish = block != BlockName::Finish.as_str() && !spec.on_finish.is_empty();
        if finish && self.state.stopping.is_none() {
            self.insert_route(check, scope, BlockName::Finish);
        }
        // A `forEach` check settles before its `on_finish`, or its items could never run. Others do, unless it
        // may send the run back to them.
        let judged = self.cell(check, scope).is_some_and(|cell| cell.phase == Phase::Judged);
        if judged && (!finish || spec.for_each || !self.graph.may_loop(check, BlockName::Finish)) {
            self.settle(check, scope);
        }
        if spec.for_each && block == BlockName::Finish.as_str() {
            self.let_go(check, scope);
        }
    }

    /// What stands outside the items of a `forEach` check waited for its `on_finish`, and is worth a look now.
    fn let_go(&mut self, parent: CheckIndex, scope: &ScopePath) {
        let plan = self.plan();
        let inside = |check: &CheckIndex| *check == parent || plan.check(*check).fan.contains(&parent);
        for dependency in plan.indices().filter(inside) {
            for held in self.graph.dependents(dependency).to_vec() {
                let above = scope.truncated(plan.check(held).fan.len());
                for below in self.scopes_below(held, &above) {
                    self.state.agenda.0.checks.insert(Location::new(held, below));
                }
            }
        }
    }

    fn note_run_target(&mut self, source: Location, by: &str, target: Location) {
        // A source that its own target re-decides has no route any more: it starts afresh.
        let Some(route) = self.state.routes.get_mut(&source) else { return };
        match by {
            "run" => route.ran = true,
            "run_js" => route.ran_js = true,
            _ => return,
        }
        route.awaiting.insert(target.clone());
        self.state.awaited.entry(target).or_default().insert(source);
    }

    fn message_delivered(&mut self, message: &Message) {
        match message {
            Message::Approve { id, .. } => {
                if let Some(wait) = self.state.waits.remove(id) {
                    let Location { check, scope } = wait.location;
                    self.set_phase(check, &scope, Phase::Due);
                    if let Some(cell) = self.cell_mut(check, &scope) {
                        cell.approved = Some(wait.digest);
                    }
                    self.state.agenda.0.checks.insert(Location { check, scope });
                }
            }
            // The verdict or the attempt's answer follows as an entry of its own.
            Message::Deny { .. } => self.stop(Stopping::Denied),
            Message::Answer { .. } => {}
            Message::Assume { check, scope, assumption, .. } => {
                let check = self.index(check);
                match assumption {
                    Assumption::Retry => self.repeat(check, scope),
                    Assumption::Done | Assumption::Failed => {}
                }
            }
            Message::Cancel { system, .. } => {
                self.stop(if *system { Stopping::CancelledBySystem } else { Stopping::CancelledByUser })
            }
        }
    }

    /// An effect that did not happen is tried once more, past the gates.
    fn repeat(&mut self, check: CheckIndex, scope: &ScopePath) {
        self.set_phase(check, scope, Phase::Due);
        if let Some(cell) = self.cell_mut(check, scope) {
            cell.repeats += 1;
        }
        self.state.agenda.0.checks.insert(Location::new(check, scope.clone()));
    }

    /// The first cause stands: a run that was cancelled does not time out afterwards.
    fn stop(&mut self, cause: Stopping) {
        self.state.stopping.get_or_insert(cause);
        self.go_on_running();
        self.put_everything_on_the_agenda();
    }

    fn raise(&mut self, check: CheckIndex, scope: &ScopePath, issue: &Issue) {
        self.state.issues.push((Location::new(check, scope.clone()), issue.clone()));
    }

    /// The causes rank: a loop budget beats an expression error, and the first of a kind stands.
    fn fail_run(&mut self, code: ReasonCode, check: CheckIndex, message: String) {
        let outranks = match &self.state.first_failure {
            None => true,
            Some(earlier) => {
                code == ReasonCode::FailedLoopBudget && earlier.code != ReasonCode::FailedLoopBudget
            }
        };
        if outranks {
            self.state.first_failure = Some(RunFailure { code, check, message });
        }
    }

    fn index(&self, name: &str) -> CheckIndex {
        self.graph.find(name).unwrap_or(CheckIndex(0))
    }

    pub(crate) fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.state.plan.0)
    }
}
