//! Gates: whether the dependencies of a check, their contracts, their items and open loops let it start.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use escrow_model::{
    CheckIndex, Criticality, FlawKind, Issue, IssueCode, Need, NestedFlaw, ProviderName, ReasonCode,
    RoutingBlock, ScopePath, SkipReason, Verdict,
};

use crate::graph::scope_toward;
use crate::holes::Missing;
use crate::location::Location;
use crate::run::Run;
use crate::state::{Cell, Node};

/// The state of a check's dependencies as a whole.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Gate {
    /// Something has not settled.
    Wait,
    Open,
    /// A dependency failed or was skipped, and nothing makes up for it.
    Shut(CheckIndex),
}

/// Why an external check must not start although its dependencies may be satisfied.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Blocker {
    /// This check has broken its contract, and no later attempt kept it.
    Violation(CheckIndex),
    /// A condition of this check could not be evaluated, in a run that is nested as a whole.
    Unevaluated(CheckIndex),
    /// A person cancelled the nested run of this check by hand. What the person meant for the rest of this run is
    /// not known.
    CancelledByHand(CheckIndex),
    /// This mapped check has items that are missing from what stands on it.
    Hole { check: CheckIndex, item: ScopePath, missing: Missing },
    /// The nested run of this check has a flaw.
    Nested { check: CheckIndex, item: ScopePath, flaw: NestedFlaw },
}

/// Whether an external check may act on what it depends on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Footing {
    Sound,
    /// Something that it depends on has not settled: a dependency, or an alternative that may still give a sound
    /// footing.
    Undecided,
    Blocked(Blocker),
}

/// The state of one dependency, seen from a scope.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DependencyState {
    Open,
    Succeeded,
    /// It did not succeed, and its dependents may start all the same.
    LetThrough,
    Unsatisfied,
}

/// The footings that were found on the way from one effect.
struct Footings {
    effect: CheckIndex,
    found: BTreeMap<Location, Footing>,
}

impl Footings {
    fn of(effect: CheckIndex) -> Footings {
        Footings { effect, found: BTreeMap::new() }
    }
}

impl Footing {
    /// What is blocked stays blocked, whatever else may change.
    fn and(self, other: Footing) -> Footing {
        match (self, other) {
            (blocked @ Footing::Blocked(_), _) | (_, blocked @ Footing::Blocked(_)) => blocked,
            (Footing::Undecided, _) | (_, Footing::Undecided) => Footing::Undecided,
            (Footing::Sound, Footing::Sound) => Footing::Sound,
        }
    }
}

impl Run {
    pub(crate) fn gate(&self, check: CheckIndex, scope: &ScopePath, cell: Option<&Cell>) -> Gate {
        let plan = &self.state.plan;
        let spec = plan.check(check);
        let mut shut = None;
        for need in &spec.needs {
            let mut open = false;
            let mut let_through = false;
            let mut succeeded = false;
            for dependency in &need.any_of {
                match self.dependency_state(check, scope, *dependency, cell) {
                    DependencyState::Open => open = true,
                    DependencyState::Succeeded => succeeded = true,
                    DependencyState::LetThrough => let_through = true,
                    DependencyState::Unsatisfied => {}
                }
            }
            // One success is enough. A failure that is let through is not, while another may still succeed:
            // the result must not depend on which of them settles first.
            if succeeded {
                continue;
            }
            if open {
                return Gate::Wait;
            }
            if !let_through {
                shut = shut.or(need.any_of.first().copied());
            }
        }
        for dependency in &spec.after {
            let toward = scope_toward(&spec.fan, scope, &plan.check(*dependency).fan);
            if !self.node(*dependency, &toward).is_some_and(Node::is_settled) {
                return Gate::Wait;
            }
        }
        shut.map_or(Gate::Open, Gate::Shut)
    }

    fn dependency_state(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        dependency: CheckIndex,
        cell: Option<&Cell>,
    ) -> DependencyState {
        let plan = &self.state.plan;
        let spec = plan.check(dependency);
        let toward = scope_toward(&plan.check(check).fan, scope, &spec.fan);
        // A route to a check from something it depends on satisfies that dependency.
        if let Some(Location { check: source, scope: at }) =
            cell.and_then(|cell| cell.activation.routed_from.as_ref())
            && *source == dependency
            && at.touches(&toward)
        {
            return DependencyState::Succeeded;
        }
        // A fan-out that was skipped as a whole has no node for the item.
        let Some(node) = self.nearest_node(dependency, &toward) else { return DependencyState::Open };
        if !node.is_settled() || self.is_held(check, dependency, &toward) {
            return DependencyState::Open;
        }
        let succeeded = match node {
            Node::Leaf(cell) => cell.has_succeeded(),
            Node::Group(group) => group.succeeded > 0 || self.is_empty_throughout(dependency, &toward),
            Node::SkippedGroup(reason) => *reason == SkipReason::ForEachEmpty,
            Node::Unexpanded(_) => false,
        };
        if succeeded {
            DependencyState::Succeeded
        } else if spec.continue_on_failure
            || (spec.continue_on_skip && self.was_not_needed(dependency, &toward))
        {
            DependencyState::LetThrough
        } else {
            DependencyState::Unsatisfied
        }
    }

    /// Groups of empty groups: nothing ran, and nothing went wrong.
    fn is_empty_throughout(&self, check: CheckIndex, scope: &ScopePath) -> bool {
        match self.node(check, scope) {
            Some(Node::SkippedGroup(reason)) => *reason == SkipReason::ForEachEmpty,
            Some(Node::Group(group)) => {
                (0..group.total).all(|index| self.is_empty_throughout(check, &scope.child(index)))
            }
            Some(Node::Leaf(_) | Node::Unexpanded(_)) | None => false,
        }
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
            if plan.check(check).fan.contains(&parent) || !self.graph.may_loop(parent, RoutingBlock::Finish) {
                return false;
            }
            let at = toward.truncated(plan.check(parent).fan.len());
            self.state
                .routes
                .get(&Location::new(parent, at))
                .is_some_and(|route| route.block == RoutingBlock::Finish)
        })
    }

    /// What this check depends on, directly or not, that an external check must not act on. Alternatives that were
    /// not needed do not count; the source of a route does.
    pub(crate) fn blocker(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        cell: Option<&Cell>,
    ) -> Option<Blocker> {
        match self.footing(check, scope, cell) {
            Footing::Blocked(blocker) => Some(blocker),
            Footing::Sound | Footing::Undecided => None,
        }
    }

    /// Whether a check may have an effect on what it depends on. A check without effects may act on anything.
    pub(crate) fn footing(&self, check: CheckIndex, scope: &ScopePath, cell: Option<&Cell>) -> Footing {
        let spec = self.state.plan.check(check);
        // A nested run has the effects of its checks, whatever criticality the check around it claims.
        let nests_effects = spec.provider == ProviderName::NESTED && spec.mutating;
        if spec.criticality != Criticality::External && !nests_effects {
            return Footing::Sound;
        }
        if let Some(cancelled) = self.cancelled_by_hand() {
            return Footing::Blocked(Blocker::CancelledByHand(cancelled));
        }
        let routed_from = cell.and_then(|cell| cell.activation.routed_from.clone());
        self.footing_below(&Location::new(check, scope.clone()), routed_from, &mut Footings::of(check))
    }

    /// The footing of what a location depends on.
    fn footing_below(&self, at: &Location, routed_from: Option<Location>, known: &mut Footings) -> Footing {
        let plan = &self.state.plan;
        let spec = plan.check(at.check);
        let mut footing = Footing::Sound;
        for need in &spec.needs {
            let mut of_need = Vec::new();
            for dependency in self.used_alternatives(at.check, &at.scope, need) {
                let toward = scope_toward(&spec.fan, &at.scope, &plan.check(dependency).fan);
                of_need.push(self.footing_of_dependency(&Location::new(dependency, toward), known));
            }
            // Of several alternatives that succeeded, one that is sound is enough. Which of them ended first must
            // not decide whether an effect happens, so one that may still succeed is waited for.
            let cell = self.cell(at.check, &at.scope);
            let in_state = |wanted: DependencyState| {
                let all = &mut need.any_of.iter();
                all.any(|one| self.dependency_state(at.check, &at.scope, *one, cell) == wanted)
            };
            let is_choice = need.any_of.len() > 1 && in_state(DependencyState::Succeeded);
            if is_choice && of_need.contains(&Footing::Sound) {
                continue;
            }
            if is_choice && (of_need.contains(&Footing::Undecided) || in_state(DependencyState::Open)) {
                footing = footing.and(Footing::Undecided);
                continue;
            }
            footing = of_need.into_iter().fold(footing, Footing::and);
        }
        for earlier in &spec.after {
            let toward = scope_toward(&spec.fan, &at.scope, &plan.check(*earlier).fan);
            footing = footing.and(self.footing_of_dependency(&Location::new(*earlier, toward), known));
        }
        match routed_from {
            // The source of a route may itself wait for this check.
            Some(source) => footing.and(self.footing_at(&source, known)),
            None => footing,
        }
    }

    /// The footing that a dependency gives. A filter and an empty list skip a check before what it depends on has
    /// settled; an effect behind it waits nevertheless, because a contract may still be broken there.
    fn footing_of_dependency(&self, at: &Location, known: &mut Footings) -> Footing {
        if self.is_settled_toward(at) || self.graph.closure(known.effect).contains(&at.check) {
            return self.footing_at(at, known);
        }
        Footing::Undecided
    }

    /// Whether a location has settled, by itself or as a part of a group that was skipped as a whole.
    fn is_settled_toward(&self, at: &Location) -> bool {
        self.nearest_node(at.check, &at.scope).is_some_and(Node::is_settled)
    }

    /// The node of a check at a scope, or the innermost one above it.
    pub(crate) fn nearest_node(&self, check: CheckIndex, scope: &ScopePath) -> Option<&Node> {
        let mut depths = (0..=scope.depth()).rev();
        depths.find_map(|depth| self.node(check, &scope.truncated(depth)))
    }

    /// The footing that this location gives to what depends on it.
    fn footing_at(&self, at: &Location, known: &mut Footings) -> Footing {
        if let Some(footing) = known.found.get(at) {
            return footing.clone();
        }
        // A route may lead back here, which says nothing new.
        known.found.insert(at.clone(), Footing::Sound);
        // A check is not in its own way when a route repeats it. A step whose condition reads a failed step was
        // written for that case.
        let is_own = |check: CheckIndex| check == known.effect || self.answers_for(known.effect, check);
        let own = self.own_blocker(at).filter(|_| !is_own(at.check));
        let footing = match own {
            Some(blocker) => Footing::Blocked(blocker),
            None => {
                let cell = self.cell(at.check, &at.scope);
                let routed_from = cell.and_then(|cell| cell.activation.routed_from.clone());
                self.footing_below(at, routed_from, known)
            }
        };
        known.found.insert(at.clone(), footing.clone());
        footing
    }

    fn own_blocker(&self, at: &Location) -> Option<Blocker> {
        if self.is_violated(at.check, &at.scope) {
            return Some(Blocker::Violation(at.check));
        }
        self.nested_flaw(at.check, &at.scope).or_else(|| self.hole_in(at.check, &at.scope))
    }

    /// What the nested run of a check has to hide from effects, in this scope or below it.
    pub(crate) fn nested_flaw(&self, check: CheckIndex, scope: &ScopePath) -> Option<Blocker> {
        let spec = self.state.plan.check(check);
        if spec.provider != ProviderName::NESTED {
            return None;
        }
        let nodes = self.state.checks[check.place()].nodes.iter();
        nodes.filter(|(item, _)| item.starts_with(scope)).find_map(|(item, node)| {
            let flaw = node.cell()?.answer.as_ref()?.flaw.clone()?;
            match flaw.kind {
                // It says that what is left is enough.
                FlawKind::MissingItem if spec.continue_on_failure => None,
                FlawKind::BrokenContract | FlawKind::MissingItem | FlawKind::Cancelled => {
                    Some(Blocker::Nested { check, item: item.clone(), flaw })
                }
            }
        })
    }

    /// What no effect may stand on in this run as a whole: for the run that nests it.
    pub fn flaw(&self) -> Option<NestedFlaw> {
        let plan = &self.state.plan;
        let root = ScopePath::root();
        let cancelled = self.cancelled_by_hand().map(Blocker::CancelledByHand);
        let violated =
            || plan.indices().find(|check| self.is_violated(*check, &root)).map(Blocker::Violation);
        let nested = || plan.indices().find_map(|check| self.nested_flaw(check, &root));
        let hole = || plan.indices().find_map(|check| self.hole_in(check, &root));
        let unevaluated = || self.skipped_for_error().map(Blocker::Unevaluated);
        let blocker = cancelled.or_else(violated).or_else(nested).or_else(hole).or_else(unevaluated)?;
        let kind = match &blocker {
            Blocker::Violation(_) | Blocker::Unevaluated(_) => FlawKind::BrokenContract,
            Blocker::CancelledByHand(_) => FlawKind::Cancelled,
            Blocker::Hole { .. } => FlawKind::MissingItem,
            Blocker::Nested { flaw, .. } => flaw.kind,
        };
        Some(NestedFlaw { kind, detail: blocker.in_words(plan) })
    }

    /// The first check that was skipped because a condition could not be evaluated.
    fn skipped_for_error(&self) -> Option<CheckIndex> {
        let is_error = |issue: &Issue| issue.code == IssueCode::ExpressionError;
        let skipped = |at: &Location| {
            self.cell(at.check, &at.scope)
                .and_then(Cell::skipped)
                .is_some_and(|why| matches!(why, SkipReason::IfCondition | SkipReason::Assume))
        };
        let found = self.state.issues.iter().find(|(at, issue)| is_error(issue) && skipped(at));
        found.map(|(at, _)| at.check)
    }

    /// Everything that a check depends on or comes after, directly or not, where it depends on it. Alternatives that were
    /// not needed are left out; the source of a route is included.
    pub(crate) fn stands_on(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        cell: Option<&Cell>,
    ) -> Vec<Location> {
        let plan = &self.state.plan;
        let mut found = Vec::new();
        let here = Location::new(check, scope.clone());
        let mut seen = BTreeSet::from([here.clone()]);
        let mut open = vec![here];
        if let Some(source) = cell.and_then(|cell| cell.activation.routed_from.clone())
            && seen.insert(source.clone())
        {
            open.push(source);
        }
        while let Some(Location { check: at_check, scope: at_scope }) = open.pop() {
            let spec = plan.check(at_check);
            let this = self.cell(at_check, &at_scope);
            let used = spec.needs.iter().flat_map(|need| self.used_alternatives(at_check, &at_scope, need));
            for dependency in used.chain(spec.after.iter().copied()) {
                let toward = scope_toward(&spec.fan, &at_scope, &plan.check(dependency).fan);
                let dependency = Location::new(dependency, toward);
                if seen.insert(dependency.clone()) {
                    open.push(dependency);
                }
            }
            if let Some(source) = this.and_then(|cell| cell.activation.routed_from.clone())
                && seen.insert(source.clone())
            {
                open.push(source);
            }
            if at_check != check {
                found.push(Location::new(at_check, at_scope));
            }
        }
        found
    }

    /// A check whose nested run a person cancelled, and which was not decided anew since.
    pub(crate) fn cancelled_by_hand(&self) -> Option<CheckIndex> {
        let plan = &self.state.plan;
        let mut nesting = plan.indices().filter(|check| plan.check(*check).provider == ProviderName::NESTED);
        nesting.find(|check| {
            let state = &self.state.checks[check.place()];
            let stands = |scope| {
                let cell = state.nodes.get(scope).and_then(Node::cell);
                cell.is_some_and(|cell| cell.has_settled_with(Verdict::Failed))
            };
            let mut failures = state.failures.iter();
            failures.any(|(scope, failure)| failure.code == ReasonCode::CancelledUser && stands(scope))
        })
    }

    /// The alternatives that a need rests on: those that succeeded; else those that are let through although
    /// they did not; and when none satisfies, each of them stands in the way.
    fn used_alternatives(&self, check: CheckIndex, scope: &ScopePath, need: &Need) -> Vec<CheckIndex> {
        if need.any_of.len() == 1 {
            return need.any_of.clone();
        }
        let cell = self.cell(check, scope);
        let in_state = |wanted: DependencyState| -> Vec<CheckIndex> {
            let all = need.any_of.iter().copied();
            all.filter(|dependency| self.dependency_state(check, scope, *dependency, cell) == wanted)
                .collect()
        };
        let succeeded = in_state(DependencyState::Succeeded);
        if !succeeded.is_empty() {
            return succeeded;
        }
        let let_through = in_state(DependencyState::LetThrough);
        if let_through.is_empty() { need.any_of.clone() } else { let_through }
    }

    /// Whether a contract is broken in this scope, above it or below it.
    fn is_violated(&self, check: CheckIndex, scope: &ScopePath) -> bool {
        let violations = &self.state.checks[check.place()].violations;
        let below = violations.range((Bound::Included(scope), Bound::Unbounded)).next();
        below.is_some_and(|path| path.starts_with(scope))
            || (0..scope.depth()).any(|depth| violations.contains(&scope.truncated(depth)))
    }
}
