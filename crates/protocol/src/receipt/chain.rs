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
    let mut hasher = Sha256::new();
    hasher.update(previous.map_or(&[0; 32], ChainDigest::as_bytes));
    hasher.update(serde_json::to_vec(receipt)?);
    Ok(ChainDigest(hasher.finalize().into()))
}
