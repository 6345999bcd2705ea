//! What a run counts, and the check that the counts are right.
//!
//! **Invariant:** every count follows from the phases and nodes of the run. Counts are kept because questions about
//! a fan-out of thousands of items must not cost thousands of steps; `broken_invariant` works them out again.

use std::collections::{BTreeMap, BTreeSet};

use escrow_model::{CheckIndex, ScopePath};

use crate::apply_error::{ApplyError, Counter};
use crate::location::Location;
use crate::phase::{Phase, Usage};
use crate::run::Run;
use crate::state::Node;

/// Adds to a count and takes from it, within its range.
pub(crate) fn count(counted: &mut u32, more: u32, fewer: u32, which: Counter) -> Result<(), ApplyError> {
    let sum = counted.checked_add(more).and_then(|sum| sum.checked_sub(fewer));
    *counted = sum.ok_or(ApplyError::Counter(which))?;
    Ok(())
}

impl Run {
    /// Counts what a cell takes up after a change of phase instead of what it took up before.
    pub(crate) fn count_usage(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        before: Usage,
        after: Usage,
    ) -> Result<(), ApplyError> {
        let state = &mut self.state;
        count(&mut state.busy, u32::from(after.busy), u32::from(before.busy), Counter::Busy)?;
        count(&mut state.slots_used, u32::from(after.slot), u32::from(before.slot), Counter::Slots)?;
        if before.in_flight == after.in_flight {
            return Ok(());
        }
        for group in self.groups_of(check, scope).into_iter().flatten() {
            let mut in_flight = self.state.in_flight.get(&group).copied().unwrap_or(0);
            let (more, fewer) = (u32::from(after.in_flight), u32::from(before.in_flight));
            count(&mut in_flight, more, fewer, Counter::InFlight)?;
            if in_flight == 0 {
                self.state.in_flight.remove(&group);
            } else {
                self.state.in_flight.insert(group, in_flight);
            }
        }
        Ok(())
    }

    pub(crate) fn count_violations(&mut self, more: u32, fewer: u32) -> Result<(), ApplyError> {
        count(&mut self.state.violations, more, fewer, Counter::Violations)
    }

    /// What is wrong with the accounting of this run, if anything is. Costs as much as the run is large, so tests
    /// ask for it after every entry and nothing else does.
    pub fn broken_invariant(&self) -> Option<String> {
        self.broken_count().or_else(|| self.broken_group()).or_else(|| self.broken_list())
    }

    fn broken_count(&self) -> Option<String> {
        let (mut busy, mut slots, mut violations) = (0, 0, 0);
        let mut in_flight: BTreeMap<Location, u32> = BTreeMap::new();
        for (location, phase) in self.phases() {
            let usage = phase.usage();
            busy += u32::from(usage.busy);
            slots += u32::from(usage.slot);
            if usage.in_flight {
                for group in self.groups_of(location.check, &location.scope).into_iter().flatten() {
                    *in_flight.entry(group).or_default() += 1;
                }
            }
        }
        for check in &self.state.checks {
            violations += check.violations.len();
        }
        let state = &self.state;
        let checks = [
            ("busy cells", state.busy == busy),
            ("slots in use", state.slots_used == slots),
            ("items in flight", state.in_flight == in_flight),
            ("broken contracts", usize::try_from(state.violations).is_ok_and(|kept| kept == violations)),
        ];
        checks.into_iter().find(|(_, right)| !right).map(|(what, _)| format!("the count of {what} is wrong"))
    }

    fn broken_group(&self) -> Option<String> {
        for check in self.state.plan.indices() {
            for (scope, node) in self.state.checks[check.place()].nodes.iter() {
                let Node::Group(group) = node else { continue };
                let children: Vec<&Node> =
                    (0..group.total).filter_map(|index| self.node(check, &scope.child(index))).collect();
                let open = children.iter().filter(|child| !child.is_settled()).count();
                let succeeded: u32 = children.iter().map(|child| child.succeeded()).sum();
                let whole = usize::try_from(group.total).is_ok_and(|total| total == children.len());
                let right_open = usize::try_from(group.open).is_ok_and(|kept| kept == open);
                if !whole || !right_open || group.succeeded != succeeded {
                    return Some(format!("the counts of the group `{}` are wrong", self.named(check, scope)));
                }
            }
        }
        None
    }

    /// Retries, waits and routes are listed by what they belong to, and by nothing else.
    fn broken_list(&self) -> Option<String> {
        let mut retries = BTreeSet::new();
        let mut waits = BTreeMap::new();
        for (location, phase) in self.phases() {
            match phase {
                Phase::RetryWait { due } => drop(retries.insert((*due, location))),
                Phase::Waiting { id, .. } => drop(waits.insert(id.as_str(), location)),
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
        }
        if self.state.retries != retries {
            return Some("the list of retries is wrong".into());
        }
        let listed = self.state.waits.iter().map(|(id, wait)| (id.as_str(), wait.location.clone()));
        if listed.collect::<BTreeMap<_, _>>() != waits {
            return Some("the list of waits is wrong".into());
        }
        let mut awaited: BTreeMap<Location, BTreeSet<Location>> = BTreeMap::new();
        for (source, route) in &self.state.routes {
            for target in &route.awaiting {
                awaited.entry(target.clone()).or_default().insert(source.clone());
            }
        }
        (self.state.awaited != awaited).then(|| "the list of awaited routing targets is wrong".into())
    }

    fn phases(&self) -> impl Iterator<Item = (Location, &Phase)> {
        self.state.plan.indices().flat_map(|check| {
            let nodes = self.state.checks[check.place()].nodes.iter();
            nodes.filter_map(move |(scope, node)| {
                Some((Location::new(check, scope.clone()), &node.cell()?.phase))
            })
        })
    }
}
