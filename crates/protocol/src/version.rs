//! The versions of the wire, and which one an envelope speaks.
//!
//! **Invariant:** an envelope chooses its version by its own `schema_version`, everything inside it must carry
//! the same string, and the answer carries it too. Versions are never mixed and never upgraded on the way.

use std::fmt;

use crate::validation::ValidationError;

/// A version of the wire that is understood here, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WireVersion {
    V0_2,
    V0_3,
    V0_4,
}

/// The version spoken when nobody chose one, and the one named as expected when the choice is unknown.
pub const CURRENT: WireVersion = WireVersion::V0_4;

impl WireVersion {
    pub const ALL: &'static [Self] = &[Self::V0_2, Self::V0_3, Self::V0_4];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V0_2 => "lifeloop.v0.2",
            Self::V0_3 => "lifeloop.v0.3",
            Self::V0_4 => "lifeloop.v0.4",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|version| version.as_str() == text)
    }

    /// The version an outermost envelope chose, or the mismatch it is told about.
    pub fn chosen_by(schema_version: &str) -> Result<Self, ValidationError> {
        Self::parse(schema_version).ok_or_else(|| mismatch(CURRENT, schema_version))
    }

    /// Holds an inner envelope to the version its outer envelope chose.
    pub fn require(self, schema_version: &str) -> Result<(), ValidationError> {
        if schema_version == self.as_str() { Ok(()) } else { Err(mismatch(self, schema_version)) }
    }

    /// Whether this version's rules refuse the empty digests, messages and receipt identities, and the receipts
    /// that are their own parent, which earlier versions let pass. What was legal in its version stays legal.
    pub const fn refuses_empty_details(self) -> bool {
        match self {
            Self::V0_2 | Self::V0_3 => false,
            Self::V0_4 => true,
        }
    }

    /// Whether evidence of a manifest has to say something.
    pub const fn refuses_empty_evidence(self) -> bool {
        match self {
            Self::V0_2 => false,
            Self::V0_3 | Self::V0_4 => true,
        }
    }
}

impl fmt::Display for WireVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

fn mismatch(expected: WireVersion, found: &str) -> ValidationError {
    ValidationError::SchemaVersionMismatch { expected: expected.as_str().to_owned(), found: found.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{CURRENT, WireVersion};

    #[test]
    fn every_version_is_read_back_from_its_name() {
        for &version in WireVersion::ALL {
            assert_eq!(WireVersion::parse(version.as_str()), Some(version));
        }
        assert_eq!(WireVersion::ALL.last(), Some(&CURRENT));
    }

    #[test]
    fn an_unknown_version_is_told_the_current_one() {
        let message = WireVersion::chosen_by("lifeloop.v9").expect_err("unknown").to_string();
        assert_eq!(message, "schema_version mismatch: expected `lifeloop.v0.4`, found `lifeloop.v9`");
    }
}
