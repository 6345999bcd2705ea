//! Plays many cases, on every core, until one fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use escrow_model::Event;
use escrow_store::{Mode, Store};

use crate::case::Cases;
use crate::play::{Backend, Played};
use crate::shrink::{play_safely, report, shrunk};
use crate::tables::rebuild_changes_nothing;

/// How many cases follow each other on one thread; on SQLite they share a database.
const BATCH: u64 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    Memory,
    Sqlite,
}

impl StoreKind {
    pub fn as_str(self) -> &'static str {
        match self {
            StoreKind::Memory => "memory",
            StoreKind::Sqlite => "sqlite",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub seed: u64,
    pub runs: u64,
    /// The first case.
    pub first: u64,
    pub store: StoreKind,
    pub jobs: usize,
    pub observer: fn(Progress),
}

/// What an observer is told while cases are played.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    Played(u64),
    /// This case failed. Cutting it down may take long.
    Failed(u64),
    /// This case is still being played since the last look.
    Slow(u64),
}

/// How long a case may take before an observer is told.
const SLOW: Duration = Duration::from_secs(20);

/// After how many runs an observer is told.
const PROGRESS_RUNS: u64 = 10_000;

/// The results of all cases.
#[derive(Debug, Default)]
pub struct Found {
    pub runs: u64,
    /// How many processes drove them.
    pub lives: u64,
    /// How many nested runs they began.
    pub nested: u64,
    pub entries: u64,
    pub endings: BTreeMap<String, u64>,
    /// Situations that the cases are meant to meet, and how often they did.
    pub situations: BTreeMap<&'static str, u64>,
    pub failure: Option<Failure>,
}

#[derive(Debug)]
pub struct Failure {
    pub number: u64,
    pub report: String,
}

/// Plays as many runs as were ordered; plans that do not load are passed over.
pub fn simulate(settings: &Settings) -> Found {
    let next = AtomicU64::new(settings.first);
    let played = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let at: Vec<AtomicU64> = (0..settings.jobs.max(1)).map(|_| AtomicU64::new(0)).collect();
    let found = std::thread::scope(|scope| {
        let work = |at: &AtomicU64| {
            let mut found = Found::default();
            while !stop.load(Ordering::Relaxed) && played.load(Ordering::Relaxed) < settings.runs {
                let from = next.fetch_add(BATCH, Ordering::Relaxed);
                found.batch(settings, from, &played, at);
                if found.failure.is_some() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            at.store(NONE, Ordering::Relaxed);
            found
        };
        let threads: Vec<_> = at.iter().map(|at| scope.spawn(move || work(at))).collect();
        watch(&at, settings.observer);
        let found = threads.into_iter().filter_map(|thread| thread.join().ok());
        found.fold(Found::default(), Found::and)
    });
    Found { failure: found.failure.map(|failure| cut_down(settings, failure)), ..found }
}

/// No case is being played any more.
const NONE: u64 = u64::MAX;

/// Tells of cases that take long, until every thread has ended.
fn watch(at: &[AtomicU64], observer: fn(Progress)) {
    let look = || -> Vec<u64> { at.iter().map(|at| at.load(Ordering::Relaxed)).collect() };
    let mut before = look();
    let mut since = Instant::now();
    while before.iter().any(|case| *case != NONE) {
        std::thread::sleep(Duration::from_millis(50));
        let now = look();
        if since.elapsed() < SLOW {
            if now.iter().all(|case| *case == NONE) {
                return;
            }
            continue;
        }
        let same = now.iter().zip(&before).filter(|(now, before)| now == before && **now != NONE);
        same.for_each(|(case, _)| observer(Progress::Slow(*case)));
        (before, since) = (now, Instant::now());
    }
}

/// Plays one case in memory, and tells everything; true when nothing is wrong with it.
pub fn one(seed: u64, number: u64) -> Option<(String, bool)> {
    let case = Cases::new(seed).case(number)?;
    let (case, played) = shrunk(&case);
    Some((report(&case, &played), played.problem.is_none()))
}

/// A failure on SQLite is reported as it was when it does not happen in memory.
fn cut_down(settings: &Settings, failure: Failure) -> Failure {
    match one(settings.seed, failure.number) {
        Some((report, false)) => Failure { report, ..failure },
        Some((_, true)) | None => failure,
    }
}

impl Found {
    fn batch(&mut self, settings: &Settings, from: u64, played: &AtomicU64, at: &AtomicU64) {
        let mut cases = Cases::new(settings.seed);
        let directory = match settings.store {
            StoreKind::Memory => None,
            StoreKind::Sqlite => Some(tempfile::tempdir().expect("a directory can be made")),
        };
        let backend = match &directory {
            None => Backend::Memory,
            Some(directory) => {
                let store = Store::open(&directory.path().join("escrow.db"), Mode::Write);
                Backend::Sqlite(Arc::new(store.expect("a database can be made")))
            }
        };
        for number in from..from + BATCH {
            let Some(case) = cases.case(number) else { continue };
            let before = played.fetch_add(1, Ordering::Relaxed);
            if before >= settings.runs {
                return;
            }
            if before > 0 && before.is_multiple_of(PROGRESS_RUNS) {
                (settings.observer)(Progress::Played(before));
            }
            at.store(number, Ordering::Relaxed);
            let outcome = play_safely(&case, &backend);
            self.count(&outcome);
            if outcome.problem.is_some() {
                (settings.observer)(Progress::Failed(number));
                self.failure = Some(Failure { number, report: report(&case, &outcome) });
                return;
            }
        }
        if let Backend::Sqlite(store) = &backend
            && let Err(report) = rebuild_changes_nothing(store.blocking())
        {
            self.failure = Some(Failure { number: from, report });
        }
    }

    fn count(&mut self, played: &Played) {
        self.runs += 1;
        self.lives += u64::from(played.lives);
        self.nested += played.journals.len().saturating_sub(1) as u64;
        self.entries += played.journals.iter().map(|(_, journal)| journal.len() as u64).sum::<u64>();
        let ending = played.status.map_or("broken", |status| status.as_str());
        *self.endings.entry(ending.to_owned()).or_default() += 1;
        let events = played.journals.iter().flat_map(|(_, journal)| journal).map(|entry| &entry.event);
        for situation in events.filter_map(situation) {
            *self.situations.entry(situation).or_default() += 1;
        }
    }

    fn and(mut self, other: Found) -> Found {
        self.runs += other.runs;
        self.lives += other.lives;
        self.nested += other.nested;
        self.entries += other.entries;
        for (ending, count) in other.endings {
            *self.endings.entry(ending).or_default() += count;
        }
        for (situation, count) in other.situations {
            *self.situations.entry(situation).or_default() += count;
        }
        let earlier = |one: &Failure, two: &Failure| one.number <= two.number;
        self.failure = match (self.failure.take(), other.failure) {
            (Some(one), Some(two)) => Some(if earlier(&one, &two) { one } else { two }),
            (one, two) => one.or(two),
        };
        self
    }
}

fn situation(event: &Event) -> Option<&'static str> {
    match event {
        Event::WaitStarted { replaces: Some(_), .. } => Some("stale approvals asked anew"),
        Event::MessageDelivered { refused: Some(_), .. } => Some("messages refused"),
        Event::LedgerAnswered { effect: Some(_), .. } => Some("effects found in the ledger"),
        Event::EffectReused { .. } => Some("effects not repeated"),
        _ => None,
    }
}
