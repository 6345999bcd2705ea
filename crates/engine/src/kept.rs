//! Confirmed effects of items, kept while the list of the items is made again because something else failed.
//!
//! ```text
//!   confirmed for {id: 7} ──list again──▶ {id: 7}, wherever it is: stays confirmed
//!                                    └──▶ something else in its place: nobody knows, somebody is asked
//! ```
//!
//! **Invariant:** an effect that is confirmed for an item is not repeated for an equal one. Items are told apart by
//! their values, because a list that is made again may have another order.

use std::collections::BTreeSet;

use escrow_model::{CheckIndex, Criticality, ScopePath};
use serde_json::Value;

use crate::run::Run;
use crate::state::{Calling, Cell, Kept, Node, Phase};

impl Run {
    /// Whether a check changed the world there, and that is certain.
    pub(crate) fn is_confirmed(&self, check: CheckIndex, scope: &ScopePath) -> bool {
        self.state.plan.check(check).criticality == Criticality::External
            && self.cell(check, scope).is_some_and(Cell::has_succeeded)
    }

    /// The confirmed effects of items, before anything is opened again.
    pub(crate) fn confirmed_items(&self, checks: &BTreeSet<CheckIndex>) -> Vec<(CheckIndex, Kept)> {
        let mut all = Vec::new();
        for check in checks {
            if self.state.plan.check(*check).fan.is_empty() {
                continue;
            }
            for (scope, node) in self.state.checks[check.place()].nodes.iter() {
                if let (Node::Leaf(cell), true) = (node, self.is_confirmed(*check, scope))
                    && let Some(items) = self.items_toward(*check, scope)
                {
                    all.push((*check, Kept { scope: scope.clone(), items, cell: cell.clone() }));
                }
            }
        }
        all
    }

    /// Remembers those whose place is gone.
    pub(crate) fn keep(&mut self, confirmed: Vec<(CheckIndex, Kept)>) {
        for (check, kept) in confirmed {
            if self.cell(check, &kept.scope).is_none() {
                self.state.checks[check.place()].kept.push(kept);
            }
        }
    }

    /// The confirmed cell of an equal item, if there is one: it is taken, and stands for this item now.
    pub(crate) fn cell_for_item(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        calling: &Calling,
    ) -> Option<Cell> {
        if self.state.checks[check.place()].kept.is_empty() {
            return None;
        }
        let items = self.items_toward(check, scope)?;
        let kept = &mut self.state.checks[check.place()].kept;
        // Of equal items, the one that was here.
        let here = kept.iter().position(|one| one.items == items && one.scope == *scope);
        let found = here.or_else(|| kept.iter().position(|one| one.items == items))?;
        let Kept { cell, .. } = kept.remove(found);
        Some(Cell { phase: Phase::Pending, calling: calling.clone(), ..cell })
    }

    /// The items that a scope stands for, outermost first.
    fn items_toward(&self, check: CheckIndex, scope: &ScopePath) -> Option<Vec<Value>> {
        let fan = &self.state.plan.check(check).fan;
        let items = fan.iter().zip(scope.indices()).enumerate().map(|(depth, (parent, index))| {
            let answer = self.cell(*parent, &scope.truncated(depth))?.answer.as_ref()?;
            answer.output.get(usize::try_from(*index).ok()?).cloned()
        });
        items.collect()
    }
}
