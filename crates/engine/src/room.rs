//! Room for attempts: slots for all of them, `concurrency` for the items of a `forEach` check.
//!
//! A group is a place whose items are counted together: the `forEach` check in its scope, and each mapped
//! check above its items (external ones go one at a time unless told otherwise).

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

    pub(crate) fn has_room(&self, group: &Location) -> bool {
        self.room(group) > 0
    }

    fn room(&self, group: &Location) -> u32 {
        let spec = self.state.plan.check(group.check);
        let is_parent = group.scope.depth() == spec.fan.len();
        let limit = if is_parent { spec.concurrency.unwrap_or(u32::MAX) } else { 1 };
        limit.saturating_sub(self.state.in_flight.get(group).copied().unwrap_or(0))
    }

    /// An item gave its room up, or did not take it.
    pub(crate) fn leave_room(&mut self, check: CheckIndex, scope: &ScopePath) {
        for group in self.groups_of(check, scope).into_iter().flatten() {
            self.state.agenda.0.freed.insert(group);
        }
    }

    pub(crate) fn has_freed_room(&self) -> bool {
        !self.state.agenda.0.freed.is_empty()
    }

    /// Looks again at as many items as there is room for in a group.
    pub(crate) fn call_parked(&mut self) {
        let Some(group) = self.state.agenda.0.freed.pop_first() else { return };
        let room = self.room(&group);
        let agenda = &mut self.state.agenda.0;
        let Some(parked) = agenda.parked.get_mut(&group) else { return };
        for _ in 0..room {
            let Some(location) = parked.pop_first() else { break };
            agenda.checks.insert(location);
        }
    }
}
