//! The tree of a check's scopes: groups open as items become known, and close as they settle.
//!
//!   Unexpanded ──parent settles──▶ Group ──▶ Leaf, Leaf, …
//!
//! **Invariant:** a group knows how many of its children are open and how many leaves below it succeeded, so
//! that no question about a fan-out costs more than its answer.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use escrow_model::{CheckIndex, RoutingBlock, ScopePath, SkipReason, Verdict};
use serde_json::Value;

use crate::accounting::count;
use crate::apply_error::{ApplyError, Counter};
use crate::location::Location;
use crate::phase::{Certainty, Phase};
use crate::run::Run;
use crate::state::{Cell, Derived, Group, Node};
use crate::verdict::ITEMS_MAX;

impl Run {
    pub(crate) fn node(&self, check: CheckIndex, scope: &ScopePath) -> Option<&Node> {
        self.state.checks[check.place()].nodes.get(scope)
    }

    pub(crate) fn cell(&self, check: CheckIndex, scope: &ScopePath) -> Option<&Cell> {
        self.node(check, scope).and_then(Node::cell)
    }

    pub(crate) fn cell_mut(&mut self, check: CheckIndex, scope: &ScopePath) -> Option<&mut Cell> {
        match self.state.checks[check.place()].nodes.get_mut(scope) {
            Some(Node::Leaf(cell)) => Some(cell),
            Some(Node::Unexpanded(_) | Node::Group(_) | Node::SkippedGroup(_)) | None => None,
        }
    }

    /// A check's nodes at and below a scope.
    pub(crate) fn nodes_below<'run>(
        &'run self,
        check: CheckIndex,
        scope: &'run ScopePath,
    ) -> impl Iterator<Item = (&'run ScopePath, &'run Node)> {
        self.state.checks[check.place()].nodes.below(scope)
    }

    pub(crate) fn scopes_below(&self, check: CheckIndex, scope: &ScopePath) -> Vec<ScopePath> {
        self.nodes_below(check, scope).map(|(path, _)| path.clone()).collect()
    }

    /// Moves a cell to another phase, with everything that is counted or listed by phase.
    pub(crate) fn set_phase(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        phase: Phase,
    ) -> Result<(), ApplyError> {
        let cell = self.expect_cell_mut(check, scope)?;
        let left = std::mem::replace(&mut cell.phase, phase);
        let (before, after) = (left.usage(), cell.phase.usage());
        let retry = if let Phase::RetryWait { due } = cell.phase { Some(due) } else { None };
        self.count_usage(check, scope, before, after)?;
        let location = Location::new(check, scope.clone());
        match left {
            Phase::RetryWait { due } => drop(self.state.retries.remove(&(due, location.clone()))),
            Phase::Waiting { id, .. } => drop(self.state.waits.remove(&id)),
            Phase::Pending
            | Phase::Running { .. }
            | Phase::Reconciling { .. }
            | Phase::Consulting { .. }
            | Phase::Inspecting { .. }
            | Phase::Answered
            | Phase::Judged { .. }
            | Phase::Due
            | Phase::Settled { .. } => {}
        }
        if let Some(due) = retry {
            self.state.retries.insert((due, location));
        }
        Ok(())
    }

    pub(crate) fn settle(&mut self, check: CheckIndex, scope: &ScopePath) -> Result<(), ApplyError> {
        self.set_phase(check, scope, Phase::Settled { skipped: None })?;
        self.close(check, scope)?;
        for mapped in self.graph.mapped_over(check).to_vec() {
            self.expand(mapped, scope)?;
        }
        Ok(())
    }

    /// Skips a fan-out as a whole, before its items are known.
    pub(crate) fn skip_group(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        reason: SkipReason,
    ) -> Result<(), ApplyError> {
        match self.node(check, scope) {
            Some(Node::Unexpanded(_)) => {}
            Some(Node::Group(_) | Node::SkippedGroup(_) | Node::Leaf(_)) | None => {
                return Err(self.wrong_phase(check, scope));
            }
        }
        self.state.checks[check.place()].nodes.insert(scope.clone(), Node::SkippedGroup(reason));
        if reason == SkipReason::ForEachEmpty {
            self.forget_items_from(check, scope, 0)?;
        }
        self.close(check, scope)
    }

    /// A node has settled: the groups above count it, and what may follow from it is put on the agenda.
    pub(crate) fn close(&mut self, check: CheckIndex, scope: &ScopePath) -> Result<(), ApplyError> {
        let gained = self.node(check, scope).map_or(0, Node::succeeded);
        self.release_capacity(check, scope);
        self.announce(check, scope);
        let mut closing = true;
        for depth in (0..scope.depth()).rev() {
            let above = scope.truncated(depth);
            let Some(Node::Group(group)) = self.state.checks[check.place()].nodes.get_mut(&above) else {
                return Ok(());
            };
            count(&mut group.succeeded, gained, 0, Counter::GroupSucceeded)?;
            group.outputs = Derived::default();
            if closing {
                count(&mut group.open, 0, 1, Counter::GroupOpen)?;
                closing = group.open == 0;
                if closing {
                    self.announce(check, &above);
                }
            }
        }
        Ok(())
    }

    /// Takes a node out of the counts of the groups above it, before it changes.
    pub(crate) fn uncount(&mut self, check: CheckIndex, scope: &ScopePath) -> Result<(), ApplyError> {
        let Some(node) = self.node(check, scope) else { return Ok(()) };
        let (lost, mut opening) = (node.succeeded(), node.is_settled());
        for depth in (0..scope.depth()).rev() {
            let above = scope.truncated(depth);
            let Some(Node::Group(group)) = self.state.checks[check.place()].nodes.get_mut(&above) else {
                return Ok(());
            };
            count(&mut group.succeeded, 0, lost, Counter::GroupSucceeded)?;
            group.outputs = Derived::default();
            if opening {
                opening = group.open == 0;
                count(&mut group.open, 1, 0, Counter::GroupOpen)?;
            }
        }
        Ok(())
    }

    pub(crate) fn forget_outputs(&mut self, check: CheckIndex, scope: &ScopePath) {
        for depth in 0..scope.depth() {
            if let Some(Node::Group(group)) =
                self.state.checks[check.place()].nodes.get_mut(&scope.truncated(depth))
            {
                group.outputs = Derived(OnceCell::new());
            }
        }
    }

    fn announce(&mut self, check: CheckIndex, scope: &ScopePath) {
        let plan = self.plan();
        let undecided = std::mem::take(&mut self.state.agenda.0.undecided);
        self.state.agenda.0.checks.extend(undecided);
        let fan = &plan.check(check).fan;
        for dependent in self.graph.dependents(check).to_vec() {
            let depth = plan.check(dependent).fan.len();
            if depth == scope.depth() {
                self.state.agenda.0.checks.insert(Location::new(dependent, scope.clone()));
            } else if depth > scope.depth() {
                for below in self.scopes_below(dependent, scope) {
                    self.state.agenda.0.checks.insert(Location::new(dependent, below));
                }
            }
        }
        for mapped in self.graph.mapped_over(check).to_vec() {
            self.state.agenda.0.checks.insert(Location::new(mapped, scope.clone()));
        }
        // A group that waits to be routed to may never close, so each of its items wakes the parents.
        let from = if plan.check(check).starts { scope.depth() } else { 0 };
        for depth in from..=scope.depth() {
            let Some(parent) = fan.get(depth) else { continue };
            let location = Location::new(*parent, scope.truncated(depth));
            if self.state.routes.get(&location).is_some_and(|route| route.block == RoutingBlock::Finish) {
                self.state.agenda.0.routes.insert(location);
            }
        }
        self.tell_waiting_routes(check, scope);
    }

    fn tell_waiting_routes(&mut self, check: CheckIndex, scope: &ScopePath) {
        let location = Location::new(check, scope.clone());
        let Some(sources) = self.state.awaited.remove(&location) else { return };
        let failures = &self.state.checks[check.place()].failures;
        let failure = failures.range((Bound::Included(scope), Bound::Unbounded)).next();
        let skipped = self.cell(check, scope).is_some_and(|cell| cell.skipped().is_some());
        let failed = !skipped && failure.is_some_and(|(path, _)| path.starts_with(scope));
        for source in sources {
            if let Some(route) = self.state.routes.get_mut(&source) {
                route.awaiting.remove(&location);
                route.target_failed |= failed;
                self.state.agenda.0.routes.insert(source);
            }
        }
    }

    /// How many items a settled `forEach` check gave. One that failed gives items only if `continue_on_failure` is set
    /// and its output is an array.
    pub(crate) fn items_given(&self, parent: CheckIndex, scope: &ScopePath) -> Option<usize> {
        let cell = self.cell(parent, scope)?;
        let items = cell.answer.as_ref().and_then(|answer| answer.output.as_array()).map(Vec::len);
        if cell.has_succeeded() {
            return Some(items.unwrap_or(0));
        }
        let failed = cell.has_settled_with(Verdict::Failed);
        let let_through = failed && self.state.plan.check(parent).continue_on_failure;
        items.filter(|items| let_through && *items <= ITEMS_MAX)
    }

    /// Opens the items of a mapped check once its parent's array is known. An empty array opens nothing:
    /// the group is then skipped, which is a decision and has its own entry.
    pub(crate) fn expand(&mut self, mapped: CheckIndex, scope: &ScopePath) -> Result<(), ApplyError> {
        let plan = self.plan();
        let spec = plan.check(mapped);
        let Some(parent) = spec.fan.get(scope.depth()).copied() else { return Ok(()) };
        let Some(Node::Unexpanded(activation)) = self.node(mapped, scope) else { return Ok(()) };
        let Some(items) = self.items_given(parent, scope) else { return Ok(()) };
        let Some(cell) = self.cell(parent, scope) else { return Ok(()) };
        let mut activation = activation.clone();
        activation.event = activation.event.or_else(|| cell.activation.event.clone());
        let total = u32::try_from(items).unwrap_or(0);
        if total == 0 {
            return Ok(());
        }
        self.forget_items_from(mapped, scope, total)?;
        let leaf = spec.fan.len() == scope.depth() + 1;
        let mut confirmed = BTreeMap::new();
        if leaf && !self.state.checks[mapped.place()].confirmed_effects.is_empty() {
            for index in 0..total {
                let child = scope.child(index);
                if let Some(cell) = self.take_confirmed_cell(mapped, &child, &activation) {
                    confirmed.insert(index, cell);
                }
            }
        }
        // An item that is gone may be any of the new ones, with another value.
        let suspects = if leaf && self.has_lost_an_item(mapped) {
            self.items_without_effect(mapped, scope, total)
        } else {
            BTreeSet::new()
        };
        let state = &mut self.state.checks[mapped.place()];
        state.nodes.insert(scope.clone(), Node::Group(Group { total, open: total, ..Group::default() }));
        for index in 0..total {
            let child = scope.child(index);
            let node = if let Some(cell) = confirmed.get(&index) {
                Node::Leaf(cell.clone())
            } else if leaf {
                let last_result = state.last_results.remove(&child).unwrap_or_default();
                let is_suspect = suspects.contains(&index);
                let certainty = if is_suspect { Certainty::Suspected } else { Certainty::Known };
                Node::Leaf(Cell { activation: activation.clone(), last_result, certainty, ..Cell::default() })
            } else {
                Node::Unexpanded(activation.clone())
            };
            state.nodes.insert(child.clone(), node);
            self.state.agenda.0.checks.insert(Location::new(mapped, child));
        }
        for index in confirmed.into_keys() {
            self.settle(mapped, &scope.child(index))?;
        }
        Ok(())
    }

    /// A new pass has fewer items: those that are gone no longer count as failed or violated, and what they verified is
    /// no longer expected.
    fn forget_items_from(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        from: u32,
    ) -> Result<(), ApplyError> {
        let gone = |path: &ScopePath| {
            path.starts_with(scope) && path.indices().get(scope.depth()).is_some_and(|index| *index >= from)
        };
        let state = &mut self.state.checks[check.place()];
        state.last_results.retain(|path, _| !gone(path));
        state.failures.retain(|path, _| !gone(path));
        state.verified.retain(|path, _| !gone(path));
        let before = state.violations.len();
        state.violations.retain(|path| !gone(path));
        let dropped = u32::try_from(before - state.violations.len()).expect("a fan-out has few items");
        self.count_violations(0, dropped)
    }

    pub(crate) fn forget_route(&mut self, check: CheckIndex, scope: &ScopePath) {
        let location = Location::new(check, scope.clone());
        let Some(route) = self.state.routes.remove(&location) else { return };
        for target in route.awaiting {
            if let Some(sources) = self.state.awaited.get_mut(&target) {
                sources.remove(&location);
                if sources.is_empty() {
                    self.state.awaited.remove(&target);
                }
            }
        }
    }

    /// The outputs below a group as one array, aligned by index, null where there is none.
    pub(crate) fn outputs_below(&self, check: CheckIndex, scope: &ScopePath) -> Option<&Value> {
        match self.node(check, scope)? {
            Node::Leaf(cell) => cell.answer.as_ref().map(|answer| &answer.output),
            Node::Group(group) => Some(group.outputs.0.get_or_init(|| {
                let items = (0..group.total).map(|index| {
                    self.outputs_below(check, &scope.child(index)).cloned().unwrap_or(Value::Null)
                });
                Value::Array(items.collect())
            })),
            Node::SkippedGroup(SkipReason::ForEachEmpty) => Some(empty_array()),
            Node::Unexpanded(_) | Node::SkippedGroup(_) => None,
        }
    }

    /// After a replay the agenda is not known, so everything is on it.
    pub(crate) fn put_everything_on_the_agenda(&mut self) {
        let agenda = &mut self.state.agenda.0;
        agenda.ready.clear();
        agenda.parked.clear();
        agenda.freed.clear();
        agenda.undecided.clear();
        agenda.routes = self.state.routes.keys().cloned().collect::<BTreeSet<_>>();
        for (position, check) in self.state.checks.iter().enumerate() {
            for (scope, node) in check.nodes.iter() {
                if !node.is_settled() {
                    agenda.checks.insert(Location::new(CheckIndex::at(position), scope.clone()));
                }
            }
        }
    }
}

fn empty_array() -> &'static Value {
    static EMPTY: Value = Value::Array(Vec::new());
    &EMPTY
}
