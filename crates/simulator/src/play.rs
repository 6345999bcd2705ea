//! Plays a case: one process of Escrow after another, until all its runs have ended or something is wrong.

use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use escrow_engine::{AwaitedEffect, EffectResolution, OpenWait, Run, SettledAs};
use escrow_model::{EffectState, Entry, Message, RunId, RunStatus, WaitKind};
use escrow_runtime::{Beginning, DriveError, Redactor};
use escrow_store::{
    Commit, Committed, Created, Decided, Durability, Holder, Journal, Lease, LeaseError, Liveness, MessageId,
    NewRun, Store, wait_of,
};
use escrow_testkit::Options;
use tokio::time::{Instant, sleep, sleep_until};

use crate::block_on::block_on;
use crate::case::{Case, Incident};
use crate::clock::{Clock, START_MS};
use crate::disk::Disk;
use crate::invariants;
use crate::ledger::Ledger;
use crate::memory::{Memory, StoreBackend, decode};
use crate::people::{People, Posted};
use crate::process::{Machine, Process, Task, run_out};
use crate::provider::Answers;
use crate::world::{SimulatedWorld, holder};

/// More processes than any run needs: every wait of a nested run ends one process of each run around it.
const LIVES_MAX: u32 = 400;

/// From this process on, the disk has no faults.
const FAULTLESS_FROM: u32 = 30;

/// A process that lives longer does not settle.
const LIFE_MAX: Duration = Duration::from_secs(2 * 60 * 60);

const HOUR_MS: u64 = 60 * 60 * 1_000;

/// The outcome of a case.
pub struct Played {
    /// By run: the top run first, then those nested in it.
    pub journals: Vec<(RunId, Vec<Entry>)>,
    /// What happened, in order, beside the journals.
    pub log: Vec<String>,
    pub lives: u32,
    pub commits: u64,
    pub status: Option<RunStatus>,
    pub problem: Option<String>,
}

/// The store that a case is played on.
#[derive(Clone)]
pub enum Backend {
    Memory,
    Sqlite(Arc<Store>),
}

/// Plays a case in simulated time.
pub fn play(case: &Case, backend: &Backend) -> Played {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without I/O can be built");
    runtime.block_on(async {
        let clock = Arc::new(Clock::new());
        let backend: Arc<dyn StoreBackend> = match backend {
            Backend::Memory => Arc::new(Memory::new(Arc::clone(&clock))),
            Backend::Sqlite(store) => Arc::<Store>::clone(store),
        };
        Play::new(case, clock, backend).play().await
    })
}

struct Play<'a> {
    case: &'a Case,
    options: Options,
    /// The run that nests all others, except the rival and its nested runs.
    top: RunId,
    /// The second run of the same plan, if the case has one.
    rival: Option<RunId>,
    /// The rival before its first process.
    rival_task: Option<Task>,
    clock: Arc<Clock>,
    backend: Arc<dyn StoreBackend>,
    ledger: Arc<Ledger>,
    disk: Disk,
    people: People,
    posted: Vec<Posted>,
    incidents: VecDeque<(u64, Incident)>,
    lives: u32,
    /// Failed runs that were retried by a person, each once.
    retried: BTreeSet<RunId>,
}

/// How a process ended.
enum End {
    Rested(Box<Run>),
    Failed(DriveError),
    Crashed,
    Stuck,
}

impl<'a> Play<'a> {
    fn new(case: &'a Case, clock: Arc<Clock>, backend: Arc<dyn StoreBackend>) -> Play<'a> {
        let mut options = Options { compare_replay: false, ..Options::default() };
        options.run.run = RunId::new(START_MS, case.seed);
        options.run.parallelism = 3;
        options.run.timeout_ms = case.timeout_ms;
        let ledger = Arc::new(Ledger::default());
        let disk =
            Disk::new(Arc::clone(&backend), Arc::clone(&ledger), case.seed ^ 0x4449_534b, case.disk_faults)
                .with_fault_at(case.fault_at);
        Play {
            top: options.run.run.clone(),
            rival: case.has_rival.then(|| RunId::new(START_MS, !case.seed)),
            rival_task: None,
            options,
            clock,
            backend,
            ledger,
            disk,
            people: People::new(case.seed),
            posted: Vec::new(),
            incidents: case.incidents.iter().cloned().collect(),
            lives: 0,
            retried: BTreeSet::new(),
            case,
        }
    }

    async fn play(mut self) -> Played {
        let ended = self.drive_to_the_end().await;
        let mut runs = self.ledger.runs();
        runs.sort_by_key(|run| *run != self.top);
        let journal = |run: &RunId| {
            let stored = self.backend.journal(run);
            stored.iter().flatten().map(decode).collect::<Result<Vec<Entry>, _>>().unwrap_or_default()
        };
        let journals: Vec<_> = runs.into_iter().map(|run| (run.clone(), journal(&run))).collect();
        let verdict = ended.and_then(|live| self.audit(&journals, live.as_deref()));
        let (status, problem) = match verdict {
            Ok(status) => (status, None),
            Err(problem) => (None, Some(problem)),
        };
        Played {
            journals,
            log: self.ledger.lines(),
            lives: self.lives,
            commits: self.disk.commits(),
            status,
            problem,
        }
    }

    /// Returns the status of the top run.
    fn audit(
        &self,
        journals: &[(RunId, Vec<Entry>)],
        live: Option<&Run>,
    ) -> Result<Option<RunStatus>, String> {
        if let Some(problem) = self.ledger.problems().first() {
            return Err(problem.clone());
        }
        let mut status = None;
        for (id, journal) in journals {
            let verification = self.backend.verify(id).map_err(|error| error.to_string())?;
            invariants::chain_holds(&verification, journal.len())?;
            let posted: Vec<&Posted> = self.posted.iter().filter(|posted| posted.run == *id).collect();
            invariants::messages(journal, &posted, &self.ledger.run(id).delivered)?;
            let is_top = *id == self.top;
            let run = invariants::audit(self.case, journal, live.filter(|_| is_top))?;
            if is_top {
                invariants::ends_as_without_faults(self.case, &self.options, journal, &run)?;
                status = Some(run.status());
            }
        }
        Ok(status)
    }

    /// Returns the top run as the last process knew it, if that process lived to the end.
    async fn drive_to_the_end(&mut self) -> Result<Option<Box<Run>>, String> {
        let mut task = self.begin(&self.top.clone()).await?;
        if let Some(rival) = self.rival.clone() {
            // A failing disk may have created the run all the same; it is resumed then.
            self.rival_task = self.begin(&rival).await.ok();
            self.rival = self.ledger.runs().contains(&rival).then_some(rival);
        }
        loop {
            let process = self.process(task);
            let mut live = None;
            match self.live(process).await {
                End::Rested(run) if run.status().is_terminal() => {
                    live = (run.options().run == self.top).then_some(run);
                }
                End::Rested(run) => self.answer(&run).await,
                End::Failed(error) => self.excuse(&error)?,
                End::Crashed => {}
                End::Stuck => return Err("the run does not settle".into()),
            }
            task = match self.next_task(live.is_some()).await? {
                Some(next) => next,
                None => return Ok(live),
            };
        }
    }

    /// The run that is driven next, after a while; `None` when all is done.
    async fn next_task(&mut self, at_once: bool) -> Result<Option<Task>, String> {
        if !at_once {
            let pause = self.people.below(3_000);
            self.idle(pause).await;
        }
        let rival = self.rival.clone().filter(|run| self.ledger.run(run).ended.is_none());
        let is_top_open = self.ledger.run(&self.top).ended.is_none();
        if let Some(rival) = rival
            && (!is_top_open || self.people.chance(40))
        {
            return match self.rival_task.take() {
                Some(task) => Ok(Some(task)),
                None => self.resume(&rival),
            };
        }
        if is_top_open {
            let target = self.nested_with_messages().unwrap_or_else(|| self.top.clone());
            return self.resume(&target);
        }
        // A nested run that a person retried is theirs to drive; all others are the parent's.
        let retried = self.retried.iter().find(|run| self.ledger.run(run).ended.is_none()).cloned();
        match retried {
            Some(run) => self.resume(&run),
            None => Ok(self.retry_failed()),
        }
    }

    /// A nested run whose inbox has messages: `escrow approve` drives it before its parent.
    fn nested_with_messages(&mut self) -> Option<RunId> {
        let nested: Vec<RunId> = self
            .ledger
            .runs()
            .into_iter()
            .filter(|run| *run != self.top && self.ledger.run(run).ended.is_none())
            .filter(|run| {
                let delivered = self.ledger.run(run).delivered;
                self.posted.iter().any(|posted| posted.run == *run && !delivered.contains_key(&posted.id))
            })
            .collect();
        (!nested.is_empty() && self.people.chance(50)).then(|| self.people.pick(&nested).clone())
    }

    async fn begin(&mut self, id: &RunId) -> Result<Task, String> {
        let plan = Arc::clone(&self.case.plans.top);
        let (mut options, facts) = (self.options.run.clone(), self.options.facts.clone());
        options.run = id.clone();
        let now = self.clock.now_ms();
        let (run, turn) = escrow_runtime::begin(&plan, options, facts, &Redactor::none(), now)
            .map_err(|error| error.to_string())?;
        loop {
            let holder = holder(self.lives);
            let entries = &turn.entries;
            let new =
                NewRun { run: id, holder: &holder, entries, durability: Durability::Grouped, parent: None };
            match self.disk.create_run(new).await {
                Ok(Created::Done { lease, .. }) => {
                    return Ok(Task { run, lease, beginning: Beginning::New(turn) });
                }
                Ok(Created::AlreadyExists | Created::ParentFenced | Created::Conflict(_)) => {
                    return Err("the run exists before it is begun".into());
                }
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn process(&mut self, task: Task) -> Process {
        let life = self.lives;
        self.lives += 1;
        if life >= FAULTLESS_FROM {
            self.disk.stop_faults();
        }
        self.ledger.log(format!("process {life} drives {}", task.run.options().run));
        self.ledger.begins_to_live(life);
        let answers = Answers::random(&self.case.answers, &self.top);
        let world = SimulatedWorld::new(&self.clock, &self.ledger, &answers, self.case.answer_faults, life);
        let machine = Machine {
            disk: self.disk.for_another_process(),
            world: Rc::new(world),
            ledger: Arc::clone(&self.ledger),
            compares_replay: self.case.compares_replay,
        };
        Process::start(task, life, machine)
    }

    async fn live(&mut self, mut process: Process) -> End {
        let too_long = Instant::now() + LIFE_MAX;
        let mut fenced: Vec<Process> = Vec::new();
        let mut beside = self.rival_process(&process);
        let end = loop {
            let disk = Arc::clone(&process.disk);
            let next = self.incidents.front().map(|(at, _)| self.clock.incident(*at));
            tokio::select! {
                biased;
                () = disk.crashed() => break End::Crashed,
                () = until(next) => {
                    let Some((_, incident)) = self.incidents.pop_front() else { continue };
                    self.ledger.log(format!("{incident:?}"));
                    match incident {
                        Incident::Crash => break End::Crashed,
                        Incident::Interrupt => process.canceller.cancel(),
                        Incident::TakeOver { frozen } => {
                            if let Some(task) = self.take_from(&process) {
                                let other = self.process(task);
                                let mut loser = std::mem::replace(&mut process, other);
                                self.ledger.is_gone(loser.life);
                                loser.frozen = frozen;
                                fenced.push(loser);
                            }
                        }
                        Incident::Message(_) | Incident::Jump(_) => self.incident(incident),
                    }
                }
                outcome = process.rest() => break match outcome {
                    Ok(run) => End::Rested(Box::new(run)),
                    Err(error) => End::Failed(error),
                },
                outcome = rest_of(&mut beside) => {
                    let life = beside.take().map_or(0, |process| process.life);
                    self.rival_rests(life, outcome);
                }
                () = run_out(&mut fenced), if fenced.iter().any(|process| !process.frozen) => {}
                () = sleep_until(too_long) => break End::Stuck,
            }
        };
        self.ledger.log(match &end {
            End::Rested(run) => format!("process {} rests: {:?}", process.life, run.status()),
            End::Failed(error) => format!("process {} fails: {error}", process.life),
            End::Crashed => format!("process {} is killed", process.life),
            End::Stuck => format!("process {} does not end", process.life),
        });
        for life in [Some(process.life), beside.map(|process| process.life)].into_iter().flatten() {
            self.ledger.is_gone(life);
        }
        if !matches!(end, End::Crashed) {
            // A supervisor ends its children before it leaves.
            self.ledger.end_all(process.life + 1);
        }
        drop(process);
        // Frozen processes wake up, notice that they have lost the run, and leave.
        fenced.iter_mut().for_each(|process| process.frozen = false);
        tokio::select! {
            biased;
            () = run_out(&mut fenced) => {}
            () = sleep(Duration::from_secs(60)) => {}
        }
        end
    }

    /// A process that drives the rival beside the first one. It is killed when that one ends.
    fn rival_process(&mut self, first: &Process) -> Option<Process> {
        let rival = self.rival.clone().filter(|run| self.ledger.run(run).ended.is_none())?;
        if first.run != self.top || self.lives >= LIVES_MAX {
            return None;
        }
        let task = match self.rival_task.take() {
            Some(task) => task,
            None => {
                let lease = acquire(&self.disk, &rival, &holder(self.lives), Liveness::Dead).ok()?;
                let run = self.replayed(&rival).ok()?;
                Task { run, lease, beginning: Beginning::Resumed { by: Vec::new() } }
            }
        };
        Some(self.process(task))
    }

    fn rival_rests(&mut self, life: u32, outcome: Option<Result<Run, DriveError>>) {
        self.ledger.is_gone(life);
        match outcome {
            Some(Ok(run)) => {
                self.ledger.log(format!("process {life} rests: {:?}", run.status()));
                if !run.status().is_terminal() {
                    self.answer_waits(&run);
                }
            }
            Some(Err(DriveError::Store(_) | DriveError::Fenced(_))) | None => {
                self.ledger.log(format!("process {life} is killed"));
            }
            Some(Err(error)) => self.ledger.problem(error.to_string()),
        }
    }

    /// An incident that does not need a process.
    fn incident(&mut self, incident: Incident) {
        match incident {
            Incident::Message(kind) => {
                let runs = self.ledger.runs();
                let run =
                    if self.people.chance(50) { self.top.clone() } else { self.people.pick(&runs).clone() };
                let by = self.people.name();
                let message = self.people.unasked(&self.ledger.run(&run), kind, &by);
                self.post(&run, &message, by);
            }
            Incident::Jump(by_ms) => self.clock.jump(by_ms),
            Incident::Crash | Incident::Interrupt | Incident::TakeOver { .. } => {}
        }
    }

    fn post(&mut self, run: &RunId, message: &Message, by: String) {
        self.ledger.log(format!("{by} writes to {run}: {message:?}"));
        match block_on(self.backend.send(run, message, &by)) {
            Ok(id) => {
                self.is_posted(run, id, by, false);
            }
            Err(error) => self.ledger.problem(format!("a message is refused: {error}")),
        }
    }

    fn is_posted(&mut self, run: &RunId, id: MessageId, by: String, is_first_word: bool) {
        let after_entry = self.ledger.run(run).entries;
        self.posted.push(Posted { run: run.clone(), id, by, after_entry, is_first_word });
    }

    /// A decision as `approve`, `deny` and `answer` record it; true when it is the first decision about its wait.
    fn decide(&mut self, run: &RunId, message: &Message, by: String) -> bool {
        match self.backend.decide(run, message, &by, self.clock.now_ms()) {
            Ok(Decided::Accepted(id)) => {
                self.ledger.log(format!("{by} decides in {run}: {message:?}"));
                self.is_posted(run, id, by, true);
                true
            }
            Ok(Decided::Refused(why)) => {
                self.ledger.log(format!("{by} is too late in {run}: {message:?}: {why:?}"));
                false
            }
            Err(error) => {
                self.ledger.problem(format!("a decision cannot be recorded: {error}"));
                false
            }
        }
    }

    /// A person replies; now and then another one says the opposite at the same moment.
    fn reply_to(&mut self, run: &RunId, wait: &OpenWait) {
        let by = self.people.name();
        let message = self.people.reply(self.case, wait, &by);
        if wait_of(&message).is_none() || wait.kind == WaitKind::Nested {
            self.post(run, &message, by);
            return;
        }
        let contrary = match !self.case.has_oracle() && self.people.chance(30) {
            true => self.people.contrary(&message),
            false => None,
        };
        let words = [Some((message, by)), contrary];
        let accepted = words.into_iter().flatten().filter(|(word, by)| self.decide(run, word, by.clone()));
        if accepted.count() > 1 {
            self.ledger.problem(format!("two words about {} are accepted", wait.id));
        }
    }

    /// Another process takes the run from one that lives, because it judges it dead.
    fn take_from(&mut self, process: &Process) -> Option<Task> {
        let me = holder(self.lives);
        let (run, life) = (&process.run, process.life);
        match acquire(self.backend.as_ref(), run, &me, Liveness::Alive) {
            Err(LeaseError::Held { .. }) => {}
            Ok(_) => self.ledger.problem(format!("process {life} drives a run that it does not hold")),
            Err(error) => self.ledger.problem(error.to_string()),
        }
        let lease = acquire(&self.disk, run, &me, Liveness::Dead).ok()?;
        let run = self.replayed(run).ok()?;
        Some(Task { run, lease, beginning: Beginning::Resumed { by: Vec::new() } })
    }

    fn replayed(&self, run: &RunId) -> Result<Run, String> {
        let entries = block_on(self.backend.entries(run, 0)).map_err(|error| error.to_string())?;
        Run::replay(entries.iter().map(|(_, entry)| entry)).map_err(|error| error.to_string())
    }

    fn resume(&mut self, run: &RunId) -> Result<Option<Task>, String> {
        for _ in self.lives..LIVES_MAX {
            match acquire(&self.disk, run, &holder(self.lives), Liveness::Dead) {
                Ok(lease) => {
                    let run = self.replayed(run)?;
                    return Ok(Some(Task { run, lease, beginning: Beginning::Resumed { by: Vec::new() } }));
                }
                Err(LeaseError::Store(_)) => self.lives += 1,
                Err(error) => return Err(format!("no process drives the run, and still: {error}")),
            }
        }
        Err("the run does not settle in any number of processes".into())
    }

    /// No process runs; messages arrive and clocks are set all the same.
    async fn idle(&mut self, ms: u64) {
        let end = Instant::now() + Duration::from_millis(ms);
        while let Some((at, _)) = self.incidents.front()
            && self.clock.incident(*at) <= end
        {
            sleep_until(self.clock.incident(*at)).await;
            if let Some((_, incident)) = self.incidents.pop_front() {
                self.incident(incident);
            }
        }
        sleep_until(end).await;
    }

    async fn answer(&mut self, run: &Run) {
        if self.case.unanswered && self.people.chance(50) {
            self.ledger.log("no message for a day");
            self.idle(25 * HOUR_MS).await;
            return;
        }
        if self.case.unanswered && self.people.chance(50) {
            // Decided in time, and read after the time has passed.
            self.idle(23 * HOUR_MS).await;
            self.answer_waits(run);
            self.idle(2 * HOUR_MS).await;
            return;
        }
        self.answer_waits(run);
    }

    /// A person settles effects that a run which has ended left unknown, and that this run waits for.
    fn resolve_effects(&mut self, run: &Run) {
        for AwaitedEffect { key, .. } in run.awaited_effects() {
            let Ok(Some(effect)) = block_on(self.backend.effect(&key)) else { continue };
            let is_open = matches!(effect.state, EffectState::Intended | EffectState::Unknown);
            if !is_open || self.ledger.run(&effect.run).ended.is_none() {
                continue;
            }
            let Ok(mut owner) = self.replayed(&effect.run) else { continue };
            let Ok(lease) = acquire(self.backend.as_ref(), &effect.run, &holder(self.lives), Liveness::Dead)
            else {
                continue;
            };
            self.ledger.held_by(&effect.run, lease.token());
            let settled_as = if self.people.chance(50) { SettledAs::Done } else { SettledAs::Failed };
            let expected_seq = owner.entries();
            let resolution = EffectResolution {
                check: effect.check,
                scope: effect.scope,
                key,
                settled_as,
                by: "person".into(),
                why: "by chance".into(),
            };
            if let Some(turn) = owner.resolve_effect(self.clock.now_ms(), resolution) {
                let (entries, durability) = (turn.entries.as_slice(), Durability::Full);
                let commit = Commit { lease: &lease, expected_seq, entries, delivered: &[], durability };
                match block_on(self.backend.commit(commit)) {
                    Ok(Committed::Done { .. }) => {
                        self.ledger.written(&effect.run, lease.token(), &turn.entries, &[]);
                    }
                    other => self.ledger.problem(format!("an effect cannot be resolved: {other:?}")),
                }
            }
            drop(block_on(self.backend.release(&lease)));
        }
    }

    /// Answers the waits of a run and of the runs that it waits for.
    fn answer_waits(&mut self, run: &Run) {
        self.resolve_effects(run);
        for wait in run.waits() {
            if wait.kind == WaitKind::Nested && !self.people.chance(5) {
                match self.replayed(&RunId::from_stored(&wait.id)) {
                    Ok(nested) => self.answer_waits(&nested),
                    Err(error) => self.ledger.problem(format!("the nested run is not there: {error}")),
                }
            } else if self.people.chance(80) {
                self.reply_to(&run.options().run, &wait);
            }
        }
    }

    /// Retries a run that failed, once: now and then a nested one first, then the top run.
    fn retry_failed(&mut self) -> Option<Task> {
        if !self.case.retries_failed || self.retried.contains(&self.top) {
            return None;
        }
        let mut targets = self.ledger.runs();
        targets.retain(|run| *run != self.top && !self.retried.contains(run));
        let nested =
            (!targets.is_empty() && self.people.chance(30)).then(|| self.people.pick(&targets).clone());
        [nested, Some(self.top.clone())].into_iter().flatten().find_map(|target| {
            self.retried.insert(target.clone());
            let mut run = self.replayed(&target).ok()?;
            let turn = run.retry_failed(self.clock.now_ms(), None).ok()?;
            let lease = acquire(self.backend.as_ref(), &target, &holder(self.lives), Liveness::Dead).ok()?;
            self.ledger.held_by(&target, lease.token());
            self.ledger.log(format!("what failed in {target} is retried"));
            Some(Task { run, lease, beginning: Beginning::Reopened { turn, by: None } })
        })
    }

    /// Whether an error is the fault of the disk.
    fn excuse(&self, error: &DriveError) -> Result<(), String> {
        match error {
            DriveError::Store(_) if self.disk.take_failed() => Ok(()),
            DriveError::Store(_) | DriveError::Fenced(_) => Err(format!("without a disk fault: {error}")),
            DriveError::Corrupt { .. }
            | DriveError::Inseparable(_)
            | DriveError::Orphans { .. }
            | DriveError::Conflict(_)
            | DriveError::Secret(_)
            | DriveError::Lost(_) => Err(error.to_string()),
        }
    }
}

/// Takes the run, whose holder is judged as `judged`.
pub(crate) fn acquire(
    journal: &dyn Journal,
    run: &RunId,
    holder: &Holder,
    judged: Liveness,
) -> Result<Lease, LeaseError> {
    block_on(journal.acquire(run, holder, |_| judged))
}

/// The end of a process beside the first one; `None` when its disk crashes.
async fn rest_of(process: &mut Option<Process>) -> Option<Result<Run, DriveError>> {
    let Some(process) = process else { return std::future::pending().await };
    let disk = Arc::clone(&process.disk);
    tokio::select! {
        biased;
        () = disk.crashed() => None,
        outcome = process.rest() => Some(outcome),
    }
}

async fn until(incident: Option<Instant>) {
    match incident {
        Some(incident) => sleep_until(incident).await,
        None => std::future::pending().await,
    }
}
