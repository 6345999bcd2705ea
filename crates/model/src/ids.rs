//! Names for runs and for the scopes that checks run in.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::CheckIndex;

/// A run, `r_` and 20 lower-case base-32 characters: the start in milliseconds, then chance. Ids sort by age.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

impl RunId {
    /// Builds an id from its start and 52 bits of chance.
    pub fn new(started_at_ms: u64, chance: u64) -> RunId {
        RunId(sortable("r_", started_at_ms, chance))
    }

    /// Takes a stored id as it is.
    pub fn from_stored(text: impl Into<String>) -> RunId {
        RunId(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// An outcome, `o_` and 20 characters like those of a run. Ids sort by age.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OutcomeId(String);

impl OutcomeId {
    /// Builds an id from the time and 52 bits of chance.
    pub fn new(at_ms: u64, chance: u64) -> OutcomeId {
        OutcomeId(sortable("o_", at_ms, chance))
    }

    /// Takes a stored id as it is.
    pub fn from_stored(text: impl Into<String>) -> OutcomeId {
        OutcomeId(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl OutcomeId {
    /// The time that it was made from.
    pub fn at_ms(&self) -> u64 {
        let digits = self.0.trim_start_matches("o_").bytes();
        let bits = digits.fold(0_u128, |sum, digit| {
            let value = ALPHABET.iter().position(|known| *known == digit).unwrap_or(0);
            sum << 5 | value as u128
        });
        u64::try_from(bits >> 52 & ((1 << 48) - 1)).unwrap_or(0)
    }
}

impl fmt::Display for OutcomeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// An invocation, `i_` and 20 characters like those of a run. Ids sort by age.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InvocationId(String);

impl InvocationId {
    /// Builds an id from the time and 52 bits of chance.
    pub fn new(at_ms: u64, chance: u64) -> InvocationId {
        InvocationId(sortable("i_", at_ms, chance))
    }

    /// Takes a stored id as it is.
    pub fn from_stored(text: impl Into<String>) -> InvocationId {
        InvocationId(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InvocationId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The first 100 bits of a digest, as text of the same length as the other ids. Such ids do not sort by age.
pub(crate) fn derived(prefix: &str, digest: &[u8]) -> String {
    let bits = digest.iter().take(13).fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
    encoded(prefix, bits >> 4)
}

/// 48 bits of time and 52 of chance, as text that sorts by time.
fn sortable(prefix: &str, at_ms: u64, chance: u64) -> String {
    encoded(prefix, (u128::from(at_ms) & ((1 << 48) - 1)) << 52 | u128::from(chance) & ((1 << 52) - 1))
}

fn encoded(prefix: &str, bits: u128) -> String {
    let digits = (0..20).rev().map(|place| {
        let digit = (bits >> (place * 5)) & 31;
        char::from(ALPHABET[usize::try_from(digit).expect("five bits fit")])
    });
    prefix.chars().chain(digits).collect()
}

/// The items of `forEach` that a check runs for, outermost first. The root scope is empty.
///
/// A check's fan names the parents, so a path needs only the indices.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScopePath(Vec<u32>);

impl ScopePath {
    pub const fn root() -> ScopePath {
        ScopePath(Vec::new())
    }

    pub fn new(indices: Vec<u32>) -> ScopePath {
        ScopePath(indices)
    }

    pub fn indices(&self) -> &[u32] {
        &self.0
    }

    pub fn depth(&self) -> usize {
        self.0.len()
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub fn last(&self) -> Option<u32> {
        self.0.last().copied()
    }

    pub fn child(&self, index: u32) -> ScopePath {
        let mut indices = Vec::with_capacity(self.0.len() + 1);
        indices.extend_from_slice(&self.0);
        indices.push(index);
        ScopePath(indices)
    }

    pub fn parent(&self) -> Option<ScopePath> {
        self.0.split_last().map(|(_, rest)| ScopePath(rest.to_vec()))
    }

    /// The first `depth` steps of this path.
    pub fn truncated(&self, depth: usize) -> ScopePath {
        ScopePath(self.0[..depth.min(self.0.len())].to_vec())
    }

    /// Whether one path lies on the way to the other: they concern the same items.
    pub fn touches(&self, other: &ScopePath) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a == b)
    }

    pub fn starts_with(&self, prefix: &ScopePath) -> bool {
        self.0.starts_with(&prefix.0)
    }
}

impl fmt::Display for ScopePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|index| write!(formatter, "[{index}]"))
    }
}

/// A check in one scope, by the check's name: what the journal and people call a location in a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ScopedCheck {
    pub check: String,
    #[serde(default, skip_serializing_if = "ScopePath::is_root")]
    pub scope: ScopePath,
}

impl ScopedCheck {
    pub fn new(check: &str, scope: &ScopePath) -> ScopedCheck {
        ScopedCheck { check: check.to_owned(), scope: scope.clone() }
    }
}

impl fmt::Display for ScopedCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.check, self.scope)
    }
}

/// One step of a scope, with its parent's name, as people read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeStep {
    pub check: String,
    pub index: u32,
}

impl CheckIndex {
    pub fn place(self) -> usize {
        self.0 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids_sort_by_their_start() {
        let early = RunId::new(1_000, u64::MAX);
        let late = RunId::new(1_001, 0);
        assert!(early < late);
        assert_eq!(early.as_str().len(), 22);
    }

    #[test]
    fn paths_touch_when_one_leads_to_the_other() {
        let item = ScopePath::new(vec![2]);
        assert!(item.touches(&ScopePath::root()));
        assert!(item.touches(&item.child(4)));
        assert!(!item.touches(&ScopePath::new(vec![3])));
    }
}
