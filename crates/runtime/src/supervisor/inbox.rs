//! Notices messages that other processes put into the inbox of a run.

use std::sync::Arc;
use std::time::Duration;

use escrow_model::RunId;
use escrow_store::{Journal, Sent, StoreError, Watch};
use tokio::time::Instant;

/// A message is noticed within this time; a look costs a few microseconds.
const INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct Inbox {
    journal: Arc<dyn Journal>,
    run: RunId,
    watch: Watch,
    /// The time of the next look. A field, because a busy run drops the future of `next` all the time.
    look_at: Instant,
}

impl Inbox {
    pub(super) fn new(journal: Arc<dyn Journal>, run: RunId) -> Inbox {
        // The beginning of the drive has delivered earlier messages, so a short run never looks.
        Inbox { journal, run, watch: Watch::new(), look_at: Instant::now() + INTERVAL }
    }

    /// Resolves when there are undelivered messages. Cancel safe: a look that is cut short is repeated at its next turn.
    pub(super) async fn next(&mut self) -> Result<Vec<Sent>, StoreError> {
        loop {
            tokio::time::sleep_until(self.look_at).await;
            let version = self.journal.version().await?;
            let messages = if self.watch.is_new(version) {
                self.journal.undelivered(&self.run).await?
            } else {
                Vec::new()
            };
            // After the last await: a look that is dropped before counts as not taken.
            self.watch.changed(version);
            self.look_at = Instant::now() + INTERVAL;
            if !messages.is_empty() {
                return Ok(messages);
            }
        }
    }
}
