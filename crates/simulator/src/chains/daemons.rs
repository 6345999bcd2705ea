//! What daemons do: decide fires, begin and resume runs, die and freeze.

use std::rc::Rc;
use std::sync::Arc;

use escrow_engine::Run;
use escrow_model::{ChainFire, ChainId, ChainRules, FireStatus, Message, RunId, RunOptions};
use escrow_runtime::{Beginning, DriveError, Redactor};
use escrow_store::{
    Created, Durability, FireDecision, FireRow, FireRules, Fires as _, Journal as _, LeaseError, Liveness,
    NewRun,
};
use escrow_testkit::Options;

use super::definitions::Chain;
use super::host::{Daemon, End, Hosted};
use super::{ChainWorld, UNDECIDED_MAX, answers, told};
use crate::block_on::block_on;
use crate::case::AnswerFaults;
use crate::play::acquire;
use crate::process::{Machine, Task};
use crate::world::{SimulatedWorld, holder};

impl ChainWorld {
    /// Whether so many fires wait that another one would only wait, too.
    pub(super) fn is_behind(&self) -> Result<bool, String> {
        Ok(self.store.blocking().undecided_fires().map_err(told)?.len() > UNDECIDED_MAX)
    }

    /// Decides a fire that any daemon has recorded.
    pub(super) fn decide(&mut self, at: usize, choice: Choice) -> Result<(), String> {
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

    pub(super) fn decide_one(&mut self, at: usize, fire: &FireRow) -> Result<(), String> {
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
            FireDecision::Replaces { runs, fire } => {
                for run in runs.iter().filter(|run| self.open.contains(*run)) {
                    // Every daemon asks, and mostly finds that the run was asked before.
                    if !self.asked.insert((run.clone(), fire.run.clone())) && self.rng.chance(95) {
                        continue;
                    }
                    self.played.replaced += 1;
                    let message = Message::Cancel {
                        by: None,
                        system: true,
                        successor: Some(fire.run.clone()),
                        inside: None,
                        patient: true,
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

    pub(super) fn chain(&self, id: &ChainId) -> Result<&Chain, String> {
        let found = self.chains.iter().find(|chain| chain.id == *id);
        found.ok_or_else(|| format!("no chain has the id {}", id.as_str()))
    }

    /// Creates the run of an accepted fire, as many daemons may try to.
    pub(super) fn begin(&mut self, at: usize) -> Result<(), String> {
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
    pub(super) fn mark(&mut self, at: usize) -> Result<(), String> {
        let Some((fire, task)) = self.daemons[at].begun.pop() else { return Ok(()) };
        block_on(self.store.fire_begun(fire.id, self.clock.now_ms())).map_err(told)?;
        if let Some((task, life)) = task {
            self.host(at, fire.run, task, life);
        }
        Ok(())
    }

    pub(super) fn next_life(&mut self) -> u32 {
        self.lives += 1;
        self.lives
    }

    pub(super) fn takes(&mut self, run: &RunId, life: u32) {
        self.ledger.begins_to_live(life);
        self.drivers.insert(run.clone(), life);
    }

    pub(super) fn host(&mut self, at: usize, run: RunId, task: Task, life: u32) {
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
    pub(super) fn resume(&mut self, at: usize) -> Result<(), String> {
        let ledger = &self.ledger;
        let is_driven = |run: &RunId| self.drivers.get(run).is_some_and(|life| ledger.is_living(*life));
        let abandoned: Vec<RunId> = self.open.iter().filter(|run| !is_driven(run)).cloned().collect();
        if abandoned.is_empty() {
            return Ok(());
        }
        let run = self.rng.pick(&abandoned).clone();
        self.take(at, &run)
    }

    pub(super) fn take(&mut self, at: usize, run: &RunId) -> Result<(), String> {
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

    pub(super) fn replayed(&self, run: &RunId) -> Result<Run, String> {
        let entries = self.store.blocking().entries(run, 0).map_err(told)?;
        Run::replay(entries.iter().map(|(_, entry)| entry)).map_err(|error| error.to_string())
    }

    /// A daemon dies and another one is started.
    pub(super) fn kill(&mut self, at: usize) {
        self.ledger.log(format!("daemon {at} dies"));
        self.played.deaths += 1;
        for (life, _) in self.daemons[at].lives() {
            self.ledger.is_gone(life);
        }
        self.daemons[at] = Daemon::default();
    }

    pub(super) fn freeze_or_thaw(&mut self, at: usize) {
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

    pub(super) fn rests(&mut self, at: usize, hosted: &Hosted, end: End) -> Result<(), String> {
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
}

/// Which fires a daemon decides.
#[derive(Clone, Copy)]
pub(super) enum Choice {
    Any,
    All,
}
