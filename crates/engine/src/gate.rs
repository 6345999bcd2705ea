//! Whether a check may go on: its dependencies, the contracts behind it, loops that are still open.

use std::collections::BTreeSet;

use escrow_model::{CheckIndex, Criticality, ScopePath, SkipReason};

use crate::graph::{BlockName, scope_toward};
use crate::run::Run;
use crate::state::{Cell, Node};

/// What the dependencies of a check say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Gate {
    /// Something has not settled.
    Wait,
    Open,
    /// A dependency failed or was skipped, and nothing makes up for it.
    Shut(CheckIndex),
}

/// How one dependency stands, seen from a scope.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Open,
    Satisfied,
    Unsatisfied,
}

impl Run {
    pub(crate) fn gate(&self, check: CheckIndex, scope: &ScopePath, cell: Option<&Cell>) -> Gate {
        let plan = &self.state.plan;
        let spec = plan.check(check);
        let mut shut = None;
        for need in &spec.needs {
            let mut open = false;
            let mut satisfied = false;
            for dependency in &need.any_of {
                match self.standing(check, scope, *dependency, cell) {
                    Standing::Open => open = true,
                    Standing::Satisfied => satisfied = true,
                    Standing::Unsatisfied => {}
                }
            }
            if satisfied {
                continue;
            }
            if open {
                return Gate::Wait;
            }
            shut = shut.or(need.any_of.first().copied());
        }
        for dependency in &spec.after {
            let toward = scope_toward(&spec.fan, scope, &plan.check(*dependency).fan);
            if !self.node(*dependency, &toward).is_some_and(Node::is_settled) {
                return Gate::Wait;
            }
        }
        shut.map_or(Gate::Open, Gate::Shut)
    }

    fn standing(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        dependency: CheckIndex,
        cell: Option<&Cell>,
    ) -> Standing {
        let plan = &self.state.plan;
        let spec = plan.check(dependency);
        let toward = scope_toward(&plan.check(check).fan, scope, &spec.fan);
        // A route to a check from something it depends on satisfies that dependency.
        if let Some((source, at)) = cell.and_then(|cell| cell.routed_from.as_ref())
            && *source == dependency
            && at.touches(&toward)
        {
            return Standing::Satisfied;
        }
        let Some(node) = self.node(dependency, &toward) else { return Standing::Open };
        if !node.is_settled() || self.is_held(check, dependency, &toward) {
            return Standing::Open;
        }
        let satisfied = spec.continue_on_failure
            || match node {
                Node::Leaf(cell) => cell.has_succeeded(),
                Node::Group(group) => group.succeeded > 0,
                Node::SkippedGroup(reason) => *reason == SkipReason::ForEachEmpty,
                Node::Unexpanded => false,
            };
        if satisfied { Standing::Satisfied } else { Standing::Unsatisfied }
    }

    /// The `on_finish` of a `forEach` check may send the run back, so what stands outside its items waits.
    fn is_held(&self, check: CheckIndex, dependency: CheckIndex, toward: &ScopePath) -> bool {
        if self.state.routes.is_empty() {
            return false;
        }
        let plan = &self.state.plan;
        let fan = &plan.check(dependency).fan;
        let parents = fan.iter().copied().chain(plan.check(dependency).for_each.then_some(dependency));
        parents.into_iter().any(|parent| {
            if plan.check(check).fan.contains(&parent) || !self.graph.may_loop(parent, BlockName::Finish) {
                return false;
            }
            let at = toward.truncated(plan.check(parent).fan.len());
            self.state.routes.get(&(parent, at)).is_some_and(|route| route.block == BlockName::Finish)
        })
    }

    /// A check with an unremedied violation that this one depends on, directly or not: an external check
    /// must not act on it. Alternatives that were not needed do not count; the source of a route does.
    pub(crate) fn blocking_violation(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        cell: Option<&Cell>,
    ) -> Option<CheckIndex> {
        let plan = &self.state.plan;
        if plan.check(check).criticality != Criticality::External
            || self.state.checks.iter().all(|state| state.violations.is_empty())
        {
            return None;
        }
        let mut seen = BTreeSet::from([check]);
        let mut open: Vec<(CheckIndex, ScopePath)> = vec![(check, scope.clone())];
        if let Some((source, at)) = cell.and_then(|cell| cell.routed_from.clone())
            && seen.insert(source)
        {
            open.push((source, at));
        }
        while let Some((at_check, at_scope)) = open.pop() {
            let violated = &self.state.checks[at_check.place()].violations;
            if at_check != check && violated.iter().any(|violation| violation.touches(&at_scope)) {
                return Some(at_check);
            }
            let spec = plan.check(at_check);
            let this = self.cell(at_check, &at_scope);
            for need in &spec.needs {
                let used = need.any_of.iter().copied().filter(|dependency| {
                    need.any_of.len() == 1
                        || self.standing(at_check, &at_scope, *dependency, this) == Standing::Satisfied
                });
                // When no alternative satisfies, each of them stands in the way.
                let mut used: Vec<CheckIndex> = used.collect();
                if used.is_empty() {
                    used.clone_from(&need.any_of);
                }
                for dependency in used {
                    if seen.insert(dependency) {
                        let toward = scope_toward(&spec.fan, &at_scope, &plan.check(dependency).fan);
                        open.push((dependency, toward));
                    }
                }
            }
            if let Some((source, from)) = this.and_then(|cell| cell.routed_from.clone())
                && seen.insert(source)
            {
                open.push((source, from));
            }
        }
        None
    }
}
