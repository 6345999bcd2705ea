//! The versions of the wire.
//!
//! **Invariant:** the outermost `schema_version` chooses the version. Everything inside carries the same string, and so
//! does the answer. Versions are never mixed and never upgraded.

use std::fmt;

use crate::validation::ValidationError;

/// A supported version of the wire, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WireVersion {
    V0_2,
    V0_3,
    V0_4,
}

/// The default version, and the one that errors name as expected when a document names an unknown one.
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

    /// The version that an outermost envelope names, or the mismatch.
    pub fn chosen_by(schema_version: &str) -> Result<Self, ValidationError> {
        Self::parse(schema_version).ok_or_else(|| mismatch(CURRENT, schema_version))
    }

    /// Checks the version of an inner envelope against that of the outer one.
    pub fn require(self, schema_version: &str) -> Result<(), ValidationError> {
        if schema_version == self.as_str() { Ok(()) } else { Err(mismatch(self, schema_version)) }
    }

    /// Whether this version refuses empty digests, messages and receipt ids, and receipts that are their own parent.
    /// Earlier versions accept them, and documents of those versions stay valid.
    pub(crate) const fn refuses_empty_details(self) -> bool {
        match self {
            Self::V0_2 | Self::V0_3 => false,
            Self::V0_4 => true,
        }
    }

    /// Whether evidence in a manifest must not be empty.
    pub(crate) const fn refuses_empty_evidence(self) -> bool {
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
