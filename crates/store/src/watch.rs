//! Notices that some process has committed, at the cost of a microsecond or two per question.

/// Remembers the last version that its owner has seen.
#[derive(Debug, Default)]
pub struct Watch {
    seen: Option<u64>,
}

impl Watch {
    /// The first look always finds a change.
    pub fn new() -> Watch {
        Watch::default()
    }

    /// Whether `version` differs from the last one that was seen, without counting as a look.
    pub fn is_new(&self, version: u64) -> bool {
        self.seen != Some(version)
    }

    /// Whether `version` (see [`crate::Journal::version`]) differs from the one before: an entry, a message or a lease of
    /// any run was committed.
    pub fn changed(&mut self, version: u64) -> bool {
        self.seen.replace(version) != Some(version)
    }
}
