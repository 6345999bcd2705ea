//! Refuses names in a query that a route does not know: a misspelt filter would otherwise show everything.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use escrow_app::Error;

use crate::answer::{failure, fields, status_of};
use crate::routes::{Content, Route, Verb};
use crate::view::Theme;

pub(crate) async fn known_query(
    State(route): State<&'static Route>,
    request: Request,
    next: Next,
) -> Response {
    let query = fields(request.uri().query().unwrap_or_default());
    match query.keys().find(|name| !is_known(route, name)) {
        Some(unknown) if route.verb == Verb::Get => {
            let error = refusal(route, unknown);
            failure(status_of(&error), &error, route.content == Content::Page)
        }
        Some(_) | None => next.run(request).await,
    }
}

fn is_known(route: &Route, name: &str) -> bool {
    route.fields.contains(&name) || (route.content == Content::Page && name == Theme::COOKIE)
}

fn refusal(route: &Route, unknown: &str) -> Error {
    let error = Error::author("usage", format!("`{}` has no filter `{unknown}`", route.path));
    match route.fields {
        [] => error.help("it has none"),
        known => error.help(format!("one of {}", known.join(", "))),
    }
}
