//! Handlers run on threads for blocking work: reading a journal and rendering a page takes time, and neither a run nor
//! the futures over it can move between threads.

use std::pin::Pin;

use axum::response::{IntoResponse, Response};
use escrow_app::Error;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::answer::{failure, status_of};
use crate::compress::compressed;
use crate::view::View;

type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler as axum wants it. A panic is an answer with an error, and ends nothing else.
pub(crate) fn hosted<H, F>(handler: H) -> impl Fn(View) -> Answering + Clone + Send + Sync + 'static
where
    H: Fn(View) -> F + Copy + Send + Sync + 'static,
    F: Future<Output: IntoResponse>,
{
    move |view| {
        Box::pin(async move {
            let wants_page = !view.path.starts_with("/api/");
            let accepts_gzip = view.accepts_gzip;
            let here = Handle::current();
            let done = spawn_blocking(move || {
                here.block_on(async {
                    let response = handler(view).await.into_response();
                    if accepts_gzip { compressed(response).await } else { response }
                })
            })
            .await;
            done.unwrap_or_else(|_| {
                let error = Error::bug("this is a bug in Escrow: the page could not be made");
                failure(status_of(&error), &error, wants_page)
            })
        })
    }
}
