//! Receipts: how they come about, how they are told apart, and how they are kept.
//!
//! **Invariant:** every dispatch that was understood ends in exactly one receipt per client. A receipt is
//! written once: a retry with the same key gets the first one back, or is told that it is a different thing.

mod chain;
pub mod contract;
mod gap;
mod identity;
mod ledger;
mod linkage;
mod memory;
mod synthesis;

pub use chain::{ChainBreak, ChainDigest, ChainState, chain_digest};
pub use gap::{Gap, SequenceWatch, gap_events};
pub use identity::{IdempotencyScope, may_be_tried_again, same_content};
pub use ledger::{Claim, Ledger, LedgerError, ReceiptQuery, Recorded, Retention};
pub use linkage::check_linkage;
pub use memory::MemoryLedger;
pub use synthesis::{EmissionError, ReceiptContext, synthesize};
