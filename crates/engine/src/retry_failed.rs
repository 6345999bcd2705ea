//! Retries what failed in a run that has ended: it and what depends on it is invalidated, in the same journal.
//!
//! **Invariant:** an external check that succeeded is not among what is opened again. An effect that is
//! confirmed is never repeated because something else failed; `confirmed_effects` recognises those of items. About an
//! unknown effect a person is asked again; neither it nor the list of its item is invalidated.

use std::collections::BTreeSet;
use std::sync::Arc;

use escrow_model::{
    Answer, CheckIndex, Criticality, Event, Millis, ProducedArtifact, ProviderName, RunId, RunStatus,
    ScopePath, ScopedCheck, Severity, SkipReason,
};
use serde_json::Value;
use thiserror::Error;

use crate::admission::{Admission, StopCause};
use crate::apply_error::ApplyError;
use crate::effect::EffectStanding;
use crate::exchange::Turn;
use crate::graph::shared_depth;
use crate::location::{AttemptKey, Location};
use crate::run::Run;
use crate::state::{Activation, Cell, NestedBefore, Node};
use crate::turn::Deciding;

/// The member of a nested run's record that says whether a route may lead away from its effects.
pub const OPEN_EFFECTS: &str = "open_effects";

/// The member that says whether it has an effect that did not definitely fail: a further attempt opens it again.
pub const LASTING_EFFECTS: &str = "lasting_effects";

/// The member that says, in words, that it was opened again with the inputs that it was started with.
pub const INPUTS_KEPT: &str = "inputs_kept";

/// Why nothing can be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CannotRetry {
    #[error("it has not ended")]
    NotEnded,
    #[error("it has completed, so nothing failed")]
    Completed,
    #[error("a person denied it, and a denial is final")]
    Denied,
}

impl Run {
    /// Whether what failed can be opened again.
    pub fn can_retry(&self) -> Result<(), CannotRetry> {
        match self.state.status {
            RunStatus::Running | RunStatus::Waiting => Err(CannotRetry::NotEnded),
            RunStatus::Completed => Err(CannotRetry::Completed),
            // Nor does an override lead around it.
            RunStatus::Failed | RunStatus::TimedOut | RunStatus::Cancelled | RunStatus::Aborted
                if matches!(self.state.admission.stop_cause(), Some(StopCause::Denied(_))) =>
            {
                Err(CannotRetry::Denied)
            }
            RunStatus::Failed | RunStatus::TimedOut | RunStatus::Cancelled | RunStatus::Aborted => Ok(()),
        }
    }

    /// Opens what failed again, with everything that depends on it, and says what happens next.
    pub fn retry_failed(&mut self, at: Millis, by: Option<String>) -> Result<Turn, CannotRetry> {
        self.can_retry()?;
        let places = self.failed_locations().into_iter().map(|Location { check, scope }| ScopedCheck {
            check: self.state.plan.check(check).name.clone(),
            scope,
        });
        let group = self.surroundings.group.clone().filter(|_| self.surroundings.start_problem.is_none());
        let event = Event::RunReopened { places: places.collect(), by, group };
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
        let cancelled_by_hand = self.cancelled_by_hand().is_some();
        for index in self.state.plan.indices() {
            let check = &self.state.checks[index.place()];
            if !self.is_tolerated(index) {
                locations.extend(check.failures.keys().map(|scope| Location::new(index, scope.clone())));
            }
            for (scope, node) in check.nodes.iter() {
                let skip = match node {
                    Node::Leaf(cell) => cell.skipped(),
                    Node::SkippedGroup(reason) => Some(*reason),
                    Node::Group(_) | Node::Unexpanded(_) => None,
                };
                let is_resolved = node.cell().is_some_and(|cell| {
                    cell.resolved.is_some() && cell.last_result.verdict.is_none() && cell.phase.is_settled()
                });
                if is_resolved {
                    locations.insert(Location::new(index, scope.clone()));
                }
                // A cancellation by hand blocks checks that do not depend on what was cancelled, too.
                let was_kept_back = matches!(skip, Some(SkipReason::RunEnded | SkipReason::LoopBudget))
                    || (cancelled_by_hand && skip == Some(SkipReason::ContractBlocked));
                if was_kept_back {
                    locations.insert(Location::new(index, scope.clone()));
                }
            }
        }
        // What was changed has to be verified again.
        for (location, artifact) in self.blocked_by_changes() {
            let gates = self.verified_files(&location).into_iter().filter(|(_, file)| file.id == artifact.id);
            locations.extend(gates.map(|(gate, _)| gate));
            locations.insert(location);
        }
        let gates: Vec<Location> =
            locations.iter().flat_map(|location| self.gates_of_changed_files(location)).collect();
        locations.extend(gates);
        for (location, issue) in &self.state.issues {
            if issue.severity == Severity::Error {
                locations.insert(location.clone());
            }
        }
        locations.retain(|location| self.node(location.check, &location.scope).is_some());
        locations
    }

    /// The checks that verified a file on the way to this one which was not delivered as they saw it. A nested run that
    /// found such a file changed can only succeed once it is verified again.
    fn gates_of_changed_files(&self, location: &Location) -> Vec<Location> {
        let Some(delivery) = &self.state.delivery else { return Vec::new() };
        let delivered = |then: &ProducedArtifact| {
            delivery.produced.iter().any(|now| now.path == then.path && now.sha256 == then.sha256)
        };
        let verified = self.verified_files(location).into_iter();
        verified.filter(|(_, file)| !delivered(file)).map(|(gate, _)| gate).collect()
    }

    /// Applies `RunReopened`: the run continues as if what failed had not been decided.
    pub(crate) fn apply_reopened(&mut self, at: Millis, places: &[ScopedCheck]) -> Result<(), ApplyError> {
        self.state.status = RunStatus::Running;
        self.state.reason = None;
        self.state.ended_at = None;
        self.state.reopened_at = Some(at);
        self.state.admission = Admission::Open;
        self.state.first_failure = None;
        self.state.delivery = None;
        self.state.overridden = None;
        self.state.warnings.clear();
        self.state.halted.clear();
        self.state.loops.clear();
        self.state.agenda.0.inspection_asked = false;
        self.state.agenda.0.reinspecting.clear();
        let places: Vec<(CheckIndex, &ScopePath)> = places
            .iter()
            .map(|place| Ok((self.index(&place.check)?, &place.scope)))
            .collect::<Result<_, ApplyError>>()?;
        let graph = Arc::clone(&self.graph);
        let concerned = places.iter().flat_map(|(check, _)| graph.closure(*check)).copied().collect();
        let confirmed = self.confirmed_items(&concerned);
        for (check, scope) in places {
            self.invalidate_failed(check, scope)?;
        }
        self.remember_confirmed(confirmed);
        self.put_everything_on_the_agenda();
        Ok(())
    }

    /// The nested run of an answered attempt: a further attempt opens it again, so that it repeats nothing that is
    /// confirmed in it.
    pub(crate) fn remember_nested(&mut self, check: CheckIndex, scope: &ScopePath, answer: &Answer) {
        if self.state.plan.check(check).provider != ProviderName::NESTED {
            return;
        }
        let Some(id) = answer.nested_run() else { return };
        let says = |member: &str| answer.record.get(member) == Some(&Value::Bool(true));
        let before = NestedBefore {
            run: RunId::from_stored(id),
            scope: scope.clone(),
            attempted_at: 0,
            has_open_effects: says(OPEN_EFFECTS),
            has_lasting_effects: says(LASTING_EFFECTS),
        };
        let items = self.items(check, scope);
        let state = &mut self.state.checks[check.place()];
        state.has_lasted |= before.has_lasting_effects;
        state.nested.insert(items, before);
    }

    /// The nested run that this attempt opens again instead of starting a new one, and when the attempt was started.
    pub fn nested_before(&self, attempt: &AttemptKey) -> Option<(&RunId, Millis)> {
        let items = self.items(attempt.check, &attempt.scope);
        let before = self.state.checks[attempt.check.place()].nested.get(&items)?;
        (before.attempted_at > 0).then_some((&before.run, before.attempted_at))
    }

    /// Whether an effect of this run is unknown, or happened and broke its contract.
    pub fn has_open_effects(&self) -> bool {
        self.has_unknown_effects()
            || self.state.checks.iter().any(|check| {
                let is_open =
                    |standing| matches!(standing, EffectStanding::Confirmed | EffectStanding::Unknown);
                check.effects.values().any(|record| is_open(record.standing))
                    || check.nested.values().any(|nested| nested.has_open_effects)
            })
    }

    /// Whether this run, or one nested in it, has had an effect that did not definitely fail.
    pub fn has_lasting_effects(&self) -> bool {
        self.state.plan.indices().any(|check| {
            let (spec, state) = (self.state.plan.check(check), &self.state.checks[check.place()]);
            let has_own = spec.criticality == Criticality::External && spec.provider != ProviderName::NESTED;
            let mut standings = state.effects.values().map(|record| record.standing);
            state.has_lasted || (has_own && standings.any(|standing| standing != EffectStanding::Failed))
        })
    }

    fn invalidate_failed(&mut self, target: CheckIndex, target_scope: &ScopePath) -> Result<(), ApplyError> {
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
                // What activated it before still does.
                let activation = node.cell().map(|cell| cell.activation.clone()).unwrap_or_else(|| {
                    Activation { activated: plan.check(*check).starts, ..Activation::default() }
                });
                self.invalidate(*check, &scope, collapse, activation)?;
                self.state.issues.retain(|(at, _)| !(at.check == *check && at.scope == scope));
            }
        }
        Ok(())
    }

    /// Whether an item of this list has an unknown effect. A new list would lose track of it.
    fn has_unknown_items(&self, parent: CheckIndex) -> bool {
        let plan = &self.state.plan;
        plan.indices().any(|check| {
            plan.check(check).fan.contains(&parent)
                && self.state.checks[check.place()].nodes.values().any(is_unknown)
        })
    }

    /// Whether the run has an unknown effect.
    pub fn has_unknown_effects(&self) -> bool {
        self.state.checks.iter().any(|check| check.nodes.values().any(is_unknown))
    }

    /// The checks and items whose effects are unknown, each with the key of its effect. The effects inside a nested run are
    /// in the ledger under keys of their own.
    pub fn unknown_effects(&self) -> Vec<(String, Option<String>)> {
        let mut unknown = Vec::new();
        for check in self.plan().indices() {
            let name = &self.state.plan.check(check).name;
            for (scope, node) in self.state.checks[check.place()].nodes.iter() {
                if let Some(cell) = node.cell().filter(|cell| cell.is_unknown()) {
                    unknown.push((format!("{name}{scope}"), cell.last_key.clone()));
                }
            }
        }
        unknown
    }
}

fn is_unknown(node: &Node) -> bool {
    node.cell().is_some_and(Cell::is_unknown)
}

impl Deciding<'_> {
    /// The run ended before the questions were answered, so they are asked again.
    fn ask_about_unknown_effects(&mut self) {
        for check in self.plan().indices() {
            let nodes = &self.state.checks[check.place()].nodes;
            let unknown: Vec<ScopePath> =
                nodes.iter().filter(|(_, node)| is_unknown(node)).map(|(scope, _)| scope.clone()).collect();
            for scope in unknown {
                let location = Location::new(check, scope);
                let attempt = self.last_attempt(&location).number;
                self.find_out(&location, attempt);
            }
        }
    }
}
