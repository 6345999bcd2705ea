//! What is left out before anything is decided: by `--only`, by tags, by the event.

use std::collections::{BTreeMap, BTreeSet};

use escrow_model::{CheckIndex, Plan, RunOptions, SkipReason};

use crate::run::Run;

/// What `--only`, `--tags` and `--exclude-tags` leave out. The first two bring dependencies along.
pub(crate) fn left_out(plan: &Plan, options: &RunOptions) -> BTreeMap<CheckIndex, SkipReason> {
    let tagged =
        |index: CheckIndex, tags: &[String]| plan.check(index).tags.iter().any(|tag| tags.contains(tag));
    let mut left_out = BTreeMap::new();
    let mut leave_out = |index: CheckIndex, reason: SkipReason| {
        left_out.entry(index).or_insert(reason);
    };
    if !options.only.is_empty() {
        let named = plan.indices().filter(|index| options.only.contains(&plan.check(*index).name));
        let wanted = with_dependencies(plan, named);
        plan.indices()
            .filter(|index| !wanted.contains(index))
            .for_each(|index| leave_out(index, SkipReason::Only));
    }
    if !options.tags.is_empty() {
        let wanted = with_dependencies(plan, plan.indices().filter(|index| tagged(*index, &options.tags)));
        plan.indices()
            .filter(|index| !wanted.contains(index))
            .for_each(|index| leave_out(index, SkipReason::Tags));
    }
    plan.indices()
        .filter(|index| tagged(*index, &options.exclude_tags))
        .for_each(|index| leave_out(index, SkipReason::Tags));
    left_out
}

fn with_dependencies(plan: &Plan, checks: impl Iterator<Item = CheckIndex>) -> BTreeSet<CheckIndex> {
    let mut wanted: BTreeSet<CheckIndex> = checks.collect();
    let mut open: Vec<CheckIndex> = wanted.iter().copied().collect();
    while let Some(check) = open.pop() {
        let spec = plan.check(check);
        for dependency in spec.follows() {
            if wanted.insert(dependency) {
                open.push(dependency);
            }
        }
    }
    wanted
}

impl Run {
    /// Nothing filters by event without `--event`, until a route puts a check under one.
    pub(crate) fn filter(&self, check: CheckIndex, routed: Option<&str>) -> Option<SkipReason> {
        if let Some(reason) = self.left_out.get(&check) {
            return Some(*reason);
        }
        let on = &self.state.plan.check(check).on;
        let event = routed.or(self.state.options.event.as_deref())?;
        (!on.is_empty() && !on.iter().any(|name| name == event)).then_some(SkipReason::Event)
    }
}
