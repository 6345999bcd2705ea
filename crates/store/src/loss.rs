//! Entries that were committed and are no longer there.

use escrow_model::{Millis, RunId};
use serde::{Deserialize, Serialize};

/// The newest entry of all journals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalEnd {
    /// Its number among the entries of all runs.
    pub position: u64,
    pub run: RunId,
    pub seq: u64,
}

/// Entries that a process committed before it was killed, and that the next process did not find: the write-ahead log
/// was removed or cut in between, or the machine lost power before they were synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// When a process recorded the loss; absent while only readers have noticed it.
    pub noticed_at: Option<Millis>,
    /// The newest entry that is known to have been there.
    pub last: JournalEnd,
    /// The position at which the journals end instead.
    pub found: u64,
}

impl Loss {
    /// How many entries are missing at least. Removed runs leave gaps among the positions, so there may be fewer.
    pub fn entries(&self) -> u64 {
        self.last.position.saturating_sub(self.found)
    }
}
