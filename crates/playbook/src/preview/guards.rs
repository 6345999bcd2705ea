//! The guards that every way to a check passes.
//!
//! ```text
//!   before(check) = its own gates ∪ entry(check)
//!   entry(check)  = what all ways to start it have in common: by itself, or by a route
//!   seen(d, e)    = what all ways have in common in which `d` settles and `e`, which depends on it, may start
//! ```
//!
//! **Invariant:** the sets grow from nothing until they hold still, so a ring of routes leads to fewer guards, never to
//! more. To stop early is safe for the same reason.

use escrow_contract::outcome::Kind;
use escrow_model::{Check, CheckIndex, Criticality, Plan, PlanReads, RoutingBlock};
use serde_json::Value;

use super::{Guard, GuardKind, HUMAN_INPUT};

/// Dependencies need one pass, and each ring of routes inside another one more.
const PASSES_MAX: usize = 32;

pub(super) struct Guards<'p> {
    plan: &'p Plan,
    /// Every guard of the plan. Sets name them by their place.
    all: Vec<Guard>,
    own: Vec<OwnGuards>,
    /// The routes that lead to each check: the source and its block.
    routes: Vec<Vec<(CheckIndex, RoutingBlock)>>,
    before: Vec<GuardSet>,
    entry: Vec<GuardSet>,
}

/// The guards that a check has itself.
#[derive(Default)]
struct OwnGuards {
    /// Decided before it starts.
    gates: GuardSet,
    condition: GuardSet,
    /// What it must keep before an effect behind it starts.
    contracts: GuardSet,
    fail_if: GuardSet,
}

impl<'p> Guards<'p> {
    pub(super) fn of(plan: &'p Plan, name: impl Fn(&Check) -> String) -> Guards<'p> {
        let mut guards = Guards {
            plan,
            all: Vec::new(),
            own: Vec::new(),
            routes: routes(plan),
            before: vec![GuardSet::default(); plan.checks.len()],
            entry: vec![GuardSet::default(); plan.checks.len()],
        };
        for check in &plan.checks {
            guards.list_own(check, &name(check));
        }
        let order = dependencies_first(plan, &guards.routes);
        for _ in 0..PASSES_MAX {
            let mut grew = false;
            for index in &order {
                grew |= guards.settle(*index);
            }
            if !grew {
                break;
            }
        }
        guards
    }

    /// What stands between the start of the plan and the start of this check.
    pub(super) fn before(&self, index: CheckIndex) -> impl Iterator<Item = &Guard> {
        self.before[index.place()].places().map(|place| &self.all[place])
    }

    fn list_own(&mut self, check: &Check, name: &str) {
        let mut own = OwnGuards::default();
        for (kind, text) in gates(check) {
            let place = self.list(name, kind, text);
            own.gates.insert(place);
            if kind == GuardKind::If {
                own.condition.insert(place);
            }
        }
        for (kind, text) in contracts(self.plan, check) {
            let place = self.list(name, kind, text);
            own.contracts.insert(place);
            if kind == GuardKind::FailIf {
                own.fail_if.insert(place);
            }
        }
        self.own.push(own);
    }

    fn list(&mut self, check: &str, kind: GuardKind, text: String) -> usize {
        self.all.push(Guard { check: check.to_owned(), kind, text });
        self.all.len() - 1
    }

    /// True when the sets of this check have grown.
    fn settle(&mut self, index: CheckIndex) -> bool {
        let entry = self.find_entry(index);
        let before = entry.with(&self.own[index.place()].gates);
        let grew = before != self.before[index.place()] || entry != self.entry[index.place()];
        self.entry[index.place()] = entry;
        self.before[index.place()] = before;
        grew
    }

    fn find_entry(&self, index: CheckIndex) -> GuardSet {
        let check = self.plan.check(index);
        let by_needs = |satisfied: Option<CheckIndex>| {
            let mut guards = GuardSet::default();
            for need in &check.needs {
                // A route to a check satisfies its dependency on the source of the route.
                if satisfied.is_none_or(|source| !need.any_of.contains(&source)) {
                    let alternatives = need.any_of.iter().map(|one| self.seen(*one, check));
                    guards = guards.with(&common(alternatives).unwrap_or_default());
                }
            }
            guards
        };
        let routes = &self.routes[index.place()];
        let by_route =
            routes.iter().map(|(source, block)| by_needs(Some(*source)).with(&self.after(*source, *block)));
        let by_itself = (check.starts || routes.is_empty()).then(|| by_needs(None));
        common(by_itself.into_iter().chain(by_route)).unwrap_or_default()
    }

    /// What holds when a check depends on this one, and may start.
    fn seen(&self, index: CheckIndex, dependent: &Check) -> GuardSet {
        let check = self.plan.check(index);
        let mut guards = self.passed(index);
        // After an empty list its map dependents are skipped at once, whatever else they depend on, and what reduces them
        // runs.
        if let Some(list) = check.fan.iter().find(|list| !dependent.fan.contains(list)) {
            guards = guards.and(&self.passed(*list));
        }
        // A false `if` is found after the dependencies have settled; a filter does not wait for them.
        if check.continue_on_skip && check.condition.is_some() {
            guards = guards.and(&self.entry[index.place()]);
        }
        if check.continue_on_skip && is_filtered(check) {
            guards = GuardSet::default();
        }
        // A failure and every skip are passed over. A fault of the provider leaves `fail_if` alone to judge.
        if check.continue_on_failure {
            let own = &self.own[index.place()];
            guards = if reaches_its_provider(check) { guards.and(&own.fail_if) } else { GuardSet::default() };
        }
        guards
    }

    /// What holds when a check has succeeded.
    fn passed(&self, index: CheckIndex) -> GuardSet {
        self.before[index.place()].with(&self.own[index.place()].contracts)
    }

    /// What holds when a routing block of this check leads somewhere.
    fn after(&self, source: CheckIndex, block: RoutingBlock) -> GuardSet {
        let own = &self.own[source.place()];
        match block {
            RoutingBlock::Success => self.passed(source),
            // It finishes although it was skipped.
            RoutingBlock::Finish if self.plan.check(source).for_each => GuardSet::default(),
            // A template that fails, fails the check before a person is asked; an assumption may, too. A fault of the
            // provider leaves its contracts unjudged.
            RoutingBlock::Fail | RoutingBlock::Finish => self.entry[source.place()].with(&own.condition),
        }
    }
}

/// Whether `--event` or `--exclude-tags` can leave a check out that something depends on.
fn is_filtered(check: &Check) -> bool {
    !check.on.is_empty() || !check.tags.is_empty()
}

/// Whether nothing can skip a check or fail it before its provider is called.
fn reaches_its_provider(check: &Check) -> bool {
    check.starts
        && !is_filtered(check)
        && check.condition.is_none()
        && check.assume.is_empty()
        && check.needs.is_empty()
        && check.fan.is_empty()
        && check.step.is_none()
        // A person can say of an effect that it failed, and then there is no output to judge.
        && check.criticality != Criticality::External
        && !PlanReads::renders_values(check)
}

/// What is decided before a check starts.
fn gates(check: &Check) -> Vec<(GuardKind, String)> {
    let mut guards = Vec::new();
    guards.extend(check.condition.as_ref().map(|condition| (GuardKind::If, condition.source().to_owned())));
    match check.step.as_ref().map(|step| &step.condition) {
        Some(Some(condition)) => guards.push((GuardKind::Condition, condition.source().to_owned())),
        // Nothing comes before the first step.
        Some(None) if !check.after.is_empty() => {
            guards.push((GuardKind::Failure, "skipped when a step before it has failed".to_owned()));
        }
        Some(None) | None => {}
    }
    guards.extend(check.assume.iter().map(|one| (GuardKind::Assume, one.source().to_owned())));
    guards.extend(check.requires_approval.as_ref().map(|rule| (GuardKind::Approval, rule.terms.in_words())));
    guards
}

/// What a check must keep before an effect behind it starts.
fn contracts(plan: &Plan, check: &Check) -> Vec<(GuardKind, String)> {
    let mut guards = Vec::new();
    guards.extend(check.guarantee.iter().map(|one| (GuardKind::Guarantee, one.source().to_owned())));
    guards.extend(asks_for_a_shape(plan, check).then(|| (GuardKind::Schema, String::new())));
    let rules = check.rules.iter().filter(|rule| rule.enabled).map(|rule| rule.rule_id.as_str());
    let rules = rules.collect::<Vec<_>>().join(", ");
    guards.extend((!rules.is_empty()).then_some((GuardKind::Rules, rules)));
    guards.extend(check.fail_if.as_ref().map(|condition| (GuardKind::FailIf, condition.source().to_owned())));
    guards.extend(check.outcome.as_ref().map(|kind| (GuardKind::Outcome, kind.clone())));
    let artifacts = required_artifacts(plan, check).join(", ");
    guards.extend((!artifacts.is_empty()).then_some((GuardKind::Artifacts, artifacts)));
    // Without an answer, the default is the answer.
    let must_be_answered = check.provider.as_str() == HUMAN_INPUT && !check.fields.contains_key("default");
    guards.extend(must_be_answered.then(|| (GuardKind::Answer, String::new())));
    guards
}

/// A card without an outcome kind says how the output is shown, and asks nothing of it.
fn asks_for_a_shape(plan: &Plan, check: &Check) -> bool {
    match &check.schema {
        None => false,
        Some(Value::String(name)) => Kind::find(name, |own| plan.outcome_kinds.get(own)).is_some(),
        Some(_) => true,
    }
}

/// Optional artifacts, and those that are expected on a condition, stop nothing.
fn required_artifacts<'c>(plan: &Plan, check: &'c Check) -> Vec<&'c str> {
    let is_required = |id: &&String| {
        let mut expected = plan.artifacts.expected.iter();
        expected.any(|one| one.id == **id && one.required && one.condition.is_none())
    };
    check.artifacts.iter().filter(is_required).map(String::as_str).collect()
}

/// The routes that lead to each check. One that is computed can lead anywhere.
fn routes(plan: &Plan) -> Vec<Vec<(CheckIndex, RoutingBlock)>> {
    let mut routes = vec![Vec::new(); plan.checks.len()];
    for source in plan.indices() {
        for block in RoutingBlock::ALL {
            let routing = block.of(plan.check(source));
            let computed = routing.run_js.is_some() || routing.goto_js.is_some();
            let anywhere = computed.then(|| plan.indices()).into_iter().flatten();
            for target in routing.targets().chain(anywhere) {
                let leading = &mut routes[target.place()];
                if leading.last() != Some(&(source, block)) {
                    leading.push((source, block));
                }
            }
        }
    }
    routes
}

/// The checks in an order in which guards are known before they are asked for, apart from rings of routes.
fn dependencies_first(plan: &Plan, routes: &[Vec<(CheckIndex, RoutingBlock)>]) -> Vec<CheckIndex> {
    enum Step {
        Enter(CheckIndex),
        Leave(CheckIndex),
    }
    let mut order = Vec::with_capacity(plan.checks.len());
    let mut seen = vec![false; plan.checks.len()];
    let mut open: Vec<Step> = plan.indices().map(Step::Enter).collect();
    open.reverse();
    while let Some(step) = open.pop() {
        match step {
            Step::Leave(index) => order.push(index),
            Step::Enter(index) if seen[index.place()] => {}
            Step::Enter(index) => {
                seen[index.place()] = true;
                open.push(Step::Leave(index));
                let check = plan.check(index);
                let sources = routes[index.place()].iter().map(|(source, _)| *source);
                let earlier = check.follows().chain(check.fan.iter().copied()).chain(sources);
                open.extend(earlier.filter(|one| !seen[one.place()]).map(Step::Enter));
            }
        }
    }
    order
}

/// A set of guards, a bit for each: a long playbook has many guards before each check.
#[derive(Clone, Debug, Default)]
struct GuardSet(Vec<u64>);

impl GuardSet {
    fn insert(&mut self, place: usize) {
        let word = place / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (place % 64);
    }

    fn with(&self, other: &GuardSet) -> GuardSet {
        let words = self.0.len().max(other.0.len());
        GuardSet((0..words).map(|word| self.word(word) | other.word(word)).collect())
    }

    fn and(&self, other: &GuardSet) -> GuardSet {
        GuardSet(self.0.iter().zip(&other.0).map(|(one, other)| one & other).collect())
    }

    fn word(&self, word: usize) -> u64 {
        self.0.get(word).copied().unwrap_or(0)
    }

    fn places(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits & (1 << bit) != 0).map(move |bit| word * 64 + bit)
        })
    }
}

impl PartialEq for GuardSet {
    /// Words at the end that are zero make no difference.
    fn eq(&self, other: &GuardSet) -> bool {
        (0..self.0.len().max(other.0.len())).all(|word| self.word(word) == other.word(word))
    }
}

/// What all sets have in common; none without a set.
fn common(mut sets: impl Iterator<Item = GuardSet>) -> Option<GuardSet> {
    let first = sets.next()?;
    Some(sets.fold(first, |shared, set| shared.and(&set)))
}
