//! Turns the entries of a journal into typed items for people: for lists, reports and live views.
//!
//!   entries ──Timeline::read──▶ Item ──Item::lines──▶ Line ──▶ terminal, pages
//!                                 └──▶ reports, telemetry, logs
//!
//! Reading is incremental: a live view feeds every commit, `runs show` the whole journal.
//!
//! **Invariant:** independent of terminal, width, colour and clock. The same entries give the same items.

mod cases;
mod entry;
mod fan;
mod item;
mod line;
mod nested;
mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use escrow_model::{Millis, Plan, ScopePath, ScopedCheck};

use fan::Fan;

pub use cases::{Case, CaseResult, RunCases};
pub use entry::EntryWords;
pub use fan::FanProgress;
pub use item::{CheckScope, Item, Judged, Resolution, Retry, What};
pub use line::{Line, Mark};
pub use nested::NestedTimelines;
pub use read::RunStart;

/// Follows the entries of one run.
#[derive(Debug)]
pub struct Timeline {
    plan: Arc<Plan>,
    /// Attempts that are not judged yet.
    attempts: BTreeMap<ScopedCheck, OpenAttempt>,
    /// The check and scope of every open wait, by its id.
    waits: BTreeMap<String, ScopedCheck>,
    /// How many approvals a wait still needs.
    approvals_left: BTreeMap<String, u32>,
    fans: BTreeMap<String, Fan>,
    /// How many attempts of a check or an item failed and were retried, since it last settled.
    retried: BTreeMap<ScopedCheck, u32>,
    /// How many items a `forEach` check gave, by its scope.
    sizes: BTreeMap<String, BTreeMap<ScopePath, usize>>,
    /// What the entry before this one raised an evaluation error for.
    unevaluated: Option<ScopedCheck>,
    /// In safe mode, what agents are told is shown.
    shows_prompts: bool,
    /// The run had ended, and failed checks run again.
    reopened: bool,
}

#[derive(Debug)]
struct OpenAttempt {
    began: Millis,
    answered: bool,
    waiting: bool,
}

/// Something that runs now. The items of a fan-out count as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    pub label: String,
    pub elapsed_ms: u64,
    pub progress: Option<FanProgress>,
}

impl Timeline {
    pub fn new(plan: &Arc<Plan>) -> Timeline {
        Timeline {
            plan: Arc::clone(plan),
            attempts: BTreeMap::new(),
            waits: BTreeMap::new(),
            approvals_left: BTreeMap::new(),
            fans: BTreeMap::new(),
            retried: BTreeMap::new(),
            sizes: BTreeMap::new(),
            unevaluated: None,
            shows_prompts: false,
            reopened: false,
        }
    }

    pub fn running(&self, now: Millis) -> Vec<Running> {
        let of_checks = self.attempts.iter().filter(|(at, open)| at.scope.is_root() && !open.waiting);
        let checks = of_checks.map(|(at, open)| Running {
            label: at.check.clone(),
            elapsed_ms: now.saturating_sub(open.began),
            progress: None,
        });
        let fans = self.fans.iter().filter(|(_, fan)| fan.is_running()).map(|(check, fan)| Running {
            label: check.clone(),
            elapsed_ms: fan.elapsed_ms(now),
            progress: Some(fan.progress(self.total(check))),
        });
        checks.chain(fans).collect()
    }

    /// Fan-outs whose end was not reported: the run ended before it, or they began before this timeline did.
    pub fn finish(&mut self, now: Millis) -> Vec<Item<'static>> {
        let open: Vec<String> =
            self.fans.iter().filter(|(_, fan)| fan.needs_report()).map(|(check, _)| check.clone()).collect();
        open.iter().filter_map(|check| self.report_fan(check, now)).collect()
    }

    /// The length of the longest list that a `forEach` check gave.
    pub fn items_max(&self) -> usize {
        self.sizes.values().flat_map(BTreeMap::values).copied().max().unwrap_or(0)
    }

    /// Nothing runs any more.
    pub fn clear(&mut self) {
        *self = Timeline::new(&self.plan);
    }

    /// The end of a fan-out, if an item that settled now was its last.
    fn settled_fan(&mut self, check: &str, now: Millis) -> Option<Item<'static>> {
        let total = self.total(check)?;
        if !self.fans.get(check)?.is_complete(total) {
            return None;
        }
        self.report_fan(check, now)
    }

    fn report_fan(&mut self, check: &str, now: Millis) -> Option<Item<'static>> {
        let total = self.total(check);
        let fan = self.fans.get_mut(check)?;
        fan.report();
        let (progress, duration_ms) = (fan.progress(total), fan.elapsed_ms(now));
        Some(Item { at: now, what: What::FanSettled { check: check.to_owned(), progress, duration_ms } })
    }

    /// How many items a mapped check has, as far as its parents have answered.
    fn total(&self, check: &str) -> Option<usize> {
        let parent = self.plan.check(*self.plan.check(self.plan.find(check)?).fan.last()?);
        let sizes = self.sizes.get(&parent.name)?;
        let parents_done = parent.fan.is_empty() || !self.fans.get(&parent.name)?.is_running();
        parents_done.then(|| sizes.values().sum())
    }
}
