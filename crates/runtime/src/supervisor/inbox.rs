//! Notices letters that other processes have put into the inbox of a run.

use std::sync::Arc;
use std::time::Duration;

use escrow_model::RunId;
use escrow_store::{Sent, Store, StoreError, Watch};

/// A letter is noticed within this time; looking costs a few microseconds.
const INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct Inbox {
    store: Arc<Store>,
    run: RunId,
    watch: Watch,
    looked: bool,
}

impl Inbox {
    pub(super) fn new(store: Arc<Store>, run: RunId) -> Inbox {
        Inbox { store, run, watch: Watch::new(), looked: false }
    }

    /// Resolves when there are letters that nobody has opened. Safe to drop and call again.
    pub(super) async fn next(&mut self) -> Result<Vec<Sent>, StoreError> {
        loop {
            if self.looked {
                tokio::time::sleep(INTERVAL).await;
            }
            self.looked = true;
            if self.watch.changed(&self.store)? {
                let letters = self.store.unopened(&self.run)?;
                if !letters.is_empty() {
                    return Ok(letters);
                }
            }
        }
    }
}
