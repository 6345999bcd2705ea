//! Notices messages that other processes have put into the inbox of a run.

use std::sync::Arc;
use std::time::Duration;

use escrow_model::RunId;
use escrow_store::{Journal, Sent, StoreError, Watch};
use tokio::time::Instant;

/// A message is noticed within this time; looking costs a few microseconds.
const INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct Inbox {
    store: Arc<dyn Journal>,
    run: RunId,
    watch: Watch,
    /// When to look next. Kept here, because whoever waits is interrupted all the time in a busy run.
    look_at: Instant,
}

impl Inbox {
    pub(super) fn new(store: Arc<dyn Journal>, run: RunId) -> Inbox {
        // What lay there when the drive began has been opened; a short run never looks again.
        Inbox { store, run, watch: Watch::new(), look_at: Instant::now() + INTERVAL }
    }

    /// Resolves when there are messages that nobody has opened. Safe to drop and call again.
    pub(super) async fn next(&mut self) -> Result<Vec<Sent>, StoreError> {
        loop {
            tokio::time::sleep_until(self.look_at).await;
            self.look_at = Instant::now() + INTERVAL;
            if self.watch.changed(self.store.as_ref())? {
                let messages = self.store.undelivered(&self.run)?;
                if !messages.is_empty() {
                    return Ok(messages);
                }
            }
        }
    }
}
