//! Where in a run something happens: a check in one scope, and one attempt of it.

use std::fmt;

use escrow_model::{CheckIndex, ScopePath};

/// A check in one scope.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    pub check: CheckIndex,
    pub scope: ScopePath,
}

impl Location {
    pub fn new(check: CheckIndex, scope: ScopePath) -> Location {
        Location { check, scope }
    }

    /// The attempt with this number at this location.
    pub fn attempt(&self, number: u32) -> AttemptKey {
        AttemptKey { check: self.check, scope: self.scope.clone(), number }
    }
}

/// One attempt of a check in one scope. Numbers count from 1 and are never reused within a run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptKey {
    pub check: CheckIndex,
    pub scope: ScopePath,
    pub number: u32,
}

impl AttemptKey {
    pub fn location(&self) -> Location {
        Location { check: self.check, scope: self.scope.clone() }
    }
}

impl fmt::Debug for AttemptKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}#{}", self.check.0, self.scope, self.number)
    }
}
