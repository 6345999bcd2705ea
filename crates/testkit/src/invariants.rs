//! What must be true of every journal, judged from the journal and the plan alone.

use std::collections::{BTreeMap, BTreeSet};

use escrow_engine::Run;
use escrow_model::{
    Assumption, Check, CheckIndex, CheckStatus, Criticality, EffectState, Ending, Entry, Event, Message,
    Plan, RetryKind, RoutingBlock, ScopePath, ScopedCheck, SkipReason, Verdict, WaitKind,
};

/// Reads a journal from its beginning and panics at the first broken invariant.
#[derive(Default)]
pub struct Invariants {
    running: BTreeSet<ScopedCheck>,
    /// Running checks that wait for their nested run, and need no slot meanwhile.
    waiting: BTreeSet<ScopedCheck>,
    /// Checks whose `reconcile` runs.
    looking: BTreeSet<ScopedCheck>,
    /// External attempts whose effect is unknown.
    unknown: BTreeSet<ScopedCheck>,
    violated: BTreeSet<ScopedCheck>,
    /// Items that failed, or that were skipped although they were wanted.
    holes: BTreeSet<ScopedCheck>,
    /// Retries of the last decision.
    retries: BTreeMap<ScopedCheck, u32>,
    attempts: BTreeMap<ScopedCheck, u32>,
    retried: BTreeMap<ScopedCheck, u32>,
    loops: BTreeMap<(Vec<CheckIndex>, ScopePath), u32>,
    verdicts: BTreeMap<ScopedCheck, Verdict>,
    /// What a person said about effects of the run after it had ended.
    resolved: BTreeMap<ScopedCheck, CheckStatus>,
    settled: BTreeSet<ScopedCheck>,
    reopened: bool,
    routed: bool,
}

impl Invariants {
    pub fn check(plan: &Plan, parallelism: u32, journal: &[Entry], run: &Run) {
        let mut invariants = Invariants::default();
        let limit = plan.max_parallelism.map_or(parallelism, |limit| limit.min(parallelism));
        for entry in journal {
            invariants.entry(plan, &entry.event);
            let at_work = invariants.running.iter().chain(&invariants.looking);
            let at_work = at_work.filter(|at| !invariants.waiting.contains(*at));
            let slots = at_work.filter(|at| needs_slot(plan, &at.check)).count();
            assert!(slots <= limit as usize, "{slots} run at once, {limit} may");
        }
        invariants.items_are_apart();
        invariants.statuses_are_of_last_attempts(plan, run);
    }

    fn entry(&mut self, plan: &Plan, event: &Event) {
        self.note_settled(event);
        match event {
            Event::AttemptStarted { check, scope, attempt, .. } => {
                let location = ScopedCheck::new(check, scope);
                self.dependencies_have_settled(plan, &location);
                self.contracts_are_kept(plan, &location);
                self.matrices_are_whole(plan, &location);
                self.groups_have_room(plan, &location);
                assert!(!self.unknown.contains(&location), "{check}{scope} may have taken effect already");
                let attempts = self.attempts.entry(location.clone()).or_default();
                *attempts += 1;
                assert_eq!(*attempts, *attempt, "attempts of {check}{scope} count up");
                assert!(self.running.insert(location), "{check}{scope} runs twice at once");
            }
            Event::AttemptAnswered { check, scope, answer, .. } => {
                let location = ScopedCheck::new(check, scope);
                assert!(self.running.remove(&location), "{check}{scope} was running");
                self.waiting.remove(&location);
                let spec = plan.check(plan.find(check).expect("it is in the plan"));
                let at_risk = spec.criticality == Criticality::External && !spec.idempotent;
                if at_risk && matches!(&answer.ending, Ending::Fault(fault) if fault.effect_unknown) {
                    self.unknown.insert(location);
                }
            }
            Event::WaitStarted { check, scope, kind: WaitKind::Nested, .. } => {
                self.waiting.insert(ScopedCheck::new(check, scope));
            }
            Event::ReconcileStarted { check, scope, .. } => {
                let location = ScopedCheck::new(check, scope);
                let spec = plan.check(plan.find(check).expect("it is in the plan"));
                assert_eq!(spec.criticality, Criticality::External, "only effects are looked for");
                assert!(!spec.idempotent, "{check}{scope} may simply be repeated");
                assert!(self.looking.insert(location), "{check}{scope} is looked for twice");
            }
            Event::Reconciled { check, scope, finding, .. } => {
                let location = ScopedCheck::new(check, scope);
                assert!(self.looking.remove(&location), "no `reconcile` was started for {check}{scope}");
                if *finding == Some(Assumption::Retry) {
                    self.unknown.remove(&location);
                    *self.retried.entry(location).or_default() += 1;
                }
            }
            Event::EffectResolved { check, scope, state, .. } => {
                let location = ScopedCheck::new(check, scope);
                self.unknown.remove(&location);
                let status = match state {
                    EffectState::Confirmed => CheckStatus::Succeeded,
                    EffectState::Failed => CheckStatus::Failed,
                    EffectState::Intended | EffectState::Unknown => panic!("{check}{scope} is not resolved"),
                };
                self.resolved.insert(location, status);
            }
            Event::CheckJudged { check, scope, verdict, violation, .. } => {
                let location = ScopedCheck::new(check, scope);
                self.unknown.remove(&location);
                self.looking.remove(&location);
                self.verdicts.insert(location.clone(), *verdict);
                match verdict {
                    Verdict::Succeeded => drop(self.holes.remove(&location)),
                    Verdict::Failed => drop(self.holes.insert(location.clone())),
                }
                match verdict {
                    Verdict::Succeeded => drop(self.violated.remove(&location)),
                    Verdict::Failed if *violation => drop(self.violated.insert(location)),
                    Verdict::Failed => {}
                }
            }
            Event::CheckSkipped {
                check,
                scope,
                reason: SkipReason::Assume | SkipReason::DependencyFailed | SkipReason::ContractBlocked,
                ..
            } if !scope.is_root() => drop(self.holes.insert(ScopedCheck::new(check, scope))),
            Event::RetryScheduled { check, scope, kind: RetryKind::Repair, .. } => {
                *self.retried.entry(ScopedCheck::new(check, scope)).or_default() += 1;
            }
            Event::RetryScheduled { check, scope, retry, kind: RetryKind::Retry, .. } => {
                let location = ScopedCheck::new(check, scope);
                let spec = plan.check(plan.find(check).expect("it is in the plan"));
                let max = spec.retry.expect("what is retried says so").max;
                assert!(*retry <= max, "{check}{scope} is retried more than {max} times");
                self.retries.insert(location.clone(), *retry);
                *self.retried.entry(location).or_default() += 1;
            }
            Event::MessageDelivered {
                message: Message::Assume { check, scope, assumption, .. },
                refused: None,
                ..
            } => {
                let location = ScopedCheck::new(check, scope);
                // A person's word ends `reconcile`, whatever it is. What was done may still be inspected.
                self.looking.remove(&location);
                if *assumption == Assumption::Retry {
                    self.unknown.remove(&location);
                    *self.retried.entry(location).or_default() += 1;
                }
            }
            Event::Routed { check, to, to_scope, again, .. } => {
                self.routed = true;
                if *again {
                    let spec = plan.check(plan.find(check).expect("it is in the plan"));
                    let limit = plan.max_loops.unwrap_or(if spec.is_critical() { 8 } else { 10 });
                    // Equal scopes of two fan-outs are different places.
                    let target = plan.check(plan.find(to).expect("it is in the plan"));
                    let fan = target.fan.iter().take(to_scope.depth()).copied().collect();
                    let loops = self.loops.entry((fan, to_scope.clone())).or_default();
                    *loops += 1;
                    // Sources of different criticality share a scope; each stops at its own limit.
                    assert!(*loops <= limit.max(8), "more than {limit} loops in {to_scope}");
                }
            }
            _ => {}
        }
    }

    fn note_settled(&mut self, event: &Event) {
        match event {
            Event::CheckJudged { check, scope, settled: true, .. }
            | Event::CheckSettled { check, scope }
            | Event::RoutingDone { check, scope, .. }
            | Event::CheckSkipped { check, scope, .. } => {
                self.settled.insert(ScopedCheck::new(check, scope));
            }
            Event::AttemptStarted { check, scope, .. } | Event::RetryScheduled { check, scope, .. } => {
                self.settled.remove(&ScopedCheck::new(check, scope));
            }
            Event::RunReopened { .. } => self.reopened = true,
            _ => {}
        }
    }

    /// No external check starts while something that it certainly depends on may still break its contract. A route may
    /// lead to a check from what depends on it, so plans with routes are left out.
    fn dependencies_have_settled(&self, plan: &Plan, ScopedCheck { check: name, scope }: &ScopedCheck) {
        let check = plan.find(name).expect("it is in the plan");
        let may_route = plan.checks.iter().any(routes);
        if plan.check(check).criticality != Criticality::External || may_route || self.reopened {
            return;
        }
        for dependency in certain_dependencies(plan, check) {
            let spec = plan.check(dependency);
            let at_work = self.running.iter().find(|running| {
                running.check == spec.name && shares(plan, check, scope, dependency, &running.scope)
            });
            assert!(at_work.is_none(), "{name}{scope} starts while {at_work:?} runs");
            let is_settled = self.settled.contains(&ScopedCheck::new(&spec.name, &ScopePath::root()));
            assert!(!spec.fan.is_empty() || is_settled, "{name}{scope} starts before {} settles", spec.name);
        }
    }

    /// No external check starts behind an unremedied violation of something that it certainly depends on.
    fn contracts_are_kept(&self, plan: &Plan, ScopedCheck { check: name, scope }: &ScopedCheck) {
        let check = plan.find(name).expect("it is in the plan");
        if plan.check(check).criticality != Criticality::External {
            return;
        }
        for dependency in certain_dependencies(plan, check) {
            let spec = plan.check(dependency);
            let broken = self.violated.iter().find(|violated| {
                violated.check == spec.name
                    && self.has_item(plan, &violated.check)
                    && shares(plan, check, scope, dependency, &violated.scope)
            });
            assert!(broken.is_none(), "{name}{scope} starts behind {broken:?}");
        }
    }

    /// No external check starts behind an item that failed, or that was skipped although it was wanted.
    fn matrices_are_whole(&self, plan: &Plan, ScopedCheck { check: name, scope }: &ScopedCheck) {
        let check = plan.find(name).expect("it is in the plan");
        if plan.check(check).criticality != Criticality::External || self.routed {
            return;
        }
        for dependency in certain_dependencies(plan, check) {
            let spec = plan.check(dependency);
            let depth = spec.fan.iter().zip(&plan.check(check).fan).take_while(|(a, b)| a == b).count();
            // Its own item is the business of its gate.
            if spec.continue_on_failure || spec.fan.len() == depth {
                continue;
            }
            let hole = self
                .holes
                .iter()
                .find(|hole| hole.check == spec.name && shares(plan, check, scope, dependency, &hole.scope));
            assert!(hole.is_none(), "{name}{scope} stands on a matrix with a hole: {hole:?}");
        }
    }

    /// Items that a later pass no longer has do not count; whether they do is not told from entries alone, so
    /// only violations outside fan-outs, and of plans without routes, are held against a start.
    fn has_item(&self, plan: &Plan, name: &str) -> bool {
        let check = plan.find(name).expect("it is in the plan");
        plan.check(check).fan.is_empty() || !self.routed
    }

    fn groups_have_room(&self, plan: &Plan, ScopedCheck { check: name, scope }: &ScopedCheck) {
        let spec = plan.check(plan.find(name).expect("it is in the plan"));
        let (Some(parent), Some(above)) = (spec.fan.last(), scope.parent()) else { return };
        if !needs_slot(plan, name) {
            return;
        }
        let of_parent = |other: &str| {
            let other = plan.check(plan.find(other).expect("it is in the plan"));
            other.fan.last() == Some(parent)
        };
        let beside =
            |other: &&ScopedCheck| other.scope.parent().as_ref() == Some(&above) && of_parent(&other.check);
        match plan.check(*parent).concurrency {
            Some(limit) => {
                let used = self.running.iter().filter(beside).count();
                assert!(used < limit as usize, "{name}{scope} is more than the concurrency of {limit}");
            }
            None if spec.criticality == Criticality::External => {
                let used = self.running.iter().filter(beside).filter(|other| other.check == *name).count();
                assert_eq!(used, 0, "items of the external {name} run one at a time");
            }
            None => {}
        }
    }

    /// Without routes, an item runs once and then once for each of its own retries.
    fn items_are_apart(&self) {
        if self.routed {
            return;
        }
        for (location, attempts) in &self.attempts {
            let retried = self.retried.get(location).copied().unwrap_or(0);
            assert!(*attempts <= 1 + retried, "{location} ran {attempts} times with {retried} retries");
        }
    }

    fn statuses_are_of_last_attempts(&self, plan: &Plan, run: &Run) {
        for shown in run.check_reports() {
            let check = plan.check(shown.index);
            let of_check: BTreeMap<&ScopePath, &u32> = self
                .attempts
                .iter()
                .filter(|(at, _)| at.check == check.name)
                .map(|(at, attempts)| (&at.scope, attempts))
                .collect();
            let total: u32 = of_check.values().copied().sum();
            assert_eq!(shown.runs, total, "runs of {}", check.name);
            if !check.fan.is_empty() || !run.status().is_terminal() {
                continue;
            }
            let location = ScopedCheck::new(&check.name, &ScopePath::root());
            let expected = match self.verdicts.get(&location) {
                Some(Verdict::Succeeded) => CheckStatus::Succeeded,
                Some(Verdict::Failed) => CheckStatus::Failed,
                None => CheckStatus::Skipped,
            };
            let (name, status) = (shown.name, shown.status);
            let is_resolved = self.resolved.get(&location) == Some(&status);
            assert!(
                status == expected || is_resolved || status == CheckStatus::Unknown,
                "{name} is {status:?}, not {expected:?}"
            );
        }
    }
}

fn needs_slot(plan: &Plan, name: &str) -> bool {
    let check = plan.check(plan.find(name).expect("it is in the plan"));
    !escrow_engine::PROVIDERS.iter().any(|spec| spec.is(&check.provider))
}

/// Whether a check may send the run to others.
fn routes(check: &Check) -> bool {
    RoutingBlock::ALL.iter().any(|block| {
        let routing = block.of(check);
        routing.run_js.is_some() || routing.goto_js.is_some() || routing.targets().next().is_some()
    })
}

/// What a check depends on whatever alternative is used.
fn certain_dependencies(plan: &Plan, check: CheckIndex) -> BTreeSet<CheckIndex> {
    let mut found = BTreeSet::new();
    let mut open = vec![check];
    while let Some(next) = open.pop() {
        for need in &plan.check(next).needs {
            if let [only] = need.any_of.as_slice()
                && found.insert(*only)
            {
                open.push(*only);
            }
        }
    }
    found
}

/// Whether two locations concern the same items.
fn shares(plan: &Plan, one: CheckIndex, at: &ScopePath, other: CheckIndex, there: &ScopePath) -> bool {
    let (fan, other_fan) = (&plan.check(one).fan, &plan.check(other).fan);
    let depth = fan.iter().zip(other_fan).take_while(|(a, b)| a == b).count();
    at.truncated(depth) == there.truncated(depth)
}
