//! Scopes whose loop budget is spent: what runs there finishes, and nothing new starts.

use escrow_model::{CheckIndex, ScopePath};

use crate::location::Location;
use crate::run::Run;
use crate::state::Region;

impl Run {
    /// The scope of a check, distinguished from equal paths through other lists.
    pub(crate) fn region(&self, check: CheckIndex, scope: &ScopePath) -> Region {
        let fan = &self.state.plan.check(check).fan;
        let parent = scope.depth().checked_sub(1).and_then(|depth| fan.get(depth)).copied();
        (parent, scope.clone())
    }

    pub(crate) fn is_halted(&self, check: CheckIndex, scope: &ScopePath) -> bool {
        let halted = &self.state.halted;
        !halted.is_empty()
            && (0..=scope.depth()).any(|depth| halted.contains(&self.region(check, &scope.truncated(depth))))
    }

    /// Puts everything inside on the agenda, so that a live run and a replayed one skip the same checks.
    pub(crate) fn halt(&mut self, target: CheckIndex, scope: &ScopePath) {
        let region = self.region(target, scope);
        let inside = match region.0 {
            Some(parent) => self.graph.mapped_over(parent).to_vec(),
            None => self.plan().indices().collect(),
        };
        self.state.halted.insert(region);
        for check in inside {
            for below in self.scopes_below(check, scope) {
                if self.node(check, &below).is_some_and(|node| !node.is_settled()) {
                    self.state.agenda.0.checks.insert(Location::new(check, below));
                }
            }
        }
    }
}
