//! Lookups by a key at the first poll, scans on a thread for blocking work.

use std::collections::BTreeMap;
use std::path::Path;

use escrow_model::{Entry, RunId};
use serde_json::{Map, Value};

use crate::attention::AttentionItem;
use crate::chain::Hash;
use crate::chain_definition::{ChainRow, ChainRunFilter, ChainRunRow};
use crate::effect::{EffectFilter, EffectRow};
use crate::entry::{FeedEntry, StoredEntry};
use crate::error::StoreError;
use crate::invocation::{InvocationFilter, InvocationRow};
use crate::invocation_record::InvocationRecord;
use crate::journal::StoreFuture;
use crate::lease::{Holder, LeaseState};
use crate::loss::Loss;
use crate::message::Sent;
use crate::outcome::{AddedOutcome, OutcomeFilter, OutcomeRow};
use crate::queries::{LivenessJudge, Queries};
use crate::run::{LookupError, RunFilter, RunRow};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::store::Store;
use crate::state_verification::{StateBreak, StateVerification};
use crate::transition::TransitionRow;
use crate::verify::Verification;
use crate::wait::WaitRow;

impl Queries for Store {
    fn runs<'a>(&'a self, filter: &'a RunFilter) -> StoreFuture<'a, Result<Vec<RunRow>, StoreError>> {
        let filter = filter.clone();
        Box::pin(self.on_a_thread(move |store| store.runs(&filter)))
    }

    fn run<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Result<RunRow, LookupError>> {
        Box::pin(async move { self.0.run(name) })
    }

    fn effects<'a>(
        &'a self,
        filter: &'a EffectFilter,
    ) -> StoreFuture<'a, Result<Vec<EffectRow>, StoreError>> {
        let filter = filter.clone();
        Box::pin(self.on_a_thread(move |store| store.effects(&filter)))
    }

    fn event_payload<'a>(
        &'a self,
        run: &'a RunId,
    ) -> StoreFuture<'a, Result<Map<String, Value>, StoreError>> {
        Box::pin(async move { self.0.event_payload(run) })
    }

    fn holder<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Option<Holder>, StoreError>> {
        Box::pin(async move { self.0.holder(run) })
    }

    fn entries_part<'a>(
        &'a self,
        run: &'a RunId,
        from_seq: u64,
        limit: u32,
    ) -> StoreFuture<'a, Result<Vec<(u64, Entry)>, StoreError>> {
        Box::pin(async move { self.0.entries_part(run, from_seq, limit) })
    }

    fn entries<'a>(
        &'a self,
        run: &'a RunId,
        from_seq: u64,
    ) -> StoreFuture<'a, Result<Vec<(u64, Entry)>, StoreError>> {
        Box::pin(self.entries_from(run, from_seq))
    }

    fn first_entry<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Option<Entry>, StoreError>> {
        Box::pin(async move { self.0.first_entry(run) })
    }

    fn last_hashes<'a>(
        &'a self,
        run: &'a RunId,
        limit: usize,
    ) -> StoreFuture<'a, Result<Vec<(u64, Hash)>, StoreError>> {
        let run = run.clone();
        Box::pin(self.on_a_thread(move |store| store.last_hashes(&run, limit)))
    }

    fn journal<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<StoredEntry>, StoreError>> {
        let run = run.clone();
        Box::pin(self.on_a_thread(move |store| store.journal(&run)))
    }

    fn verify<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Verification, StoreError>> {
        let run = run.clone();
        Box::pin(self.on_a_thread(move |store| store.verify(&run)))
    }

    fn verify_tables<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<StateBreak>, StoreError>> {
        let run = run.clone();
        Box::pin(self.on_a_thread(move |store| store.verify_tables(&run)))
    }

    fn verify_state(&self) -> StoreFuture<'_, Result<Option<StateVerification>, StoreError>> {
        Box::pin(self.on_a_thread(BlockingStore::verify_state))
    }

    fn feed(&self, after: u64, limit: usize) -> StoreFuture<'_, Result<Vec<FeedEntry>, StoreError>> {
        Box::pin(self.on_a_thread(move |store| store.feed(after, limit)))
    }

    fn feed_end(&self) -> StoreFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { self.0.feed_end() })
    }

    fn undelivered<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<Sent>, StoreError>> {
        Box::pin(async move { self.0.undelivered(run) })
    }

    fn open_waits(&self) -> StoreFuture<'_, Result<Vec<WaitRow>, StoreError>> {
        Box::pin(self.on_a_thread(BlockingStore::open_waits))
    }

    fn decided_waits(&self, limit: usize) -> StoreFuture<'_, Result<Vec<WaitRow>, StoreError>> {
        Box::pin(self.on_a_thread(move |store| store.decided_waits(limit)))
    }

    fn all_waits(&self) -> StoreFuture<'_, Result<Vec<WaitRow>, StoreError>> {
        Box::pin(self.on_a_thread(BlockingStore::all_waits))
    }

    fn waits<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<WaitRow>, StoreError>> {
        Box::pin(async move { self.0.waits(run) })
    }

    fn waits_named<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Result<Vec<WaitRow>, StoreError>> {
        Box::pin(async move { self.0.waits_named(id) })
    }

    fn outcomes<'a>(
        &'a self,
        filter: &'a OutcomeFilter,
    ) -> StoreFuture<'a, Result<Vec<OutcomeRow>, StoreError>> {
        let filter = filter.clone();
        Box::pin(self.on_a_thread(move |store| store.outcomes(&filter)))
    }

    fn outcomes_named<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Result<Vec<OutcomeRow>, StoreError>> {
        Box::pin(async move { self.0.outcomes_named(name) })
    }

    fn primary_outcome<'a>(
        &'a self,
        invocation: &'a str,
    ) -> StoreFuture<'a, Result<Option<OutcomeRow>, StoreError>> {
        Box::pin(async move { self.0.primary_outcome(invocation) })
    }

    fn added_to<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<AddedOutcome>, StoreError>> {
        Box::pin(async move { self.0.added_to(run) })
    }

    fn invocations<'a>(
        &'a self,
        filter: &'a InvocationFilter,
    ) -> StoreFuture<'a, Result<Vec<InvocationRow>, StoreError>> {
        let filter = filter.clone();
        Box::pin(self.on_a_thread(move |store| store.invocations(&filter)))
    }

    fn invocation<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Result<Option<InvocationRow>, StoreError>> {
        Box::pin(async move { self.0.invocation(id) })
    }

    fn invocations_named<'a>(
        &'a self,
        name: &'a str,
    ) -> StoreFuture<'a, Result<Vec<InvocationRow>, StoreError>> {
        Box::pin(async move { self.0.invocations_named(name) })
    }

    fn invocation_record<'a>(
        &'a self,
        id: &'a str,
    ) -> StoreFuture<'a, Result<Option<InvocationRecord>, StoreError>> {
        Box::pin(async move { self.0.invocation_record(id) })
    }

    fn chains(&self) -> StoreFuture<'_, Result<Vec<ChainRow>, StoreError>> {
        Box::pin(self.on_a_thread(BlockingStore::chains))
    }

    fn chain<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Result<Option<ChainRow>, StoreError>> {
        Box::pin(async move { self.0.chain(name) })
    }

    fn chain_runs<'a>(
        &'a self,
        filter: &'a ChainRunFilter,
    ) -> StoreFuture<'a, Result<Vec<ChainRunRow>, StoreError>> {
        let filter = filter.clone();
        Box::pin(self.on_a_thread(move |store| store.chain_runs(&filter)))
    }

    fn chain_run<'a>(&'a self, id: &'a RunId) -> StoreFuture<'a, Result<Option<ChainRunRow>, StoreError>> {
        Box::pin(async move { self.0.chain_run(id) })
    }

    fn attention(&self, judge: LivenessJudge) -> StoreFuture<'_, Result<Vec<AttentionItem>, StoreError>> {
        Box::pin(self.on_a_thread(move |store| store.attention(judge)))
    }

    fn transitions<'a>(
        &'a self,
        entity_type: &'a str,
        entity_id: &'a str,
    ) -> StoreFuture<'a, Result<Vec<TransitionRow>, StoreError>> {
        Box::pin(async move { self.0.transitions(entity_type, entity_id) })
    }

    fn removed_runs(&self) -> StoreFuture<'_, Result<Vec<RunId>, StoreError>> {
        Box::pin(self.on_a_thread(BlockingStore::removed_runs))
    }

    fn losses(&self) -> StoreFuture<'_, Result<Vec<Loss>, StoreError>> {
        Box::pin(async move { self.0.losses() })
    }

    fn lease<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<LeaseState, StoreError>> {
        Box::pin(async move { Ok(self.0.lease_of(run)?.unwrap_or(LeaseState::Free)) })
    }

    fn sizes(&self) -> StoreFuture<'_, Result<BTreeMap<RunId, u64>, StoreError>> {
        Box::pin(self.on_a_thread(BlockingStore::sizes))
    }

    fn version(&self) -> StoreFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { self.0.version() })
    }

    fn back_up<'a>(&'a self, to: &'a Path) -> StoreFuture<'a, Result<Option<Vec<RunId>>, StoreError>> {
        let to = to.to_owned();
        Box::pin(self.on_a_thread(move |store| store.back_up(&to)))
    }
}
