//! Errors and redirects as responses.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::response::{IntoResponse, Response};
use escrow_app::{Class, Error, Kind};
use maud::{Markup, html};
use serde_json::Value;

use crate::layout;
use crate::studio::Studio;
use crate::view::encoded;

/// The status that fits an error: by its kind and class, never by its words.
pub(crate) fn status_of(error: &Error) -> StatusCode {
    match error.kind() {
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::Forbidden => StatusCode::FORBIDDEN,
        Kind::Gone => StatusCode::GONE,
        Kind::Held | Kind::Conflict => StatusCode::CONFLICT,
        Kind::Other => match error.class() {
            Class::Author => StatusCode::BAD_REQUEST,
            Class::Person => StatusCode::CONFLICT,
            Class::World | Class::Stopped => StatusCode::SERVICE_UNAVAILABLE,
            Class::Bug => StatusCode::INTERNAL_SERVER_ERROR,
        },
    }
}

pub(crate) fn failure(status: StatusCode, error: &Error, as_page: bool) -> Response {
    if as_page { failed_page(status, error, None) } else { (status, json(&error.document())).into_response() }
}

/// A page that says what was not done, with a link to the run that it was about.
pub(crate) fn failed_page(status: StatusCode, error: &Error, run: Option<&str>) -> Response {
    (status, layout::failed("Not done", &explained(error, run))).into_response()
}

/// An error where a page would be.
fn explained(error: &Error, run: Option<&str>) -> Markup {
    html! {
        div.hello {
            h1 { (layout::ticked(&error.to_string())) }
            @if let Some(help) = error.hint() { p { (layout::ticked(help)) } }
            p.small.dim { span.code { (error.code()) } }
            @if let Some(run) = run { p { a.btn.primary href={ "/runs/" (encoded(run)) } { "To the run" } } }
        }
    }
}

/// Asks for a token, where one is needed.
pub(crate) fn sign_in(studio: &Studio, status: StatusCode) -> Response {
    let content = html! {
        div.hello {
            h1 { "Studio of " (studio.project) " needs a token" }
            p { "A token is made on the machine that Studio runs on, and shown once:" }
            code.cmd { "escrow studio token add NAME --role read" }
            form.field method="post" action="/sign-in" {
                label for="token" { "Token" }
                input id="token" name="token" type="text" autocomplete="off" required;
                div.btns { button.btn.primary { "Sign in" } }
            }
        }
    };
    (status, layout::bare("Sign in", &content)).into_response()
}

/// A document, as the command line prints it.
pub(crate) fn json(document: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], document.to_string()).into_response()
}

/// To a page of this server, after a form was accepted.
pub(crate) fn see(path: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, path)]).into_response()
}

/// The fields of a query, as they stand there.
pub(crate) fn pairs(encoded: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(encoded.as_bytes()).into_owned().collect()
}

/// The fields of a query or a form. Of two with the same name, the last one counts.
pub(crate) fn fields(encoded: &str) -> BTreeMap<String, String> {
    form_urlencoded::parse(encoded.as_bytes()).into_owned().collect()
}

/// Why a page cannot be shown.
pub(crate) struct PageError(pub(crate) Error);

/// Why the API cannot answer.
pub(crate) struct ApiError(pub(crate) Error);

impl<E: Into<Error>> From<E> for PageError {
    fn from(error: E) -> PageError {
        PageError(error.into())
    }
}

impl<E: Into<Error>> From<E> for ApiError {
    fn from(error: E) -> ApiError {
        ApiError(error.into())
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        failure(status_of(&self.0), &self.0, true)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        failure(status_of(&self.0), &self.0, false)
    }
}
