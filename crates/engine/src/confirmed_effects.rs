//! Confirmed effects of items, while their list is computed again because something else failed.
//!
//! ```text
//!   confirmed for {id: 7} ──list again──▶ {id: 7}, at any index: stays confirmed
//!                                    └──▶ no equal item: each new item is suspected, a person is asked
//! ```
//!
//! **Invariant:** an effect that is confirmed for an item is not repeated for an equal one. Items are identified by
//! their values, because the new list may have another order.

use std::collections::BTreeSet;

use escrow_model::{CheckIndex, Criticality, ScopePath};

use crate::phase::Phase;
use crate::run::Run;
use crate::state::{Activation, Cell, ConfirmedEffect, Node};

impl Run {
    /// Whether an external check succeeded at this scope.
    pub(crate) fn is_confirmed(&self, check: CheckIndex, scope: &ScopePath) -> bool {
        self.state.plan.check(check).criticality == Criticality::External
            && self.cell(check, scope).is_some_and(Cell::has_succeeded)
    }

    /// The confirmed effects of items, before their lists are invalidated.
    pub(crate) fn confirmed_items(
        &self,
        checks: &BTreeSet<CheckIndex>,
    ) -> Vec<(CheckIndex, ConfirmedEffect)> {
        let mut all = Vec::new();
        for check in checks {
            if self.state.plan.check(*check).fan.is_empty() {
                continue;
            }
            for (scope, node) in self.state.checks[check.place()].nodes.iter() {
                if let (Node::Leaf(cell), true) = (node, self.is_confirmed(*check, scope))
                    && let Some(items) = self.item_values(*check, scope)
                {
                    all.push((*check, ConfirmedEffect { scope: scope.clone(), items, cell: cell.clone() }));
                }
            }
        }
        all
    }

    /// Remembers the effects whose scope is gone.
    pub(crate) fn remember_confirmed(&mut self, confirmed: Vec<(CheckIndex, ConfirmedEffect)>) {
        for (check, effect) in confirmed {
            if self.cell(check, &effect.scope).is_none() {
                self.state.checks[check.place()].confirmed_effects.push(effect);
            }
        }
    }

    /// Takes the confirmed cell of an equal item, if there is one, for the item at this scope.
    pub(crate) fn take_confirmed_cell(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        activation: &Activation,
    ) -> Option<Cell> {
        if self.state.checks[check.place()].confirmed_effects.is_empty() {
            return None;
        }
        let items = self.item_values(check, scope)?;
        let effects = &mut self.state.checks[check.place()].confirmed_effects;
        // Of several equal items, prefer the one at the same scope.
        let here = effects.iter().position(|one| one.items == items && one.scope == *scope);
        let found = here.or_else(|| effects.iter().position(|one| one.items == items))?;
        let ConfirmedEffect { cell, .. } = effects.remove(found);
        Some(Cell { phase: Phase::Pending, activation: activation.clone(), ..cell })
    }
}
