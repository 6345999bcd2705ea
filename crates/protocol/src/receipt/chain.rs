//! Receipts hashed into a chain, so that a missing or changed one shows.
//!
//! **Invariant:** what is hashed is what is written: the compact JSON of the receipt, after the digest before it.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::envelope::LifecycleReceipt;

/// The digest of a chain up to and including one receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainDigest([u8; 32]);

impl ChainDigest {
    /// A digest as it was kept.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest of a receipt as it was written, after the one before it.
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

/// Adds a receipt to the chain that ends in `previous`.
pub fn chain_digest(
    previous: Option<&ChainDigest>,
    receipt: &LifecycleReceipt,
) -> Result<ChainDigest, serde_json::Error> {
    Ok(ChainDigest::after(previous, &serde_json::to_vec(receipt)?))
}

/// Whether the receipts of a ledger are those that were kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainState {
    /// They are. Receipts that were forgotten are counted apart; the digest covers them too.
    Whole { receipts: u64, forgotten: u64, digest: Option<ChainDigest> },
    /// From this place on, counted from 1, nothing can be relied on.
    Broken { position: u64, why: ChainBreak },
}

/// What shows that a ledger was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChainBreak {
    #[error("the receipt is missing")]
    Missing,
    #[error("the receipt is not the one that was kept")]
    Changed,
    #[error("the receipt was never kept by the ledger")]
    Added,
}
