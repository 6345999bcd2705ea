//! A journal_trait that fails as disks and machines do, as often as a case wants.
//!
//! What it writes it has written; what it reports may be late, wrong or never heard, because the process that
//! asked is gone.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use escrow_model::{Entry, Message, RunId};
use escrow_store::{
    Commit, Committed, Created, Holder, Journal, Lease, LeaseError, Liveness, MessageId, NewRun, Reply, Sent,
    StoreError, StoreErrorKind,
};
use escrow_testkit::Dice;
use tokio::sync::Notify;

use crate::ledger::Ledger;
use crate::memory::Backing;

/// How a commit may go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// The process dies before anything is written.
    CrashBefore,
    /// The process dies before it hears that all is written.
    CrashAfter,
    Full,
    /// The disk fails, and nothing is written.
    Failed,
    /// The disk fails, though everything is written.
    FailedAfter,
    Slow(u64),
}

pub(crate) struct Disk {
    backing: Arc<dyn Backing>,
    ledger: Arc<Ledger>,
    /// Resolves when the process that uses this disk has died.
    crashed: Notify,
    state: Arc<Mutex<State>>,
}

struct State {
    dice: Dice,
    /// How many more things may go wrong.
    troubles: u32,
    /// How many commits of a hundred go wrong.
    percent: u64,
    failed: bool,
    /// The commit at which the process is killed, and whether it is written before.
    kill_at: Option<(u64, bool)>,
    commits: u64,
    /// Answers that nobody will hear.
    unheard: Vec<Reply>,
}

impl Disk {
    pub(crate) fn new(backing: Arc<dyn Backing>, ledger: Arc<Ledger>, seed: u64, troubles: u32) -> Disk {
        let dice = Dice::new(seed);
        let state = State {
            dice,
            troubles,
            percent: 12,
            failed: false,
            kill_at: None,
            commits: 0,
            unheard: Vec::new(),
        };
        Disk { backing, ledger, crashed: Notify::new(), state: Arc::new(Mutex::new(state)) }
    }

    /// A disk on which nothing goes wrong, but for one kill.
    pub(crate) fn that_kills(
        backing: Arc<dyn Backing>,
        ledger: Arc<Ledger>,
        kill_at: Option<(u64, bool)>,
    ) -> Disk {
        let disk = Disk::new(backing, ledger, 0, 0);
        disk.with(|state| state.kill_at = kill_at);
        disk
    }

    pub(crate) fn commits(&self) -> u64 {
        self.with(|state| state.commits)
    }

    /// The same disk, for another process.
    pub(crate) fn anew(&self) -> Disk {
        let (backing, ledger) = (Arc::clone(&self.backing), Arc::clone(&self.ledger));
        Disk { backing, ledger, crashed: Notify::new(), state: Arc::clone(&self.state) }
    }

    fn with<T>(&self, ask: impl FnOnce(&mut State) -> T) -> T {
        ask(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Nothing goes wrong any more.
    pub(crate) fn calm(&self) {
        self.with(|state| state.troubles = 0);
    }

    pub(crate) async fn crashed(&self) {
        self.crashed.notified().await;
    }

    /// Whether any operation failed since the last time somebody asked.
    pub(crate) fn take_failed(&self) -> bool {
        self.with(|state| {
            state.unheard.clear();
            std::mem::take(&mut state.failed)
        })
    }

    fn commit_trouble(&self) -> Option<Trouble> {
        self.with(|state| {
            state.commits += 1;
            if let Some((_, after)) = state.kill_at.take_if(|(at, _)| *at == state.commits) {
                return Some(if after { Trouble::CrashAfter } else { Trouble::CrashBefore });
            }
            if state.troubles == 0 || !state.dice.chance(state.percent) {
                return None;
            }
            state.troubles -= 1;
            Some(match state.dice.below(8) {
                0 | 1 => Trouble::CrashBefore,
                2 | 3 => Trouble::CrashAfter,
                4 => Trouble::Full,
                5 => Trouble::Failed,
                6 => Trouble::FailedAfter,
                _ => Trouble::Slow(1 + state.dice.below(3_000)),
            })
        })
    }

    /// Other operations fail now and then.
    fn stumble(&self, what: &str) -> Result<(), StoreError> {
        let stumbles = self.with(|state| {
            let stumbles = state.troubles > 0 && state.dice.chance(1);
            state.troubles -= u32::from(stumbles);
            state.failed |= stumbles;
            stumbles
        });
        if stumbles {
            self.ledger.tell(format!("disk: {what} fails"));
            return Err(broken(StoreErrorKind::Locked));
        }
        Ok(())
    }

    /// Waits for the answer, so that another thread's speed decides nothing.
    fn commit(&self, commit: Commit<'_>) -> Result<Committed, StoreError> {
        let (sender, answer) = sync_channel(1);
        self.backing.commit_with(commit, Box::new(move |result| drop(sender.send(result))));
        let result = answer.recv().map_err(|_| broken(StoreErrorKind::Internal))?;
        match &result {
            Ok(Committed::Done { .. }) => {
                self.ledger.written(commit.lease.token(), commit.entries, commit.delivered);
            }
            Ok(Committed::AlreadyDone { .. }) => {
                self.ledger.problem("a supervisor repeats a commit");
            }
            Ok(Committed::Fenced) => self.ledger.tell("disk: fenced"),
            Err(error) => self.ledger.problem(format!("the journal_trait refuses a commit: {error}")),
        }
        result
    }

    fn dies(&self, reply: Reply) {
        self.with(|state| state.unheard.push(reply));
        self.crashed.notify_one();
    }

    fn fails(&self, kind: StoreErrorKind, reply: Reply) {
        self.with(|state| state.failed = true);
        reply(Err(broken(kind)));
    }
}

fn broken(kind: StoreErrorKind) -> StoreError {
    StoreError::new(kind, "by chance")
}

impl Journal for Disk {
    fn create_run(&self, new: NewRun<'_>) -> Result<Created, StoreError> {
        self.stumble("creating the run")?;
        let created = self.backing.create_run(new)?;
        if let Created::Done { lease, .. } = &created {
            self.ledger.held_by(lease.token());
            self.ledger.written(lease.token(), new.entries, &[]);
        }
        Ok(created)
    }

    fn commit_with(&self, commit: Commit<'_>, reply: Reply) {
        let trouble = self.commit_trouble();
        if let Some(trouble) = trouble {
            self.ledger.tell(format!("disk: {trouble:?} after entry {}", commit.expected_seq));
        }
        match trouble {
            None => reply(self.commit(commit)),
            Some(Trouble::CrashBefore) => self.dies(reply),
            Some(Trouble::CrashAfter) => {
                drop(self.commit(commit));
                self.dies(reply);
            }
            Some(Trouble::Full) => self.fails(StoreErrorKind::DiskFull, reply),
            Some(Trouble::Failed) => self.fails(StoreErrorKind::Io, reply),
            Some(Trouble::FailedAfter) => {
                drop(self.commit(commit));
                self.fails(StoreErrorKind::Io, reply);
            }
            Some(Trouble::Slow(ms)) => {
                let result = self.commit(commit);
                tokio::task::spawn_local(async move {
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    reply(result);
                });
            }
        }
    }

    fn acquire(
        &self,
        run: &RunId,
        holder: &Holder,
        judge: &dyn Fn(&Holder) -> Liveness,
    ) -> Result<Lease, LeaseError> {
        self.stumble("taking the run")?;
        let lease = self.backing.acquire(run, holder, judge)?;
        self.ledger.held_by(lease.token());
        Ok(lease)
    }

    fn renew(&self, leases: &[Lease]) -> Result<Vec<RunId>, StoreError> {
        self.stumble("renewing the lease")?;
        self.backing.renew(leases)
    }

    fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.stumble("letting the run go")?;
        self.backing.release(lease)
    }

    fn entries(&self, run: &RunId, from_seq: u64) -> Result<Vec<(u64, Entry)>, StoreError> {
        self.stumble("reading the journal")?;
        self.backing.entries(run, from_seq)
    }

    fn send(&self, run: &RunId, message: &Message, from: &str) -> Result<MessageId, StoreError> {
        self.stumble("sending a message")?;
        self.backing.send(run, message, from)
    }

    fn undelivered(&self, run: &RunId) -> Result<Vec<Sent>, StoreError> {
        self.stumble("reading the inbox")?;
        self.backing.undelivered(run)
    }

    fn version(&self) -> Result<u64, StoreError> {
        self.backing.version()
    }
}
