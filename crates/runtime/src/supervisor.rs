//! Drives one run: commits a decision, performs it, and feeds the result back to the engine.
//!
//!   Input ──▶ Run::handle ──▶ commit ──▶ effects ──▶ EffectRunner ──▶ Input
//!
//! **Invariant:** an effect is performed only after the entries that decided it are committed. A commit that
//! fails ends the drive: the journal is right and this process is not, so everything it started is ended. The same
//! holds for a commit of a nested run. Nothing here blocks its thread: other runs may be driven on it.

mod commit;
mod effect_runner;
mod inbox;
mod ledger;
mod turn_redaction;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use escrow_engine::{ApplyError, Disclosure, Effect, Input, NestedLease, Run, Turn};
use escrow_model::{Entry, Message, RunId, ScopePath};
use escrow_store::{Journal, Lease, LeaseError, MessageId, RunConflict, Sent, StoreError, TakenEffect};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::debug;

use crate::cancellation::Cancellation;
use crate::host::Host;
use crate::process::Stream;
use crate::provider_world::ProviderWorld;
use crate::providers::Environment;
use crate::providers::HarnessProgress;
use crate::redaction::Inseparable;
use crate::secrets::{SecretError, Secrets};
use commit::{Committer, TurnCommit};
use effect_runner::EffectRunner;
use inbox::Inbox;
use turn_redaction::TurnRedaction;

pub use effect_runner::spool_label;
pub use turn_redaction::{begin, refuse};

/// The directories, environment and secrets that a run works with.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub directory: PathBuf,
    pub artifacts: PathBuf,
    /// A folder for this run's output files.
    pub spool: PathBuf,
    /// The state directory that holds the run's journal.
    pub state: PathBuf,
    pub environment: Environment,
    pub secrets: Arc<Secrets>,
    /// How long processes may take to end after they were asked to.
    pub grace: Duration,
}

/// Observes a run. It is called only with committed entries.
pub trait Observer {
    fn committed(&mut self, run: &Run, entries: &[Entry]);

    /// A piece of a command's output, as it comes.
    fn output(&mut self, check: &str, scope: &ScopePath, stream: Stream, bytes: &[u8]);

    /// What a harness does and has used so far.
    fn progress(&mut self, _check: &str, _scope: &ScopePath, _progress: &HarnessProgress) {}

    /// Called several times a second while something runs, so that a view can show time passing.
    fn tick(&mut self, run: &Run);

    /// A run nested in this one has committed entries to its own journal.
    fn nested(&mut self, _news: &NestedNews) {}
}

/// What a nested run has committed.
#[derive(Debug)]
pub struct NestedNews {
    /// The checks that lead to it, the outermost first, as `deploy` or `deploy[2]`.
    pub path: Vec<String>,
    pub run: RunId,
    pub plan: Arc<escrow_model::Plan>,
    pub entries: Vec<Entry>,
    /// Instead of entries: something that a command of it has printed.
    pub output: Option<NestedOutput>,
}

/// A piece of the output of a command in a nested run.
#[derive(Clone, Debug)]
pub struct NestedOutput {
    /// The check or item, as `build` or `build[2]`.
    pub label: String,
    pub stream: Stream,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Error)]
pub enum DriveError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("another process has taken over run `{0}`")]
    Fenced(RunId),
    /// Another run has the concurrency group, or the artifact directory, of the run that was to be opened again.
    #[error("run `{}` is in its way", .0.root.id)]
    Conflict(Box<RunConflict>),
    #[error("the journal of run `{run}` is corrupt: {source}")]
    Corrupt { run: RunId, source: ApplyError },
    #[error(transparent)]
    Inseparable(#[from] Inseparable),
    #[error("{left} of the processes that run `{run}` had started still run and cannot be ended")]
    Orphans { run: RunId, left: usize },
    /// The secrets of a nested run that exists already. They may be readable later, so the run is left as it is.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A bug: the task of an effect has panicked, so its answer would never come.
    #[error("the task of `{0}` ended without a result")]
    Lost(String),
}

/// What the effect runner reports to the loop.
pub(crate) enum Report {
    Input(Input),
    Output {
        check: String,
        scope: ScopePath,
        stream: Stream,
        bytes: Vec<u8>,
    },
    Progress {
        check: String,
        scope: ScopePath,
        progress: Box<HarnessProgress>,
    },
    Nested(NestedNews),
    /// A nested run can no longer be driven by this process.
    Broken(DriveError),
}

/// How a drive begins.
pub enum Beginning {
    /// A run that was just created; its first turn is already in the journal.
    New(Turn),
    /// A run that was replayed. Processes that its last holder left running are ended first. `by` are the actors who
    /// asked for it; a message that leads here is not such a request.
    Resumed { by: Vec<String> },
    /// A run that had ended and was reopened by this turn, which is not in the journal yet.
    Reopened { turn: Turn, by: Option<String> },
}

/// The inputs of one turn, in the order in which the run gets them.
struct Inputs {
    first: Option<Input>,
    /// Messages from the inbox, oldest first.
    sent: Vec<Sent>,
    rest: Vec<Input>,
}

/// A run, with everything needed to drive it until it ends or waits.
pub struct Drive<'a> {
    pub run: Run,
    pub lease: Lease,
    pub journal: Arc<dyn Journal>,
    pub world: Rc<dyn ProviderWorld>,
    /// Starts and drives nested runs.
    pub host: Rc<dyn Host>,
    pub surroundings: Surroundings,
    pub observer: &'a mut dyn Observer,
    /// Fires when a person or a signal wants the run to end.
    pub interruption: Cancellation,
    /// Fires when the run should end the effects that are under way, and begin nothing further.
    pub making_way: Cancellation,
}

const TICK: Duration = Duration::from_millis(100);

/// A third of the life of a lease. Processes on other machines can only judge a lease by its age.
const RENEWAL: Duration = Duration::from_secs(20);

impl Drive<'_> {
    /// Drives until the run ends or waits for a person, and releases it. Must run inside a `LocalSet`.
    pub async fn to_rest(mut self, mut beginning: Beginning) -> Result<Run, DriveError> {
        // Nested runs that other processes drive. Those deliver the messages themselves.
        let mut driven_elsewhere = BTreeSet::new();
        loop {
            let (sender, mut reports) = mpsc::unbounded_channel();
            let effect_runner = EffectRunner::new(
                sender,
                self.surroundings.clone(),
                Rc::clone(&self.world),
                Rc::clone(&self.host),
                self.lease.clone(),
                Arc::clone(&self.journal),
                self.interruption.clone(),
            );
            let outcome = self.work(beginning, effect_runner, &mut reports, &mut driven_elsewhere).await;
            let released = self.journal.release(&self.lease).await;
            outcome?;
            released?;
            // Other processes leave messages, also those to nested runs, to the holder, which this drive was until now.
            let is_at_rest = self.run.status().is_terminal()
                || (self.journal.undelivered(self.lease.run()).await?.is_empty()
                    && self.ready_nested(&driven_elsewhere).await?.is_empty());
            if is_at_rest {
                return Ok(self.run);
            }
            let judge = |holder: &escrow_store::Holder| self.world.liveness(holder);
            match self.journal.acquire(self.lease.run(), &self.world.holder(), judge).await {
                Ok(lease) => self.lease = lease,
                Err(LeaseError::Held { .. } | LeaseError::NoSuchRun(_)) => return Ok(self.run),
                Err(LeaseError::Store(error)) => return Err(error.into()),
            }
            self.catch_up().await?;
            beginning = Beginning::Resumed { by: Vec::new() };
        }
    }

    /// Applies what another process committed while this one did not hold the run.
    async fn catch_up(&mut self) -> Result<(), DriveError> {
        let run = self.lease.run().clone();
        let missed = self.journal.entries(&run, self.run.entries() + 1).await?;
        let missed: Vec<Entry> = missed.into_iter().map(|(_, entry)| entry).collect();
        for entry in &missed {
            self.run.follow(entry).map_err(|source| DriveError::Corrupt { run: run.clone(), source })?;
        }
        if !missed.is_empty() {
            self.observer.committed(&self.run, &missed);
        }
        Ok(())
    }

    async fn work(
        &mut self,
        beginning: Beginning,
        mut effect_runner: EffectRunner,
        reports: &mut mpsc::UnboundedReceiver<Report>,
        driven_elsewhere: &mut BTreeSet<RunId>,
    ) -> Result<(), DriveError> {
        let committer = Committer::new(Arc::clone(&self.journal), self.lease.clone());
        let mut inbox = Inbox::new(Arc::clone(&self.journal), self.lease.run().clone());
        let (mut interrupted, mut makes_way) = (false, false);
        match beginning {
            Beginning::New(turn) => {
                self.observer.committed(&self.run, &turn.entries);
                self.perform(&mut effect_runner, turn.effects);
            }
            Beginning::Reopened { turn, by } => {
                self.reopen(&committer, &mut effect_runner, turn, by).await?;
            }
            Beginning::Resumed { by } => {
                let run = self.lease.run();
                let left = self.world.end_orphans_of(run.clone(), self.surroundings.grace).await;
                if left > 0 {
                    return Err(DriveError::Orphans { run: run.clone(), left });
                }
                let Surroundings { spool, state, .. } = &self.surroundings;
                self.world.collect_receipts(run.clone(), spool.clone(), state.clone()).await;
                let sent = self.journal.undelivered(self.lease.run()).await?;
                // Time comes after the messages: an approval that came in time counts, although it was not delivered
                // until now.
                let ledger = ledger::news(&*self.journal, &self.run, &self.surroundings).await?;
                let resume = Input::Resume { by, ledger };
                let inputs = Inputs { first: Some(resume), sent, rest: vec![Input::Wake] };
                self.take_turn(&committer, &mut effect_runner, inputs).await?;
            }
        }
        let mut renewed = Instant::now();
        while self.is_under_way(&effect_runner) {
            if renewed.elapsed() > RENEWAL {
                renewed = Instant::now();
                if !self.journal.renew(std::slice::from_ref(&self.lease)).await?.is_empty() {
                    return Err(DriveError::Fenced(self.lease.run().clone()));
                }
            }
            let mut inputs = Vec::new();
            let mut sent = Vec::new();
            let wake_in =
                self.run.wake_at().map(|at| Duration::from_millis(at.saturating_sub(self.world.now_ms())));
            tokio::select! {
                biased;
                report = reports.recv() => if let Some(report) = report {
                    self.take(report, &mut inputs)?;
                },
                () = self.interruption.cancelled(), if !interrupted => {
                    interrupted = true;
                    inputs.push(Input::Message(Message::Cancel { by: None, system: true, successor: None, inside: None, patient: false }));
                }
                () = self.making_way.cancelled(), if !makes_way => {
                    makes_way = true;
                    inputs.push(Input::Message(Message::Cancel { by: None, system: true, successor: None, inside: None, patient: true }));
                }
                messages = inbox.next() => sent = messages?,
                () = sleep(wake_in) => inputs.push(Input::Wake),
                () = tokio::time::sleep(TICK) => {
                    self.observer.tick(&self.run);
                    let ready = self.ready_nested(driven_elsewhere).await?;
                    inputs.extend(ready.into_iter().map(|run| Input::NestedReady { run }));
                    if let Some(lost) = effect_runner.lost(&self.run) {
                        return Err(DriveError::Lost(lost));
                    }
                }
            }
            // Reports that have arrived meanwhile share the commit.
            while let Ok(report) = reports.try_recv() {
                self.take(report, &mut inputs)?;
            }
            for input in &inputs {
                if let Input::NestedWaits { child, lease, .. } = input {
                    match lease {
                        NestedLease::HeldElsewhere => driven_elsewhere.insert(child.clone()),
                        NestedLease::Free => driven_elsewhere.remove(child),
                    };
                }
            }
            if !inputs.is_empty() || !sent.is_empty() {
                let inputs = Inputs { first: None, sent, rest: inputs };
                self.take_turn(&committer, &mut effect_runner, inputs).await?;
            }
        }
        Ok(())
    }

    /// Acts on the turn that opened the run again.
    async fn reopen(
        &mut self,
        committer: &Committer,
        effect_runner: &mut EffectRunner,
        mut turn: Turn,
        by: Option<String>,
    ) -> Result<(), DriveError> {
        let mut withheld = BTreeSet::new();
        while let TurnCommit::Discloses(places) =
            self.act(committer, effect_runner, turn, &[], &withheld).await?
        {
            // Without its group, the run would not keep away from others.
            if places.contains(&Disclosure::Group) {
                return Err(Inseparable.into());
            }
            withheld.extend(places);
            self.rebuild().await?;
            self.run.withhold(withheld.clone());
            turn = self.run.retry_failed(self.world.now_ms(), by.clone()).map_err(|_| Inseparable)?;
        }
        Ok(())
    }

    /// Makes one turn of several inputs and acts on it.
    async fn take_turn(
        &mut self,
        committer: &Committer,
        effect_runner: &mut EffectRunner,
        mut inputs: Inputs,
    ) -> Result<(), DriveError> {
        let mut learnt = Turn::default();
        let mut refused: Vec<TakenEffect> = Vec::new();
        let mut withheld = BTreeSet::new();
        loop {
            let redactor = self.surroundings.secrets.redactor();
            inputs.sent.iter_mut().for_each(|sent| redactor.message(&mut sent.message));
            let messages = inputs.sent.iter().map(|sent| (sent.message.clone(), sent.at));
            let messages = if inputs.sent.iter().any(|sent| matches!(sent.message, Message::Cancel { .. })) {
                vec![Input::SentTogether(messages.collect())]
            } else {
                messages.map(|(message, at)| Input::Sent { message, at }).collect()
            };
            let all = inputs.first.iter().cloned().chain(messages).chain(inputs.rest.iter().cloned());
            let mut turn = std::mem::take(&mut learnt);
            for input in all {
                let next = self.run.handle(self.world.now_ms(), input);
                turn.entries.extend(next.entries);
                turn.effects.extend(next.effects);
            }
            let delivered: Vec<MessageId> = inputs.sent.iter().map(|sent| sent.id).collect();
            match self.act(committer, effect_runner, turn, &delivered, &withheld).await? {
                TurnCommit::Done => return Ok(()),
                TurnCommit::DecidedInTime => {
                    inputs.sent = self.journal.undelivered(self.lease.run()).await?;
                }
                TurnCommit::Taken(taken) => {
                    refused.retain(|other| (&other.check, &other.scope) != (&taken.check, &taken.scope));
                    refused.push(*taken);
                    // There is something to handle, so that the run decides.
                    inputs.rest.push(Input::Wake);
                }
                TurnCommit::Discloses(places) => withheld.extend(places),
            }
            // What the run learnt before was not written either, and is gone with the refused turn.
            self.rebuild().await?;
            // Another process has taken the run over since the commit was refused, and has ended it.
            if self.run.status().is_terminal() {
                return Err(DriveError::Fenced(self.lease.run().clone()));
            }
            self.run.withhold(withheld.clone());
            for taken in &refused {
                let turn = self.learn(taken, &mut inputs.rest).await?;
                learnt.entries.extend(turn.entries);
                learnt.effects.extend(turn.effects);
            }
        }
    }

    /// The run has decided what cannot be written. It decides again, knowing what the ledger knows.
    async fn learn(&mut self, taken: &TakenEffect, inputs: &mut Vec<Input>) -> Result<Turn, DriveError> {
        let TakenEffect { check, scope, effect: row } = taken;
        debug!(run = %self.lease.run(), key = row.key, "intent refused");
        let effect = ledger::known(&*self.journal, &*self.world, row, &self.surroundings).await?;
        // What the ledger answered this check before is out of date.
        let index = self.run.plan_of().find(check);
        inputs.retain(|input| match input {
            Input::LedgerAnswered { check, scope: asked, .. } => Some(*check) != index || asked != scope,
            _ => true,
        });
        Ok(self.run.learn(self.world.now_ms(), check, scope, row.key.clone(), effect))
    }

    /// The nested runs that this one waits for and that can be driven again: they have ended, or a message has come
    /// for them or for a run inside them.
    async fn ready_nested(&self, driven_elsewhere: &BTreeSet<RunId>) -> Result<Vec<RunId>, StoreError> {
        let mut ready = Vec::new();
        for nested in self.run.nested_runs() {
            let is_ready = if driven_elsewhere.contains(&nested) {
                self.journal.has_ended(&nested).await?
            } else {
                self.journal.is_ready(&nested).await?
            };
            if is_ready {
                ready.push(nested);
            }
        }
        Ok(ready)
    }

    /// Otherwise the run has ended, or waits for a message that has not arrived.
    fn is_under_way(&self, effect_runner: &EffectRunner) -> bool {
        match self.run.status() {
            escrow_model::RunStatus::Running => true,
            escrow_model::RunStatus::Waiting => !effect_runner.is_idle(),
            escrow_model::RunStatus::Completed
            | escrow_model::RunStatus::Failed
            | escrow_model::RunStatus::TimedOut
            | escrow_model::RunStatus::Aborted
            | escrow_model::RunStatus::Cancelled => false,
        }
    }

    fn take(&mut self, report: Report, inputs: &mut Vec<Input>) -> Result<(), DriveError> {
        match report {
            Report::Input(input) => inputs.push(input),
            Report::Output { check, scope, stream, bytes } => {
                self.observer.output(&check, &scope, stream, &bytes);
            }
            Report::Progress { check, scope, progress } => self.observer.progress(&check, &scope, &progress),
            Report::Nested(news) => self.observer.nested(&news),
            Report::Broken(error) => return Err(error),
        }
        Ok(())
    }

    async fn act(
        &mut self,
        committer: &Committer,
        effect_runner: &mut EffectRunner,
        mut turn: Turn,
        delivered: &[MessageId],
        withheld: &BTreeSet<Disclosure>,
    ) -> Result<TurnCommit, DriveError> {
        let redactor = self.surroundings.secrets.redactor();
        let had_secrets = match turn_redaction::redact(&self.run, &mut turn, redactor, withheld)? {
            TurnRedaction::Clean => false,
            TurnRedaction::Redacted => true,
            TurnRedaction::Discloses(places) => return Ok(TurnCommit::Discloses(places)),
        };
        if !turn.entries.is_empty() || !delivered.is_empty() {
            let expected = self.run.entries() - turn.entries.len() as u64;
            let commit = committer.commit(&self.run, expected, &turn.entries, delivered).await?;
            if commit != TurnCommit::Done {
                return Ok(commit);
            }
            let (entries, effects) = (turn.entries.len(), turn.effects.len());
            debug!(run = %self.lease.run(), entries, effects, messages = delivered.len(), "turn committed");
            if had_secrets {
                self.rebuild().await?;
            }
            self.observer.committed(&self.run, &turn.entries);
        }
        self.run.withhold(BTreeSet::new());
        self.perform(effect_runner, turn.effects);
        Ok(TurnCommit::Done)
    }

    /// Replays the run, so that it knows what is written and no more.
    async fn rebuild(&mut self) -> Result<(), DriveError> {
        let entries = self.journal.entries(self.lease.run(), 0).await?;
        self.run = Run::replay(entries.iter().map(|(_, entry)| entry)).map_err(|_| Inseparable)?;
        Ok(())
    }

    fn perform(&mut self, effect_runner: &mut EffectRunner, effects: Vec<Effect>) {
        for effect in effects {
            effect_runner.perform(&self.run, effect);
        }
    }
}

async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}
