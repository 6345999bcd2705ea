//! The hash chain: each entry's hash covers its bytes, its sequence number and everything before it.

use std::fmt;

use escrow_model::RunId;
use sha2::{Digest, Sha256};

/// Keeps a journal's hashes apart from every other use of SHA-256 on the same bytes.
const DOMAIN: &[u8] = b"escrow journal v1\0";
const ROSTER_DOMAIN: &[u8] = b"escrow roster v3\0";
const ROSTER_OF_RUNS_DOMAIN: &[u8] = b"escrow roster v2\0";
const OLD_ROSTER_DOMAIN: &[u8] = b"escrow roster v1\0";

/// SHA-256 of an entry and of all entries before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash that the first entry of a run follows.
    pub fn origin(run: &RunId) -> Hash {
        let mut hasher = Sha256::new();
        hasher.update(DOMAIN);
        hasher.update(run.as_str().as_bytes());
        Hash(hasher.finalize().into())
    }

    /// The link that the first run on the roster follows.
    pub(crate) fn of_empty_roster() -> Hash {
        Hash(Sha256::digest(ROSTER_DOMAIN).into())
    }

    /// The same for a roster that was begun when it had runs and their removals only.
    pub(crate) fn of_empty_roster_of_runs() -> Hash {
        Hash(Sha256::digest(ROSTER_OF_RUNS_DOMAIN).into())
    }

    /// The same for a roster that was begun when removals were no links of their own.
    pub(crate) fn of_empty_old_roster() -> Hash {
        Hash(Sha256::digest(OLD_ROSTER_DOMAIN).into())
    }

    /// The hash of the entry with these bytes at `seq`, after an entry with this hash.
    #[must_use]
    pub fn next(self, seq: u64, bytes: &[u8]) -> Hash {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        hasher.update(seq.to_be_bytes());
        hasher.update(bytes);
        Hash(hasher.finalize().into())
    }

    /// Reads the 64 hexadecimal digits that it is shown as.
    pub fn parse(text: &str) -> Option<Hash> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let mut bytes = [0; 32];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
        }
        Some(Hash(bytes))
    }

    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Hash {
        Hash(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Hash({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_covers_the_run_the_place_the_bytes_and_the_past() {
        let origin = Hash::origin(&RunId::from_stored("r_a"));
        let first = origin.next(1, b"{}");
        for other in [
            Hash::origin(&RunId::from_stored("r_b")).next(1, b"{}"),
            origin.next(2, b"{}"),
            origin.next(1, b"{ }"),
            first.next(1, b"{}"),
        ] {
            assert_ne!(first, other);
        }
        assert_eq!(first, origin.next(1, b"{}"));
    }

    #[test]
    fn a_hash_is_read_as_it_is_shown() {
        let hash = Hash::origin(&RunId::from_stored("r_a"));
        assert_eq!(Hash::parse(&hash.to_string()), Some(hash));
        for bad in ["", "00", &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(Hash::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_chain_is_the_documented_formula() {
        let run = RunId::from_stored("r_a");
        let mut text = b"escrow journal v1\0r_a".to_vec();
        let origin = Sha256::digest(&text);
        text = origin.to_vec();
        text.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 7]);
        text.extend_from_slice(b"bytes");
        let expected: [u8; 32] = Sha256::digest(&text).into();
        assert_eq!(Hash::origin(&run).next(7, b"bytes").as_bytes(), &expected);
    }
}
