//! The crash matrix: a run whose answers are known, driven by the real supervisor and killed at every commit.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use escrow_engine::Run;
use escrow_engine::play::{ProviderCall, Reply};
use escrow_model::{
    Answer, Assumption, ExpectedArtifact, Facts, FaultCode, InspectedArtifact, Message, Plan, ProviderFault,
    RunId, RunOptions, ScopedCheck, WaitKind,
};
use escrow_runtime::{Beginning, Redactor};
use escrow_store::{Created, Durability, Journal, Liveness, NewRun};

use crate::case::AnswerFaults;
use crate::clock::Clock;
use crate::disk::{Disk, DiskFault};
use crate::invariants;
use crate::ledger::Ledger;
use crate::memory::{Memory, StoreBackend, decode};
use crate::play::acquire;
use crate::process::{Machine, Process, Task};
use crate::provider::Answers;
use crate::world::{SimulatedWorld, holder};

/// A run that was recorded: what every attempt answered, and what was seen at the end.
pub struct Recorded {
    pub plan: Arc<Plan>,
    pub options: RunOptions,
    pub facts: Facts,
    /// By check and scope: the answers to the first attempt, the second, and so on.
    pub answers: BTreeMap<ScopedCheck, Vec<Answer>>,
    pub seen: Vec<InspectedArtifact>,
}

/// Where a run ended or waits.
pub struct Rest {
    pub run: Run,
    /// External checks that the kill cut off, and that a person had tried again.
    pub cut_off: Vec<String>,
    pub commits: u64,
}

/// Attempts that were cut off do not use up an answer.
type Lost = Arc<Mutex<BTreeMap<ScopedCheck, u32>>>;

impl Recorded {
    /// Drives the run until it ends or waits for a person; killed once, at a commit, before it is written or after.
    pub fn drive(&self, kill_at: Option<(u64, bool)>) -> Result<Rest, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.map_err(|error| error.to_string())?.block_on(self.lives(kill_at))
    }

    async fn lives(&self, kill_at: Option<(u64, bool)>) -> Result<Rest, String> {
        let clock = Arc::new(Clock::new());
        let memory: Arc<dyn StoreBackend> = Arc::new(Memory::new(Arc::clone(&clock)));
        let ledger = Arc::new(Ledger::default());
        let disk = Disk::new(Arc::clone(&memory), Arc::clone(&ledger), 0, 0).with_fault_at(kill_at.map(
            |(commit, is_written)| {
                (commit, if is_written { DiskFault::CrashAfter } else { DiskFault::CrashBefore })
            },
        ));
        let lost = Lost::default();
        let answers = self.answers(&lost);
        let id = &self.options.run;
        let mut task = self.begin(&disk, &clock).await?;
        let mut cut_off = Vec::new();
        for life in 0.. {
            let world = SimulatedWorld::new(&clock, &ledger, &answers, AnswerFaults::default(), life);
            let machine = Machine {
                disk: disk.for_another_process(),
                world: Rc::new(world),
                ledger: Arc::clone(&ledger),
                compares_replay: true,
            };
            let mut process = Process::start(task, life, machine);
            let killed = Arc::clone(&process.disk);
            let rested = tokio::select! {
                biased;
                () = killed.crashed() => None,
                outcome = process.rest() => Some(outcome.map_err(|error| error.to_string())?),
            };
            drop(process);
            if let Some(run) = rested {
                let Some(wait) = lost_effect(&run) else {
                    audit(&memory, &ledger, &run)?;
                    return Ok(Rest { run, cut_off, commits: disk.commits() });
                };
                cut_off.push(wait.check.clone());
                *lost.lock().unwrap_or_else(PoisonError::into_inner).entry(wait.clone()).or_default() += 1;
                let ScopedCheck { check, scope } = wait;
                let message =
                    Message::Assume { check, scope, assumption: Assumption::Retry, by: None, why: None };
                memory.send(id, &message, "a person").await.map_err(|error| error.to_string())?;
            }
            let lease =
                acquire(&disk, id, &holder(life + 1), Liveness::Dead).map_err(|error| error.to_string())?;
            let entries = memory.entries(id, 0).await.map_err(|error| error.to_string())?;
            let run =
                Run::replay(entries.iter().map(|(_, entry)| entry)).map_err(|error| error.to_string())?;
            if run.status().is_terminal() {
                audit(&memory, &ledger, &run)?;
                return Ok(Rest { run, cut_off, commits: disk.commits() });
            }
            task = Task { run, lease, beginning: Beginning::Resumed { by: Vec::new() } };
        }
        Err("it does not settle".into())
    }

    async fn begin(&self, disk: &Disk, clock: &Clock) -> Result<Task, String> {
        let (plan, options, facts) = (Arc::clone(&self.plan), self.options.clone(), self.facts.clone());
        let (run, turn) = escrow_runtime::begin(&plan, options, facts, &Redactor::none(), clock.now_ms())
            .map_err(|error| error.to_string())?;
        let (holder, entries) = (holder(0), &turn.entries);
        let new = NewRun {
            run: &self.options.run,
            holder: &holder,
            entries,
            durability: Durability::Grouped,
            parent: None,
        };
        match disk.create_run(new).await.map_err(|error| error.to_string())? {
            Created::Done { lease, .. } => Ok(Task { run, lease, beginning: Beginning::New(turn) }),
            Created::AlreadyExists | Created::ParentFenced | Created::Conflict(_) => {
                Err("the run exists before it is begun".into())
            }
        }
    }

    fn answers(&self, lost: &Lost) -> Answers {
        let (recorded, lost) = (self.answers.clone(), Arc::clone(lost));
        let reply = move |_: &RunId, call: &ProviderCall<'_>| {
            let place = ScopedCheck::new(call.check, call.scope);
            let cut_off =
                lost.lock().unwrap_or_else(PoisonError::into_inner).get(&place).copied().unwrap_or(0);
            let turn = usize::try_from(call.attempt.saturating_sub(cut_off + 1)).unwrap_or(usize::MAX);
            let answer = recorded.get(&place).and_then(|answers| answers.get(turn)).cloned();
            let unheard = || {
                Answer::fault(ProviderFault::logical(FaultCode::own("unrecorded"), "nothing was recorded"))
            };
            Reply { answer: Some(answer.unwrap_or_else(unheard)), after_ms: 1 }
        };
        let seen = self.seen.clone();
        let look = move |expected: &[ExpectedArtifact]| {
            let nothing = |id| InspectedArtifact { id, files: Vec::new(), refused: None };
            let found = |id: &String| seen.iter().find(|sighting| sighting.id == *id).cloned();
            expected.iter().map(|one| found(&one.id).unwrap_or_else(|| nothing(one.id.clone()))).collect()
        };
        Answers { seed: 0, reply: Arc::new(reply), seen: Arc::new(look) }
    }
}

/// An effect that the kill made unknown, and not the record.
fn lost_effect(run: &Run) -> Option<ScopedCheck> {
    let wait = run.waits().into_iter().find(|wait| wait.kind == WaitKind::UnknownEffect)?;
    Some(ScopedCheck { check: wait.check, scope: wait.scope })
}

fn audit(memory: &Arc<dyn StoreBackend>, ledger: &Ledger, run: &Run) -> Result<(), String> {
    if let Some(problem) = ledger.problems().first() {
        return Err(problem.clone());
    }
    let id = &run.options().run;
    let journal = memory.journal(id).map_err(|error| error.to_string())?;
    let verification = memory.verify(id).map_err(|error| error.to_string())?;
    invariants::chain_holds(&verification, journal.len())?;
    let entries: Result<Vec<_>, _> = journal.iter().map(decode).collect();
    let replayed = Run::replay(&entries.map_err(|error| error.to_string())?);
    if replayed.map_err(|error| error.to_string())? != *run {
        return Err("the run is not what its journal says".into());
    }
    Ok(())
}
