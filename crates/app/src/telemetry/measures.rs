//! Counts runs, attempts, durations, retries and waits.
//!
//! **Invariant:** pure, and bounded by what a playbook names: checks and reasons, never values.

use std::collections::BTreeMap;

use escrow_model::{Ending, Millis, Verdict};

use super::spans::kind_word;
use crate::timeline::{Item, What};

/// Upper bounds in seconds; the last bucket has none.
pub(super) const BOUNDS: &[f64] =
    &[0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0];

/// Names and values, in the order of the names.
pub(super) type Labels = Vec<(&'static str, String)>;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Measures {
    pub(super) since: Millis,
    pub(super) until: Millis,
    pub(super) runs: BTreeMap<Labels, u64>,
    pub(super) attempts: BTreeMap<Labels, u64>,
    pub(super) retries: BTreeMap<Labels, u64>,
    pub(super) waits: BTreeMap<Labels, u64>,
    pub(super) durations: BTreeMap<Labels, Histogram>,
    playbook: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Histogram {
    pub(super) buckets: Vec<u64>,
    pub(super) sum_seconds: f64,
    pub(super) min_seconds: f64,
    pub(super) max_seconds: f64,
}

impl Measures {
    pub(super) fn new(playbook: &str) -> Measures {
        Measures { playbook: playbook.to_owned(), ..Measures::default() }
    }

    /// The time of an entry that was read, whether or not it is counted.
    pub(super) fn advance(&mut self, at: Millis) {
        if self.since == 0 {
            self.since = at;
        }
        self.until = at;
    }

    pub(super) fn take(&mut self, item: &Item<'_>) {
        match &item.what {
            What::AttemptAnswered { of, answer, .. } => {
                let outcome = match &answer.ending {
                    Ending::Done => "done",
                    Ending::Fault(fault) => fault.code.as_str(),
                };
                let labels = self.labels(&[("escrow.check", of.check), ("escrow.outcome", outcome)]);
                *self.attempts.entry(labels).or_default() += 1;
            }
            What::Judged(judged) => {
                let check = judged.of.check;
                if let Some(duration_ms) = judged.duration_ms {
                    let status = match judged.verdict {
                        Verdict::Succeeded => "succeeded",
                        Verdict::Failed => "failed",
                    };
                    let labels = self.labels(&[("escrow.check", check), ("escrow.status", status)]);
                    self.durations.entry(labels).or_default().add(duration_ms);
                }
                if judged.retry.is_some() {
                    self.count_retry(check);
                }
            }
            What::RetryScheduled { of, .. } => self.count_retry(of.check),
            What::WaitStarted { of, kind, .. } => {
                let labels = self.labels(&[("escrow.check", of.check), ("escrow.kind", kind_word(*kind))]);
                *self.waits.entry(labels).or_default() += 1;
            }
            What::RunEnded { reason } => {
                let (status, code) = (reason.code.status().as_str(), reason.code.as_str());
                let labels = self.labels(&[("escrow.status", status), ("escrow.reason", code)]);
                *self.runs.entry(labels).or_default() += 1;
            }
            What::RunStarted { .. }
            | What::RunResumed
            | What::RunReopened { .. }
            | What::DeadlinePassed
            | What::ArtifactsVerified { .. }
            | What::AttemptStarted { .. }
            | What::FanSettled { .. }
            | What::Skipped { .. }
            | What::Routed { .. }
            | What::LoopBudgetExceeded { .. }
            | What::IssueRaised { .. }
            | What::WaitResolved { .. }
            | What::ReconcileStarted { .. }
            | What::Reconciled { .. }
            | What::EffectReused { .. }
            | What::MessageRefused { .. }
            | What::CancelRequested
            | What::NestedStarted { .. } => {}
        }
    }

    fn count_retry(&mut self, check: &str) {
        let labels = self.labels(&[("escrow.check", check)]);
        *self.retries.entry(labels).or_default() += 1;
    }

    fn labels(&self, more: &[(&'static str, &str)]) -> Labels {
        let playbook = [("escrow.playbook", self.playbook.as_str())];
        playbook.iter().chain(more).map(|(name, value)| (*name, (*value).to_owned())).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
            && self.attempts.is_empty()
            && self.retries.is_empty()
            && self.waits.is_empty()
            && self.durations.is_empty()
    }

    /// Forgets what was counted: under delta temporality each export has only what is new.
    pub(super) fn reset(&mut self) {
        self.since = self.until;
        self.runs.clear();
        self.attempts.clear();
        self.retries.clear();
        self.waits.clear();
        self.durations.clear();
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        let buckets = vec![0; BOUNDS.len() + 1];
        Histogram { buckets, sum_seconds: 0.0, min_seconds: f64::INFINITY, max_seconds: 0.0 }
    }
}

impl Histogram {
    fn add(&mut self, took_ms: Millis) {
        let seconds = u32::try_from(took_ms).map_or(f64::from(u32::MAX), f64::from) / 1000.0;
        let bucket = BOUNDS.partition_point(|bound| *bound < seconds);
        self.buckets[bucket] += 1;
        self.sum_seconds += seconds;
        self.min_seconds = self.min_seconds.min(seconds);
        self.max_seconds = self.max_seconds.max(seconds);
    }
}
