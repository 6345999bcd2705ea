//! Keeps what was decided: the journal of every run, the tables derived from it, the inbox and the feed; and the
//! ledger of lifecycle receipts, which has tables of its own in a database of the same shape.
//!
//! ```text
//!   Commit ──▶ writer thread ──one transaction──▶ entries (hash chain)
//!                (group commit)                ├─▶ TABLES: runs, waits, outcomes, …
//!                                              └─▶ inbox: messages marked delivered
//!   AddedOutcome ──▶ added_outcomes ──▶ artifacts
//!   what people say of invocations ──▶ invocations_said ──▶ invocations
//!   queries, feed, watch ──▶ a second connection that only reads
//! ```
//!
//! **Invariant:** an entry is stored as the bytes that were hashed and never changes. Every table of `TABLES` can be
//! dropped and rebuilt from the entries and from what was added by hand. A commit that reports an error has written nothing, except when
//! the disk itself failed during the sync; repeating it then answers [`Committed::AlreadyDone`] or does it.
//!
//! ```
//! # use escrow_model::{Entry, Event, JOURNAL_VERSION, RunId};
//! # use escrow_store::{Commit, Committed, Created, Durability, Holder, Mode, NewRun, Store};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("escrow.db");
//! # let run = RunId::new(1_700_000_000_000, 42);
//! # let holder = Holder { pid: 1, host: "here".into(), boot_id: "b".into(), process_started: 1 };
//! # let entry = |event| Entry { v: JOURNAL_VERSION, at: 1_700_000_000_000, event };
//! let store = Store::open(&path, Mode::Write)?;
//! let new = NewRun { run: &run, holder: &holder, entries: &[], durability: Durability::Grouped };
//! let Created::Done { lease, seq } = store.create_run(new)? else { panic!("an id is used once") };
//! let committed = store.commit(Commit {
//!     lease: &lease,
//!     expected_seq: seq,
//!     entries: &[entry(Event::DeadlinePassed {})],
//!     delivered: &[],
//!     durability: Durability::Full,
//! })?;
//! assert_eq!(committed, Committed::Done { seq: 1 });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Deliberately absent: async, redaction (entries arrive redacted) and any decision about a run. The methods
//! of [`Store`] name no SQLite type, so that another database can offer the same ones.

mod attention;
mod chain;
mod checkpointer;
mod clock;
mod commit;
mod connect;
mod fault;
mod feed;
mod import;
mod inbox;
mod invocations;
mod journal;
mod journal_trait;
mod lease;
mod ledger;
mod lookup;
mod outcomes;
mod remove;
mod schema;
mod size;
mod store;
mod tables;
mod verify;
mod watch;
mod writer;

pub use attention::{AttentionItem, AttentionKind, AttentionWait, Dismissal, Subject};
pub use chain::Hash;
pub use commit::{Commit, Committed, Created, Durability, NewRun};
pub use fault::{StoreError, StoreErrorKind};
pub use feed::FeedEntry;
pub use import::Imported;
pub use inbox::{MessageId, Sent};
pub use invocations::{EndInvocation, InvocationEnd, InvocationRecord, StartedInvocation};
pub use journal::StoredEntry;
pub use journal_trait::{Journal, Reply};
pub use lease::{Holder, Lease, LeaseError, Liveness};
pub use ledger::ReceiptLedger;
pub use lookup::{LookupError, RunFilter};
pub use outcomes::AddedOutcome;
pub use store::{Mode, Options, Store};
pub use tables::artifacts::{OutcomeFilter, OutcomeRow};
pub use tables::invocations::{InvocationFilter, InvocationReason, InvocationRow};
pub use tables::runs::RunRow;
pub use tables::status_transitions::TransitionRow;
pub use tables::waits::WaitRow;
pub use verify::{Break, Verification, verify_entries};
pub use watch::Watch;
