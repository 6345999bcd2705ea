//! Room for attempts: slots for all of them, `concurrency` for the items of a `forEach` check.
//!
//! A group is a place whose items are counted together: the `forEach` check in its scope, and each mapped
//! check above its items (external ones go one at a time unless told otherwise).

use escrow_model::{CheckIndex, Criticality, ScopePath};

use crate::run::Run;
use crate::state::Place;

impl Run {
    pub(crate) fn has_slot(&self) -> bool {
        let asked = self.state.options.parallelism.max(1);
        let limit = self.state.plan.max_parallelism.map_or(asked, |limit| asked.min(limit.max(1)));
        self.state.slots_used < limit
    }

    /// The groups that an item counts against.
    pub(crate) fn groups_of(&self, check: CheckIndex, scope: &ScopePath) -> [Option<Place>; 2] {
        let spec = self.state.plan.check(check);
        let (Some(parent), Some(above)) = (spec.fan.last().copied(), scope.parent()) else {
            return [None, None];
        };
        if scope.depth() < spec.fan.len() {
            return [None, None];
        }
        let parent_limit = self.state.plan.check(parent).concurrency;
        let by_parent = parent_limit.is_some().then(|| (parent, above.clone()));
        let one_by_one = parent_limit.is_none() && spec.criticality == Criticality::External;
        [by_parent, one_by_one.then_some((check, above))]
    }

    pub(crate) fn has_room(&self, group: &Place) -> bool {
        let used = self.state.in_flight.get(group).copied().unwrap_or(0);
        let spec = self.state.plan.check(group.0);
        let is_parent = group.1.depth() == spec.fan.len();
        used < if is_parent { spec.concurrency.unwrap_or(u32::MAX) } else { 1 }
    }

    /// The next item that waited for room in its group, now that there is some.
    pub(crate) fn next_parked(&mut self) -> Option<Place> {
        while let Some(group) = self.state.agenda.0.freed.first().cloned() {
            if self.has_room(&group)
                && let Some(place) =
                    self.state.agenda.0.parked.get_mut(&group).and_then(|all| all.pop_first())
            {
                return Some(place);
            }
            self.state.agenda.0.freed.remove(&group);
        }
        None
    }
}
