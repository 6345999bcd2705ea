//! Commits go to the writer; everything else is an indexed lookup.

use escrow_model::{Entry, Message, RunId};

use crate::commit::{Commit, Committed, Created, Durability, NewRun};
use crate::conflict::RunConflict;
use crate::effect::EffectRow;
use crate::error::StoreError;
use crate::journal::{Journal, StoreFuture};
use crate::lease::{Holder, Lease, LeaseState};
use crate::message::{MessageId, Sent};
use crate::sqlite::store::Store;
use crate::sqlite::{inbox, lease};

impl Journal for Store {
    fn create_run<'a>(&'a self, new: NewRun<'a>) -> StoreFuture<'a, Result<Created, StoreError>> {
        Box::pin(async move { self.0.write_async(new.durability, self.0.creating(new)?).await })
    }

    fn commit<'a>(&'a self, commit: Commit<'a>) -> StoreFuture<'a, Result<Committed, StoreError>> {
        Box::pin(async move { self.0.write_async(commit.durability, self.0.committing(commit)?).await })
    }

    fn lease_of<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Option<LeaseState>, StoreError>> {
        Box::pin(async move { self.0.lease_of(run) })
    }

    fn take_lease<'a>(
        &'a self,
        run: &'a RunId,
        holder: &'a Holder,
        seen: &'a LeaseState,
    ) -> StoreFuture<'a, Result<Option<Lease>, StoreError>> {
        Box::pin(
            async move { self.0.write_async(Durability::Grouped, self.0.taking(run, holder, seen)).await },
        )
    }

    fn renew<'a>(&'a self, leases: &'a [Lease]) -> StoreFuture<'a, Result<Vec<RunId>, StoreError>> {
        Box::pin(async move { self.0.write_async(Durability::Grouped, self.0.renewing(leases)).await })
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.0.write_async(Durability::Grouped, lease::releasing(lease)).await })
    }

    fn entries<'a>(
        &'a self,
        run: &'a RunId,
        from_seq: u64,
    ) -> StoreFuture<'a, Result<Vec<(u64, Entry)>, StoreError>> {
        Box::pin(self.entries_from(run, from_seq))
    }

    fn send<'a>(
        &'a self,
        run: &'a RunId,
        message: &'a Message,
        from: &'a str,
    ) -> StoreFuture<'a, Result<MessageId, StoreError>> {
        Box::pin(
            async move { self.0.write_async(Durability::Full, inbox::sending(run, message, from)?).await },
        )
    }

    fn undelivered<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<Sent>, StoreError>> {
        Box::pin(async move { self.0.undelivered(run) })
    }

    fn effect<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Result<Option<EffectRow>, StoreError>> {
        Box::pin(async move { self.0.effect(key) })
    }

    fn conflict<'a>(
        &'a self,
        run: &'a RunId,
        group: Option<&'a str>,
    ) -> StoreFuture<'a, Result<Option<Box<RunConflict>>, StoreError>> {
        Box::pin(async move { self.0.conflict(run, group) })
    }

    fn has_ended<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { self.0.has_ended(run) })
    }

    fn is_ready<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { self.0.is_ready(run) })
    }

    fn version(&self) -> StoreFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { self.0.version() })
    }
}
