//! Fires of chains: writes go to the writer, reads are indexed lookups.

use escrow_model::{FireCode, Millis, RunId};

use crate::chain_definition::ChainRow;
use crate::commit::Durability;
use crate::error::StoreError;
use crate::fire::{
    ArmChain, ArmedTrigger, EndedRun, FireDecision, FireFilter, FireRow, FireRules, NewFire, Recorded,
    Recording,
};
use crate::fires::Fires;
use crate::journal::StoreFuture;
use crate::notification::{DeliveryResult, DueNotification, Notification};
use crate::sqlite::fires::{armed, decide, record};
use crate::sqlite::outbox;
use crate::sqlite::store::Store;

impl Fires for Store {
    fn unarmed_chains(&self) -> StoreFuture<'_, Result<Vec<ChainRow>, StoreError>> {
        Box::pin(async move { self.0.unarmed_chains() })
    }

    fn arm<'a>(&'a self, chain: &'a ArmChain) -> StoreFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.0.write_async(Durability::Full, armed::arming(chain.clone())).await })
    }

    fn due_schedules(&self, now: Millis) -> StoreFuture<'_, Result<Vec<ArmedTrigger>, StoreError>> {
        Box::pin(async move { self.0.due_schedules(now) })
    }

    fn next_due(&self) -> StoreFuture<'_, Result<Option<Millis>, StoreError>> {
        Box::pin(async move { self.0.next_due() })
    }

    fn listeners<'a>(&'a self, event: &'a str) -> StoreFuture<'a, Result<Vec<ArmedTrigger>, StoreError>> {
        Box::pin(async move { self.0.listeners(event) })
    }

    fn record<'a>(&'a self, recording: &'a Recording) -> StoreFuture<'a, Result<Recorded, StoreError>> {
        Box::pin(
            async move { self.0.write_async(Durability::Full, record::recording(recording.clone())).await },
        )
    }

    fn record_fire<'a>(&'a self, fire: &'a NewFire) -> StoreFuture<'a, Result<FireRow, StoreError>> {
        Box::pin(
            async move { self.0.write_async(Durability::Full, record::recording_fire(fire.clone())).await },
        )
    }

    fn undecided(&self) -> StoreFuture<'_, Result<Vec<FireRow>, StoreError>> {
        Box::pin(async move { self.0.undecided_fires() })
    }

    fn decide_fire(&self, fire: u64, rules: FireRules) -> StoreFuture<'_, Result<FireDecision, StoreError>> {
        Box::pin(async move { self.0.write_async(Durability::Full, decide::deciding(fire, rules)).await })
    }

    fn fire_begun(&self, fire: u64, at: Millis) -> StoreFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.0.write_async(Durability::Full, decide::begun(fire, at)).await })
    }

    fn fire_failed<'a>(
        &'a self,
        fire: u64,
        code: FireCode,
        why: &'a str,
        at: Millis,
    ) -> StoreFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.0.write_async(Durability::Full, decide::failed(fire, code, why.to_owned(), at)).await
        })
    }

    fn fires<'a>(&'a self, filter: &'a FireFilter) -> StoreFuture<'a, Result<Vec<FireRow>, StoreError>> {
        Box::pin(async move { self.0.fires(filter) })
    }

    fn fire_of_run<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Option<FireRow>, StoreError>> {
        Box::pin(async move { self.0.fire_of_run(run) })
    }

    fn cursor<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(async move { self.0.cursor(name) })
    }

    fn is_known_subject<'a>(&'a self, subject: &'a str) -> StoreFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { self.0.read(|connection| Ok(record::is_known_subject(subject, connection)?)) })
    }

    fn ended_runs(&self, after: u64) -> StoreFuture<'_, Result<(Vec<EndedRun>, u64), StoreError>> {
        Box::pin(async move { self.0.ended_runs(after) })
    }

    fn notify<'a>(&'a self, notifications: &'a [Notification]) -> StoreFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            self.0.write_async(Durability::Full, outbox::keeping(notifications.to_vec())).await
        })
    }

    fn claim_notifications(
        &self,
        now: Millis,
        lease_ms: u64,
    ) -> StoreFuture<'_, Result<Vec<DueNotification>, StoreError>> {
        Box::pin(async move {
            if !outbox::has_due(&self.0, now)? {
                return Ok(Vec::new());
            }
            self.0.write_async(Durability::Full, outbox::claiming(now, lease_ms)).await
        })
    }

    fn notified<'a>(
        &'a self,
        id: u64,
        result: &'a DeliveryResult,
        at: Millis,
    ) -> StoreFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.0.write_async(Durability::Full, outbox::settling(id, result.clone(), at)).await
        })
    }
}
