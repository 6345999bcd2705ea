//! What a skip means for the run: the check was not needed, or something held it back.
//!
//! **Invariant:** a check that is skipped behind another has that one's meaning, however many checks lie in between.

use std::collections::{BTreeMap, BTreeSet};

use escrow_model::{CheckIndex, Evidence, IssueCode, ProviderName, ReasonCode, ScopePath, SkipReason};

use crate::graph::scope_toward;
use crate::location::Location;
use crate::run::Run;
use crate::state::Node;

/// The meaning of a skip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SkipMeaning {
    /// Filtered, or its `if` was false: there was nothing to do.
    NotNeeded,
    /// It follows from the flow of the run: an empty list, no route to it, the end of the run.
    Flow,
    /// It could not be decided, or stands behind a check that failed.
    Undecided,
    /// An `assume`, a contract or `--safe-mode` kept it from happening.
    HeldBack,
}

impl Run {
    /// Whether a settled check was not needed, and nothing else: dependents of `continue_on_skip` may then start.
    pub(crate) fn was_not_needed(&self, check: CheckIndex, scope: &ScopePath) -> bool {
        let not_needed = |reason: SkipReason| meaning_of(reason) == Some(SkipMeaning::NotNeeded);
        match self.nearest_node(check, scope) {
            Some(Node::Leaf(cell)) => {
                cell.skipped().is_some_and(not_needed) && !self.has_expression_error(check, scope)
            }
            Some(Node::SkippedGroup(reason)) => not_needed(*reason),
            Some(Node::Group(group)) => {
                group.total > 0
                    && (0..group.total).all(|index| self.was_not_needed(check, &scope.child(index)))
            }
            Some(Node::Unexpanded(_)) | None => false,
        }
    }

    /// Whether every skip of this run says that there was nothing to do: a run that did nothing is then as asked.
    pub(crate) fn is_nothing_needed(&self) -> bool {
        self.skips().values().all(|meaning| match meaning {
            SkipMeaning::NotNeeded => true,
            SkipMeaning::Flow | SkipMeaning::Undecided | SkipMeaning::HeldBack => false,
        })
    }

    /// What did not happen although it was wanted: by an `assume`, a contract or safe mode, or behind one of them.
    pub(crate) fn held_back(&self) -> Vec<Evidence> {
        let skips = self.skips();
        let held = skips.iter().filter(|(_, meaning)| **meaning == SkipMeaning::HeldBack);
        let skipped = held.map(|(location, _)| {
            let name = &self.state.plan.check(location.check).name;
            let reason = self.skip_reason_at(location).map_or("", SkipReason::as_str);
            Evidence::check(&format!("{name}{}", location.scope), reason)
        });
        let nested = self.state.plan.indices().filter(|check| self.nested_was_held_back(*check));
        let nested = nested.map(|check| {
            Evidence::check(&self.state.plan.check(check).name, ReasonCode::CompletedWithSkips.as_str())
        });
        skipped.chain(nested).collect()
    }

    /// The nested run of this check left something out.
    fn nested_was_held_back(&self, check: CheckIndex) -> bool {
        self.nested_endings(check).any(|code| code == ReasonCode::CompletedWithSkips)
    }

    /// How the nested runs of this check ended, as far as it succeeded with them.
    pub(crate) fn nested_endings(&self, check: CheckIndex) -> impl Iterator<Item = ReasonCode> {
        let nests = self.state.plan.check(check).provider == ProviderName::NESTED;
        let nodes = self.state.checks[check.place()].nodes.values().filter(move |_| nests);
        nodes.filter_map(Node::cell).filter(|cell| cell.has_succeeded()).filter_map(|cell| {
            let reason = cell.answer.as_ref()?.output.get("reason")?;
            ReasonCode::parse(reason.get("code")?.as_str()?)
        })
    }

    fn skip_reason_at(&self, location: &Location) -> Option<SkipReason> {
        match self.node(location.check, &location.scope)? {
            // What ran before and was skipped later did happen.
            Node::Leaf(cell) => cell.skipped().filter(|_| cell.last_result.runs == 0),
            Node::SkippedGroup(reason) => Some(*reason),
            Node::Group(_) | Node::Unexpanded(_) => None,
        }
    }

    /// The meaning of every skip at the end of the run.
    fn skips(&self) -> BTreeMap<Location, SkipMeaning> {
        let mut known = BTreeMap::new();
        let undecided: BTreeSet<&Location> = self
            .state
            .issues
            .iter()
            .filter(|(_, issue)| issue.code == IssueCode::ExpressionError)
            .map(|(location, _)| location)
            .collect();
        for check in self.state.plan.indices() {
            for (scope, _) in self.state.checks[check.place()].nodes.iter() {
                let location = Location::new(check, scope.clone());
                if self.skip_reason_at(&location).is_some() {
                    self.settle_meaning(location, &undecided, &mut known);
                }
            }
        }
        known
    }

    /// Without recursion: chains of dependencies can be long.
    fn settle_meaning(
        &self,
        location: Location,
        undecided: &BTreeSet<&Location>,
        known: &mut BTreeMap<Location, SkipMeaning>,
    ) {
        let mut open = vec![location];
        while let Some(location) = open.last().cloned() {
            let Some(reason) = self.skip_reason_at(&location).filter(|_| !known.contains_key(&location))
            else {
                open.pop();
                continue;
            };
            let own = match meaning_of(reason) {
                Some(SkipMeaning::NotNeeded) if undecided.contains(&location) => Some(SkipMeaning::Undecided),
                own => own,
            };
            if let Some(own) = own {
                known.insert(location, own);
                continue;
            }
            let behind = self.skipped_dependencies(&location);
            let unknown: Vec<Location> =
                behind.iter().filter(|one| !known.contains_key(one)).cloned().collect();
            if unknown.is_empty() {
                let worst = behind.iter().filter_map(|one| known.get(one)).max().copied();
                known.insert(location, worst.unwrap_or(SkipMeaning::Undecided));
            } else {
                open.extend(unknown);
            }
        }
    }

    /// The skipped checks that a location depends on directly.
    fn skipped_dependencies(&self, location: &Location) -> Vec<Location> {
        let plan = &self.state.plan;
        let spec = plan.check(location.check);
        let toward = spec.follows().flat_map(|dependency| {
            let scope = scope_toward(&spec.fan, &location.scope, &plan.check(dependency).fan);
            // A reduce check depends on every item below that scope.
            let scopes = self.scopes_below(dependency, &scope);
            scopes.into_iter().map(move |scope| Location::new(dependency, scope))
        });
        toward.filter(|one| self.skip_reason_at(one).is_some()).collect()
    }
}

/// The meaning of a reason by itself; `None` when it is that of what the check depends on.
fn meaning_of(reason: SkipReason) -> Option<SkipMeaning> {
    match reason {
        SkipReason::Event | SkipReason::Tags | SkipReason::Only | SkipReason::IfCondition => {
            Some(SkipMeaning::NotNeeded)
        }
        SkipReason::ForEachEmpty | SkipReason::NotRouted | SkipReason::RunEnded => Some(SkipMeaning::Flow),
        SkipReason::LoopBudget => Some(SkipMeaning::Undecided),
        SkipReason::Assume | SkipReason::ContractBlocked | SkipReason::SafeMode => {
            Some(SkipMeaning::HeldBack)
        }
        SkipReason::DependencyFailed => None,
    }
}
