//! Writes that belong to no run's lease: decisions, outcomes and invocations by hand, dismissals, imports and removals.

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

/// Who dismissed an item of attention, when and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dismissing {
    pub at: Millis,
    pub by: Option<String>,
    pub note: String,
}

/// What people write beside the journals. The supervisor needs none of it.
///
/// Futures must be polled inside a tokio runtime.
pub trait Records: Send + Sync {
    /// Keeps the outcomes that are not here yet, and tells how many they were.
    fn add_outcomes<'a>(
        &'a self,
        added: &'a [AddedOutcome],
        durability: Durability,
    ) -> StoreFuture<'a, Result<u64, StoreError>>;

    /// Begins an invocation. Its id must be new.
    fn start_invocation<'a>(
        &'a self,
        id: &'a InvocationId,
        started: &'a StartedInvocation,
    ) -> StoreFuture<'a, Result<(), StoreError>>;

    /// Ends an invocation if its state allows it: compared and set in one transaction.
    fn end_invocation<'a>(
        &'a self,
        id: &'a str,
        wish: &'a EndInvocation,
    ) -> StoreFuture<'a, Result<InvocationEnd, StoreError>>;

    /// Activates the definition of a chain, compared with the active one in one transaction.
    fn define_chain<'a>(
        &'a self,
        wanted: &'a DefineChain,
    ) -> StoreFuture<'a, Result<ChainDefined, StoreError>>;

    /// Sets the status of a chain. `None` when there is no such chain.
    fn set_chain_status<'a>(
        &'a self,
        name: &'a str,
        status: ChainStatus,
        at: Millis,
    ) -> StoreFuture<'a, Result<Option<ChainRow>, StoreError>>;

    /// Undoes that a chain was disabled: it is paused or active, as it was before.
    fn enable_chain<'a>(
        &'a self,
        name: &'a str,
        at: Millis,
    ) -> StoreFuture<'a, Result<Option<ChainRow>, StoreError>>;

    /// Records an approval, a denial or an answer if it is the first decision about its wait: compared and set in one
    /// transaction, and synced to the disk.
    fn decide<'a>(
        &'a self,
        run: &'a RunId,
        message: &'a Message,
        from: &'a str,
    ) -> StoreFuture<'a, Result<Decided, StoreError>>;

    /// Records what people say about effects, all or none: each must be the first decision about its effect, and the journal
    /// must still end at `expected_seq`, with which they were compared.
    fn assume<'a>(
        &'a self,
        run: &'a RunId,
        messages: &'a [Message],
        from: &'a str,
        expected_seq: u64,
    ) -> StoreFuture<'a, Result<Result<(), NotAccepted>, StoreError>>;

    /// Marks an item of attention as seen in its current state.
    fn dismiss<'a>(
        &'a self,
        item: &'a AttentionItem,
        dismissing: Dismissing,
    ) -> StoreFuture<'a, Result<Dismissal, StoreError>>;

    /// Adds a whole run, as [`crate::Queries::journal`] gave it, with what people said of its invocation. The run has no
    /// holder afterwards.
    fn import<'a>(
        &'a self,
        run: &'a RunId,
        entries: &'a [StoredEntry],
        invocation: Option<&'a InvocationRecord>,
    ) -> StoreFuture<'a, Result<Imported, StoreError>>;

    /// Removes runs with everything derived from them, and tells how many there were. Many runs should be removed at
    /// once, because the tables are rebuilt.
    fn remove<'a>(&'a self, runs: &'a [RunId]) -> StoreFuture<'a, Result<u64, StoreError>>;

    /// Gives the space of removed runs back to the disk. No other process may be writing.
    fn compact(&self) -> StoreFuture<'_, Result<(), StoreError>>;

    /// Drops every derived table and derives it again from the journals.
    fn rebuild(&self) -> StoreFuture<'_, Result<(), StoreError>>;
}
