//! Hashes receipts into a chain, so that a missing or changed one is noticed.
//!
//! **Invariant:** the hash covers the previous digest and the compact JSON of the receipt, exactly as written.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::envelope::LifecycleReceipt;

/// The digest of a chain up to and including one receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainDigest([u8; 32]);

impl ChainDigest {
    /// A digest from storage.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest of a receipt's bytes, chained to the previous digest.
    #[must_use]
    pub fn after(previous: Option<&Self>, written: &[u8]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(previous.map_or(&[0; 32], Self::as_bytes));
        hasher.update(written);
        Self(hasher.finalize().into())
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ChainDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// The digest of the chain that ends in `previous`, extended by a receipt.
pub fn chain_digest(
    previous: Option<&ChainDigest>,
    receipt: &LifecycleReceipt,
) -> Result<ChainDigest, serde_json::Error> {
    Ok(ChainDigest::after(previous, &serde_json::to_vec(receipt)?))
}

/// Whether the chain of a ledger is intact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainState {
    /// It is. Forgotten receipts are counted apart; the digest covers them too.
    Whole { receipts: u64, forgotten: u64, digest: Option<ChainDigest> },
    /// It is broken at this position, counted from 1. Nothing from there on can be trusted.
    Broken { position: u64, why: ChainBreak },
}

/// The evidence that a ledger was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChainBreak {
    #[error("the receipt is missing")]
    Missing,
    #[error("the receipt is not the one that was kept")]
    Changed,
    #[error("the receipt was never kept by the ledger")]
    Added,
}
