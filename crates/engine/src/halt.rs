//! Scopes whose loop budget is spent: what runs there or is ready to start finishes, and nothing else starts.
//!
//! Whether a ready check has started by then depends on free slots, and on whether the loop runs in this process or
//! in others. What is ready is therefore treated as what runs.

use escrow_model::{CheckIndex, ScopePath};

use crate::gate::Gate;
use crate::location::Location;
use crate::phase::Phase;
use crate::run::Run;
use crate::state::{Cell, Region};

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
        let mut ready = Vec::new();
        for check in inside {
            for below in self.scopes_below(check, scope) {
                if self.node(check, &below).is_some_and(|node| !node.is_settled()) {
                    let location = Location::new(check, below);
                    if self.is_ready(&location) {
                        ready.push(location.clone());
                    }
                    self.state.agenda.0.checks.insert(location);
                }
            }
        }
        for Location { check, scope } in ready {
            if let Some(cell) = self.cell_mut(check, &scope) {
                cell.was_ready_at_halt = true;
            }
        }
        self.state.halted.insert(region);
    }

    /// Whether nothing but a slot keeps a check from being decided.
    fn is_ready(&self, Location { check, scope }: &Location) -> bool {
        let is_pending = |cell: &&Cell| matches!(cell.phase, Phase::Pending) && cell.activation.activated;
        let Some(cell) = self.cell(*check, scope).filter(is_pending) else { return false };
        !self.is_halted(*check, scope) && self.gate(*check, scope, Some(cell)) == Gate::Open
    }
}
