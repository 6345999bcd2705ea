//! How often an effect can be attempted in one run, for each item where it runs for items.

use std::collections::{BTreeMap, BTreeSet};

use escrow_model::{Check, CheckIndex, Field, Plan, Reconcile};

/// The attempts that follow one another without a route, once for every time that routing can re-run the check.
pub(super) fn attempts_of(plan: &Plan, index: CheckIndex) -> u64 {
    let check = plan.check(index);
    let in_a_row = 1 + u64::from(retries(check)) + repairs(check);
    in_a_row.saturating_mul(1 + reruns(plan, index))
}

/// Retries and the answers `retry` of `reconcile` have one limit. `reconcile` is asked without `on_fail.retry`, too:
/// any attempt can be cut off, which leaves its effect unknown.
fn retries(check: &Check) -> u32 {
    match &check.retry {
        Some(retry) => retry.max,
        None if check.reconcile.is_some() && !check.idempotent => Reconcile::REPEATS_MAX,
        None => 0,
    }
}

/// A repair of an `ai` check is an attempt of its own.
fn repairs(check: &Check) -> u64 {
    match check.fields.get("repair") {
        Some(Field::Plain(repairs)) => repairs.as_u64().unwrap_or(0),
        _ => 0,
    }
}

/// How often routing can re-run a check. Loops are counted where a route leads to: outside all items, and again inside
/// each item that the check runs for.
fn reruns(plan: &Plan, index: CheckIndex) -> u64 {
    let mut limits: BTreeMap<usize, u32> = BTreeMap::new();
    let below = dependencies(plan, index);
    for source in &plan.checks {
        let computed = source.routings().any(|routing| routing.run_js.is_some() || routing.goto_js.is_some());
        let named = source.routings().flat_map(|routing| routing.targets());
        let targets: BTreeSet<CheckIndex> = if computed { plan.indices().collect() } else { named.collect() };
        for target in targets.intersection(&below) {
            let fan = &plan.check(*target).fan;
            let depth = source.fan.iter().zip(fan).take_while(|(one, other)| one == other).count();
            let limit = limits.entry(depth).or_default();
            *limit = (*limit).max(plan.loop_budget(source));
        }
    }
    limits.values().copied().map(u64::from).sum()
}

/// The check, and what it depends on, directly or not.
fn dependencies(plan: &Plan, check: CheckIndex) -> BTreeSet<CheckIndex> {
    let mut seen = BTreeSet::from([check]);
    let mut open = vec![check];
    while let Some(at) = open.pop() {
        let spec = plan.check(at);
        for below in spec.follows().chain(spec.fan.iter().copied()) {
            if seen.insert(below) {
                open.push(below);
            }
        }
    }
    seen
}
