//! Measures what a commit costs here: `cargo run --release -p escrow-store --example commits [DIRECTORY]`.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use escrow_model::{Entry, Event, Facts, Plan, RunId, RunOptions};
use escrow_store::{
    BlockingStore, Commit, Committed, Created, Durability, Holder, Lease, Mode, NewRun, RunFilter, Watch,
};
use serde_json::json;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome {
    let base = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = base.join(format!("escrow-commits-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let measured = measure(&directory.join("escrow.db"));
    std::fs::remove_dir_all(&directory)?;
    measured
}

fn measure(path: &Path) -> Outcome {
    let start = Instant::now();
    let store = BlockingStore::open(path, Mode::Write)?;
    report("make the database", 1, start.elapsed())?;
    let start = Instant::now();
    let mut tenant = Tenant::start(&store, 0)?;
    report("first commit", 1, start.elapsed())?;

    for (durability, count) in [(Durability::Grouped, 5_000), (Durability::Full, 500)] {
        let start = Instant::now();
        (0..count).try_for_each(|_| tenant.commit(1, durability))?;
        report(&format!("single commits, {durability:?}"), count, start.elapsed())?;
    }
    let start = Instant::now();
    (0..10).try_for_each(|_| tenant.commit(1_000, Durability::Grouped))?;
    report("10,000 entries in 10 commits", 10_000, start.elapsed())?;

    for durability in [Durability::Grouped, Durability::Full] {
        let start = Instant::now();
        let (producers, each) = (32, 200);
        std::thread::scope(|scope| -> Outcome {
            let threads: Vec<_> = (0..producers)
                .map(|_| {
                    let store = &store;
                    scope.spawn(move || -> Outcome {
                        let mut tenant = Tenant::start(store, unique())?;
                        (0..each).try_for_each(|_| tenant.commit(1, durability))
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a producer panicked")?)
        })?;
        report(&format!("{producers} producers, {durability:?}"), producers * each, start.elapsed())?;
    }

    let start = Instant::now();
    let entries = store.entries(tenant.lease.run(), 1)?.len();
    report("read and decode a journal", u64::try_from(entries)?, start.elapsed())?;
    let start = Instant::now();
    store.verify(tenant.lease.run())?;
    report("verify it", u64::try_from(entries)?, start.elapsed())?;
    let start = Instant::now();
    store.rebuild()?;
    report("rebuild all tables", store.feed_end()?, start.elapsed())?;
    let (mut watch, start) = (Watch::new(), Instant::now());
    for _ in 0..10_000 {
        watch.changed(store.version()?);
    }
    report("look for changes", 10_000, start.elapsed())?;

    let start = Instant::now();
    drop(store);
    report("close", 1, start.elapsed())?;
    let start = Instant::now();
    let store = BlockingStore::open(path, Mode::Write)?;
    report("open for writing", 1, start.elapsed())?;
    let start = Instant::now();
    Tenant::start(&store, unique())?;
    report("first commit", 1, start.elapsed())?;
    let start = Instant::now();
    drop(store);
    report("close", 1, start.elapsed())?;
    let start = Instant::now();
    BlockingStore::open(path, Mode::Read)?.runs(&RunFilter { limit: Some(20), ..RunFilter::default() })?;
    report("open for reading, list 20 runs, close", 1, start.elapsed())
}

fn report(what: &str, count: u64, took: Duration) -> Outcome {
    let seconds = took.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let (each_us, rate) = (seconds * 1e6 / count as f64, count as f64 / seconds);
    writeln!(std::io::stdout(), "{what:40} {each_us:10.1} µs each {rate:10.0} per second")?;
    Ok(())
}

fn unique() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

struct Tenant<'a> {
    store: &'a BlockingStore,
    lease: Lease,
    seq: u64,
}

impl Tenant<'_> {
    fn start(store: &BlockingStore, number: u64) -> Outcome<Tenant<'_>> {
        let run = RunId::new(1_000, number);
        let plan: Plan = escrow_store::read_plan(
            json!({"name": "measure", "safety": "standard", "artifacts": {"expected": []}, "checks": []}),
        )?;
        let options = RunOptions::new(run.clone(), "/", format!("/artifacts/{run}"));
        let facts = Arc::new(Facts::default());
        let event =
            Event::RunStarted { plan: plan.into(), options: options.into(), facts, title: None, group: None };
        let holder = Holder {
            pid: 1,
            host: "here".into(),
            machine_id: "machine".into(),
            boot_id: "boot".into(),
            pid_namespace: "pid".into(),
            process_started: 1,
        };
        let entries = [Entry { at: 1_000, event }];
        let new = NewRun {
            run: &run,
            holder: &holder,
            entries: &entries,
            durability: Durability::Grouped,
            parent: None,
        };
        match store.create_run(new)? {
            Created::Done { lease, seq } => Ok(Tenant { store, lease, seq }),
            Created::AlreadyExists | Created::ParentFenced | Created::Conflict(_) => {
                Err("the run exists".into())
            }
        }
    }

    fn commit(&mut self, count: usize, durability: Durability) -> Outcome {
        let event = Event::MemoryChanged {
            namespace: "measure".into(),
            key: "text".into(),
            value: Some("x".repeat(200).into()),
        };
        let entries = vec![Entry { at: 1_000, event }; count];
        let commit = Commit {
            lease: &self.lease,
            expected_seq: self.seq,
            entries: &entries,
            delivered: &[],
            durability,
        };
        match self.store.commit(commit)? {
            Committed::Done { seq } => self.seq = seq,
            Committed::Fenced
            | Committed::DecidedInTime
            | Committed::Taken(_)
            | Committed::Conflict(_)
            | Committed::AlreadyDone { .. } => {
                return Err("the commit was refused".into());
            }
        }
        Ok(())
    }
}
