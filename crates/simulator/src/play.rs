//! Plays a case: one life of Escrow after another, until the run has ended or something is wrong.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use escrow_engine::Run;
use escrow_model::{Entry, RunId, RunStatus};
use escrow_runtime::redaction::Redactor;
use escrow_runtime::supervisor::{self, Beginning, DriveError};
use escrow_store::{Created, Durability, Holder, Journal, Lease, LeaseError, Liveness, NewRun, Store};
use escrow_testkit::Options;
use tokio::time::{Instant, sleep, sleep_until};

use crate::at_once::at_once;
use crate::case::{Case, Moment};
use crate::clock::{Clock, START_MS};
use crate::disk::Disk;
use crate::laws;
use crate::ledger::Ledger;
use crate::memory::{Backing, Memory, decode};
use crate::people::{People, Posted};
use crate::process::{Process, Task, wither};
use crate::world::{Answers, Simulated, holder};

/// More lives than any run needs.
const LIVES_MAX: u32 = 80;

/// From then on nothing goes wrong any more.
const CALM_FROM: u32 = 30;

/// A life that lasts longer does not settle.
const LIFE_MAX: Duration = Duration::from_secs(2 * 60 * 60);

/// What became of a case.
pub struct Played {
    pub journal: Vec<Entry>,
    /// What happened, in order, beside the journal.
    pub story: Vec<String>,
    pub lives: u32,
    pub status: Option<RunStatus>,
    pub problem: Option<String>,
}

/// The store that a case is played on.
#[derive(Clone)]
pub enum Backend {
    Memory,
    Sqlite(Arc<Store>),
}

/// Plays a case in a world of its own, whose time nobody waits for.
pub fn play(case: &Case, backend: &Backend) -> Played {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without hands needs nothing");
    runtime.block_on(async {
        let clock = Arc::new(Clock::new());
        let backing: Arc<dyn Backing> = match backend {
            Backend::Memory => Arc::new(Memory::new(Arc::clone(&clock))),
            Backend::Sqlite(store) => Arc::<Store>::clone(store),
        };
        Play::new(case, clock, backing).run_its_course().await
    })
}

struct Play<'a> {
    case: &'a Case,
    options: Options,
    run: RunId,
    clock: Arc<Clock>,
    backing: Arc<dyn Backing>,
    ledger: Arc<Ledger>,
    disk: Disk,
    people: People,
    posted: Vec<Posted>,
    moments: VecDeque<(u64, Moment)>,
    lives: u32,
    reopened: bool,
}

/// How a life ended.
enum End {
    Rested(Box<Run>),
    Failed(DriveError),
    Crashed,
    Stuck,
}

impl<'a> Play<'a> {
    fn new(case: &'a Case, clock: Arc<Clock>, backing: Arc<dyn Backing>) -> Play<'a> {
        let mut options = Options { compare_replay: false, ..Options::default() };
        options.run.run = RunId::new(START_MS, case.seed);
        options.run.parallelism = 3;
        options.run.timeout_ms = case.timeout_ms;
        let ledger = Arc::new(Ledger::new(&case.plan.0));
        let disk =
            Disk::new(Arc::clone(&backing), Arc::clone(&ledger), case.seed ^ 0x4449_534b, case.troubles);
        Play {
            run: options.run.run.clone(),
            options,
            clock,
            backing,
            ledger,
            disk,
            people: People::new(case.seed),
            posted: Vec::new(),
            moments: case.moments.iter().cloned().collect(),
            lives: 0,
            reopened: false,
            case,
        }
    }

    async fn run_its_course(mut self) -> Played {
        let ended = self.lives_of_a_run().await;
        let stored = self.backing.journal(&self.run);
        let journal: Result<Vec<Entry>, _> = stored.iter().flatten().map(decode).collect();
        let mut played = Played {
            journal: journal.unwrap_or_default(),
            story: self.ledger.story(),
            lives: self.lives,
            status: None,
            problem: None,
        };
        let verdict = ended.and_then(|live| {
            if let Some(problem) = self.ledger.problems().first() {
                return Err(problem.clone());
            }
            let verification = self.backing.verify(&self.run).map_err(|error| error.to_string())?;
            laws::chain_holds(&verification, played.journal.len())?;
            laws::messages(&played.journal, &self.posted, &self.ledger.delivered())?;
            laws::judge(self.case, &self.options, &played.journal, live.as_deref())
        });
        match verdict {
            Ok(run) => played.status = Some(run.status()),
            Err(problem) => played.problem = Some(problem),
        }
        played
    }

    /// Ends with the run as the last life knew it, if that life lived to tell.
    async fn lives_of_a_run(&mut self) -> Result<Option<Box<Run>>, String> {
        let mut task = self.begin().await?;
        loop {
            let process = self.process(task);
            match self.live(process).await {
                End::Rested(run) if run.status().is_terminal() => match self.reopen(&run) {
                    Some(next) => {
                        task = next;
                        continue;
                    }
                    None => return Ok(Some(run)),
                },
                End::Rested(run) => self.answer(&run).await,
                End::Failed(error) => self.excuse(&error)?,
                End::Crashed => {}
                End::Stuck => return Err("the run does not settle".into()),
            }
            match self.resume().await? {
                Some(next) => task = next,
                None => return Ok(None),
            }
        }
    }

    async fn begin(&mut self) -> Result<Task, String> {
        let plan = Arc::clone(&self.case.plan.0);
        let (options, facts) = (self.options.run.clone(), self.options.facts.clone());
        let now = self.clock.now_ms();
        let (run, turn) = supervisor::begin(plan, options, facts, &Redactor::none(), now)
            .map_err(|error| error.to_string())?;
        loop {
            let holder = holder(self.lives);
            let entries = &turn.entries;
            let new = NewRun { run: &self.run, holder: &holder, entries, durability: Durability::Grouped };
            match self.disk.create_run(new).await {
                Ok(Created::Done { lease, .. }) => {
                    return Ok(Task { run, lease, beginning: Beginning::New(turn) });
                }
                Ok(Created::AlreadyExists) => return Err("the run exists before it is begun".into()),
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn process(&mut self, task: Task) -> Process {
        let life = self.lives;
        self.lives += 1;
        if life >= CALM_FROM {
            self.disk.calm();
        }
        self.ledger.tell(format!("life {life} begins"));
        let answers = Answers::of(&self.case.weather);
        let world = Simulated::new(&self.clock, &self.ledger, &answers, self.case.habits, life);
        Process::start(task, life, self.disk.anew(), Rc::new(world), &self.ledger, self.case.compares)
    }

    async fn live(&mut self, mut process: Process) -> End {
        let too_long = Instant::now() + LIFE_MAX;
        let mut fenced: Vec<Process> = Vec::new();
        let end = loop {
            let disk = Arc::clone(&process.disk);
            let next = self.moments.front().map(|(at, _)| self.clock.moment(*at));
            tokio::select! {
                biased;
                () = disk.crashed() => break End::Crashed,
                () = until(next) => {
                    let Some((_, moment)) = self.moments.pop_front() else { continue };
                    self.ledger.tell(format!("{moment:?}"));
                    match moment {
                        Moment::Crash => break End::Crashed,
                        Moment::Interrupt => process.canceller.cancel(),
                        Moment::TakeOver { frozen } => {
                            if let Some(task) = self.take_from(process.life) {
                                let other = self.process(task);
                                let mut loser = std::mem::replace(&mut process, other);
                                loser.frozen = frozen;
                                fenced.push(loser);
                            }
                        }
                        Moment::Message(_) | Moment::Jump(_) => self.moment(moment),
                    }
                }
                outcome = process.rest() => break match outcome {
                    Ok(run) => End::Rested(Box::new(run)),
                    Err(error) => End::Failed(error),
                },
                () = wither(&mut fenced), if fenced.iter().any(|process| !process.frozen) => {}
                () = sleep_until(too_long) => break End::Stuck,
            }
        };
        self.ledger.tell(match &end {
            End::Rested(run) => format!("life {} rests: {:?}", process.life, run.status()),
            End::Failed(error) => format!("life {} fails: {error}", process.life),
            End::Crashed => format!("life {} is killed", process.life),
            End::Stuck => format!("life {} goes on for ever", process.life),
        });
        if !matches!(end, End::Crashed) {
            // A supervisor that leaves ends its children first.
            self.ledger.end_others(process.life + 1);
        }
        drop(process);
        // Whoever was stopped wakes up, finds that it has lost the run, and goes.
        fenced.iter_mut().for_each(|process| process.frozen = false);
        tokio::select! {
            biased;
            () = wither(&mut fenced) => {}
            () = sleep(Duration::from_secs(60)) => {}
        }
        end
    }

    /// Something that happens whether or not anybody drives the run.
    fn moment(&mut self, moment: Moment) {
        match moment {
            Moment::Message(wish) => {
                let by = self.people.name();
                let message = self.people.unasked(self.case, &self.ledger, wish, &by);
                self.post(&message, by);
            }
            Moment::Jump(by_ms) => self.clock.jump(by_ms),
            Moment::Crash | Moment::Interrupt | Moment::TakeOver { .. } => {}
        }
    }

    fn post(&mut self, message: &escrow_model::Message, by: String) {
        self.ledger.tell(format!("{by} writes {message:?}"));
        match at_once(self.backing.send(&self.run, message, &by)) {
            Ok(id) => self.posted.push(Posted { id, by, after_entry: self.ledger.entries() }),
            Err(error) => self.ledger.problem(format!("a message is refused: {error}")),
        }
    }

    /// Another process takes the run from one that lives, because it takes it for dead.
    fn take_from(&mut self, life: u32) -> Option<Task> {
        let me = holder(self.lives);
        match acquire(self.backing.as_ref(), &self.run, &me, Liveness::Alive) {
            Err(LeaseError::Held { .. }) => {}
            Ok(_) => self.ledger.problem(format!("life {life} drives a run that nobody holds")),
            Err(error) => self.ledger.problem(error.to_string()),
        }
        let lease = acquire(&self.disk, &self.run, &me, Liveness::Dead).ok()?;
        let run = self.replayed().ok()?;
        Some(Task { run, lease, beginning: Beginning::Resumed })
    }

    fn replayed(&self) -> Result<Run, String> {
        let entries = at_once(self.backing.entries(&self.run, 0)).map_err(|error| error.to_string())?;
        Run::replay(entries.iter().map(|(_, entry)| entry)).map_err(|error| error.to_string())
    }

    /// The next process that finds the run, after a while; `None` when it finds that the run has ended.
    async fn resume(&mut self) -> Result<Option<Task>, String> {
        let pause = self.people.below(3_000);
        self.idle(pause).await;
        for _ in self.lives..LIVES_MAX {
            match acquire(&self.disk, &self.run, &holder(self.lives), Liveness::Dead) {
                Ok(lease) => {
                    let run = self.replayed()?;
                    if run.status().is_terminal() {
                        return Ok(None);
                    }
                    return Ok(Some(Task { run, lease, beginning: Beginning::Resumed }));
                }
                Err(LeaseError::Store(_)) => self.lives += 1,
                Err(error) => return Err(format!("nobody drives the run, and still: {error}")),
            }
        }
        Err("the run does not settle in any number of lives".into())
    }

    /// Nobody drives the run; messages arrive and clocks are set all the same.
    async fn idle(&mut self, ms: u64) {
        let end = Instant::now() + Duration::from_millis(ms);
        while let Some((at, _)) = self.moments.front()
            && self.clock.moment(*at) <= end
        {
            sleep_until(self.clock.moment(*at)).await;
            if let Some((_, moment)) = self.moments.pop_front() {
                self.moment(moment);
            }
        }
        sleep_until(end).await;
    }

    async fn answer(&mut self, run: &Run) {
        if self.case.deserted && self.people.chance(50) {
            self.ledger.tell("nobody answers for a day");
            self.idle(25 * 60 * 60 * 1_000).await;
            return;
        }
        for wait in run.waits() {
            if self.people.chance(80) {
                let by = self.people.name();
                let message = self.people.reply(self.case, &wait, &by);
                self.post(&message, by);
            }
        }
    }

    /// What failed is run again, by the same person.
    fn reopen(&mut self, run: &Run) -> Option<Task> {
        if !self.case.reopens || std::mem::replace(&mut self.reopened, true) {
            return None;
        }
        let mut run = run.clone();
        let turn = run.retry_failed(self.clock.now_ms(), None).ok()?;
        let lease = acquire(self.backing.as_ref(), &self.run, &holder(self.lives), Liveness::Dead).ok()?;
        self.ledger.held_by(lease.token());
        self.ledger.tell("what failed is run again");
        Some(Task { run, lease, beginning: Beginning::Reopened(turn) })
    }

    /// Whether an error is the fault of the disk.
    fn excuse(&self, error: &DriveError) -> Result<(), String> {
        match error {
            DriveError::Store(_) if self.disk.take_failed() => Ok(()),
            DriveError::Store(_) | DriveError::Fenced(_) => Err(format!("for no reason: {error}")),
            DriveError::Inseparable(_) | DriveError::Orphans { .. } | DriveError::Lost(_) => {
                Err(error.to_string())
            }
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
    at_once(journal.acquire(run, holder, |_| judged))
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
