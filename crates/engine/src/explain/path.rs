//! The path from a check to the one that decided it, along its dependencies.

use std::collections::{BTreeMap, VecDeque};

use escrow_model::{CheckIndex, Event, SkipReason, Verdict};

use super::{JournalReader, Link, decisive};
use crate::gate::{Blocker, Gate};
use crate::graph::scope_toward;
use crate::location::Location;
use crate::run::{ReplayError, Run};

/// Longer paths are cut. A plan has no cycles, but a journal may come from anywhere.
const LINKS_MAX: usize = 64;

impl JournalReader<'_> {
    /// The links from a location to its cause, and the entry of the cause.
    pub(super) fn path(
        &self,
        location: &Location,
        decided: usize,
    ) -> Result<(Vec<Link>, usize), ReplayError> {
        let mut links = vec![self.link(location, decided)];
        let Event::CheckSkipped { reason, .. } = &self.entries[decided].event else {
            return Ok((links, decided));
        };
        let leads_on = matches!(
            reason,
            SkipReason::DependencyFailed | SkipReason::ContractBlocked | SkipReason::ForEachEmpty
        );
        if !leads_on {
            return Ok((links, decided));
        }
        // What stood then: the same state serves the whole path, because all of it had settled.
        let then = self.before(decided)?;
        let mut at = (location.clone(), decided);
        while let Event::CheckSkipped { reason, .. } = &self.entries[at.1].event
            && links.len() < LINKS_MAX
        {
            let steps = match reason {
                SkipReason::ContractBlocked => self.to_blocker(&then, &at.0),
                SkipReason::DependencyFailed => dependency(&then, &at.0).into_iter().collect(),
                SkipReason::ForEachEmpty => parent(&then, &at.0).into_iter().collect(),
                _ => break,
            };
            // Items settle in any order: each step was decided before the skip, not before the step that leads to it.
            let (mut moved, skipped) = (false, at.1);
            let broken = match (reason, steps.last()) {
                (SkipReason::ContractBlocked, Some(last)) => self.violation(last, skipped),
                _ => None,
            };
            let last = steps.len().saturating_sub(1);
            for (place, step) in steps.into_iter().enumerate() {
                let broken = broken.filter(|_| place == last);
                let Some(entry) = broken.or_else(|| self.decision(step.check, &step.scope, skipped)) else {
                    break;
                };
                let scope = super::scope_of(&self.entries[entry].event).cloned().unwrap_or_default();
                at = (Location::new(step.check, scope), entry);
                links.push(self.link(&at.0, entry));
                moved = true;
            }
            if !moved {
                break;
            }
        }
        Ok((links, at.1))
    }

    /// The verdict whose broken contract still counted at an entry: a later attempt may have failed for another reason,
    /// which remedies nothing.
    fn violation(&self, at: &Location, until: usize) -> Option<usize> {
        let name = &self.plan.check(at.check).name;
        let mut standing = BTreeMap::new();
        for (index, entry) in self.entries[..until].iter().enumerate() {
            let Event::CheckJudged { check, scope, verdict, violation, .. } = &entry.event else { continue };
            if check != name || !scope.touches(&at.scope) {
                continue;
            }
            match verdict {
                Verdict::Succeeded => {
                    standing.remove(scope);
                }
                Verdict::Failed if *violation => {
                    standing.insert(scope, index);
                }
                Verdict::Failed => {}
            }
        }
        standing.into_values().min()
    }

    fn link(&self, Location { check, scope }: &Location, entry: usize) -> Link {
        let (status, code, detail) = match &self.entries[entry].event {
            Event::CheckSkipped { reason, detail, .. } => {
                ("skipped", reason.as_str().to_owned(), detail.clone())
            }
            Event::CheckJudged { verdict, issues, .. } => {
                let first = decisive(issues);
                let code = first.map(|issue| issue.code.to_string()).unwrap_or_default();
                let detail = first.map(|issue| issue.message.clone()).unwrap_or_default();
                match verdict {
                    Verdict::Succeeded => ("succeeded", code, detail),
                    Verdict::Failed => ("failed", code, detail),
                }
            }
            Event::WaitStarted { prompt, .. } => ("waiting", String::new(), prompt.clone()),
            _ => ("running", String::new(), String::new()),
        };
        let check = self.plan.check(*check).name.clone();
        Link { check, scope: scope.clone(), status, code, detail, entry: entry as u64 + 1 }
    }

    /// Every check between the blocked one and the one that broke its contract or has a missing item, by the shortest
    /// way.
    fn to_blocker(&self, then: &Run, Location { check, scope }: &Location) -> Vec<Location> {
        let cell = then.cell(*check, scope);
        let (blocker, item) = match then.blocker(*check, scope, cell) {
            None => return Vec::new(),
            Some(
                Blocker::Violation(check) | Blocker::CancelledByHand(check) | Blocker::Unevaluated(check),
            ) => (check, None),
            Some(Blocker::Hole { check, item, .. }) => (check, Some(item)),
            // The check that nests the run kept its own contract, so the skip itself is the cause.
            Some(Blocker::Nested { .. }) => return Vec::new(),
        };
        let plan = &then.state.plan;
        let mut came_from: BTreeMap<CheckIndex, Location> = BTreeMap::new();
        let mut open = VecDeque::from([Location::new(*check, scope.clone())]);
        while let Some(at) = open.pop_front() {
            if at.check == blocker {
                let mut steps = vec![at];
                while let Some(before) = steps.last().and_then(|step| came_from.get(&step.check)).cloned() {
                    steps.push(before);
                }
                if let (Some(item), Some(first)) = (&item, steps.first_mut()) {
                    first.scope = item.clone();
                }
                steps.pop(); // the blocked check itself
                steps.reverse();
                return steps;
            }
            let spec = plan.check(at.check);
            let needed = spec.follows();
            let routed = then.cell(at.check, &at.scope).and_then(|cell| cell.activation.routed_from.as_ref());
            for next in needed.chain(routed.map(|source| source.check)) {
                if next != *check && !came_from.contains_key(&next) {
                    came_from.insert(next, at.clone());
                    let toward = scope_toward(&spec.fan, &at.scope, &plan.check(next).fan);
                    open.push_back(Location::new(next, toward));
                }
            }
        }
        vec![Location::new(blocker, item.unwrap_or_default())]
    }
}

/// The dependency that did not succeed.
fn dependency(then: &Run, Location { check, scope }: &Location) -> Option<Location> {
    let plan = &then.state.plan;
    let spec = plan.check(*check);
    let shut = match then.gate(*check, scope, then.cell(*check, scope)) {
        Gate::Shut(dependency) => Some(dependency),
        Gate::Wait | Gate::Open => None,
    };
    // The items of a group could not be known, because their parent did not succeed.
    let failed_before = || spec.step.as_ref().and_then(|_| then.failed_step_before(*check));
    let dependency = shut.or_else(failed_before).or_else(|| spec.fan.get(scope.depth()).copied())?;
    Some(Location::new(dependency, scope_toward(&spec.fan, scope, &plan.check(dependency).fan)))
}

fn parent(then: &Run, Location { check, scope }: &Location) -> Option<Location> {
    let parent = then.state.plan.check(*check).fan.get(scope.depth()).copied()?;
    Some(Location::new(parent, scope.clone()))
}
