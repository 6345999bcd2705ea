//! Applies routing: the open block of each check, and what it waits for.

use escrow_model::{CheckIndex, RoutedBy, RoutingBlock, ScopePath, Verdict};

use crate::ai::repairs_of;
use crate::apply_error::ApplyError;
use crate::location::Location;
use crate::phase::Phase;
use crate::run::Run;
use crate::state::Route;

impl Run {
    /// The first routing block that has something to do, if any.
    pub(super) fn open_route(&mut self, check: CheckIndex, scope: &ScopePath, verdict: Verdict) {
        let plan = self.plan();
        let spec = plan.check(check);
        let block = match verdict {
            Verdict::Succeeded if !spec.on_success.is_empty() => Some(RoutingBlock::Success),
            Verdict::Failed if !spec.on_fail.is_empty() || spec.retry.is_some() || repairs_of(spec) > 0 => {
                Some(RoutingBlock::Fail)
            }
            Verdict::Succeeded | Verdict::Failed if !spec.on_finish.is_empty() => Some(RoutingBlock::Finish),
            Verdict::Succeeded | Verdict::Failed => None,
        };
        if let Some(block) = block {
            self.insert_route(check, scope, block);
        }
    }

    pub(super) fn insert_route(&mut self, check: CheckIndex, scope: &ScopePath, block: RoutingBlock) {
        // The block before it is over, and no longer waits for its targets.
        self.forget_route(check, scope);
        let location = Location::new(check, scope.clone());
        self.state.agenda.0.routes.insert(location.clone());
        self.state.routes.insert(location, Route::new(block));
    }

    pub(super) fn routing_done(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        block: RoutingBlock,
    ) -> Result<(), ApplyError> {
        let route = self.state.routes.get(&Location::new(check, scope.clone()));
        if route.is_none_or(|route| route.block != block) {
            return Err(ApplyError::NoRoute(self.named(check, scope)));
        }
        self.forget_route(check, scope);
        let plan = self.plan();
        let spec = plan.check(check);
        let finish = block != RoutingBlock::Finish && !spec.on_finish.is_empty();
        if finish && !self.state.admission.is_stopping() {
            self.insert_route(check, scope, RoutingBlock::Finish);
        }
        // A `forEach` check settles before its `on_finish`, or its items could never run. Others do, unless it
        // may send the run back to them.
        let judged = self.cell(check, scope).is_some_and(|cell| matches!(cell.phase, Phase::Judged { .. }));
        if judged && (!finish || spec.for_each || !self.graph.may_loop(check, RoutingBlock::Finish)) {
            self.settle(check, scope)?;
        }
        if spec.for_each && block == RoutingBlock::Finish {
            self.release_outside(check, scope);
        }
        Ok(())
    }

    /// Checks outside the items of a `forEach` check waited for its `on_finish`. They may start now.
    fn release_outside(&mut self, parent: CheckIndex, scope: &ScopePath) {
        let plan = self.plan();
        let inside = |check: &CheckIndex| *check == parent || plan.check(*check).fan.contains(&parent);
        for dependency in plan.indices().filter(inside) {
            for held in self.graph.dependents(dependency).to_vec() {
                let above = scope.truncated(plan.check(held).fan.len());
                for below in self.scopes_below(held, &above) {
                    self.state.agenda.0.checks.insert(Location::new(held, below));
                }
            }
        }
    }

    pub(super) fn note_run_target(&mut self, source: Location, by: RoutedBy, target: Location) {
        // A source that its own target re-decides has no route any more: it starts afresh.
        let Some(route) = self.state.routes.get_mut(&source) else { return };
        match by {
            RoutedBy::Run => route.ran = true,
            RoutedBy::RunJs => route.ran_js = true,
            RoutedBy::Transition | RoutedBy::GotoJs | RoutedBy::Goto => return,
        }
        route.awaiting.insert(target.clone());
        self.state.awaited.entry(target).or_default().insert(source);
    }
}
