//! The items of a fan-out, counted instead of listed.

use std::collections::BTreeMap;

use escrow_model::{Millis, ScopePath, Verdict};

use super::words::count;

/// Where the items of one check stand.
#[derive(Debug, Default)]
pub(super) struct Fan {
    items: BTreeMap<ScopePath, Item>,
    began: Option<Millis>,
    /// The line about it was written, and nothing has happened since.
    told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Running,
    Retrying,
    /// Judged, but its routing may still try it again.
    Open(Verdict),
    Succeeded,
    Failed,
    Skipped,
}

impl Fan {
    pub(super) fn started(&mut self, scope: &ScopePath, at: Millis) {
        // The first item of a new pass: what the last one came to was told.
        if self.told {
            *self = Fan::default();
        }
        self.began.get_or_insert(at);
        self.items.insert(scope.clone(), Item::Running);
    }

    pub(super) fn judged(&mut self, scope: &ScopePath, verdict: Verdict) {
        self.items.insert(scope.clone(), Item::Open(verdict));
    }

    /// The verdict stands.
    pub(super) fn settled(&mut self, scope: &ScopePath) {
        if let Some(item) = self.items.get_mut(scope) {
            *item = match *item {
                Item::Open(Verdict::Succeeded) => Item::Succeeded,
                Item::Open(Verdict::Failed) => Item::Failed,
                other => other,
            };
        }
    }

    pub(super) fn retries(&mut self, scope: &ScopePath) {
        self.items.insert(scope.clone(), Item::Retrying);
    }

    pub(super) fn skipped(&mut self, scope: &ScopePath) {
        self.items.entry(scope.clone()).or_insert(Item::Skipped);
    }

    fn number(&self, wanted: Item) -> usize {
        self.items.values().filter(|item| **item == wanted).count()
    }

    pub(super) fn is_running(&self) -> bool {
        self.items.values().any(|item| matches!(item, Item::Running | Item::Retrying | Item::Open(_)))
    }

    /// Whether all of this many items have settled and nobody was told yet.
    pub(super) fn is_news(&self, total: usize) -> bool {
        !self.told && !self.is_running() && total > 0 && self.items.len() >= total
    }

    pub(super) fn was_told(&self) -> bool {
        self.told || self.items.is_empty()
    }

    /// From now on it is history: the verdicts that there are stand.
    pub(super) fn set_told(&mut self) {
        self.told = true;
        let scopes: Vec<ScopePath> = self.items.keys().cloned().collect();
        scopes.iter().for_each(|scope| self.settled(scope));
    }

    pub(super) fn is_good(&self) -> bool {
        self.number(Item::Failed) == 0
    }

    pub(super) fn elapsed_ms(&self, now: Millis) -> Millis {
        self.began.map_or(0, |began| now.saturating_sub(began))
    }

    /// `3 items`, or `2 of 3 items succeeded, 1 failed`.
    pub(super) fn outcome(&self) -> String {
        let (succeeded, all) = (self.number(Item::Succeeded), self.items.len());
        if succeeded == all {
            return count(all, "item");
        }
        let mut words = format!("{succeeded} of {} succeeded", count(all, "item"));
        for (number, what) in [(self.number(Item::Failed), "failed"), (self.number(Item::Skipped), "skipped")]
        {
            if number > 0 {
                words.push_str(&format!(", {number} {what}"));
            }
        }
        words
    }

    /// `3/10 items, 1 failed, 2 running`.
    pub(super) fn progress(&self, total: Option<usize>) -> String {
        let (running, retrying) = (self.number(Item::Running), self.number(Item::Retrying));
        let open = self.number(Item::Open(Verdict::Succeeded)) + self.number(Item::Open(Verdict::Failed));
        let done = self.items.len() - running - retrying - open;
        let mut words = match total.filter(|total| *total >= self.items.len()) {
            Some(total) => format!("{done}/{total} items"),
            None => format!("{done} items"),
        };
        for (number, what) in
            [(self.number(Item::Failed), "failed"), (running, "running"), (retrying, "to be retried")]
        {
            if number > 0 {
                words.push_str(&format!(", {number} {what}"));
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fan_out_is_counted_by_its_items_and_not_by_their_attempts() {
        let item = |index| ScopePath::new(vec![index]);
        let mut fan = Fan::default();
        fan.started(&item(0), 5);
        fan.started(&item(1), 6);
        fan.judged(&item(0), Verdict::Failed);
        fan.retries(&item(0));
        fan.judged(&item(1), Verdict::Succeeded);
        fan.settled(&item(1));
        assert_eq!(fan.progress(Some(3)), "1/3 items, 1 to be retried");
        assert!(!fan.is_news(3));
        fan.started(&item(0), 9);
        fan.judged(&item(0), Verdict::Succeeded);
        fan.settled(&item(0));
        fan.skipped(&item(2));
        assert!(fan.is_news(3));
        assert_eq!(fan.outcome(), "2 of 3 items succeeded, 1 skipped");
        assert!(fan.is_good());
    }
}
