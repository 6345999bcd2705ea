//! What follows from a plan alone: dependents, fan-outs, compiled contracts, and what a route invalidates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use escrow_contract::Schema;
use escrow_contract::outcome::Kind;
use escrow_contract::rules::RuleSet;
use escrow_model::{Check, CheckIndex, EnvTemplates, Plan, PlanReads, Routing, RoutingBlock, ScopePath};
use serde_json::{Map, Value};

/// The compiled contracts of a check. A plan was checked when it was read; a part that does not compile is absent, and
/// counts as broken.
#[derive(Debug, Default)]
pub(crate) struct Contract {
    pub(crate) schema: Option<Shape>,
    pub(crate) rules: Option<RuleSet>,
    pub(crate) outcome: Option<Kind>,
}

/// A JSON Schema, or the kind that `schema` names.
#[derive(Debug)]
pub(crate) enum Shape {
    Schema(Box<Schema>),
    Kind(Kind),
}

impl Contract {
    fn of(plan: &Plan, check: &Check) -> Contract {
        let kind = |name: &str| Kind::find(name, |own| plan.outcome_kinds.get(own));
        Contract {
            schema: match &check.schema {
                None => None,
                Some(Value::String(name)) => kind(name).map(Shape::Kind),
                Some(schema) => Schema::compile(schema).ok().map(|schema| Shape::Schema(Box::new(schema))),
            },
            rules: RuleSet::compile(&check.rules).ok().filter(|_| !check.rules.is_empty()),
            outcome: check.outcome.as_deref().and_then(kind),
        }
    }
}

/// Derived once per run, never stored.
#[derive(Debug)]
pub(crate) struct Graph {
    names: BTreeMap<String, CheckIndex>,
    /// Direct dependents, by `needs` or `after`.
    dependents: Vec<Vec<CheckIndex>>,
    /// Checks that step through the items of this one.
    mapped_over: Vec<Vec<CheckIndex>>,
    /// A routing block of this check may re-run it or something it depends on, so its dependents wait.
    may_loop: Vec<[bool; 3]>,
    contracts: Vec<Contract>,
    constant_env: Vec<Map<String, Value>>,
    named_env: Vec<BTreeSet<String>>,
    /// Names that `outputs` offers.
    order: Vec<String>,
    /// Worked out when a route first asks.
    closures: Vec<OnceLock<BTreeSet<CheckIndex>>>,
}

impl Graph {
    pub(crate) fn of(plan: &Plan) -> Graph {
        let size = plan.checks.len();
        let mut graph = Graph {
            names: plan.indices().map(|index| (plan.check(index).name.clone(), index)).collect(),
            dependents: vec![Vec::new(); size],
            mapped_over: vec![Vec::new(); size],
            may_loop: vec![[false; 3]; size],
            contracts: plan.checks.iter().map(|check| Contract::of(plan, check)).collect(),
            constant_env: plan.checks.iter().map(|check| constants(&check.env)).collect(),
            named_env: plan.checks.iter().map(|check| PlanReads::of_check(check).env).collect(),
            order: plan.checks.iter().map(|check| check.name.clone()).collect(),
            closures: vec![OnceLock::new(); size],
        };
        for index in plan.indices() {
            let check = plan.check(index);
            let needed: BTreeSet<CheckIndex> = check.follows().collect();
            for dependency in needed {
                graph.dependents[dependency.place()].push(index);
            }
            for parent in &check.fan {
                graph.mapped_over[parent.place()].push(index);
            }
        }
        for index in plan.indices() {
            let check = plan.check(index);
            graph.may_loop[index.place()] =
                RoutingBlock::ALL.map(|block| routing_may_loop(plan, index, block.of(check)));
        }
        graph
    }

    pub(crate) fn find(&self, name: &str) -> Option<CheckIndex> {
        self.names.get(name).copied()
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.order
    }

    pub(crate) fn dependents(&self, check: CheckIndex) -> &[CheckIndex] {
        &self.dependents[check.place()]
    }

    pub(crate) fn mapped_over(&self, check: CheckIndex) -> &[CheckIndex] {
        &self.mapped_over[check.place()]
    }

    pub(crate) fn may_loop(&self, check: CheckIndex, block: RoutingBlock) -> bool {
        self.may_loop[check.place()][block as usize]
    }

    pub(crate) fn contract(&self, check: CheckIndex) -> &Contract {
        &self.contracts[check.place()]
    }

    /// The environment variables that a check names, in expressions, templates and scripts.
    pub(crate) fn named_env(&self, check: CheckIndex) -> &BTreeSet<String> {
        &self.named_env[check.place()]
    }

    /// The values of `env:` that need no rendering: expressions see them.
    pub(crate) fn constant_env(&self, check: CheckIndex) -> &Map<String, Value> {
        &self.constant_env[check.place()]
    }

    /// The target and everything that depends on it, directly or not, in the order of the file. What maps over a
    /// `forEach` check without depending on it (the target of a route from its items) goes along: its items are
    /// those of the list.
    pub(crate) fn closure(&self, target: CheckIndex) -> &BTreeSet<CheckIndex> {
        self.closures[target.place()].get_or_init(|| self.follow(target))
    }

    fn follow(&self, target: CheckIndex) -> BTreeSet<CheckIndex> {
        let mut closure = BTreeSet::from([target]);
        let mut open = vec![target];
        while let Some(check) = open.pop() {
            for dependent in self.dependents(check).iter().chain(self.mapped_over(check)) {
                if closure.insert(*dependent) {
                    open.push(*dependent);
                }
            }
        }
        closure
    }
}

fn constants(env: &EnvTemplates) -> Map<String, Value> {
    env.iter()
        .filter(|(_, text)| text.is_constant())
        .map(|(name, text)| (name.clone(), Value::String(text.source().to_owned())))
        .collect()
}

fn routing_may_loop(plan: &Plan, source: CheckIndex, routing: &Routing) -> bool {
    if routing.run_js.is_some() || routing.goto_js.is_some() {
        return true;
    }
    let targets: BTreeSet<CheckIndex> = routing.targets().collect();
    if targets.is_empty() {
        return false;
    }
    // Walk up from the source: a target that is met re-runs something the source depends on.
    let mut seen = BTreeSet::from([source]);
    let mut open = vec![source];
    while let Some(check) = open.pop() {
        if targets.contains(&check) {
            return true;
        }
        for dependency in plan.check(check).follows() {
            if seen.insert(dependency) {
                open.push(dependency);
            }
        }
    }
    false
}

/// How many leading parents two fans share.
pub(crate) fn shared_depth(one: &[CheckIndex], other: &[CheckIndex]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

/// Where, seen from `scope` of a check with `fan`, another check with `other_fan` stands.
pub(crate) fn scope_toward(fan: &[CheckIndex], scope: &ScopePath, other_fan: &[CheckIndex]) -> ScopePath {
    scope.truncated(shared_depth(fan, other_fan))
}
