//! Invalidates decisions: a route invalidates its target and everything that depends on it.
//!
//! **Invariant:** an open attempt is never withdrawn. A route waits until it is answered.

use std::sync::Arc;

use escrow_model::{CheckIndex, ScopePath};

use crate::ai::Spent;
use crate::apply_error::ApplyError;
use crate::graph::shared_depth;
use crate::location::Location;
use crate::phase::Phase;
use crate::run::Run;
use crate::state::{Activation, Node};

impl Run {
    /// Invalidates the target of a route and everything that depends on it, whether it ran or was skipped.
    pub(crate) fn invalidate_from(
        &mut self,
        source: &Location,
        target: CheckIndex,
        to_scope: &ScopePath,
        goto_event: Option<&str>,
    ) -> Result<(), ApplyError> {
        let plan = self.plan();
        let graph = Arc::clone(&self.graph);
        let inherited = self.cell(source.check, &source.scope).and_then(|cell| cell.activation.event.clone());
        let event = goto_event.map(Arc::from).or(inherited);
        let closure = graph.closure(target);
        let target_fan = &plan.check(target).fan;
        for check in closure {
            let fan = &plan.check(*check).fan;
            let base = to_scope.truncated(shared_depth(target_fan, fan));
            // Where the parent of its items is invalidated, its items no longer exist.
            let collapse = fan.iter().position(|parent| closure.contains(parent));
            // A route is meant to repeat effects.
            self.supersede_effects(*check, &base);
            let state = &mut self.state.checks[check.place()];
            state.confirmed_effects.retain(|one| !one.scope.starts_with(&base));
            state.nested.retain(|_, nested| !nested.scope.starts_with(&base) || nested.has_open_effects);
            let routed_from = (*check == target).then(|| source.clone());
            let activation = Activation {
                activated: plan.check(*check).starts || routed_from.is_some(),
                routed_from,
                event: event.clone(),
            };
            for scope in self.scopes_below(*check, &base) {
                // It may have been dropped with its group.
                if self.node(*check, &scope).is_some() {
                    self.invalidate(*check, &scope, collapse, activation.clone())?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn invalidate(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        collapse: Option<usize>,
        activation: Activation,
    ) -> Result<(), ApplyError> {
        let collapses = collapse == Some(scope.depth()) && scope.depth() < self.plan().check(check).fan.len();
        match self.node(check, scope) {
            Some(Node::Unexpanded(old)) => {
                let activation = activation.unless_unspent(old);
                self.state.checks[check.place()].nodes.insert(scope.clone(), Node::Unexpanded(activation));
            }
            Some(Node::Group(_)) if !collapses => return Ok(()),
            Some(Node::Group(_) | Node::SkippedGroup(_)) => {
                self.uncount(check, scope)?;
                self.drop_items(check, scope)?;
                self.state.checks[check.place()].nodes.insert(scope.clone(), Node::Unexpanded(activation));
                if !collapses {
                    self.expand(check, scope)?;
                }
            }
            Some(Node::Leaf(_)) => self.invalidate_cell(check, scope, activation)?,
            None => return Ok(()),
        }
        self.state.agenda.0.checks.insert(Location::new(check, scope.clone()));
        Ok(())
    }

    fn invalidate_cell(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        activation: Activation,
    ) -> Result<(), ApplyError> {
        self.uncount(check, scope)?;
        let unspent = self
            .cell(check, scope)
            .filter(|cell| !matches!(cell.phase, Phase::Judged { .. } | Phase::Settled { .. }))
            .map(|cell| cell.activation.clone());
        self.withdraw(check, scope)?;
        let cell = self.expect_cell_mut(check, scope)?;
        cell.activation = match unspent {
            Some(old) => activation.unless_unspent(&old),
            None => activation,
        };
        cell.retries = 0;
        cell.repairs = 0;
        cell.is_repairing = false;
        cell.spent = Spent::default();
        cell.repeats = 0;
        cell.retry_counted = false;
        cell.cleared = false;
        cell.asked_elsewhere = None;
        cell.cleared_elsewhere = None;
        cell.ledger = None;
        cell.approved = None;
        cell.asked_anew = 0;
        cell.changed = None;
        cell.was_ready_at_halt = false;
        Ok(())
    }

    /// Drops the items of a pass. Their results remain until the next pass has items at the same scopes.
    fn drop_items(&mut self, check: CheckIndex, scope: &ScopePath) -> Result<(), ApplyError> {
        for below in self.scopes_below(check, scope) {
            if self.cell(check, &below).is_some() {
                self.withdraw(check, &below)?;
            }
            let state = &mut self.state.checks[check.place()];
            if let Some(Node::Leaf(cell)) = state.nodes.remove(&below)
                && cell.last_result.runs > 0
            {
                state.last_results.insert(below, cell.last_result);
            }
        }
        Ok(())
    }

    /// Takes back what a cell was waiting for: a retry, a message, the targets of its routing.
    fn withdraw(&mut self, check: CheckIndex, scope: &ScopePath) -> Result<(), ApplyError> {
        self.set_phase(check, scope, Phase::Pending)?;
        self.forget_route(check, scope);
        self.state.agenda.0.ready.remove(&Location::new(check, scope.clone()));
        Ok(())
    }

    /// Whether a route to this target would withdraw an open attempt or an unknown effect.
    pub(crate) fn withdraws_open_attempt(
        &self,
        source: CheckIndex,
        scope: &ScopePath,
        target: CheckIndex,
    ) -> bool {
        if self.state.busy == 0 {
            return false;
        }
        let plan = &self.state.plan;
        let target_fan = &plan.check(target).fan;
        let to_scope = scope.truncated(shared_depth(&plan.check(source).fan, target_fan));
        self.graph.closure(target).iter().any(|check| {
            let base = to_scope.truncated(shared_depth(target_fan, &plan.check(*check).fan));
            self.nodes_below(*check, &base)
                .any(|(_, node)| node.cell().is_some_and(|cell| cell.cannot_be_withdrawn()))
        })
    }
}

impl Activation {
    /// A route that has not led to a decision yet is not lost when something else invalidates the same check.
    fn unless_unspent(self, old: &Activation) -> Activation {
        if self.routed_from.is_some() || old.routed_from.is_none() {
            return self;
        }
        Activation {
            activated: self.activated || old.activated,
            routed_from: old.routed_from.clone(),
            event: self.event.or_else(|| old.event.clone()),
        }
    }
}
