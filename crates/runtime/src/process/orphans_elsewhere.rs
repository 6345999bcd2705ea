//! Where the environment of other processes cannot be read, what a killed Escrow left running is not found.

use std::time::Duration;

/// What was found, and what could not be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orphans {
    pub met: usize,
    pub left: usize,
}

#[expect(clippy::unused_async, reason = "it is awaited where there is something to wait for")]
pub async fn end_orphans_of(_run: &str, _grace: Duration) -> Orphans {
    Orphans { met: 0, left: 0 }
}
