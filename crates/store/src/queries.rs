//! The read side of a store: lists, lookups and the feed. Nothing here writes.

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
use crate::lease::{Holder, LeaseState, Liveness};
use crate::loss::Loss;
use crate::message::Sent;
use crate::outcome::{AddedOutcome, OutcomeFilter, OutcomeRow};
use crate::run::{LookupError, RunFilter, RunRow};
use crate::state_verification::{StateBreak, StateVerification};
use crate::transition::TransitionRow;
use crate::verify::Verification;
use crate::wait::WaitRow;

/// Tells whether the process that holds a run still lives.
pub type LivenessJudge = fn(&Holder) -> Liveness;

/// Everything that can be asked of a store. Where there is no database, the answers are empty.
///
/// Indexed lookups are answered at the first poll; long scans run on a thread for blocking work. Futures must be polled
/// inside a tokio runtime.
pub trait Queries: Send + Sync {
    /// The runs that pass the filter, newest first.
    fn runs<'a>(&'a self, filter: &'a RunFilter) -> StoreFuture<'a, Result<Vec<RunRow>, StoreError>>;

    /// The run with this id, with or without `r_`, or a unique beginning of one. `last` is the newest run that is not
    /// nested in another; when all are nested, the newest of them.
    fn run<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Result<RunRow, LookupError>>;

    /// The payload of the event that a run is about; empty when it has none.
    fn event_payload<'a>(&'a self, run: &'a RunId)
    -> StoreFuture<'a, Result<Map<String, Value>, StoreError>>;

    /// The process that holds the run.
    fn holder<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Option<Holder>, StoreError>>;

    /// The entries from `from_seq` on; empty when there is no such run.
    fn entries<'a>(
        &'a self,
        run: &'a RunId,
        from_seq: u64,
    ) -> StoreFuture<'a, Result<Vec<(u64, Entry)>, StoreError>>;

    /// At most `limit` of the entries from `from_seq` on, read by the calling thread. A long journal in parts takes less memory
    /// than the whole of it, which several threads decode at once.
    fn entries_part<'a>(
        &'a self,
        run: &'a RunId,
        from_seq: u64,
        limit: u32,
    ) -> StoreFuture<'a, Result<Vec<(u64, Entry)>, StoreError>>;

    /// What the run was started with; `None` when there is no such run.
    fn first_entry<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Option<Entry>, StoreError>>;

    /// The numbers and hashes of the last entries of a run, oldest first, without what the entries say.
    fn last_hashes<'a>(
        &'a self,
        run: &'a RunId,
        limit: usize,
    ) -> StoreFuture<'a, Result<Vec<(u64, Hash)>, StoreError>>;

    /// The whole journal of a run, byte for byte; empty when there is no such run.
    fn journal<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<StoredEntry>, StoreError>>;

    /// Recomputes the hash chain of a run from its first entry.
    fn verify<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Verification, StoreError>>;

    /// What is wrong with the derived rows of a run whose journal is intact, and with the list of runs.
    fn verify_tables<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<StateBreak>, StoreError>>;

    /// Verifies every journal, every derived table and the list of runs.
    fn verify_state(&self) -> StoreFuture<'_, Result<Option<StateVerification>, StoreError>>;

    /// Up to `limit` committed entries of all runs that follow position `after`; 0 begins at the start.
    fn feed(&self, after: u64, limit: usize) -> StoreFuture<'_, Result<Vec<FeedEntry>, StoreError>>;

    /// The position of the last entry, 0 when there is none.
    fn feed_end(&self) -> StoreFuture<'_, Result<u64, StoreError>>;

    /// The messages that no commit has delivered, oldest first.
    fn undelivered<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<Sent>, StoreError>>;

    /// Open waits of all runs, oldest first.
    fn open_waits(&self) -> StoreFuture<'_, Result<Vec<WaitRow>, StoreError>>;

    /// Every wait of all runs, newest first.
    fn all_waits(&self) -> StoreFuture<'_, Result<Vec<WaitRow>, StoreError>>;

    /// The newest `limit` waits that are over, but for those for nested runs.
    fn decided_waits(&self, limit: usize) -> StoreFuture<'_, Result<Vec<WaitRow>, StoreError>>;

    /// Every wait of a run, oldest first.
    fn waits<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<WaitRow>, StoreError>>;

    /// The waits with this id: one, unless two runs asked for the same.
    fn waits_named<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Result<Vec<WaitRow>, StoreError>>;

    /// The effects that pass the filter, newest intent first.
    fn effects<'a>(&'a self, filter: &'a EffectFilter)
    -> StoreFuture<'a, Result<Vec<EffectRow>, StoreError>>;

    /// The outcomes that pass the filter.
    fn outcomes<'a>(
        &'a self,
        filter: &'a OutcomeFilter,
    ) -> StoreFuture<'a, Result<Vec<OutcomeRow>, StoreError>>;

    /// The outcome with this id, or those whose id begins so.
    fn outcomes_named<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Result<Vec<OutcomeRow>, StoreError>>;

    /// The outcome that an invocation is known by.
    fn primary_outcome<'a>(
        &'a self,
        invocation: &'a str,
    ) -> StoreFuture<'a, Result<Option<OutcomeRow>, StoreError>>;

    /// Outcomes that were added to a run by hand, oldest first.
    fn added_to<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<AddedOutcome>, StoreError>>;

    /// The invocations that pass the filter, newest first.
    fn invocations<'a>(
        &'a self,
        filter: &'a InvocationFilter,
    ) -> StoreFuture<'a, Result<Vec<InvocationRow>, StoreError>>;

    fn invocation<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Result<Option<InvocationRow>, StoreError>>;

    /// The invocation with this id, or a few whose id begins so, with or without `i_`. `last` is the newest.
    fn invocations_named<'a>(
        &'a self,
        name: &'a str,
    ) -> StoreFuture<'a, Result<Vec<InvocationRow>, StoreError>>;

    /// What people said of an invocation, if anything.
    fn invocation_record<'a>(
        &'a self,
        id: &'a str,
    ) -> StoreFuture<'a, Result<Option<InvocationRecord>, StoreError>>;

    /// Every defined chain, by name.
    fn chains(&self) -> StoreFuture<'_, Result<Vec<ChainRow>, StoreError>>;

    /// The chain with this name.
    fn chain<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Result<Option<ChainRow>, StoreError>>;

    /// The runs of chains that pass the filter, newest first.
    fn chain_runs<'a>(
        &'a self,
        filter: &'a ChainRunFilter,
    ) -> StoreFuture<'a, Result<Vec<ChainRunRow>, StoreError>>;

    /// The run of a chain with exactly this id.
    fn chain_run<'a>(&'a self, id: &'a RunId) -> StoreFuture<'a, Result<Option<ChainRunRow>, StoreError>>;

    /// Everything that needs a person, newest first. Dismissed items are included and marked.
    fn attention(&self, judge: LivenessJudge) -> StoreFuture<'_, Result<Vec<AttentionItem>, StoreError>>;

    /// The status changes of an entity, oldest first.
    fn transitions<'a>(
        &'a self,
        entity_type: &'a str,
        entity_id: &'a str,
    ) -> StoreFuture<'a, Result<Vec<TransitionRow>, StoreError>>;

    /// The bytes of every run's entries.
    fn sizes(&self) -> StoreFuture<'_, Result<BTreeMap<RunId, u64>, StoreError>>;

    /// The runs that were removed for good.
    fn removed_runs(&self) -> StoreFuture<'_, Result<Vec<RunId>, StoreError>>;

    /// Entries that are known to be missing, oldest loss first.
    fn losses(&self) -> StoreFuture<'_, Result<Vec<Loss>, StoreError>>;

    /// The lease of a run; free when there is no such run.
    fn lease<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<LeaseState, StoreError>>;

    /// Changes whenever any process commits. Only comparable with other values from the same store.
    fn version(&self) -> StoreFuture<'_, Result<u64, StoreError>>;

    /// Copies the database to a file that does not exist yet, as one transaction left it, and names the runs in it.
    /// `None` when there is no database, or an empty one.
    fn back_up<'a>(&'a self, to: &'a Path) -> StoreFuture<'a, Result<Option<Vec<RunId>>, StoreError>>;
}
