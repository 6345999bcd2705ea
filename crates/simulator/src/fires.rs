//! Fires of chains under trouble: processes that die between any two steps, deliveries that come twice and out of order,
//! clocks that jump. None may be lost, none doubled.
//!
//! ```text
//!   Rng ──▶ steps of several processes: look, receive, decide, begin, mark, end ──▶ Store (SQLite, one file)
//!                └─ dies after any step                                              invariants: at every step and at the end
//! ```
//!
//! The store, the schedules and the rules of deciding are the real ones. Only the work of a run is played: it begins and
//! it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use escrow_model::{
    Cadence, CatchUp, ChainConcurrency, ChainFire, ChainId, ChainRules, Entry, Event, EventTrigger, Facts,
    FireStatus, Millis, Plan, PlanKind, Reason, ReasonCode, RunId, RunOptions, Schedule, TriggerEvent,
    TriggerRule, TriggerSource,
};
use escrow_runtime::triggers::schedule::recording;
use escrow_runtime::triggers::{Origin, offer};
use escrow_store::{
    ArmChain, ArmSource, Commit, Committed, Created, DefineChain, Delivery, Durability, FireDecision,
    FireFilter, FireRow, FireRules, Fires, Holder, Lease, Mode, NewRun, Recorded, Recording, Store,
};
use escrow_testkit::{Rng, plan};
use indexmap::IndexMap;
use serde_json::{Map, json};

/// What a simulation of fires did.
#[derive(Clone, Debug, Default)]
pub struct FiresPlayed {
    pub fires: u64,
    pub begun: u64,
    pub skipped: u64,
    pub missed: u64,
    /// Processes that died.
    pub deaths: u64,
    /// Deliveries that came again.
    pub repeated: u64,
    /// Jumps of the clock.
    pub jumps: u64,
}

impl FiresPlayed {
    pub fn add(&mut self, other: &FiresPlayed) {
        self.fires += other.fires;
        self.begun += other.begun;
        self.skipped += other.skipped;
        self.missed += other.missed;
        self.deaths += other.deaths;
        self.repeated += other.repeated;
        self.jumps += other.jumps;
    }
}

const PROCESSES: u64 = 4;
const MINUTE_MS: u64 = 60_000;

/// A chain of the simulation.
struct Played {
    id: ChainId,
    name: String,
    concurrency: ChainConcurrency,
}

/// One process: what it holds is lost when it dies.
#[derive(Default)]
struct Process {
    /// An accepted fire whose run has not begun.
    accepted: Option<FireRow>,
    /// A fire whose run has begun and that is not marked.
    begun: Option<FireRow>,
}

/// Which fire a process decides.
#[derive(Clone, Copy)]
enum Choice {
    Any,
    Oldest,
}

struct World {
    rng: Rng,
    store: Store,
    runtime: tokio::runtime::Runtime,
    chains: Vec<Played>,
    plan: Arc<Plan>,
    now: Millis,
    latest: Millis,
    deliveries: Vec<Delivery>,
    sent: u64,
    /// Keys of deliveries whose fires must exist in the end, for each chain that listens.
    accepted: BTreeSet<String>,
    open: BTreeMap<RunId, (ChainId, Lease)>,
    runs: BTreeSet<RunId>,
    played: FiresPlayed,
}

/// Plays until this many fires are recorded, then lets a process that does not die finish. The error says what is wrong.
pub fn play_fires(seed: u64, fires: u64) -> Result<FiresPlayed, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut world = World::new(seed, directory.path())?;
    let mut processes: Vec<Process> = (0..PROCESSES).map(|_| Process::default()).collect();
    let mut steps = 0_u64;
    while world.played.fires < fires {
        let at = usize::try_from(world.rng.below(PROCESSES)).expect("a small number");
        world.step(&mut processes[at])?;
        if world.rng.chance(5) {
            processes[at] = Process::default();
            world.played.deaths += 1;
        }
        steps += 1;
        if steps > fires.saturating_mul(200) + 10_000 {
            return Err(format!("seed {seed}: {steps} steps made only {} fires", world.played.fires));
        }
    }
    drop(processes);
    world.finish()?;
    world.verify().map_err(|problem| format!("seed {seed}: {problem}"))?;
    Ok(world.played)
}

impl World {
    fn new(seed: u64, directory: &std::path::Path) -> Result<World, String> {
        let store =
            Store::open(&directory.join("escrow.db"), Mode::Write).map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let mut whole = Plan::clone(&*plan("a"));
        whole.kind = PlanKind::Chain(ChainRules {
            trigger: None,
            concurrency: ChainConcurrency::Skip,
            max_depth: ChainRules::MAX_DEPTH,
        });
        let start = 1_790_000_000_000;
        let mut world = World {
            rng: Rng::new(seed),
            store,
            runtime: runtime.map_err(|error| error.to_string())?,
            chains: Vec::new(),
            plan: Arc::new(whole),
            now: start,
            latest: start,
            deliveries: Vec::new(),
            sent: 0,
            accepted: BTreeSet::new(),
            open: BTreeMap::new(),
            runs: BTreeSet::new(),
            played: FiresPlayed::default(),
        };
        for concurrency in ChainConcurrency::ALL {
            for (kind, source) in [("hook", hook()), ("clock", every_five_minutes())] {
                world.define(&format!("{kind}-{}", concurrency.as_str()), concurrency, source)?;
            }
        }
        Ok(world)
    }

    fn define(
        &mut self,
        name: &str,
        concurrency: ChainConcurrency,
        source: TriggerSource,
    ) -> Result<(), String> {
        let wanted = DefineChain {
            name: name.to_owned(),
            definition: json!({ "name": name }),
            text: String::new(),
            sha256: String::new(),
            file: String::new(),
            directory: String::new(),
            by: None,
            at: self.now,
        };
        let defined = self.store.define_chain(&wanted).map_err(told)?;
        let event = match &source {
            TriggerSource::Schedule(_) => None,
            TriggerSource::Event(event) => Some(event.event.clone()),
        };
        let row = defined.row().clone();
        let sources = vec![ArmSource { source, event }];
        let arm = ArmChain { row, rule: TriggerRule::Any, sources, at: self.now };
        self.runtime.block_on(self.store.arm(&arm)).map_err(told)?;
        self.chains.push(Played { id: ChainId::of(name), name: name.to_owned(), concurrency });
        Ok(())
    }

    /// One step of one process, or of the world around it.
    fn step(&mut self, process: &mut Process) -> Result<(), String> {
        match self.rng.below(12) {
            0 | 1 => self.pass_time(),
            2 | 3 => self.receive()?,
            4 | 5 => self.look()?,
            6..=8 => self.decide(process, Choice::Any)?,
            9 => self.begin(process)?,
            10 => self.mark(process)?,
            _ => self.end_one()?,
        }
        self.never_overlaps()
    }

    fn pass_time(&mut self) {
        let step = match self.rng.below(40) {
            // The laptop sleeps, or the clock is set.
            0 => {
                self.played.jumps += 1;
                self.rng.below(30 * 60) * MINUTE_MS
            }
            1 => {
                self.played.jumps += 1;
                self.now = self.now.saturating_sub(self.rng.below(3 * 60) * MINUTE_MS);
                0
            }
            _ => self.rng.below(4 * MINUTE_MS),
        };
        self.now += step;
        self.latest = self.latest.max(self.now);
    }

    /// A delivery comes: a new one, an old one again, or an old one under another id.
    fn receive(&mut self) -> Result<(), String> {
        let repeated = !self.deliveries.is_empty() && self.rng.chance(40);
        let delivery = if repeated {
            let mut old = self.rng.pick(&self.deliveries).clone();
            if self.rng.chance(30) {
                old.id = format!("forged-{}", self.rng.next_u64());
            }
            old
        } else {
            self.sent += 1;
            let id = format!("d-{}", self.sent);
            Delivery { hook: "github".into(), digest: format!("of {id}"), id, subject: None, at: self.now }
        };
        let event = TriggerEvent {
            name: "pr.opened".into(),
            fields: Map::new(),
            key: format!("delivery:{}", delivery.id),
            at: self.latest,
        };
        let listeners = self.store.listeners(&event.name).map_err(told)?;
        let occurrences = offer(&event, &Origin::default(), &listeners);
        let recording = Recording { deliveries: vec![delivery.clone()], occurrences, ..Recording::default() };
        match (self.record(&recording)?, repeated) {
            (Recorded::Done(new), false) => {
                if new.len() != listeners.len() {
                    return Err(format!("{} of {} chains were fired", new.len(), listeners.len()));
                }
                self.accepted.insert(event.key);
                self.deliveries.push(delivery);
                Ok(())
            }
            (Recorded::Duplicate, true) => {
                self.played.repeated += 1;
                Ok(())
            }
            (answer, _) => Err(format!("delivery `{}` was answered with {answer:?}", delivery.id)),
        }
    }

    /// Two processes may look at once: what the second one records is what the first one has recorded.
    fn look(&mut self) -> Result<(), String> {
        let due = self.store.due_schedules(self.now).map_err(told)?;
        let looks = if self.rng.chance(30) { 2 } else { 1 };
        for armed in &due {
            let Some(found) = recording(armed, self.now) else { continue };
            for look in 0..looks {
                if self.rng.chance(10) {
                    // It dies between looking and recording.
                    self.played.deaths += 1;
                    continue;
                }
                let answer = self.record(&found)?;
                if let (1, Recorded::Done(again)) = (look, &answer)
                    && looks == 2
                    && !again.is_empty()
                    && self.is_recorded_twice(again)
                {
                    return Err(format!("ticks were recorded twice: {again:?}"));
                }
            }
        }
        Ok(())
    }

    fn is_recorded_twice(&self, fires: &[FireRow]) -> bool {
        let all = self.store.fires(&FireFilter::default()).unwrap_or_default();
        fires.iter().any(|fire| {
            all.iter().filter(|other| (&other.chain_id, &other.key) == (&fire.chain_id, &fire.key)).count()
                > 1
        })
    }

    fn record(&mut self, recording: &Recording) -> Result<Recorded, String> {
        let recorded = self.runtime.block_on(self.store.record(recording)).map_err(told)?;
        if let Recorded::Done(new) = &recorded {
            self.played.fires += new.len() as u64;
            self.played.missed += new.iter().filter(|fire| fire.status == FireStatus::Missed).count() as u64;
        }
        Ok(recorded)
    }

    /// Decides a fire that any process has recorded.
    fn decide(&mut self, process: &mut Process, choice: Choice) -> Result<(), String> {
        let undecided = self.store.undecided_fires().map_err(told)?;
        if process.accepted.is_some() || undecided.is_empty() {
            return Ok(());
        }
        let fire = match choice {
            Choice::Any => self.rng.pick(&undecided).clone(),
            Choice::Oldest => undecided[0].clone(),
        };
        let concurrency = self
            .chains
            .iter()
            .find(|chain| chain.id == fire.chain_id)
            .map_or(ChainConcurrency::Skip, |chain| chain.concurrency);
        let rules = FireRules { concurrency, max_depth: ChainRules::MAX_DEPTH, inactive: None, at: self.now };
        match self.runtime.block_on(self.store.decide_fire(fire.id, rules)).map_err(told)? {
            FireDecision::Accepted(fire) => process.accepted = Some(fire),
            FireDecision::Waits(_) => {}
            FireDecision::Replaces { runs, .. } => {
                for run in runs {
                    self.end(&run)?;
                }
            }
            FireDecision::Settled(fire) => {
                if fire.code.is_none() {
                    return Err(format!("fire `{}` is {:?} without a reason", fire.key, fire.status));
                }
                self.played.skipped += 1;
            }
        }
        Ok(())
    }

    /// Creates the run of an accepted fire, as many processes may try to.
    fn begin(&mut self, process: &mut Process) -> Result<(), String> {
        let Some(fire) = process.accepted.take() else { return Ok(()) };
        let options = RunOptions {
            fire: Some(ChainFire { chain: fire.chain_id.clone(), key: fire.key.clone(), depth: fire.depth }),
            ..RunOptions::new(fire.run.clone(), "/p", format!("/p/{}", fire.run))
        };
        let event = Event::RunStarted {
            plan: Arc::clone(&self.plan),
            options: Arc::new(options),
            facts: Arc::new(Facts::default()),
            title: None,
            group: None,
        };
        let entries = [Entry { at: self.latest, event }];
        let holder = holder();
        let new = NewRun {
            run: &fire.run,
            holder: &holder,
            entries: &entries,
            durability: Durability::Grouped,
            parent: None,
        };
        match self.store.create_run(new).map_err(told)? {
            Created::Done { lease, .. } => {
                if !self.runs.insert(fire.run.clone()) {
                    return Err(format!("fire `{}` began twice", fire.key));
                }
                self.open.insert(fire.run.clone(), (fire.chain_id.clone(), lease));
                self.played.begun += 1;
            }
            Created::AlreadyExists => {}
            other => return Err(format!("the run of fire `{}`: {other:?}", fire.key)),
        }
        process.begun = Some(fire);
        Ok(())
    }

    fn mark(&mut self, process: &mut Process) -> Result<(), String> {
        let Some(fire) = process.begun.take() else { return Ok(()) };
        self.runtime.block_on(self.store.fire_begun(fire.id, self.now)).map_err(told)
    }

    fn end_one(&mut self) -> Result<(), String> {
        let open: Vec<RunId> = self.open.keys().cloned().collect();
        if open.is_empty() { Ok(()) } else { self.end(&self.rng.clone().pick(&open).clone()) }
    }

    fn end(&mut self, run: &RunId) -> Result<(), String> {
        let Some((_, lease)) = self.open.remove(run) else { return Ok(()) };
        let reason = Reason { code: ReasonCode::CompletedOk, summary: "done".into(), evidence: Vec::new() };
        let entries = [Entry { at: self.latest, event: Event::RunEnded { reason } }];
        let commit = Commit {
            lease: &lease,
            expected_seq: 1,
            entries: &entries,
            delivered: &[],
            durability: Durability::Grouped,
        };
        match self.store.commit(commit).map_err(told)? {
            Committed::Done { .. } => Ok(()),
            other => Err(format!("run `{run}` could not end: {other:?}")),
        }
    }

    /// Two runs of one chain are never open at once.
    fn never_overlaps(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        match self.open.values().find(|(chain, _)| !seen.insert(chain)) {
            Some((chain, _)) => Err(format!("two runs of chain `{}` are open", chain.as_str())),
            None => Ok(()),
        }
    }

    /// A process that does not die does the rest.
    fn finish(&mut self) -> Result<(), String> {
        self.now = self.latest;
        let mut process = Process::default();
        for _ in 0..1_000_000 {
            if self.store.undecided_fires().map_err(told)?.is_empty() {
                return Ok(());
            }
            self.decide(&mut process, Choice::Oldest)?;
            self.begin(&mut process)?;
            self.mark(&mut process)?;
            self.end_one()?;
            self.never_overlaps()?;
        }
        Err("fires are left that are never decided".into())
    }

    fn verify(&self) -> Result<(), String> {
        let fires = self.store.fires(&FireFilter::default()).map_err(told)?;
        let mut keys = BTreeSet::new();
        for fire in &fires {
            if !keys.insert((fire.chain_id.clone(), fire.key.clone())) {
                return Err(format!("fire `{}` is recorded twice", fire.key));
            }
            match fire.status {
                FireStatus::Begun if self.runs.contains(&fire.run) => {}
                FireStatus::Skipped | FireStatus::Missed if fire.code.is_some() => {}
                status => return Err(format!("fire `{}` of `{}` ends as {status:?}", fire.key, fire.chain)),
            }
            if fire.status != FireStatus::Begun && self.runs.contains(&fire.run) {
                return Err(format!("fire `{}` has a run and is {:?}", fire.key, fire.status));
            }
        }
        for chain in self.chains.iter().filter(|chain| chain.name.starts_with("hook")) {
            for key in &self.accepted {
                if !keys.contains(&(chain.id.clone(), key.clone())) {
                    return Err(format!("`{key}` of chain `{}` is lost", chain.name));
                }
            }
        }
        let begun = fires.iter().filter(|fire| fire.status == FireStatus::Begun).count();
        if begun != self.runs.len() {
            return Err(format!("{begun} fires have {} runs", self.runs.len()));
        }
        Ok(())
    }
}

fn hook() -> TriggerSource {
    TriggerSource::Event(EventTrigger {
        event: "pr.opened".into(),
        filter: IndexMap::new(),
        paths: Vec::new(),
        debounce_ms: 0,
        forks: false,
    })
}

fn every_five_minutes() -> TriggerSource {
    TriggerSource::Schedule(Schedule {
        cadence: Cadence::Cron("*/5 * * * *".into()),
        timezone: "Europe/Berlin".into(),
        catch_up: CatchUp::Once,
        jitter_ms: 30_000,
    })
}

fn holder() -> Holder {
    Holder {
        pid: 1,
        host: "simulated".into(),
        machine_id: "m".into(),
        boot_id: "b".into(),
        pid_namespace: "p".into(),
        process_started: 1,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn told(error: escrow_store::StoreError) -> String {
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}
