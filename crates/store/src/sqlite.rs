//! The store on SQLite: the only module that knows SQL.
//!
//! ```text
//!   writes ──▶ writer: one connection, group commit ──▶ entries ─▶ tables
//!   reads  ──▶ readers: a pool of connections that cannot write
//! ```
//!
//! [`BlockingStore`] has the operations, each on the calling thread. [`Store`] is what other crates use: it implements
//! [`crate::Journal`], [`crate::Queries`], [`crate::Records`] and [`crate::Fires`] without blocking an executor.

mod attention;
mod backup;
mod blocking;
mod chains;
mod checkpointer;
mod clock;
mod close;
mod commit;
mod conflicts;
mod connect;
mod decisions;
mod derived;
mod entries;
mod error;
mod feed;
mod fires;
mod hash;
mod high_water_mark;
mod identity;
mod import;
mod inbox;
mod invocations;
mod lease;
mod ledger;
mod lookup;
mod outbox;
mod outcomes;
mod readers;
mod recorded_rows;
mod remove;
mod roster;
mod schema;
mod size;
mod store;
mod tables;
mod verify;
mod writer;

pub use blocking::{BlockingStore, Mode, Options};
pub use ledger::ReceiptLedger;
pub use store::Store;
