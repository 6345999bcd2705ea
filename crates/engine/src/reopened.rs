//! A run that failed, opened again: what failed and what depends on it is decided anew, in the same journal.
//!
//! **Invariant:** an external check that succeeded is not among what is opened again. An effect that is
//! confirmed is never repeated because something else failed; `kept` says how that is known of items. Of an effect
//! that nobody knows a person is asked again, and neither it nor the list whose item had it is opened.

use std::collections::BTreeSet;
use std::sync::Arc;

use escrow_model::{
    CheckIndex, Event, Millis, RunId, RunStatus, ScopePath, ScopedCheck, Severity, SkipReason, Verdict,
};
use thiserror::Error;

use crate::graph::shared_depth;
use crate::location::{AttemptKey, Location};
use crate::messages::NESTED;
use crate::run::{Run, Turn};
use crate::state::{Calling, Node, Stopping};
use crate::turn::Deciding;

/// Why there is nothing to run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotReopened {
    #[error("it has not ended")]
    NotEnded,
    #[error("it has completed, so nothing failed")]
    Completed,
    #[error("a person denied it, and a denial is final")]
    Denied,
}

impl Run {
    /// Opens what failed again, with everything that depends on it, and says what happens next.
    pub fn reopen_failed(&mut self, at: Millis, by: Option<String>) -> Result<Turn, NotReopened> {
        match self.state.status {
            RunStatus::Running | RunStatus::Waiting => return Err(NotReopened::NotEnded),
            RunStatus::Completed => return Err(NotReopened::Completed),
            // Nor does an override lead around it.
            RunStatus::Failed | RunStatus::TimedOut | RunStatus::Cancelled | RunStatus::Aborted
                if self.state.stopping == Some(Stopping::Denied) =>
            {
                return Err(NotReopened::Denied);
            }
            RunStatus::Failed | RunStatus::TimedOut | RunStatus::Cancelled | RunStatus::Aborted => {}
        }
        let places = self.failed_locations().into_iter().map(|Location { check, scope }| ScopedCheck {
            check: self.state.plan.check(check).name.clone(),
            scope,
        });
        let event = Event::RunReopened { places: places.collect(), by };
        let mut deciding = Deciding::new(self, at);
        deciding.record(event);
        deciding.ask_about_unknown_effects();
        deciding.decide();
        Ok(deciding.into_turn())
    }

    /// Where the run failed: attempts that did, gates that could not be evaluated, and what the end of the run
    /// or of its loop budget kept from running. A failure that the playbook tolerates is none.
    fn failed_locations(&self) -> BTreeSet<Location> {
        let mut locations = BTreeSet::new();
        for index in self.state.plan.indices() {
            let check = &self.state.checks[index.place()];
            if !self.is_tolerated(index) {
                locations.extend(check.failures.keys().map(|scope| Location::new(index, scope.clone())));
            }
            for (scope, node) in check.nodes.iter() {
                let skip = match node {
                    Node::Leaf(cell) => cell.skip,
                    Node::SkippedGroup(reason) => Some(*reason),
                    Node::Group(_) | Node::Unexpanded(_) => None,
                };
                if matches!(skip, Some(SkipReason::RunEnded | SkipReason::LoopBudget)) {
                    locations.insert(Location::new(index, scope.clone()));
                }
            }
        }
        for (location, issue) in &self.state.issues {
            if issue.severity == Severity::Error {
                locations.insert(location.clone());
            }
        }
        locations.retain(|location| self.node(location.check, &location.scope).is_some());
        locations
    }

    /// The run goes on, as if what failed had not been decided yet.
    pub(crate) fn reopened(&mut self, at: Millis, places: &[ScopedCheck]) {
        self.state.status = RunStatus::Running;
        self.state.reason = None;
        self.state.ended_at = None;
        self.state.reopened_at = Some(at);
        self.state.stopping = None;
        self.state.first_failure = None;
        self.state.delivery = None;
        self.state.overridden = None;
        self.state.warnings.clear();
        self.state.halted.clear();
        self.state.loops.clear();
        self.state.agenda.0.inspection_asked = false;
        let places: Vec<(CheckIndex, &ScopePath)> = places
            .iter()
            .filter_map(|location| Some((self.graph.find(&location.check)?, &location.scope)))
            .collect();
        let graph = Arc::clone(&self.graph);
        let concerned = places.iter().flat_map(|(check, _)| graph.closure(*check)).copied().collect();
        let confirmed = self.confirmed_items(&concerned);
        self.remember_nested();
        for (check, scope) in places {
            self.open_again(check, scope);
        }
        self.keep(confirmed);
        self.put_everything_on_the_agenda();
    }

    /// A nested run that failed is opened again too, so that it repeats nothing that is confirmed in it.
    fn remember_nested(&mut self) {
        let plan = self.plan();
        for (position, check) in self.state.checks.iter_mut().enumerate() {
            check.nested.clear();
            if plan.check(CheckIndex::at(position)).provider != NESTED {
                continue;
            }
            for (scope, node) in check.nodes.iter() {
                let Some(cell) = node.cell().filter(|cell| cell.has_verdict(Verdict::Failed)) else {
                    continue;
                };
                let record = cell.answer.as_ref().map(|answer| &answer.record);
                if let Some(id) = record.and_then(|record| record.get("run_id")?.as_str()) {
                    let attempt = check.attempts.get(scope).copied().unwrap_or(0) + 1;
                    check.nested.insert(scope.clone(), (attempt, RunId::from_stored(id)));
                }
            }
        }
    }

    /// The nested run that this attempt goes on with, instead of a new one.
    pub fn nested_before(&self, attempt: &AttemptKey) -> Option<&RunId> {
        let (at, id) = self.state.checks[attempt.check.place()].nested.get(&attempt.scope)?;
        (*at == attempt.number).then_some(id)
    }

    fn open_again(&mut self, target: CheckIndex, target_scope: &ScopePath) {
        let plan = self.plan();
        let graph = Arc::clone(&self.graph);
        let mut closure = graph.closure(target).clone();
        closure.retain(|check| !self.has_unknown_items(*check));
        let target_fan = &plan.check(target).fan;
        for check in &closure {
            let fan = &plan.check(*check).fan;
            let base = target_scope.truncated(shared_depth(target_fan, fan));
            for scope in self.scopes_below(*check, &base) {
                let Some(node) = self.node(*check, &scope) else { continue };
                if self.is_confirmed(*check, &scope) || is_unknown(node) {
                    continue;
                }
                // The items are no more where their parent is run again, which a confirmed one is not.
                let parent = fan.get(scope.depth()).filter(|parent| closure.contains(*parent));
                let collapse = parent.filter(|parent| !self.is_confirmed(**parent, &scope));
                let collapse = collapse.map(|_| scope.depth());
                // Whoever called it before calls it still.
                let calling = node.cell().map(|cell| cell.calling.clone()).unwrap_or_else(|| Calling {
                    activated: plan.check(*check).starts,
                    ..Calling::default()
                });
                self.reopen(*check, &scope, collapse, calling);
                self.state.issues.retain(|(at, _)| !(at.check == *check && at.scope == scope));
            }
        }
    }

    /// Opening a fan-out again makes its items anew, and with them what they may have done.
    fn has_unknown_items(&self, parent: CheckIndex) -> bool {
        let plan = &self.state.plan;
        plan.indices().any(|check| {
            plan.check(check).fan.contains(&parent)
                && self.state.checks[check.place()].nodes.values().any(is_unknown)
        })
    }

    /// Whether an effect is left of which nobody knows whether it happened.
    pub fn has_unknown_effects(&self) -> bool {
        self.state.checks.iter().any(|check| check.nodes.values().any(is_unknown))
    }
}

fn is_unknown(node: &Node) -> bool {
    node.cell().is_some_and(|cell| cell.unknown)
}

impl Deciding<'_> {
    /// The run ended before a person said what had happened: the question stands.
    fn ask_about_unknown_effects(&mut self) {
        for check in self.plan().indices() {
            let nodes = &self.state.checks[check.place()].nodes;
            let unknown: Vec<ScopePath> =
                nodes.iter().filter(|(_, node)| is_unknown(node)).map(|(scope, _)| scope.clone()).collect();
            for scope in unknown {
                self.ask_about_unknown_effect(&Location::new(check, scope), "");
            }
        }
    }
}
