//! Cancels work that is under way.

use tokio::sync::watch;

/// The sending end. Dropping it cancels nothing.
#[derive(Clone, Debug)]
pub struct Canceller(watch::Sender<bool>);

/// The receiving end. Clones see the same cancellation, also one from before they were made.
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

    /// Another receiving end.
    pub fn subscribe(&self) -> Cancellation {
        Cancellation(self.0.subscribe())
    }
}

impl Cancellation {
    /// Never cancelled.
    pub fn never() -> Cancellation {
        cancellation().1
    }

    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves on cancellation, and never otherwise.
    pub async fn cancelled(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|cancelled| *cancelled).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
