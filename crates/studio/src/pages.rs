//! The pages. Each is rendered on the server and readable without script.

pub(crate) mod approvals;
pub(crate) mod attention;
pub(crate) mod effects;
pub(crate) mod invocations;
pub(crate) mod lifecycle;
pub(crate) mod outcomes;
pub(crate) mod run;
pub(crate) mod runs;

use axum::http::StatusCode;
use axum::response::Response;
use escrow_app::Error;

use crate::answer;

pub(crate) fn not_found() -> Response {
    let error = Error::author("unknown_page", "there is no such page").help("the navigation lists them all");
    answer::failure(StatusCode::NOT_FOUND, &error, true)
}
