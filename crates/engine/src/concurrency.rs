//! Limits on concurrent attempts: slots for the whole run, `concurrency` for the items of a `forEach` check.
//!
//! A group is a location whose items are counted together: a `forEach` check in its scope, and each mapped check above
//! its items. Items of an external check run one at a time unless `concurrency` allows more.

use escrow_model::{CheckIndex, Criticality, ScopePath};

use crate::location::Location;
use crate::run::Run;

impl Run {
    pub(crate) fn has_slot(&self) -> bool {
        let asked = self.state.options.parallelism.max(1);
        let limit = self.state.plan.max_parallelism.map_or(asked, |limit| asked.min(limit.max(1)));
        self.state.slots_used < limit
    }

    /// The groups that an item counts against.
    pub(crate) fn groups_of(&self, check: CheckIndex, scope: &ScopePath) -> [Option<Location>; 2] {
        let spec = self.state.plan.check(check);
        let (Some(parent), Some(above)) = (spec.fan.last().copied(), scope.parent()) else {
            return [None, None];
        };
        if scope.depth() < spec.fan.len() {
            return [None, None];
        }
        let parent_limit = self.state.plan.check(parent).concurrency;
        let by_parent = parent_limit.is_some().then(|| Location::new(parent, above.clone()));
        let one_by_one = parent_limit.is_none() && spec.criticality == Criticality::External;
        [by_parent, one_by_one.then(|| Location::new(check, above))]
    }

    pub(crate) fn has_capacity(&self, group: &Location) -> bool {
        self.capacity(group) > 0
    }

    fn capacity(&self, group: &Location) -> u32 {
        let spec = self.state.plan.check(group.check);
        let is_parent = group.scope.depth() == spec.fan.len();
        let limit = if is_parent { spec.concurrency.unwrap_or(u32::MAX) } else { 1 };
        limit.saturating_sub(self.state.in_flight.get(group).copied().unwrap_or(0))
    }

    /// An item has released its capacity, or does not use it.
    pub(crate) fn release_capacity(&mut self, check: CheckIndex, scope: &ScopePath) {
        for group in self.groups_of(check, scope).into_iter().flatten() {
            self.state.agenda.0.freed.insert(group);
        }
    }

    pub(crate) fn has_freed_capacity(&self) -> bool {
        !self.state.agenda.0.freed.is_empty()
    }

    /// Puts as many parked items of a freed group on the agenda as it has capacity for.
    pub(crate) fn wake_parked(&mut self) {
        let Some(group) = self.state.agenda.0.freed.pop_first() else { return };
        let room = self.capacity(&group);
        let agenda = &mut self.state.agenda.0;
        let Some(parked) = agenda.parked.get_mut(&group) else { return };
        for _ in 0..room {
            let Some(location) = parked.pop_first() else { break };
            agenda.checks.insert(location);
        }
    }
}
