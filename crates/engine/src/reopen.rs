//! What a route decides anew: its target, and everything that depends on it.
//!
//! **Invariant:** what was asked for and not answered is never withdrawn. A route waits for it.

use std::sync::Arc;

use escrow_model::{CheckIndex, ScopePath};

use crate::graph::shared_depth;
use crate::location::Location;
use crate::run::Run;
use crate::state::{Calling, Node, Phase};

impl Run {
    /// A route re-decides its target and everything that depends on it, whether it ran or was skipped.
    pub(crate) fn decide_anew(
        &mut self,
        source: &Location,
        target: CheckIndex,
        to_scope: &ScopePath,
        goto_event: Option<&str>,
    ) {
        let plan = self.plan();
        let graph = Arc::clone(&self.graph);
        let inherited = self.cell(source.check, &source.scope).and_then(|cell| cell.calling.event.clone());
        let event = goto_event.map(Arc::from).or(inherited);
        let closure = graph.closure(target);
        let target_fan = &plan.check(target).fan;
        for check in closure {
            let fan = &plan.check(*check).fan;
            let base = to_scope.truncated(shared_depth(target_fan, fan));
            // Where a parent of its items is decided anew, the items themselves are no more.
            let collapse = fan.iter().position(|parent| closure.contains(parent));
            // Whoever routes wants the effects again.
            self.state.checks[check.place()].kept.retain(|one| !one.scope.starts_with(&base));
            let routed_from = (*check == target).then(|| source.clone());
            let calling = Calling {
                activated: plan.check(*check).starts || routed_from.is_some(),
                routed_from,
                event: event.clone(),
            };
            for scope in self.scopes_below(*check, &base) {
                // It may have gone with its group.
                if self.node(*check, &scope).is_some() {
                    self.reopen(*check, &scope, collapse, calling.clone());
                }
            }
        }
    }

    pub(crate) fn reopen(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        collapse: Option<usize>,
        calling: Calling,
    ) {
        let collapses = collapse == Some(scope.depth()) && scope.depth() < self.plan().check(check).fan.len();
        match self.node(check, scope) {
            Some(Node::Unexpanded(old)) => {
                let calling = calling.unless_unspent(old);
                self.state.checks[check.place()].nodes.insert(scope.clone(), Node::Unexpanded(calling));
            }
            Some(Node::Group(_)) if !collapses => return,
            Some(Node::Group(_) | Node::SkippedGroup(_)) => {
                self.uncount(check, scope);
                self.drop_items(check, scope);
                self.state.checks[check.place()].nodes.insert(scope.clone(), Node::Unexpanded(calling));
                if !collapses {
                    self.expand(check, scope);
                }
            }
            Some(Node::Leaf(_)) => self.reopen_cell(check, scope, calling),
            None => return,
        }
        self.state.agenda.0.checks.insert(Location::new(check, scope.clone()));
    }

    fn reopen_cell(&mut self, check: CheckIndex, scope: &ScopePath, calling: Calling) {
        self.uncount(check, scope);
        let unspent = self
            .cell(check, scope)
            .filter(|cell| !matches!(cell.phase, Phase::Judged | Phase::Settled))
            .map(|cell| cell.calling.clone());
        self.withdraw(check, scope);
        if let Some(cell) = self.cell_mut(check, scope) {
            cell.calling = match unspent {
                Some(old) => calling.unless_unspent(&old),
                None => calling,
            };
            cell.skip = None;
            cell.retries = 0;
            cell.repeats = 0;
            cell.approved = None;
        }
    }

    /// The items of a pass that is over; what they came to is kept until the next pass has items in their place.
    fn drop_items(&mut self, check: CheckIndex, scope: &ScopePath) {
        for below in self.scopes_below(check, scope) {
            self.withdraw(check, &below);
            let state = &mut self.state.checks[check.place()];
            if let Some(Node::Leaf(cell)) = state.nodes.remove(&below)
                && cell.past.runs > 0
            {
                state.past.insert(below, cell.past);
            }
        }
    }

    /// Takes back what a cell was waiting for: a retry, a message, the targets of its routing.
    fn withdraw(&mut self, check: CheckIndex, scope: &ScopePath) {
        self.set_phase(check, scope, Phase::Pending);
        self.forget_route(check, scope);
        self.state.agenda.0.ready.remove(&Location::new(check, scope.clone()));
    }

    /// Whether an attempt is open, or its effect unknown, that a route to this target would pull the ground
    /// from.
    pub(crate) fn is_ground_taken(&self, source: CheckIndex, scope: &ScopePath, target: CheckIndex) -> bool {
        if self.state.busy == 0 {
            return false;
        }
        let plan = &self.state.plan;
        let target_fan = &plan.check(target).fan;
        let to_scope = scope.truncated(shared_depth(&plan.check(source).fan, target_fan));
        self.graph.closure(target).iter().any(|check| {
            let base = to_scope.truncated(shared_depth(target_fan, &plan.check(*check).fan));
            self.nodes_below(*check, &base)
                .any(|(_, node)| node.cell().is_some_and(|cell| cell.is_out_of_hand()))
        })
    }
}

impl Calling {
    /// A route that was taken and has not led to a decision yet is not lost when something else decides the
    /// same check anew.
    fn unless_unspent(self, old: &Calling) -> Calling {
        if self.routed_from.is_some() || old.routed_from.is_none() {
            return self;
        }
        Calling {
            activated: self.activated || old.activated,
            routed_from: old.routed_from.clone(),
            event: self.event.or_else(|| old.event.clone()),
        }
    }
}
