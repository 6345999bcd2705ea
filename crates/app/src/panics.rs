//! A panic as the error of the work that it happened in.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use crate::error::Error;

/// Awaits the work; if it panics, drops it, which ends the processes that it had started.
pub(crate) async fn caught<T>(mut work: Pin<Box<impl Future<Output = T> + ?Sized>>) -> Result<T, Error> {
    std::future::poll_fn(move |context| {
        // After a panic the work is dropped and never polled again, so no one sees it half changed.
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(polled) => polled.map(Ok),
            Err(panicked) => Poll::Ready(Err(bug(&*panicked))),
        }
    })
    .await
}

fn bug(panicked: &(dyn Any + Send)) -> Error {
    let literal = panicked.downcast_ref::<&str>().copied();
    let words = literal.or_else(|| panicked.downcast_ref::<String>().map(String::as_str));
    Error::bug(format!("this is a bug in Escrow: {}", words.unwrap_or("a panic without words")))
        .help("the journal contains everything up to this point; please report what led to this")
}
