//! The items of a fan-out, counted instead of listed.

use std::collections::BTreeMap;
use std::fmt;

use escrow_model::{Millis, ScopePath, Verdict};

use crate::words::count;

/// Where the items of one check stand.
#[derive(Debug, Default)]
pub(super) struct Fan {
    items: BTreeMap<ScopePath, Item>,
    /// The items by where they stand, kept along, so that a settled item costs the same however many there are.
    counted: FanProgress,
    began: Option<Millis>,
    /// Its end was reported, and nothing has happened since.
    reported: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Running,
    /// It waits for a person, before its first attempt or during one.
    Waiting,
    Retrying,
    /// Judged, but its routing may still try it again.
    Open(Verdict),
    Succeeded,
    Failed,
    Skipped,
    /// Its `if` or `assume` could not be evaluated.
    Unevaluated,
}

/// Which items outlive their list when it is computed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retained {
    None,
    Succeeded,
}

/// How far a fan-out is. Displays as `3/10 items, 1 failed, 2 running`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FanProgress {
    pub succeeded: usize,
    pub failed: usize,
    pub skipped: usize,
    /// Those of the skipped whose `if` or `assume` could not be evaluated.
    pub unevaluated: usize,
    pub running: usize,
    pub waiting: usize,
    pub retrying: usize,
    /// Judged, but not settled.
    pub open: usize,
    /// How many items there will be, once the checks that give them have answered.
    pub total: Option<usize>,
}

impl Fan {
    pub(super) fn start(&mut self, scope: &ScopePath, at: Millis) {
        // The first item of another pass: the end of the last pass was reported.
        if self.reported {
            *self = Fan::default();
        }
        self.began.get_or_insert(at);
        self.set(scope, Item::Running);
    }

    fn set(&mut self, scope: &ScopePath, item: Item) {
        if let Some(before) = self.items.insert(scope.clone(), item) {
            *self.counted.of(before) -= 1;
        }
        *self.counted.of(item) += 1;
    }

    /// The run is opened again: the items that are not started anew stay as they ended.
    pub(super) fn reopen(&mut self) {
        self.reported = false;
        self.began = None;
    }

    /// A list was computed again, so its former items are gone. In a run that was opened again, those that succeeded
    /// are kept: their effects are not repeated.
    pub(super) fn recompute(&mut self, list: &ScopePath, given: usize, retained: Retained) {
        let depth = list.depth();
        let is_kept = |scope: &ScopePath, item: Item| {
            let index = scope.indices().get(depth).map(|index| usize::try_from(*index).unwrap_or(usize::MAX));
            retained == Retained::Succeeded
                && item == Item::Succeeded
                && index.is_some_and(|index| index < given)
        };
        let of_list = self.items.iter().filter(|(scope, _)| scope.starts_with(list));
        let gone = of_list.filter(|(scope, item)| !is_kept(scope, **item)).map(|(scope, _)| scope.clone());
        for scope in gone.collect::<Vec<_>>() {
            if let Some(item) = self.items.remove(&scope) {
                *self.counted.of(item) -= 1;
            }
        }
        self.reported = false;
        if self.items.is_empty() {
            self.began = None;
        }
    }

    pub(super) fn wait(&mut self, scope: &ScopePath) {
        self.set(scope, Item::Waiting);
    }

    pub(super) fn judge(&mut self, scope: &ScopePath, verdict: Verdict) {
        self.set(scope, Item::Open(verdict));
    }

    /// The verdict stands.
    pub(super) fn settle(&mut self, scope: &ScopePath) {
        if let Some(item) = self.items.get(scope) {
            self.set(scope, item.settled());
        }
    }

    pub(super) fn retry(&mut self, scope: &ScopePath) {
        self.set(scope, Item::Retrying);
    }

    pub(super) fn skip(&mut self, scope: &ScopePath) {
        if self.items.get(scope).is_none_or(|item| *item == Item::Waiting) {
            self.set(scope, Item::Skipped);
        }
    }

    /// An evaluation error of an item that has not started: it is skipped for it.
    pub(super) fn fail_to_evaluate(&mut self, scope: &ScopePath) {
        if !self.items.contains_key(scope) {
            self.set(scope, Item::Unevaluated);
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.counted.unsettled() > 0
    }

    /// Whether all of this many items have settled and the end is not reported yet.
    pub(super) fn is_complete(&self, total: usize) -> bool {
        !self.reported && !self.is_running() && total > 0 && self.items.len() >= total
    }

    pub(super) fn needs_report(&self) -> bool {
        !self.reported && self.began.is_some()
    }

    /// Marks the end as reported: the verdicts so far stand.
    pub(super) fn report(&mut self) {
        self.reported = true;
        for item in self.items.values_mut() {
            *self.counted.of(*item) -= 1;
            *item = item.settled();
            *self.counted.of(*item) += 1;
        }
    }

    pub(super) fn elapsed_ms(&self, now: Millis) -> Millis {
        self.began.map_or(0, |began| now.saturating_sub(began))
    }

    pub(super) fn progress(&self, total: Option<usize>) -> FanProgress {
        FanProgress { total, skipped: self.counted.skipped + self.counted.unevaluated, ..self.counted }
    }
}

impl Item {
    fn settled(self) -> Item {
        match self {
            Item::Open(Verdict::Succeeded) => Item::Succeeded,
            Item::Open(Verdict::Failed) => Item::Failed,
            Item::Running
            | Item::Waiting
            | Item::Retrying
            | Item::Succeeded
            | Item::Failed
            | Item::Skipped
            | Item::Unevaluated => self,
        }
    }
}

impl FanProgress {
    /// Where items that stand so are counted. A skip by an evaluation error is counted apart here.
    fn of(&mut self, item: Item) -> &mut usize {
        match item {
            Item::Running => &mut self.running,
            Item::Waiting => &mut self.waiting,
            Item::Retrying => &mut self.retrying,
            Item::Open(_) => &mut self.open,
            Item::Succeeded => &mut self.succeeded,
            Item::Failed => &mut self.failed,
            Item::Skipped => &mut self.skipped,
            Item::Unevaluated => &mut self.unevaluated,
        }
    }

    fn seen(&self) -> usize {
        self.succeeded + self.failed + self.skipped + self.unsettled()
    }

    /// Items that run, wait or may be tried again.
    pub fn unsettled(&self) -> usize {
        self.running + self.waiting + self.retrying + self.open
    }

    /// `3 items`, or `2 of 3 items succeeded, 1 failed`.
    pub fn outcome(&self) -> String {
        let all = self.seen();
        if self.succeeded == all {
            return count(all, "item");
        }
        if self.unevaluated == all {
            return format!("all {} skipped: a condition could not be evaluated", count(all, "item"));
        }
        let mut words = format!("{} of {} succeeded", self.succeeded, count(all, "item"));
        let parts = [(self.failed, "failed"), (self.skipped, "skipped"), (self.unsettled(), "still open")];
        for (number, what) in parts {
            if number > 0 {
                words.push_str(&format!(", {number} {what}"));
            }
        }
        if self.unevaluated > 0 {
            words.push_str(&format!(" ({} by an evaluation error)", self.unevaluated));
        }
        words
    }
}

impl fmt::Display for FanProgress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self.succeeded + self.failed + self.skipped;
        match self.total.filter(|total| *total >= self.seen()) {
            Some(total) => write!(formatter, "{done}/{total} items")?,
            None => write!(formatter, "{done} items")?,
        }
        for (number, what) in [
            (self.failed, "failed"),
            (self.running, "running"),
            (self.waiting, "waiting"),
            (self.retrying, "to be retried"),
        ] {
            if number > 0 {
                write!(formatter, ", {number} {what}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fan_out_is_counted_by_its_items_and_not_by_their_attempts() {
        let item = |index| ScopePath::new(vec![index]);
        let mut fan = Fan::default();
        fan.start(&item(0), 5);
        fan.start(&item(1), 6);
        fan.judge(&item(0), Verdict::Failed);
        fan.retry(&item(0));
        fan.judge(&item(1), Verdict::Succeeded);
        fan.settle(&item(1));
        assert_eq!(fan.progress(Some(3)).to_string(), "1/3 items, 1 to be retried");
        assert_eq!(fan.progress(Some(3)).outcome(), "1 of 2 items succeeded, 1 still open");
        assert!(!fan.is_complete(3));
        fan.start(&item(0), 9);
        fan.judge(&item(0), Verdict::Succeeded);
        fan.settle(&item(0));
        fan.skip(&item(2));
        assert!(fan.is_complete(3));
        assert_eq!(fan.progress(Some(3)).outcome(), "2 of 3 items succeeded, 1 skipped");
        assert_eq!(fan.progress(Some(3)).failed, 0);
    }

    #[test]
    fn a_list_that_is_computed_again_has_the_items_of_its_last_pass() {
        let item = |index| ScopePath::new(vec![index]);
        let settle = |fan: &mut Fan, index, verdict| {
            fan.start(&item(index), 5);
            fan.judge(&item(index), verdict);
            fan.settle(&item(index));
        };
        let mut fan = Fan::default();
        settle(&mut fan, 0, Verdict::Succeeded);
        settle(&mut fan, 1, Verdict::Failed);
        fan.wait(&item(2));
        fan.recompute(&ScopePath::root(), 2, Retained::None);
        assert!(!fan.is_running() && !fan.is_complete(2));
        settle(&mut fan, 0, Verdict::Succeeded);
        assert_eq!(fan.progress(Some(2)).to_string(), "1/2 items");
        settle(&mut fan, 1, Verdict::Succeeded);
        assert_eq!(fan.progress(Some(2)).outcome(), "2 items");
        assert!(fan.is_complete(2));
        fan.report();
        fan.recompute(&ScopePath::root(), 1, Retained::Succeeded);
        assert_eq!(fan.progress(Some(1)).outcome(), "1 item");
    }

    #[test]
    fn items_that_wait_and_items_of_before_a_reopening_belong_to_the_fan_out() {
        let item = |index| ScopePath::new(vec![index]);
        let mut fan = Fan::default();
        (0..3).for_each(|index| fan.wait(&item(index)));
        assert!(!fan.needs_report(), "nothing has happened yet but questions");
        fan.start(&item(0), 5);
        fan.judge(&item(0), Verdict::Failed);
        fan.settle(&item(0));
        assert_eq!(fan.progress(Some(3)).outcome(), "0 of 3 items succeeded, 1 failed, 2 still open");
        assert!(!fan.is_complete(3));
        for index in [1, 2] {
            fan.start(&item(index), 6);
            fan.judge(&item(index), Verdict::Succeeded);
            fan.settle(&item(index));
        }
        assert!(fan.is_complete(3));
        fan.report();
        fan.reopen();
        fan.start(&item(0), 9);
        fan.judge(&item(0), Verdict::Succeeded);
        fan.settle(&item(0));
        assert!(fan.is_complete(3));
        assert_eq!(fan.progress(Some(3)).outcome(), "3 items");
    }
}
