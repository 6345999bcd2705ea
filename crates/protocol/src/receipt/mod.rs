//! Receipts: synthesis, identity, ledger, gaps.
//!
//! **Invariant:** every valid dispatch ends in exactly one receipt per client. A receipt is recorded once: a retry with
//! the same key gets the first one back, and a different operation with that key is a conflict.

mod chain;
pub mod contract;
mod emit_input;
mod gap;
mod identity;
mod ledger;
mod linkage;
mod memory;
mod synthesis;

pub use chain::{ChainBreak, ChainDigest, ChainState, chain_digest};
pub use emit_input::EmitInput;
pub use gap::{Gap, SequenceWatch, gap_events};
pub use identity::{IdempotencyScope, may_be_tried_again, same_content};
pub use ledger::{Claim, Ledger, LedgerError, ReceiptQuery, Recorded, Retention};
pub use linkage::check_linkage;
pub use memory::MemoryLedger;
pub use synthesis::{EmissionError, ReceiptContext, synthesize};
