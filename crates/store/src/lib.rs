//! Keeps what was decided: the journal of every run, the tables derived from it, the inbox and the feed.
//!
//! ```text
//!   Commit ──▶ writer thread ──one transaction──▶ entries (hash chain)
//!                (group commit)                ├─▶ TABLES: runs, checks, attempts, waits, …
//!                                              └─▶ inbox: letters marked opened
//!   queries, feed, watch ──▶ a second connection that only reads
//! ```
//!
//! **Invariant:** an entry is stored as the bytes that were hashed and never changes. Every table can be
//! dropped and rebuilt from the entries alone. A commit that reports an error has written nothing, except when
//! the disk itself failed during the sync; repeating it then answers [`Committed::AlreadyDone`] or does it.
//!
//! Deliberately absent: async, redaction (entries arrive redacted) and any decision about a run. The methods
//! of [`Store`] name no SQLite type, so that another database can offer the same ones.

mod chain;
mod clock;
mod commit;
mod connect;
mod fault;
mod feed;
mod import;
mod inbox;
mod journal;
mod lease;
mod lookup;
mod schema;
mod store;
mod tables;
mod verify;
mod watch;
mod writer;

pub use chain::Hash;
pub use commit::{Commit, Committed, Created, Durability, NewRun};
pub use fault::{StoreError, StoreErrorKind};
pub use feed::FeedEntry;
pub use import::Imported;
pub use inbox::{LetterId, Sent};
pub use journal::StoredEntry;
pub use lease::{Holder, Lease, LeaseError, Liveness};
pub use lookup::{LookupError, RunFilter};
pub use store::{Mode, Options, Store};
pub use tables::attempts::AttemptRow;
pub use tables::checks::CheckRow;
pub use tables::invocations::InvocationRow;
pub use tables::runs::RunRow;
pub use tables::status_transitions::TransitionRow;
pub use tables::waits::WaitRow;
pub use verify::{Break, Verification};
pub use watch::Watch;
