//! A journal that fails like a disk or a machine, as often as a case wants.
//!
//! What it writes is written. Its answer may be late or wrong, or never come because the process has died.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use escrow_model::{Entry, Message, RunId};
use escrow_store::{
    Commit, Committed, Created, EffectRow, Holder, Journal, Lease, LeaseState, MessageId, NewRun,
    RunConflict, Sent, StoreError, StoreErrorKind, StoreFuture,
};
use escrow_testkit::Rng;
use tokio::sync::Notify;

use crate::block_on::block_on;
use crate::ledger::Ledger;
use crate::memory::StoreBackend;

/// How a commit may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiskFault {
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
    backend: Arc<dyn StoreBackend>,
    ledger: Arc<Ledger>,
    /// Resolves when the process that uses this disk has died.
    crashed: Notify,
    state: Arc<Mutex<State>>,
}

struct State {
    rng: Rng,
    /// How many more operations may fail.
    disk_faults: u32,
    /// How many commits of a hundred fail.
    percent: u64,
    /// How many of a hundred other operations that would fail really do.
    others_percent: u64,
    failed: bool,
    /// A fault at the commit of this number, counted from 1.
    fault_at: Option<(u64, DiskFault)>,
    commits: u64,
}

impl Disk {
    pub(crate) fn new(
        backend: Arc<dyn StoreBackend>,
        ledger: Arc<Ledger>,
        seed: u64,
        disk_faults: u32,
    ) -> Disk {
        let rng = Rng::new(seed);
        let state = State {
            rng,
            disk_faults,
            percent: 12,
            others_percent: 100,
            failed: false,
            fault_at: None,
            commits: 0,
        };
        Disk { backend, ledger, crashed: Notify::new(), state: Arc::new(Mutex::new(state)) }
    }

    /// The same disk, with one fault at the commit of this number.
    pub(crate) fn with_fault_at(self, fault_at: Option<(u64, DiskFault)>) -> Disk {
        self.with(|state| state.fault_at = fault_at);
        self
    }

    /// The same disk, on which so many of a hundred commits fail, and other operations as rarely in proportion.
    pub(crate) fn with_percent(self, percent: u64) -> Disk {
        self.with(|state| {
            state.others_percent = 100 * percent / state.percent;
            state.percent = percent;
        });
        self
    }

    pub(crate) fn commits(&self) -> u64 {
        self.with(|state| state.commits)
    }

    /// The same disk, for another process.
    pub(crate) fn for_another_process(&self) -> Disk {
        let (backend, ledger) = (Arc::clone(&self.backend), Arc::clone(&self.ledger));
        Disk { backend, ledger, crashed: Notify::new(), state: Arc::clone(&self.state) }
    }

    fn with<T>(&self, ask: impl FnOnce(&mut State) -> T) -> T {
        ask(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on no operation fails.
    pub(crate) fn stop_faults(&self) {
        self.with(|state| state.disk_faults = 0);
    }

    pub(crate) async fn crashed(&self) {
        self.crashed.notified().await;
    }

    /// Whether any operation failed since the last call.
    pub(crate) fn take_failed(&self) -> bool {
        self.with(|state| std::mem::take(&mut state.failed))
    }

    fn commit_fault(&self) -> Option<DiskFault> {
        self.with(|state| {
            state.commits += 1;
            if let Some((_, fault)) = state.fault_at.take_if(|(at, _)| *at == state.commits) {
                return Some(fault);
            }
            if state.disk_faults == 0 || !state.rng.chance(state.percent) {
                return None;
            }
            state.disk_faults -= 1;
            Some(match state.rng.below(8) {
                0 | 1 => DiskFault::CrashBefore,
                2 | 3 => DiskFault::CrashAfter,
                4 => DiskFault::Full,
                5 => DiskFault::Failed,
                6 => DiskFault::FailedAfter,
                _ => DiskFault::Slow(1 + state.rng.below(3_000)),
            })
        })
    }

    /// Operations other than commits fail now and then.
    fn fail_by_chance(&self, what: &str) -> Result<(), StoreError> {
        let fails = self.with(|state| {
            let is_rare =
                |state: &mut State| state.others_percent < 100 && !state.rng.chance(state.others_percent);
            let fails = state.disk_faults > 0 && state.rng.chance(1) && !is_rare(state);
            state.disk_faults -= u32::from(fails);
            state.failed |= fails;
            fails
        });
        if fails {
            self.ledger.log(format!("disk: {what} fails"));
            return Err(broken(StoreErrorKind::Locked));
        }
        Ok(())
    }

    fn write(&self, commit: Commit<'_>) -> Result<Committed, StoreError> {
        let result = block_on(self.backend.commit(commit));
        match &result {
            Ok(Committed::Done { .. }) => {
                let lease = commit.lease;
                self.ledger.written(lease.run(), lease.token(), commit.entries, commit.delivered);
            }
            Ok(Committed::AlreadyDone { .. }) => {
                self.ledger.problem("a supervisor repeats a commit");
            }
            Ok(Committed::Taken(taken)) => {
                self.ledger.log(format!("disk: `{}` is taken", taken.effect.key));
            }
            Ok(Committed::Conflict(_)) => self.ledger.log("disk: another run is in the way"),
            Ok(Committed::Fenced) => self.ledger.log(format!("disk: {} is fenced", commit.lease.run())),
            Ok(Committed::DecidedInTime) => self.ledger.log("disk: decided in time"),
            Err(error) => {
                let run = commit.lease.run();
                self.ledger.problem(format!("the journal of {run} refuses a commit: {error}"));
            }
        }
        result
    }

    /// The process dies, so the answer never comes.
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
            self.fail_by_chance("creating the run")?;
            let created = block_on(self.backend.create_run(new))?;
            if let Created::Done { lease, .. } = &created {
                self.ledger.held_by(new.run, lease.token());
                self.ledger.written(new.run, lease.token(), new.entries, &[]);
            }
            Ok(created)
        })
    }

    fn commit<'a>(&'a self, commit: Commit<'a>) -> StoreFuture<'a, Result<Committed, StoreError>> {
        Box::pin(async move {
            let fault = self.commit_fault();
            if let Some(fault) = fault {
                self.ledger.log(format!(
                    "disk: {fault:?} after entry {} of {}",
                    commit.expected_seq,
                    commit.lease.run()
                ));
            }
            match fault {
                None => self.write(commit),
                Some(DiskFault::CrashBefore) => self.dies().await,
                Some(DiskFault::CrashAfter) => {
                    drop(self.write(commit));
                    self.dies().await
                }
                Some(DiskFault::Full) => self.fails(StoreErrorKind::DiskFull),
                Some(DiskFault::Failed) => self.fails(StoreErrorKind::Io),
                Some(DiskFault::FailedAfter) => {
                    drop(self.write(commit));
                    self.fails(StoreErrorKind::Io)
                }
                Some(DiskFault::Slow(ms)) => {
                    let result = self.write(commit);
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    result
                }
            }
        })
    }

    fn lease_of<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Option<LeaseState>, StoreError>> {
        Box::pin(async move {
            self.fail_by_chance("taking the run")?;
            block_on(self.backend.lease_of(run))
        })
    }

    fn take_lease<'a>(
        &'a self,
        run: &'a RunId,
        holder: &'a Holder,
        seen: &'a LeaseState,
    ) -> StoreFuture<'a, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            let lease = block_on(self.backend.take_lease(run, holder, seen))?;
            if let Some(lease) = &lease {
                self.ledger.held_by(run, lease.token());
            }
            Ok(lease)
        })
    }

    fn renew<'a>(&'a self, leases: &'a [Lease]) -> StoreFuture<'a, Result<Vec<RunId>, StoreError>> {
        Box::pin(async move {
            self.fail_by_chance("renewing the lease")?;
            block_on(self.backend.renew(leases))
        })
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.fail_by_chance("releasing the run")?;
            block_on(self.backend.release(lease))
        })
    }

    fn entries<'a>(
        &'a self,
        run: &'a RunId,
        from_seq: u64,
    ) -> StoreFuture<'a, Result<Vec<(u64, Entry)>, StoreError>> {
        Box::pin(async move {
            self.fail_by_chance("reading the journal")?;
            block_on(self.backend.entries(run, from_seq))
        })
    }

    fn send<'a>(
        &'a self,
        run: &'a RunId,
        message: &'a Message,
        from: &'a str,
    ) -> StoreFuture<'a, Result<MessageId, StoreError>> {
        Box::pin(async move {
            self.fail_by_chance("sending a message")?;
            block_on(self.backend.send(run, message, from))
        })
    }

    fn undelivered<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<Sent>, StoreError>> {
        Box::pin(async move {
            self.fail_by_chance("reading the inbox")?;
            block_on(self.backend.undelivered(run))
        })
    }

    fn effect<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Result<Option<EffectRow>, StoreError>> {
        Box::pin(async move {
            self.fail_by_chance("reading the ledger")?;
            block_on(self.backend.effect(key))
        })
    }

    fn conflict<'a>(
        &'a self,
        run: &'a RunId,
        group: Option<&'a str>,
    ) -> StoreFuture<'a, Result<Option<Box<RunConflict>>, StoreError>> {
        Box::pin(async move { block_on(self.backend.conflict(run, group)) })
    }

    fn version(&self) -> StoreFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { block_on(self.backend.version()) })
    }
}
