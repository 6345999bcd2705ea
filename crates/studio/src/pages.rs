//! The pages. Each is rendered on the server and readable without script.

pub(crate) mod approvals;
mod ask;
pub(crate) mod attention;
mod card;
pub(crate) mod chains;
mod drawing;
pub(crate) mod effects;
mod empty;
pub(crate) mod file;
pub(crate) mod invocations;
pub(crate) mod lifecycle;
pub(crate) mod log;
mod markdown;
pub(crate) mod outcomes;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod shows;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use escrow_app::Error;
use maud::{Markup, html};

use crate::answer;
use crate::layout::line;
use crate::view::View;

pub(crate) fn not_found(request: &Request) -> Response {
    if request.uri().path().starts_with("/api/") {
        let error = Error::not_found("unknown_call", "the API has no such call")
            .help("`/api/openapi.json` lists them all");
        return answer::failure(StatusCode::NOT_FOUND, &error, false);
    }
    let error =
        Error::not_found("unknown_page", "there is no such page").help("the navigation lists them all");
    answer::failure(StatusCode::NOT_FOUND, &error, true)
}

/// The field that belongs to the session of the visitor.
fn csrf(view: &View) -> Markup {
    html! { input type="hidden" name="csrf" value=(view.visitor.form_token); }
}

/// A choice of a filter. What the address has is selected, also if the list does not have it.
fn choice(view: &View, name: &str, label: &str, options: &[String]) -> Markup {
    let current = view.get(name);
    let unlisted = current.filter(|current| !options.iter().any(|option| option == current));
    html! {
        label.field {
            span { (label) }
            select name=(name) {
                option value="any" { "any" }
                @for option in options {
                    option value=(option) selected[Some(option.as_str()) == current] { (line(option)) }
                }
                @if let Some(other) = unlisted { option value=(other) selected { (line(other)) } }
            }
        }
    }
}

/// A link to the same page with five times as many rows, as far as a page may have.
fn more(view: &View, limit: usize) -> Markup {
    let next = (limit * 5).min(View::LIMIT_MAX);
    html! {
        p.small {
            @if next > limit { a href=(view.with(&[("limit", Some(next.to_string().as_str()))])) { "Show up to " (next) } }
            @else { span.dim { "There are more; narrow it down with the filters." } }
        }
    }
}

/// Spans of time that filters offer.
fn spans() -> Vec<String> {
    ["1h", "24h", "7d", "30d"].map(str::to_owned).to_vec()
}
