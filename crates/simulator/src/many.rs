//! Plays many cases, on every core, until one fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use escrow_store::{Mode, Store};

use crate::case::Cases;
use crate::play::{Backend, Played};
use crate::shrink::{play_safely, report, shrunk};
use crate::tables::rebuild_changes_nothing;

/// How many cases follow each other on one thread; on SQLite they share a database.
const BATCH: u64 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Memory,
    Sqlite,
}

impl Kept {
    pub fn as_str(self) -> &'static str {
        match self {
            Kept::Memory => "memory",
            Kept::Sqlite => "sqlite",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub seed: u64,
    pub runs: u64,
    pub kept: Kept,
    pub jobs: usize,
}

/// What became of all cases.
#[derive(Debug, Default)]
pub struct Found {
    pub runs: u64,
    /// How many processes drove them.
    pub lives: u64,
    pub entries: u64,
    pub endings: BTreeMap<String, u64>,
    pub failure: Option<Failure>,
}

#[derive(Debug)]
pub struct Failure {
    pub number: u64,
    pub told: String,
}

/// Plays as many runs as were ordered; plans that do not load are passed over.
pub fn simulate(order: &Order) -> Found {
    let next = AtomicU64::new(0);
    let played = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        let work = || {
            let mut found = Found::default();
            while !stop.load(Ordering::Relaxed) && played.load(Ordering::Relaxed) < order.runs {
                let from = next.fetch_add(BATCH, Ordering::Relaxed);
                found.batch(order, from, &played);
                if found.failure.is_some() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            found
        };
        let threads: Vec<_> = (0..order.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        let found = threads.into_iter().filter_map(|thread| thread.join().ok());
        found.fold(Found::default(), Found::and)
    });
    Found { failure: found.failure.map(|failure| cut_down(order, failure)), ..found }
}

/// Plays one case in memory, and tells everything; true when nothing is wrong with it.
pub fn one(seed: u64, number: u64) -> Option<(String, bool)> {
    let case = Cases::new(seed).case(number)?;
    let (case, played) = shrunk(&case);
    Some((report(&case, &played), played.problem.is_none()))
}

/// A failure on SQLite is told as it was when it does not happen in memory.
fn cut_down(order: &Order, failure: Failure) -> Failure {
    match one(order.seed, failure.number) {
        Some((told, false)) => Failure { told, ..failure },
        Some((_, true)) | None => failure,
    }
}

impl Found {
    fn batch(&mut self, order: &Order, from: u64, played: &AtomicU64) {
        let mut cases = Cases::new(order.seed);
        let house = match order.kept {
            Kept::Memory => None,
            Kept::Sqlite => Some(tempfile::tempdir().expect("a directory can be made")),
        };
        let backend = match &house {
            None => Backend::Memory,
            Some(house) => {
                let store = Store::open(&house.path().join("escrow.db"), Mode::Write);
                Backend::Sqlite(Arc::new(store.expect("a database can be made")))
            }
        };
        for number in from..from + BATCH {
            let Some(case) = cases.case(number) else { continue };
            if played.fetch_add(1, Ordering::Relaxed) >= order.runs {
                return;
            }
            let outcome = play_safely(&case, &backend);
            self.count(&outcome);
            if outcome.problem.is_some() {
                self.failure = Some(Failure { number, told: report(&case, &outcome) });
                return;
            }
        }
        if let Backend::Sqlite(store) = &backend
            && let Err(told) = rebuild_changes_nothing(store)
        {
            self.failure = Some(Failure { number: from, told });
        }
    }

    fn count(&mut self, played: &Played) {
        self.runs += 1;
        self.lives += u64::from(played.lives);
        self.entries += played.journal.len() as u64;
        let ending = played.status.map_or("broken", |status| status.as_str());
        *self.endings.entry(ending.to_owned()).or_default() += 1;
    }

    fn and(mut self, other: Found) -> Found {
        self.runs += other.runs;
        self.lives += other.lives;
        self.entries += other.entries;
        for (ending, count) in other.endings {
            *self.endings.entry(ending).or_default() += count;
        }
        let earlier = |one: &Failure, two: &Failure| one.number <= two.number;
        self.failure = match (self.failure.take(), other.failure) {
            (Some(one), Some(two)) => Some(if earlier(&one, &two) { one } else { two }),
            (one, two) => one.or(two),
        };
        self
    }
}
