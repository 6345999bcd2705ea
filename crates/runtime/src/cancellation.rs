//! Telling work that is under way to stop.

use tokio::sync::watch;

/// The end that says stop. Dropping it says nothing: the work goes on.
#[derive(Clone, Debug)]
pub struct Canceller(watch::Sender<bool>);

/// The end that hears it; clones hear the same word, also when it was said before they were made.
#[derive(Clone, Debug)]
pub struct Cancellation(watch::Receiver<bool>);

pub fn cancellation() -> (Canceller, Cancellation) {
    let (sender, receiver) = watch::channel(false);
    (Canceller(sender), Cancellation(receiver))
}

impl Canceller {
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Another ear for the same word.
    pub fn subscribe(&self) -> Cancellation {
        Cancellation(self.0.subscribe())
    }
}

impl Cancellation {
    /// For work that nobody stops.
    pub fn never() -> Cancellation {
        cancellation().1
    }

    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when stop is said, and never otherwise.
    pub async fn cancelled(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|cancelled| *cancelled).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
