//! Refuses names and values in a query that a route does not know: a misspelt filter would otherwise show everything.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use escrow_app::Error;
use escrow_model::ReasonCode;

use crate::answer::{failure, pairs, status_of};
use crate::routes::{Content, Route, Verb};
use crate::view::Theme;

pub(crate) async fn known_query(
    State(route): State<&'static Route>,
    request: Request,
    next: Next,
) -> Response {
    let query = pairs(request.uri().query().unwrap_or_default());
    match refusal(route, &query) {
        Some(error) if route.verb == Verb::Get => {
            failure(status_of(&error), &error, route.content == Content::Page)
        }
        Some(_) | None => next.run(request).await,
    }
}

fn refusal(route: &Route, query: &[(String, String)]) -> Option<Error> {
    for (place, (name, value)) in query.iter().enumerate() {
        if !is_known(route, name) {
            return Some(unknown_name(route, name));
        }
        if query[..place].iter().any(|(earlier, _)| earlier == name) {
            let message = format!("`{name}` is given twice");
            return Some(Error::author("usage", message).help("give one value"));
        }
        if let Some(known) = known_values(name)
            && !known.contains(&value.as_str())
            && !is_no_filter(name, value)
        {
            let message = format!("`{name}={value}` is unknown");
            return Some(Error::author("usage", message).help(format!("one of {}", known.join(", "))));
        }
        if name == "line" && !is_line(value) {
            let message = format!("`line={value}` names no line");
            return Some(
                Error::author("usage", message).help("`L7` is a line of stdout, `E7` one of stderr"),
            );
        }
    }
    None
}

fn is_known(route: &Route, name: &str) -> bool {
    route.fields.contains(&name) || (route.content == Content::Page && name == Theme::COOKIE)
}

fn unknown_name(route: &Route, unknown: &str) -> Error {
    let error = Error::author("usage", format!("`{}` has no filter `{unknown}`", route.path));
    match route.fields {
        [] => error.help("it has none"),
        known => error.help(format!("one of {}", known.join(", "))),
    }
}

/// The values of fields that have a fixed list; of the others their handlers judge. Wherever a name is used it means the
/// same.
fn known_values(name: &str) -> Option<Vec<&'static str>> {
    Some(match name {
        "all" | "export" | "view" | "image" | "raw" | "part" | "brief" => vec!["true", "false", "1", "0"],
        Theme::COOKIE => vec!["light", "dark", "system"],
        "format" => vec!["json", "jsonl"],
        "by" => vec!["invocation", "time"],
        "reason" => ReasonCode::ALL.iter().map(|code| code.as_str()).collect(),
        _ => return None,
    })
}

/// A flag may stand alone, and forms send `any` or nothing for "no filter".
fn is_no_filter(name: &str, value: &str) -> bool {
    value.is_empty() || (value == "any" && name == "reason")
}

fn is_line(value: &str) -> bool {
    let number = value.strip_prefix(['L', 'E']);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
