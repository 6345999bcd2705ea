//! The store on SQLite: the only module that knows SQL.
//!
//! ```text
//!   writes ──▶ writer: one connection, group commit ──▶ entries ─▶ tables
//!   reads  ──▶ readers: a pool of connections that cannot write
//! ```
//!
//! The synchronous methods of [`Store`] block their thread. [`asynchronous`] implements [`crate::Journal`],
//! [`crate::Queries`] and [`crate::Records`] on top of them without blocking an executor.

mod asynchronous;
mod attention;
mod backup;
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
mod identity;
mod import;
mod inbox;
mod invocations;
mod lease;
mod ledger;
mod lookup;
mod mark;
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

pub use ledger::ReceiptLedger;
pub use store::{Mode, Options, Store};
