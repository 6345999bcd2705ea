//! Writes that people ask for now and then: each on a thread for blocking work.

use escrow_model::{ChainStatus, InvocationId, Message, Millis, RunId};

use crate::attention::{AttentionItem, Dismissal};
use crate::chain_definition::{ChainDefined, ChainRow, DefineChain};
use crate::commit::Durability;
use crate::decision::{Decided, NotAccepted};
use crate::entry::StoredEntry;
use crate::error::StoreError;
use crate::import::Imported;
use crate::invocation::{EndInvocation, InvocationEnd, StartedInvocation};
use crate::invocation_record::InvocationRecord;
use crate::journal::StoreFuture;
use crate::outcome::AddedOutcome;
use crate::records::{Dismissing, Records};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::store::Store;

impl Records for Store {
    fn add_outcomes<'a>(
        &'a self,
        added: &'a [AddedOutcome],
        durability: Durability,
    ) -> StoreFuture<'a, Result<u64, StoreError>> {
        let added = added.to_vec();
        Box::pin(self.on_a_thread(move |store| store.add_outcomes(&added, durability)))
    }

    fn start_invocation<'a>(
        &'a self,
        id: &'a InvocationId,
        started: &'a StartedInvocation,
    ) -> StoreFuture<'a, Result<(), StoreError>> {
        let (id, started) = (id.clone(), started.clone());
        Box::pin(self.on_a_thread(move |store| store.start_invocation(&id, &started)))
    }

    fn end_invocation<'a>(
        &'a self,
        id: &'a str,
        wish: &'a EndInvocation,
    ) -> StoreFuture<'a, Result<InvocationEnd, StoreError>> {
        let (id, wish) = (id.to_owned(), wish.clone());
        Box::pin(self.on_a_thread(move |store| store.end_invocation(&id, &wish)))
    }

    fn define_chain<'a>(
        &'a self,
        wanted: &'a DefineChain,
    ) -> StoreFuture<'a, Result<ChainDefined, StoreError>> {
        let wanted = wanted.clone();
        Box::pin(self.on_a_thread(move |store| store.define_chain(&wanted)))
    }

    fn set_chain_status<'a>(
        &'a self,
        name: &'a str,
        status: ChainStatus,
        at: Millis,
    ) -> StoreFuture<'a, Result<Option<ChainRow>, StoreError>> {
        let name = name.to_owned();
        Box::pin(self.on_a_thread(move |store| store.set_chain_status(&name, status, at)))
    }

    fn enable_chain<'a>(
        &'a self,
        name: &'a str,
        at: Millis,
    ) -> StoreFuture<'a, Result<Option<ChainRow>, StoreError>> {
        let name = name.to_owned();
        Box::pin(self.on_a_thread(move |store| store.enable_chain(&name, at)))
    }

    fn decide<'a>(
        &'a self,
        run: &'a RunId,
        message: &'a Message,
        from: &'a str,
    ) -> StoreFuture<'a, Result<Decided, StoreError>> {
        let (run, message, from) = (run.clone(), message.clone(), from.to_owned());
        Box::pin(self.on_a_thread(move |store| store.decide(&run, &message, &from)))
    }

    fn assume<'a>(
        &'a self,
        run: &'a RunId,
        messages: &'a [Message],
        from: &'a str,
        expected_seq: u64,
    ) -> StoreFuture<'a, Result<Result<(), NotAccepted>, StoreError>> {
        let (run, messages, from) = (run.clone(), messages.to_vec(), from.to_owned());
        Box::pin(self.on_a_thread(move |store| store.assume(&run, &messages, &from, expected_seq)))
    }

    fn dismiss<'a>(
        &'a self,
        item: &'a AttentionItem,
        dismissing: Dismissing,
    ) -> StoreFuture<'a, Result<Dismissal, StoreError>> {
        let item = item.clone();
        let Dismissing { at, by, note } = dismissing;
        Box::pin(self.on_a_thread(move |store| store.dismiss(&item, at, by, note)))
    }

    fn import<'a>(
        &'a self,
        run: &'a RunId,
        entries: &'a [StoredEntry],
        invocation: Option<&'a InvocationRecord>,
    ) -> StoreFuture<'a, Result<Imported, StoreError>> {
        let (run, entries, invocation) = (run.clone(), entries.to_vec(), invocation.cloned());
        Box::pin(self.on_a_thread(move |store| store.import(&run, &entries, invocation.as_ref())))
    }

    fn remove<'a>(&'a self, runs: &'a [RunId]) -> StoreFuture<'a, Result<u64, StoreError>> {
        let runs = runs.to_vec();
        Box::pin(self.on_a_thread(move |store| store.remove(&runs)))
    }

    fn compact(&self) -> StoreFuture<'_, Result<(), StoreError>> {
        Box::pin(self.on_a_thread(BlockingStore::compact))
    }

    fn rebuild(&self) -> StoreFuture<'_, Result<(), StoreError>> {
        Box::pin(self.on_a_thread(BlockingStore::rebuild))
    }
}
