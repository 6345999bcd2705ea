//! The clock of leases and messages. Journal entries carry their own time.

use std::time::{SystemTime, UNIX_EPOCH};

use escrow_model::Millis;

/// Milliseconds since the epoch, as this database's machine has them. A database shared by several machines
/// must use its own clock here, not theirs.
pub(crate) fn now() -> Millis {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}
