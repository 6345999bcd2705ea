//! A journal that fails as disks and machines do, as often as a case wants.
//!
//! What it writes is written; its answer may be late, wrong, or never come, because the process that asked is gone.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use escrow_model::{Entry, Message, RunId};
use escrow_store::{
    Commit, Committed, Created, Holder, Journal, Lease, LeaseState, MessageId, NewRun, Sent, StoreError,
    StoreErrorKind, StoreFuture,
};
use escrow_testkit::Dice;
use tokio::sync::Notify;

use crate::at_once::at_once;
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
}

impl Disk {
    pub(crate) fn new(backing: Arc<dyn Backing>, ledger: Arc<Ledger>, seed: u64, troubles: u32) -> Disk {
        let dice = Dice::new(seed);
        let state = State { dice, troubles, percent: 12, failed: false, kill_at: None, commits: 0 };
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
        self.with(|state| std::mem::take(&mut state.failed))
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

    fn write(&self, commit: Commit<'_>) -> Result<Committed, StoreError> {
        let result = at_once(self.backing.commit(commit));
        match &result {
            Ok(Committed::Done { .. }) => {
                self.ledger.written(commit.lease.token(), commit.entries, commit.delivered);
            }
            Ok(Committed::AlreadyDone { .. }) => {
                self.ledger.problem("a supervisor repeats a commit");
            }
            Ok(Committed::Fenced) => self.ledger.tell("disk: fenced"),
            Err(error) => self.ledger.problem(format!("the journal refuses a commit: {error}")),
        }
        result
    }

    /// The process that asked is gone, so its answer never comes.
    async fn dies<T>(&self) -> T {
        self.crashed.notify_one();
        std::future::pending().await
    }

    fn fails<T>(&self, kind: StoreErrorKind) -> Result<T, StoreError> {
        self.with(|state| state.failed = true);
        Err(broken(kind))
    }
}

fn broken(kind: StoreErrorKind) -> StoreError {
    StoreError::new(kind, "by chance")
}

impl Journal for Disk {
    fn create_run<'a>(&'a self, new: NewRun<'a>) -> StoreFuture<'a, Result<Created, StoreError>> {
        Box::pin(async move {
            self.stumble("creating the run")?;
            let created = at_once(self.backing.create_run(new))?;
            if let Created::Done { lease, .. } = &created {
                self.ledger.held_by(lease.token());
                self.ledger.written(lease.token(), new.entries, &[]);
            }
            Ok(created)
        })
    }

    fn commit<'a>(&'a self, commit: Commit<'a>) -> StoreFuture<'a, Result<Committed, StoreError>> {
        Box::pin(async move {
            let trouble = self.commit_trouble();
            if let Some(trouble) = trouble {
                self.ledger.tell(format!("disk: {trouble:?} after entry {}", commit.expected_seq));
            }
            match trouble {
                None => self.write(commit),
                Some(Trouble::CrashBefore) => self.dies().await,
                Some(Trouble::CrashAfter) => {
                    drop(self.write(commit));
                    self.dies().await
                }
                Some(Trouble::Full) => self.fails(StoreErrorKind::DiskFull),
                Some(Trouble::Failed) => self.fails(StoreErrorKind::Io),
                Some(Trouble::FailedAfter) => {
                    drop(self.write(commit));
                    self.fails(StoreErrorKind::Io)
                }
                Some(Trouble::Slow(ms)) => {
                    let result = self.write(commit);
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    result
                }
            }
        })
    }

    fn lease_of<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Option<LeaseState>, StoreError>> {
        Box::pin(async move {
            self.stumble("taking the run")?;
            at_once(self.backing.lease_of(run))
        })
    }

    fn take_lease<'a>(
        &'a self,
        run: &'a RunId,
        holder: &'a Holder,
        seen: &'a LeaseState,
    ) -> StoreFuture<'a, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            let lease = at_once(self.backing.take_lease(run, holder, seen))?;
            if let Some(lease) = &lease {
                self.ledger.held_by(lease.token());
            }
            Ok(lease)
        })
    }

    fn renew<'a>(&'a self, leases: &'a [Lease]) -> StoreFuture<'a, Result<Vec<RunId>, StoreError>> {
        Box::pin(async move {
            self.stumble("renewing the lease")?;
            at_once(self.backing.renew(leases))
        })
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.stumble("releasing the run")?;
            at_once(self.backing.release(lease))
        })
    }

    fn entries<'a>(
        &'a self,
        run: &'a RunId,
        from_seq: u64,
    ) -> StoreFuture<'a, Result<Vec<(u64, Entry)>, StoreError>> {
        Box::pin(async move {
            self.stumble("reading the journal")?;
            at_once(self.backing.entries(run, from_seq))
        })
    }

    fn send<'a>(
        &'a self,
        run: &'a RunId,
        message: &'a Message,
        from: &'a str,
    ) -> StoreFuture<'a, Result<MessageId, StoreError>> {
        Box::pin(async move {
            self.stumble("sending a message")?;
            at_once(self.backing.send(run, message, from))
        })
    }

    fn undelivered<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<Sent>, StoreError>> {
        Box::pin(async move {
            self.stumble("reading the inbox")?;
            at_once(self.backing.undelivered(run))
        })
    }

    fn version(&self) -> StoreFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { at_once(self.backing.version()) })
    }
}
