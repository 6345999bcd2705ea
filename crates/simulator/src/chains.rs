//! Whole runs of chains under trouble: deliveries that come twice and out of order, clocks that jump, daemons that die or
//! freeze between any two steps and inside any commit, definitions that change, people who answer late, twice or never.
//! No fire may be lost or doubled, no effect may happen twice.
//!
//! ```text
//!   Rng ──▶ daemons: poll, receive, decide, begin, mark, resume ──▶ Store (SQLite, one file) ◀── People
//!              └─ host: supervisor::Drive ──▶ Disk: fails, crashes ──┘
//!                           └──▶ NestedRuns: the runs of the steps          audit: what must be true in the end
//! ```
//!
//! The store, the triggers, the rules of deciding, the supervisor and nested runs are the real ones. Providers and time
//! are simulated, and everything follows from the seed.

mod audit;
mod daemons;
mod definitions;
mod host;
mod outside;
mod people;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use escrow_engine::play::Reply;
use escrow_model::{Answer, ChainId, Event, FireStatus, Millis, RunId};
use escrow_store::{Delivery, FireFilter, Mode, Store, StoreError};
use escrow_testkit::{RandomAnswers, Rng};
use serde_json::json;

use self::audit::Known;
use self::daemons::Choice;
use self::definitions::{Chain, Definition};
use self::host::{Daemon, next_end};
use self::outside::Pull;
use crate::clock::Clock;
use crate::disk::Disk;
use crate::ledger::Ledger;
use crate::provider::Answers;

/// What a simulation of chains did.
#[derive(Clone, Debug, Default)]
pub struct ChainsPlayed {
    /// Runs of chains.
    pub runs: u64,
    /// Runs of playbooks inside them.
    pub nested: u64,
    pub fires: u64,
    pub skipped: u64,
    pub missed: u64,
    /// Daemons that died, by themselves or with their disk.
    pub deaths: u64,
    /// Daemons that stood still while others took their runs.
    pub frozen: u64,
    /// Deliveries that came again.
    pub repeated: u64,
    /// Jumps of the clock.
    pub jumps: u64,
    /// Definitions that replaced another one.
    pub redefined: u64,
    /// Requests to runs to make way for a newer fire.
    pub replaced: u64,
    /// Pull requests that a poll told and no webhook.
    pub polled: u64,
    /// Files that were written.
    pub files: u64,
    /// Decisions of people.
    pub decisions: u64,
    /// How the runs of chains ended.
    pub endings: BTreeMap<String, u64>,
}

impl ChainsPlayed {
    pub fn add(&mut self, other: &ChainsPlayed) {
        self.runs += other.runs;
        self.nested += other.nested;
        self.fires += other.fires;
        self.skipped += other.skipped;
        self.missed += other.missed;
        self.deaths += other.deaths;
        self.frozen += other.frozen;
        self.repeated += other.repeated;
        self.jumps += other.jumps;
        self.redefined += other.redefined;
        self.replaced += other.replaced;
        self.polled += other.polled;
        self.files += other.files;
        self.decisions += other.decisions;
        for (ending, count) in &other.endings {
            *self.endings.entry(ending.clone()).or_default() += count;
        }
    }
}

const DAEMONS: usize = 4;
const MINUTE_MS: u64 = 60_000;

/// How old a delivery may be when it is sent again.
const DELIVERY_MS_MAX: Millis = 4 * 24 * 60 * MINUTE_MS;

/// How many of a hundred commits go wrong, and how many of a hundred other operations that would.
const DISK_PERCENT: u64 = 1;

/// More fires than this do not wait, so that most of a world's time is spent on runs.
const UNDECIDED_MAX: usize = 25;

/// More rounds than any world needs to come to rest.
const ROUNDS_MAX: u32 = 3_000;

/// Plays a world until this many runs of chains have begun, then lets daemons that do not die finish. The error says what
/// is wrong, and ends with what happened.
pub fn play_chains(seed: u64, runs: u64) -> Result<ChainsPlayed, String> {
    // Syncing to a real disk takes most of the time, and simulated processes die without losing what they wrote.
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let directory = directory.map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let mut world = ChainWorld::new(seed, directory.path())?;
        match world.play(runs).await {
            Ok(()) => Ok(world.played),
            Err(problem) => {
                let lines = world.ledger.lines();
                let last = &lines[lines.len().saturating_sub(LINES_TOLD)..];
                Err(format!("seed {seed}: {problem}\n{}\n{}", last.join("\n"), world.open_journals()))
            }
        }
    })
}

/// How much of the log of a failing world is told.
const LINES_TOLD: usize = 400;

struct ChainWorld {
    rng: Rng,
    seed: u64,
    store: Arc<Store>,
    clock: Arc<Clock>,
    ledger: Arc<Ledger>,
    disk: Disk,
    chains: Vec<Chain>,
    daemons: Vec<Daemon>,
    lives: u32,
    /// The life that drives a run, or did last.
    drivers: BTreeMap<RunId, u32>,
    /// The latest time that the clock has shown.
    latest: Millis,
    sent: Vec<Delivery>,
    /// What GitHub has: every pull request, in the order in which they were opened.
    pulls: Vec<Pull>,
    /// Where the files of the project lie.
    project: std::path::PathBuf,
    begun: BTreeMap<RunId, (ChainId, Definition)>,
    open: BTreeSet<RunId>,
    /// Runs that were asked to make way, each with the run that takes its place.
    asked: BTreeSet<(RunId, RunId)>,
    people: u32,
    played: ChainsPlayed,
}

impl ChainWorld {
    fn new(seed: u64, directory: &std::path::Path) -> Result<ChainWorld, String> {
        let store = Store::open(&directory.join("escrow.db"), Mode::Write).map_err(told)?;
        let (store, ledger) = (Arc::new(store), Arc::new(Ledger::default()));
        let mut rng = Rng::new(seed);
        let disk = Disk::new(Arc::<Store>::clone(&store), Arc::clone(&ledger), rng.next_u64(), u32::MAX)
            .with_percent(DISK_PERCENT);
        let mut world = ChainWorld {
            chains: definitions::chains(&mut rng),
            rng,
            seed,
            store,
            clock: Arc::new(Clock::new()),
            ledger,
            disk,
            daemons: (0..DAEMONS).map(|_| Daemon::default()).collect(),
            lives: 0,
            drivers: BTreeMap::new(),
            latest: 0,
            sent: Vec::new(),
            pulls: Vec::new(),
            project: directory.join("project"),
            begun: BTreeMap::new(),
            open: BTreeSet::new(),
            asked: BTreeSet::new(),
            people: 0,
            played: ChainsPlayed::default(),
        };
        std::fs::create_dir_all(world.project.join("docs")).map_err(|error| error.to_string())?;
        for place in 0..world.chains.len() {
            world.define(place)?;
        }
        // The first polls find where to begin.
        world.read_the_outside()?;
        Ok(world)
    }

    async fn play(&mut self, runs: u64) -> Result<(), String> {
        let mut rounds = 0;
        while self.played.runs < runs {
            let at = usize::try_from(self.rng.below(DAEMONS as u64)).unwrap_or_default();
            self.step(at)?;
            if self.rng.chance(2) {
                self.kill(at);
            }
            let pause_ms = if self.rng.chance(90) { self.rng.below(60) } else { self.rng.below(3_000) };
            self.pass(pause_ms).await?;
            self.never_overlaps()?;
            rounds += 1;
            if rounds > 1_000 * (runs + 100) {
                return Err(format!("{rounds} rounds made only {} runs", self.played.runs));
            }
        }
        self.finish().await?;
        let known = Known {
            store: self.store.blocking(),
            chains: &self.chains,
            pulls: self.pulls.iter().map(Pull::keys).collect(),
            files: self.played.files,
            begun: &self.begun,
            runs: self.ledger.runs(),
        };
        audit::audit(&known)?;
        self.count()
    }

    fn count(&mut self) -> Result<(), String> {
        self.played.nested = (self.ledger.runs().len() - self.begun.len()) as u64;
        for id in self.begun.keys() {
            let row = self.store.blocking().chain_run(id).map_err(told)?;
            let ending = row.map_or_else(|| "lost".to_owned(), |row| row.status.as_str().to_owned());
            *self.played.endings.entry(ending).or_default() += 1;
        }
        let fires = self.store.blocking().fires(&FireFilter::default()).map_err(told)?;
        let of = |status| fires.iter().filter(|fire| fire.status == status).count() as u64;
        self.played.fires = fires.len() as u64;
        self.played.skipped = of(FireStatus::Skipped);
        self.played.missed = of(FireStatus::Missed);
        Ok(())
    }

    /// One step of one daemon, or of the world around it.
    fn step(&mut self, at: usize) -> Result<(), String> {
        match self.rng.below(40) {
            0 => self.set_clock(),
            1 => self.freeze_or_thaw(at),
            2 => {
                let place = usize::try_from(self.rng.below(self.chains.len() as u64)).unwrap_or_default();
                self.chains[place].active ^= 1;
                self.played.redefined += 1;
                self.define(place)?;
            }
            3..=6 => self.person()?,
            _ if self.daemons[at].frozen => {}
            7 | 8 if !self.is_behind()? => self.receive()?,
            9 if !self.is_behind()? => self.poll_github()?,
            10 if !self.is_behind()? => self.poll_the_clock()?,
            11 if !self.is_behind()? => self.poll_the_files()?,
            12..=14 => self.poll_the_feed()?,
            15..=18 => self.decide(at, Choice::Any)?,
            19..=24 => self.decide(at, Choice::All)?,
            25..=30 => {
                for _ in 0..=self.rng.below(4) {
                    self.begin(at)?;
                }
            }
            31..=34 => {
                for _ in 0..=self.rng.below(4) {
                    self.mark(at)?;
                }
            }
            _ => self.resume(at)?,
        }
        Ok(())
    }

    /// Lets time pass; runs come to rest, fail or take their daemon with them.
    async fn pass(&mut self, ms: u64) -> Result<(), String> {
        let until = tokio::time::Instant::now() + Duration::from_millis(ms);
        loop {
            tokio::select! {
                biased;
                (at, hosted, end) = next_end(&mut self.daemons) => self.rests(at, &hosted, end)?,
                () = tokio::time::sleep_until(until) => break,
            }
        }
        match self.ledger.problems().first() {
            Some(problem) => Err(problem.clone()),
            None => Ok(()),
        }
    }

    /// Two runs of one chain are never open at once.
    fn never_overlaps(&mut self) -> Result<(), String> {
        // A daemon may have died before it learned of the end.
        self.open.retain(|run| self.ledger.run(run).ended.is_none());
        let mut seen = BTreeSet::new();
        let chains = self.open.iter().filter_map(|run| self.begun.get(run)).map(|(chain, _)| chain);
        match chains.into_iter().find(|chain| !seen.insert(*chain)) {
            Some(chain) => Err(format!("two runs of chain `{}` are open", chain.as_str())),
            None => Ok(()),
        }
    }

    /// The journals of the runs that have not ended, for a report.
    fn open_journals(&self) -> String {
        let mut text = String::new();
        for run in self.ledger.runs().iter().filter(|run| self.ledger.run(run).ended.is_none()) {
            let _ = writeln!(text, "{run} inside {:?}", self.ledger.run(run).parent);
            for (seq, entry) in self.store.blocking().entries(run, 0).unwrap_or_default() {
                let line = match &entry.event {
                    Event::RunStarted { plan, .. } => format!("started {}", plan.name),
                    event => format!("{event:?}"),
                };
                let _ = writeln!(text, "  {seq:>4} {} {line}", entry.at);
            }
        }
        text
    }

    /// Daemons that do not die do the rest.
    async fn finish(&mut self) -> Result<(), String> {
        self.disk.stop_faults();
        // A retry that was scheduled before the clock was set back would be awaited for hours.
        let behind = self.latest.saturating_sub(self.clock.now_ms());
        self.clock.jump(i64::try_from(behind).unwrap_or(0));
        for at in 0..DAEMONS {
            if self.daemons[at].frozen {
                self.freeze_or_thaw(at);
            }
        }
        for _ in 0..ROUNDS_MAX {
            let feed = self.store.blocking().fires(&FireFilter::default()).map_err(told)?.len();
            for _ in 0..5 {
                self.poll_the_feed()?;
            }
            self.read_the_outside()?;
            let is_read = self.store.blocking().fires(&FireFilter::default()).map_err(told)?.len() == feed;
            let is_idle = self.daemons.iter().all(|daemon| daemon.lives().is_empty());
            if self.store.blocking().undecided_fires().map_err(told)?.is_empty()
                && self.open.is_empty()
                && is_read
                && is_idle
            {
                return Ok(());
            }
            self.decide(0, Choice::All)?;
            for at in 0..DAEMONS {
                while !self.daemons[at].accepted.is_empty() {
                    self.begin(at)?;
                }
                while !self.daemons[at].begun.is_empty() {
                    self.mark(at)?;
                }
            }
            for _ in 0..3 {
                self.person()?;
            }
            self.resume(0)?;
            self.pass(500).await?;
            self.never_overlaps()?;
        }
        Err(format!(
            "{} runs are open for ever, and {} fires undecided",
            self.open.len(),
            self.store.blocking().undecided_fires().map_err(told)?.len()
        ))
    }
}

/// Random answers. Checks that promise an outcome mostly give one.
fn answers(seed: u64) -> Answers {
    let random = RandomAnswers { seed, fault_percent: 6, uneven: true, unknown: true };
    let top = RunId::new(0, seed);
    let answers = Answers::random(&random, &top);
    let reply = Arc::clone(&answers.reply);
    let reply = Arc::new(move |run: &RunId, call: &escrow_engine::play::ProviderCall<'_>| {
        let given = reply(run, call);
        let output = given.answer.as_ref().map(|answer| answer.output.clone()).unwrap_or_default();
        let (ok, n) = (output["ok"].as_bool(), output["n"].as_u64().unwrap_or(0));
        let outcome = match (call.check, ok) {
            ("verdict", Some(_)) => {
                let verdict =
                    ["APPROVE", "REQUEST_CHANGES", "REJECT", "APPROVE"][usize::try_from(n).unwrap_or(0) % 4];
                json!({ "outcome_kind": "review_verdict", "summary": "by chance", "verdict": verdict })
            }
            ("result", Some(ok)) => {
                json!({ "outcome_kind": "ci_result", "summary": "by chance", "tests_passed": ok })
            }
            (_, _) => return given,
        };
        Reply { answer: Some(Answer::done(outcome)), after_ms: given.after_ms }
    });
    Answers { reply, ..answers }
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn told(error: StoreError) -> String {
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}
