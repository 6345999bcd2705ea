//! The store's traits on SQLite: nothing here blocks the thread that polls it for longer than an indexed lookup.
//!
//! Commits go to the writer, which does them at once when it can. Lookups run at the first poll. Scans, and writes that
//! people ask for now and then, run on tokio's threads for blocking work.

use std::collections::BTreeMap;

use escrow_model::{ChainStatus, Entry, InvocationId, Message, Millis, RunId};
use serde_json::{Map, Value};

use crate::attention::{AttentionItem, Dismissal};
use crate::chain::Hash;
use crate::chain_definition::{ChainDefined, ChainRow, ChainRunFilter, ChainRunRow, DefineChain};
use crate::commit::{Commit, Committed, Created, Durability, NewRun};
use crate::conflict::RunConflict;
use crate::decision::{Decided, NotAccepted};
use crate::effect::{EffectFilter, EffectRow};
use crate::entry::{FeedEntry, StoredEntry};
use crate::error::{StoreError, StoreErrorKind};
use crate::import::Imported;
use crate::invocation::{EndInvocation, InvocationEnd, InvocationFilter, InvocationRow, StartedInvocation};
use crate::invocation_record::InvocationRecord;
use crate::journal::{Journal, StoreFuture};
use crate::lease::{Holder, Lease, LeaseState};
use crate::loss::Loss;
use crate::message::{MessageId, Sent};
use crate::outcome::{AddedOutcome, OutcomeFilter, OutcomeRow};
use crate::queries::{LivenessJudge, Queries};
use crate::records::{Dismissing, Records};
use crate::run::{LookupError, RunFilter, RunRow};
use crate::sqlite::store::Store;
use crate::sqlite::{entries, inbox, lease};
use crate::state_verification::{StateBreak, StateVerification};
use crate::transition::TransitionRow;
use crate::verify::Verification;
use crate::wait::WaitRow;

/// A journal of at most this many entries is read at the first poll; a longer one on a thread for blocking work.
const ENTRIES_AT_ONCE_MAX: u64 = 256;

impl Store {
    async fn blocking<T, E>(&self, work: impl FnOnce(&Store) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let store = self.clone();
        let gone = |_| StoreError::new(StoreErrorKind::Internal, "a thread of the store is gone");
        tokio::task::spawn_blocking(move || work(&store)).await.map_err(gone)?
    }

    async fn entries_async(&self, run: &RunId, from_seq: u64) -> Result<Vec<(u64, Entry)>, StoreError> {
        let end = self.read(|connection| Ok(entries::head(connection, run)?.map_or(0, |head| head.seq)))?;
        if end.saturating_sub(from_seq) <= ENTRIES_AT_ONCE_MAX {
            return Store::entries(self, run, from_seq);
        }
        let run = run.clone();
        self.blocking(move |store| Store::entries(store, &run, from_seq)).await
    }
}

impl Journal for Store {
    fn create_run<'a>(&'a self, new: NewRun<'a>) -> StoreFuture<'a, Result<Created, StoreError>> {
        Box::pin(async move { self.write_async(new.durability, self.creating(new)?).await })
    }

    fn commit<'a>(&'a self, commit: Commit<'a>) -> StoreFuture<'a, Result<Committed, StoreError>> {
        Box::pin(async move { self.write_async(commit.durability, self.committing(commit)?).await })
    }

    fn lease_of<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Option<LeaseState>, StoreError>> {
        Box::pin(async move { Store::lease_of(self, run) })
    }

    fn take_lease<'a>(
        &'a self,
        run: &'a RunId,
        holder: &'a Holder,
        seen: &'a LeaseState,
    ) -> StoreFuture<'a, Result<Option<Lease>, StoreError>> {
        Box::pin(async move { self.write_async(Durability::Grouped, self.taking(run, holder, seen)).await })
    }

    fn renew<'a>(&'a self, leases: &'a [Lease]) -> StoreFuture<'a, Result<Vec<RunId>, StoreError>> {
        Box::pin(async move { self.write_async(Durability::Grouped, self.renewing(leases)).await })
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.write_async(Durability::Grouped, lease::releasing(lease)).await })
    }

    fn entries<'a>(
        &'a self,
        run: &'a RunId,
        from_seq: u64,
    ) -> StoreFuture<'a, Result<Vec<(u64, Entry)>, StoreError>> {
        Box::pin(self.entries_async(run, from_seq))
    }

    fn send<'a>(
        &'a self,
        run: &'a RunId,
        message: &'a Message,
        from: &'a str,
    ) -> StoreFuture<'a, Result<MessageId, StoreError>> {
        Box::pin(async move { self.write_async(Durability::Full, inbox::sending(run, message, from)?).await })
    }

    fn undelivered<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<Sent>, StoreError>> {
        Box::pin(async move { Store::undelivered(self, run) })
    }

    fn effect<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Result<Option<EffectRow>, StoreError>> {
        Box::pin(async move { Store::effect(self, key) })
    }

    fn conflict<'a>(
        &'a self,
        run: &'a RunId,
        group: Option<&'a str>,
    ) -> StoreFuture<'a, Result<Option<Box<RunConflict>>, StoreError>> {
        Box::pin(async move { Store::conflict(self, run, group) })
    }

    fn has_ended<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { Store::has_ended(self, run) })
    }

    fn is_ready<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { Store::is_ready(self, run) })
    }

    fn version(&self) -> StoreFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { Store::version(self) })
    }
}

impl Queries for Store {
    fn runs<'a>(&'a self, filter: &'a RunFilter) -> StoreFuture<'a, Result<Vec<RunRow>, StoreError>> {
        let filter = filter.clone();
        Box::pin(self.blocking(move |store| store.runs(&filter)))
    }

    fn run<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Result<RunRow, LookupError>> {
        Box::pin(async move { Store::run(self, name) })
    }

    fn effects<'a>(
        &'a self,
        filter: &'a EffectFilter,
    ) -> StoreFuture<'a, Result<Vec<EffectRow>, StoreError>> {
        let filter = filter.clone();
        Box::pin(self.blocking(move |store| store.effects(&filter)))
    }

    fn event_payload<'a>(
        &'a self,
        run: &'a RunId,
    ) -> StoreFuture<'a, Result<Map<String, Value>, StoreError>> {
        Box::pin(async move { Store::event_payload(self, run) })
    }

    fn holder<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Option<Holder>, StoreError>> {
        Box::pin(async move { Store::holder(self, run) })
    }

    fn entries<'a>(
        &'a self,
        run: &'a RunId,
        from_seq: u64,
    ) -> StoreFuture<'a, Result<Vec<(u64, Entry)>, StoreError>> {
        Box::pin(self.entries_async(run, from_seq))
    }

    fn first_entry<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Option<Entry>, StoreError>> {
        Box::pin(async move { Store::first_entry(self, run) })
    }

    fn last_hashes<'a>(
        &'a self,
        run: &'a RunId,
        limit: usize,
    ) -> StoreFuture<'a, Result<Vec<(u64, Hash)>, StoreError>> {
        let run = run.clone();
        Box::pin(self.blocking(move |store| store.last_hashes(&run, limit)))
    }

    fn journal<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<StoredEntry>, StoreError>> {
        let run = run.clone();
        Box::pin(self.blocking(move |store| store.journal(&run)))
    }

    fn verify<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Verification, StoreError>> {
        let run = run.clone();
        Box::pin(self.blocking(move |store| store.verify(&run)))
    }

    fn verify_tables<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<StateBreak>, StoreError>> {
        let run = run.clone();
        Box::pin(self.blocking(move |store| store.verify_tables(&run)))
    }

    fn verify_state(&self) -> StoreFuture<'_, Result<Option<StateVerification>, StoreError>> {
        Box::pin(self.blocking(Store::verify_state))
    }

    fn feed(&self, after: u64, limit: usize) -> StoreFuture<'_, Result<Vec<FeedEntry>, StoreError>> {
        Box::pin(self.blocking(move |store| store.feed(after, limit)))
    }

    fn feed_end(&self) -> StoreFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { Store::feed_end(self) })
    }

    fn undelivered<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<Sent>, StoreError>> {
        Box::pin(async move { Store::undelivered(self, run) })
    }

    fn open_waits(&self) -> StoreFuture<'_, Result<Vec<WaitRow>, StoreError>> {
        Box::pin(self.blocking(Store::open_waits))
    }

    fn all_waits(&self) -> StoreFuture<'_, Result<Vec<WaitRow>, StoreError>> {
        Box::pin(self.blocking(Store::all_waits))
    }

    fn waits<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<WaitRow>, StoreError>> {
        Box::pin(async move { Store::waits(self, run) })
    }

    fn waits_named<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Result<Vec<WaitRow>, StoreError>> {
        Box::pin(async move { Store::waits_named(self, id) })
    }

    fn outcomes<'a>(
        &'a self,
        filter: &'a OutcomeFilter,
    ) -> StoreFuture<'a, Result<Vec<OutcomeRow>, StoreError>> {
        let filter = filter.clone();
        Box::pin(self.blocking(move |store| store.outcomes(&filter)))
    }

    fn outcomes_named<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Result<Vec<OutcomeRow>, StoreError>> {
        Box::pin(async move { Store::outcomes_named(self, name) })
    }

    fn primary_outcome<'a>(
        &'a self,
        invocation: &'a str,
    ) -> StoreFuture<'a, Result<Option<OutcomeRow>, StoreError>> {
        Box::pin(async move { Store::primary_outcome(self, invocation) })
    }

    fn added_to<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<AddedOutcome>, StoreError>> {
        Box::pin(async move { Store::added_to(self, run) })
    }

    fn invocations<'a>(
        &'a self,
        filter: &'a InvocationFilter,
    ) -> StoreFuture<'a, Result<Vec<InvocationRow>, StoreError>> {
        let filter = filter.clone();
        Box::pin(self.blocking(move |store| store.invocations(&filter)))
    }

    fn invocation<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Result<Option<InvocationRow>, StoreError>> {
        Box::pin(async move { Store::invocation(self, id) })
    }

    fn invocations_named<'a>(
        &'a self,
        name: &'a str,
    ) -> StoreFuture<'a, Result<Vec<InvocationRow>, StoreError>> {
        Box::pin(async move { Store::invocations_named(self, name) })
    }

    fn invocation_record<'a>(
        &'a self,
        id: &'a str,
    ) -> StoreFuture<'a, Result<Option<InvocationRecord>, StoreError>> {
        Box::pin(async move { Store::invocation_record(self, id) })
    }

    fn chains(&self) -> StoreFuture<'_, Result<Vec<ChainRow>, StoreError>> {
        Box::pin(self.blocking(Store::chains))
    }

    fn chain<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Result<Option<ChainRow>, StoreError>> {
        Box::pin(async move { Store::chain(self, name) })
    }

    fn chain_runs<'a>(
        &'a self,
        filter: &'a ChainRunFilter,
    ) -> StoreFuture<'a, Result<Vec<ChainRunRow>, StoreError>> {
        let filter = filter.clone();
        Box::pin(self.blocking(move |store| store.chain_runs(&filter)))
    }

    fn chain_run<'a>(&'a self, id: &'a RunId) -> StoreFuture<'a, Result<Option<ChainRunRow>, StoreError>> {
        Box::pin(async move { Store::chain_run(self, id) })
    }

    fn attention(&self, judge: LivenessJudge) -> StoreFuture<'_, Result<Vec<AttentionItem>, StoreError>> {
        Box::pin(self.blocking(move |store| store.attention(judge)))
    }

    fn transitions<'a>(
        &'a self,
        entity_type: &'a str,
        entity_id: &'a str,
    ) -> StoreFuture<'a, Result<Vec<TransitionRow>, StoreError>> {
        Box::pin(async move { Store::transitions(self, entity_type, entity_id) })
    }

    fn removed_runs(&self) -> StoreFuture<'_, Result<Vec<RunId>, StoreError>> {
        Box::pin(self.blocking(Store::removed_runs))
    }

    fn losses(&self) -> StoreFuture<'_, Result<Vec<Loss>, StoreError>> {
        Box::pin(async move { Store::losses(self) })
    }

    fn lease<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<LeaseState, StoreError>> {
        Box::pin(async move { Ok(Store::lease_of(self, run)?.unwrap_or(LeaseState::Free)) })
    }

    fn sizes(&self) -> StoreFuture<'_, Result<BTreeMap<RunId, u64>, StoreError>> {
        Box::pin(self.blocking(Store::sizes))
    }

    fn version(&self) -> StoreFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { Store::version(self) })
    }
}

impl Records for Store {
    fn add_outcomes<'a>(
        &'a self,
        added: &'a [AddedOutcome],
        durability: Durability,
    ) -> StoreFuture<'a, Result<u64, StoreError>> {
        let added = added.to_vec();
        Box::pin(self.blocking(move |store| store.add_outcomes(&added, durability)))
    }

    fn start_invocation<'a>(
        &'a self,
        id: &'a InvocationId,
        started: &'a StartedInvocation,
    ) -> StoreFuture<'a, Result<(), StoreError>> {
        let (id, started) = (id.clone(), started.clone());
        Box::pin(self.blocking(move |store| store.start_invocation(&id, &started)))
    }

    fn end_invocation<'a>(
        &'a self,
        id: &'a str,
        wish: &'a EndInvocation,
    ) -> StoreFuture<'a, Result<InvocationEnd, StoreError>> {
        let (id, wish) = (id.to_owned(), wish.clone());
        Box::pin(self.blocking(move |store| store.end_invocation(&id, &wish)))
    }

    fn define_chain<'a>(
        &'a self,
        wanted: &'a DefineChain,
    ) -> StoreFuture<'a, Result<ChainDefined, StoreError>> {
        let wanted = wanted.clone();
        Box::pin(self.blocking(move |store| store.define_chain(&wanted)))
    }

    fn set_chain_status<'a>(
        &'a self,
        name: &'a str,
        status: ChainStatus,
        at: Millis,
    ) -> StoreFuture<'a, Result<Option<ChainRow>, StoreError>> {
        let name = name.to_owned();
        Box::pin(self.blocking(move |store| store.set_chain_status(&name, status, at)))
    }

    fn enable_chain<'a>(
        &'a self,
        name: &'a str,
        at: Millis,
    ) -> StoreFuture<'a, Result<Option<ChainRow>, StoreError>> {
        let name = name.to_owned();
        Box::pin(self.blocking(move |store| store.enable_chain(&name, at)))
    }

    fn decide<'a>(
        &'a self,
        run: &'a RunId,
        message: &'a Message,
        from: &'a str,
    ) -> StoreFuture<'a, Result<Decided, StoreError>> {
        let (run, message, from) = (run.clone(), message.clone(), from.to_owned());
        Box::pin(self.blocking(move |store| store.decide(&run, &message, &from)))
    }

    fn assume<'a>(
        &'a self,
        run: &'a RunId,
        messages: &'a [Message],
        from: &'a str,
        expected_seq: u64,
    ) -> StoreFuture<'a, Result<Result<(), NotAccepted>, StoreError>> {
        let (run, messages, from) = (run.clone(), messages.to_vec(), from.to_owned());
        Box::pin(self.blocking(move |store| store.assume(&run, &messages, &from, expected_seq)))
    }

    fn dismiss<'a>(
        &'a self,
        item: &'a AttentionItem,
        dismissing: Dismissing,
    ) -> StoreFuture<'a, Result<Dismissal, StoreError>> {
        let item = item.clone();
        let Dismissing { at, by, note } = dismissing;
        Box::pin(self.blocking(move |store| store.dismiss(&item, at, by, note)))
    }

    fn import<'a>(
        &'a self,
        run: &'a RunId,
        entries: &'a [StoredEntry],
        invocation: Option<&'a InvocationRecord>,
    ) -> StoreFuture<'a, Result<Imported, StoreError>> {
        let (run, entries, invocation) = (run.clone(), entries.to_vec(), invocation.cloned());
        Box::pin(self.blocking(move |store| store.import(&run, &entries, invocation.as_ref())))
    }

    fn remove<'a>(&'a self, runs: &'a [RunId]) -> StoreFuture<'a, Result<u64, StoreError>> {
        let runs = runs.to_vec();
        Box::pin(self.blocking(move |store| store.remove(&runs)))
    }

    fn compact(&self) -> StoreFuture<'_, Result<(), StoreError>> {
        Box::pin(self.blocking(Store::compact))
    }

    fn rebuild(&self) -> StoreFuture<'_, Result<(), StoreError>> {
        Box::pin(self.blocking(Store::rebuild))
    }
}
