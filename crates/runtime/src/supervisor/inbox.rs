//! Notices letters that other processes have put into the inbox of a run.

use std::sync::Arc;
use std::time::Duration;

use escrow_model::RunId;
use escrow_store::{Keeper, Sent, StoreError, Watch};
use tokio::time::Instant;

/// A letter is noticed within this time; looking costs a few microseconds.
const INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct Inbox {
    store: Arc<dyn Keeper>,
    run: RunId,
    watch: Watch,
    /// When to look next. Kept here, because whoever waits is interrupted all the time in a busy run.
    look_at: Instant,
}

impl Inbox {
    pub(super) fn new(store: Arc<dyn Keeper>, run: RunId) -> Inbox {
        // What lay there when the drive began has been opened; a short run never looks again.
        Inbox { store, run, watch: Watch::new(), look_at: Instant::now() + INTERVAL }
    }

    /// Resolves when there are letters that nobody has opened. Safe to drop and call again.
    pub(super) async fn next(&mut self) -> Result<Vec<Sent>, StoreError> {
        loop {
            tokio::time::sleep_until(self.look_at).await;
            self.look_at = Instant::now() + INTERVAL;
            if self.watch.changed(self.store.as_ref())? {
                let letters = self.store.unopened(&self.run)?;
                if !letters.is_empty() {
                    return Ok(letters);
                }
            }
        }
    }
}
