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
mod definitions;
mod host;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use escrow_engine::Run;
use escrow_engine::play::Reply;
use escrow_model::{
    Answer, Assumption, ChainFire, ChainId, ChainRules, Event, FireStatus, Message, Millis, PlanKind, RunId,
    RunOptions, TriggerEvent, TriggerRule, TriggerSource, WaitKind,
};
use escrow_runtime::config::Settings;
use escrow_runtime::triggers::run_completed::RunCompleted;
use escrow_runtime::triggers::schedule::recording;
use escrow_runtime::triggers::{Origin, PollContext, TriggerKind as _, offer};
use escrow_runtime::{Beginning, DriveError, Redactor, cancellation};
use escrow_store::{
    ArmChain, ArmSource, Created, Decided, DefineChain, Delivery, Durability, FireDecision, FireFilter,
    FireRow, FireRules, Fires as _, Journal as _, LeaseError, Liveness, Mode, NewRun, Recorded, Recording,
    Store, StoreError, wait_of,
};
use escrow_testkit::{Options, RandomAnswers, Rng};
use serde_json::{Map, json};

use self::audit::Known;
use self::definitions::{Chain, Definition, Listens};
use self::host::{Daemon, End, Hosted, next_end};
use crate::block_on::block_on;
use crate::case::AnswerFaults;
use crate::clock::Clock;
use crate::disk::Disk;
use crate::ledger::Ledger;
use crate::play::acquire;
use crate::process::{Machine, Task};
use crate::provider::Answers;
use crate::world::{SimulatedWorld, holder};

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
    /// Keys of deliveries that were accepted.
    accepted: BTreeSet<String>,
    begun: BTreeMap<RunId, (ChainId, Definition)>,
    open: BTreeSet<RunId>,
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
            accepted: BTreeSet::new(),
            begun: BTreeMap::new(),
            open: BTreeSet::new(),
            people: 0,
            played: ChainsPlayed::default(),
        };
        for place in 0..world.chains.len() {
            world.define(place)?;
        }
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
            deliveries: &self.accepted,
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
            7..=9 if !self.is_behind()? => self.receive()?,
            10 | 11 if !self.is_behind()? => self.poll_the_clock()?,
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

    /// Whether so many fires wait that another one would only wait, too.
    fn is_behind(&self) -> Result<bool, String> {
        Ok(self.store.blocking().undecided_fires().map_err(told)?.len() > UNDECIDED_MAX)
    }

    fn define(&mut self, place: usize) -> Result<(), String> {
        let chain = &self.chains[place];
        let Definition { text, plan } = chain.active();
        let wanted = DefineChain {
            name: chain.name.clone(),
            definition: json!({ "name": chain.name }),
            text: text.clone(),
            sha256: format!("{}", chain.active),
            file: String::new(),
            directory: String::new(),
            by: None,
            at: self.clock.now_ms(),
        };
        let row = self.store.blocking().define_chain(&wanted).map_err(told)?.row().clone();
        let PlanKind::Chain(ChainRules { trigger: Some(trigger), .. }) = &plan.kind else {
            return Err(format!("`{}` has no trigger", chain.name));
        };
        let sources = trigger.sources.iter().map(|source| {
            let event = match source {
                TriggerSource::Schedule(_) => None,
                TriggerSource::Event(event) => Some(event.event.clone()),
            };
            ArmSource { source: source.clone(), event }
        });
        let arm =
            ArmChain { row, rule: TriggerRule::Any, sources: sources.collect(), at: self.clock.now_ms() };
        block_on(self.store.arm(&arm)).map_err(told)
    }

    fn set_clock(&mut self) {
        self.played.jumps += 1;
        let minutes = match self.rng.below(3) {
            // Set back.
            0 => -i64::try_from(self.rng.below(3 * 60)).unwrap_or(0),
            // A laptop that slept.
            1 => i64::try_from(self.rng.below(30 * 60)).unwrap_or(0),
            _ => i64::try_from(self.rng.below(20)).unwrap_or(0),
        };
        self.ledger.log(format!("the clock jumps by {minutes} minutes"));
        self.clock.jump(minutes * i64::try_from(MINUTE_MS).unwrap_or(0));
        self.latest = self.latest.max(self.clock.now_ms());
    }

    /// A delivery comes: a new one, an old one again, or an old one under another id.
    fn receive(&mut self) -> Result<(), String> {
        // What is older is refused before it is recorded.
        let oldest = self.latest.saturating_sub(DELIVERY_MS_MAX);
        let young: Vec<&Delivery> = self.sent.iter().filter(|delivery| delivery.at > oldest).collect();
        let repeated = !young.is_empty() && self.rng.chance(30);
        let delivery = if repeated {
            let mut old = (*self.rng.pick(&young)).clone();
            if self.rng.chance(30) {
                old.id = format!("forged-{}", self.rng.next_u64());
            }
            old
        } else {
            let id = format!("d-{}", self.sent.len() + 1);
            let (digest, at) = (format!("of {id}"), self.clock.now_ms());
            Delivery { hook: "github".into(), digest, id, subject: None, at }
        };
        let fields =
            Map::from_iter([("base".to_owned(), json!("main")), ("n".to_owned(), json!(self.rng.below(8)))]);
        let key = format!("delivery:{}", delivery.id);
        let event = TriggerEvent { name: "pr.opened".into(), fields, key, at: self.clock.now_ms() };
        let listeners = self.store.blocking().listeners(&event.name).map_err(told)?;
        let occurrences = offer(&event, &Origin::default(), &listeners);
        let recording = Recording { deliveries: vec![delivery.clone()], occurrences, ..Recording::default() };
        match (block_on(self.store.record(&recording)).map_err(told)?, repeated) {
            (Recorded::Done(new), false) => {
                let wait = self.chains.iter().filter(|chain| chain.listens == Listens::Webhook).count();
                if new.len() != wait {
                    return Err(format!("a delivery fired {} of {wait} chains", new.len()));
                }
                self.accepted.insert(event.key);
                self.sent.push(delivery);
                Ok(())
            }
            (Recorded::Duplicate, true) => {
                self.played.repeated += 1;
                Ok(())
            }
            (answer, _) => Err(format!("delivery `{}` was answered with {answer:?}", delivery.id)),
        }
    }

    /// Two daemons may look at once: what the second one finds recorded is not recorded again.
    fn poll_the_clock(&mut self) -> Result<(), String> {
        let now = self.clock.now_ms();
        for armed in self.store.blocking().due_schedules(now).map_err(told)? {
            let Some(found) = recording(&armed, now) else { continue };
            for _ in 0..self.polls() {
                block_on(self.store.record(&found)).map_err(told)?;
            }
        }
        Ok(())
    }

    fn poll_the_feed(&mut self) -> Result<(), String> {
        let (_canceller, cancellation) = cancellation();
        let settings = Settings::default();
        let context = PollContext {
            fires: &*self.store,
            queries: &*self.store,
            project: std::path::Path::new("/nowhere"),
            settings: &settings,
            now_ms: self.clock.now_ms(),
            cancellation: &cancellation,
        };
        let found = block_on(RunCompleted.poll(&context)).map_err(|error| error.to_string())?;
        for _ in 0..self.polls() {
            for recording in &found {
                block_on(self.store.record(recording)).map_err(told)?;
            }
        }
        Ok(())
    }

    /// How often a look is recorded: not at all when its daemon dies before, twice when two look at once.
    fn polls(&mut self) -> u32 {
        match self.rng.below(20) {
            0 | 1 => 0,
            2..=7 => 2,
            _ => 1,
        }
    }

    /// Decides a fire that any daemon has recorded.
    fn decide(&mut self, at: usize, choice: Choice) -> Result<(), String> {
        let undecided = self.store.blocking().undecided_fires().map_err(told)?;
        if undecided.is_empty() {
            return Ok(());
        }
        let fire = match choice {
            Choice::Any => self.rng.pick(&undecided).clone(),
            Choice::All => {
                undecided.iter().try_for_each(|fire| self.decide_one(at, fire))?;
                return Ok(());
            }
        };
        self.decide_one(at, &fire)
    }

    fn decide_one(&mut self, at: usize, fire: &FireRow) -> Result<(), String> {
        if self.daemons[at].accepted.iter().any(|accepted| accepted.id == fire.id) {
            return Ok(());
        }
        let concurrency = self.chain(&fire.chain_id)?.concurrency;
        let rules = FireRules {
            catches_up: false,
            concurrency,
            max_depth: ChainRules::MAX_DEPTH,
            inactive: None,
            at: self.clock.now_ms(),
        };
        match block_on(self.store.decide_fire(fire.id, rules)).map_err(told)? {
            FireDecision::Accepted(fire) => self.daemons[at].accepted.push(fire),
            FireDecision::Waits { .. } => {}
            FireDecision::Replaces { runs, .. } => {
                for run in runs.iter().filter(|run| self.open.contains(*run)) {
                    let message = Message::Cancel {
                        by: None,
                        system: false,
                        successor: None,
                        inside: None,
                        patient: false,
                    };
                    self.store.blocking().send(run, &message, "replaced").map_err(told)?;
                }
            }
            FireDecision::Settled(fire) => {
                if fire.code.is_none() && fire.status != FireStatus::Begun {
                    return Err(format!("fire `{}` is {:?} without a reason", fire.key, fire.status));
                }
            }
        }
        Ok(())
    }

    fn chain(&self, id: &ChainId) -> Result<&Chain, String> {
        let found = self.chains.iter().find(|chain| chain.id == *id);
        found.ok_or_else(|| format!("no chain has the id {}", id.as_str()))
    }

    /// Creates the run of an accepted fire, as many daemons may try to.
    fn begin(&mut self, at: usize) -> Result<(), String> {
        let Some(fire) = self.daemons[at].accepted.pop() else { return Ok(()) };
        let definition = self.chain(&fire.chain_id)?.active().clone();
        let mut options = RunOptions {
            event: Some(fire.event.clone()),
            payload: fire.payload.clone(),
            invocation: Some(fire.run.chain_invocation().to_string()),
            fire: Some(ChainFire { chain: fire.chain_id.clone(), key: fire.key.clone(), depth: fire.depth }),
            ..RunOptions::new(fire.run.clone(), "/nowhere", format!("/nowhere/{}", fire.run))
        };
        options.parallelism = 3;
        let facts = Options::default().facts;
        let now = self.clock.now_ms();
        let (run, turn) = escrow_runtime::begin(&definition.plan, options, facts, &Redactor::none(), now)
            .map_err(|error| error.to_string())?;
        let life = self.next_life();
        let holder = holder(life);
        let (entries, durability) = (turn.entries.as_slice(), Durability::Grouped);
        let new = NewRun { run: &fire.run, holder: &holder, entries, durability, parent: None };
        match block_on(self.disk.create_run(new)) {
            Ok(Created::Done { lease, .. }) => {
                if self.begun.insert(fire.run.clone(), (fire.chain_id.clone(), definition)).is_some() {
                    return Err(format!("fire `{}` began twice", fire.key));
                }
                self.open.insert(fire.run.clone());
                self.played.runs += 1;
                self.takes(&fire.run, life);
                let task = Task { run, lease, beginning: Beginning::New(turn) };
                self.daemons[at].begun.push((fire, Some((task, life))));
                Ok(())
            }
            Ok(Created::AlreadyExists) => {
                self.daemons[at].begun.push((fire, None));
                Ok(())
            }
            // It is tried again.
            Err(_) => Ok(()),
            Ok(other) => Err(format!("the run of fire `{}`: {other:?}", fire.key)),
        }
    }

    /// Marks a fire whose run has begun, and drives the run.
    fn mark(&mut self, at: usize) -> Result<(), String> {
        let Some((fire, task)) = self.daemons[at].begun.pop() else { return Ok(()) };
        block_on(self.store.fire_begun(fire.id, self.clock.now_ms())).map_err(told)?;
        if let Some((task, life)) = task {
            self.host(at, fire.run, task, life);
        }
        Ok(())
    }

    fn next_life(&mut self) -> u32 {
        self.lives += 1;
        self.lives
    }

    fn takes(&mut self, run: &RunId, life: u32) {
        self.ledger.begins_to_live(life);
        self.drivers.insert(run.clone(), life);
    }

    fn host(&mut self, at: usize, run: RunId, task: Task, life: u32) {
        self.ledger.log(format!("daemon {at} drives {run} as process {life}"));
        let answers = answers(self.seed);
        let faults = AnswerFaults { duplicated: 3, ignores_stop: 3, lost: 1 };
        let world = SimulatedWorld::new(&self.clock, &self.ledger, &answers, faults, life);
        let machine = Machine {
            disk: self.disk.for_another_process(),
            world: Rc::new(world),
            ledger: Arc::clone(&self.ledger),
            compares_replay: false,
        };
        self.daemons[at].hosted.push(Hosted::start(run, task, life, machine));
    }

    /// Takes a run of a chain that no living daemon drives.
    fn resume(&mut self, at: usize) -> Result<(), String> {
        let ledger = &self.ledger;
        let is_driven = |run: &RunId| self.drivers.get(run).is_some_and(|life| ledger.is_living(*life));
        let abandoned: Vec<RunId> = self.open.iter().filter(|run| !is_driven(run)).cloned().collect();
        if abandoned.is_empty() {
            return Ok(());
        }
        let run = self.rng.pick(&abandoned).clone();
        self.take(at, &run)
    }

    fn take(&mut self, at: usize, run: &RunId) -> Result<(), String> {
        let life = self.next_life();
        match acquire(&self.disk, run, &holder(life), Liveness::Dead) {
            Ok(lease) => {
                let task = Task {
                    run: self.replayed(run)?,
                    lease,
                    beginning: Beginning::Resumed { by: Vec::new() },
                };
                self.takes(run, life);
                self.host(at, run.clone(), task, life);
                Ok(())
            }
            Err(LeaseError::Store(_)) => Ok(()),
            Err(error) => Err(format!("no daemon drives {run}, and still: {error}")),
        }
    }

    fn replayed(&self, run: &RunId) -> Result<Run, String> {
        let entries = self.store.blocking().entries(run, 0).map_err(told)?;
        Run::replay(entries.iter().map(|(_, entry)| entry)).map_err(|error| error.to_string())
    }

    /// A daemon dies and another one is started.
    fn kill(&mut self, at: usize) {
        self.ledger.log(format!("daemon {at} dies"));
        self.played.deaths += 1;
        for (life, _) in self.daemons[at].lives() {
            self.ledger.is_gone(life);
        }
        self.daemons[at] = Daemon::default();
    }

    fn freeze_or_thaw(&mut self, at: usize) {
        let lives = self.daemons[at].lives();
        let is_frozen = !self.daemons[at].frozen;
        self.ledger.log(format!("daemon {at} {}", if is_frozen { "freezes" } else { "goes on" }));
        self.daemons[at].frozen = is_frozen;
        self.played.frozen += u64::from(is_frozen);
        for (life, run) in lives {
            if is_frozen {
                self.ledger.is_gone(life);
            } else if self.drivers.get(&run) == Some(&life) {
                self.ledger.begins_to_live(life);
            }
        }
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

    fn rests(&mut self, at: usize, hosted: &Hosted, end: End) -> Result<(), String> {
        let (run, life) = (&hosted.run, hosted.life);
        let was_living = self.ledger.is_living(life);
        self.ledger.is_gone(life);
        match end {
            End::Rested(status) => {
                self.ledger.leaves(life);
                self.ledger.log(format!("process {life} rests: {run} is {status:?}"));
                Ok(())
            }
            End::Crashed => {
                self.kill(at);
                Ok(())
            }
            End::Failed(error) => {
                self.ledger.leaves(life);
                self.ledger.log(format!("process {life} fails: {error}"));
                match error {
                    DriveError::Store(_) if self.disk.take_failed() => Ok(()),
                    DriveError::Store(_) | DriveError::Fenced(_) if !was_living => Ok(()),
                    error => Err(format!("{run}: {error}")),
                }
            }
        }
    }

    /// A person answers something that waits, perhaps twice, or sends a message of their own.
    fn person(&mut self) -> Result<(), String> {
        let waits = self.store.blocking().open_waits().map_err(told)?;
        let waits: Vec<_> = waits.into_iter().filter(|wait| wait.kind != WaitKind::Nested).collect();
        if waits.is_empty() || self.rng.chance(20) {
            return Ok(());
        }
        let row = self.rng.pick(&waits).clone();
        let run = self.replayed(&row.run)?;
        let Some(wait) = run.waits().into_iter().find(|wait| wait.id == row.id) else { return Ok(()) };
        let by = self.name();
        let (id, signed) = (wait.id.clone(), Some(by.clone()));
        let message = match wait.kind {
            WaitKind::Approval if self.rng.chance(80) => {
                Message::Approve { id, by: signed, claim: None, note: None }
            }
            WaitKind::Approval | WaitKind::Nested => {
                Message::Deny { id, by: signed, claim: None, note: None }
            }
            WaitKind::Input => Message::Answer { id, text: "yes".into(), by: signed },
            WaitKind::UnknownEffect => {
                let words = [Assumption::Done, Assumption::Failed, Assumption::Retry];
                let assumption = *self.rng.pick(&words);
                let (check, scope) = (wait.check, wait.scope);
                Message::Assume { check, scope, assumption, by: signed, why: None }
            }
        };
        self.played.decisions += 1;
        self.ledger.log(format!("{by} writes to {}: {message:?}", row.run));
        if wait_of(&message).is_none() {
            return self.store.blocking().send(&row.run, &message, &by).map(drop).map_err(told);
        }
        let now = self.clock.now_ms();
        let first = self.store.blocking().decide_at(&row.run, &message, &by, now).map_err(told)?;
        if let Message::Approve { id, .. } = &message
            && self.rng.chance(20)
        {
            let by = self.name();
            let id = id.clone();
            let contrary = Message::Deny { id, by: Some(by.clone()), claim: None, note: None };
            let second = self.store.blocking().decide_at(&row.run, &contrary, &by, now).map_err(told)?;
            if matches!((first, second), (Decided::Accepted(_), Decided::Accepted(_))) {
                return Err(format!("two words about {} are accepted", row.id));
            }
        }
        Ok(())
    }

    fn name(&mut self) -> String {
        self.people += 1;
        format!("p{}", self.people)
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

/// Which fires a daemon decides.
#[derive(Clone, Copy)]
enum Choice {
    Any,
    All,
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
