//! Fires of chains and notifications: what the scheduling loop reads and writes.

use escrow_model::{FireCode, Millis, RunId};

use crate::chain_definition::ChainRow;
use crate::error::StoreError;
use crate::fire::{
    ArmChain, ArmedTrigger, EndedRun, FireDecision, FireFilter, FireRow, FireRules, NewFire, Recorded,
    Recording,
};
use crate::journal::StoreFuture;
use crate::notification::{DeliveryResult, DueNotification, Notification};

/// Everything that makes chains fire. Many processes may use it at once: each write compares and sets in one
/// transaction.
///
/// Futures must be polled inside a tokio runtime.
pub trait Fires: Send + Sync {
    /// Chains whose triggers are not armed as their definition and status have them.
    fn unarmed_chains(&self) -> StoreFuture<'_, Result<Vec<ChainRow>, StoreError>>;

    /// Arms the triggers of a chain. A source that is the same as before keeps its place in time.
    fn arm<'a>(&'a self, chain: &'a ArmChain) -> StoreFuture<'a, Result<(), StoreError>>;

    /// Schedules that are due, or whose next time was computed by a clock that was ahead.
    fn due_schedules(&self, now: Millis) -> StoreFuture<'_, Result<Vec<ArmedTrigger>, StoreError>>;

    /// When the next schedule is due.
    fn next_due(&self) -> StoreFuture<'_, Result<Option<Millis>, StoreError>>;

    /// Triggers that wait for this event.
    fn listeners<'a>(&'a self, event: &'a str) -> StoreFuture<'a, Result<Vec<ArmedTrigger>, StoreError>>;

    /// Records what a source found, synced to the disk.
    fn record<'a>(&'a self, recording: &'a Recording) -> StoreFuture<'a, Result<Recorded, StoreError>>;

    /// Records a fire by hand, synced to the disk.
    fn record_fire<'a>(&'a self, fire: &'a NewFire) -> StoreFuture<'a, Result<FireRow, StoreError>>;

    /// Fires without a final status, oldest first.
    fn undecided(&self) -> StoreFuture<'_, Result<Vec<FireRow>, StoreError>>;

    /// Decides a fire by the rules of its chain: compared and set in one transaction.
    fn decide_fire(&self, fire: u64, rules: FireRules) -> StoreFuture<'_, Result<FireDecision, StoreError>>;

    /// The run of an accepted fire is in the journal.
    fn fire_begun(&self, fire: u64, at: Millis) -> StoreFuture<'_, Result<(), StoreError>>;

    /// The run of an accepted fire cannot begin.
    fn fire_failed<'a>(
        &'a self,
        fire: u64,
        code: FireCode,
        why: &'a str,
        at: Millis,
    ) -> StoreFuture<'a, Result<(), StoreError>>;

    /// The fires that pass the filter, newest first.
    fn fires<'a>(&'a self, filter: &'a FireFilter) -> StoreFuture<'a, Result<Vec<FireRow>, StoreError>>;

    /// The fire of a chain with this key.
    fn fire_of_run<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Option<FireRow>, StoreError>>;

    /// How far a source was read.
    fn cursor<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Result<Option<String>, StoreError>>;

    /// Whether something with this subject was received before.
    fn is_known_subject<'a>(&'a self, subject: &'a str) -> StoreFuture<'a, Result<bool, StoreError>>;

    /// Runs of playbooks that ended after this position of the feed, and the position up to which it was read.
    fn ended_runs(&self, after: u64) -> StoreFuture<'_, Result<(Vec<EndedRun>, u64), StoreError>>;

    /// Keeps notifications that are new.
    fn notify<'a>(&'a self, notifications: &'a [Notification]) -> StoreFuture<'a, Result<u64, StoreError>>;

    /// Takes the notifications that are due, so that no other process delivers them within `lease_ms`.
    fn claim_notifications(
        &self,
        now: Millis,
        lease_ms: u64,
    ) -> StoreFuture<'_, Result<Vec<DueNotification>, StoreError>>;

    /// Records what became of an attempt.
    fn notified<'a>(
        &'a self,
        id: u64,
        result: &'a DeliveryResult,
        at: Millis,
    ) -> StoreFuture<'a, Result<(), StoreError>>;
}
