//! A request as handlers see it: its visitor, its parameters and its query.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use escrow_app::runs::Queries;
use escrow_app::{Error, words};
use escrow_model::Millis;

use crate::answer::{self, PageError};
use crate::compress;
use crate::guard::{self, Posted};
use crate::routes::{Access, ROUTES, Verb};
use crate::studio::Studio;
use crate::visitor::Visitor;

pub(crate) struct View {
    pub(crate) studio: Arc<Studio>,
    pub(crate) visitor: Visitor,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) theme: Option<Theme>,
    pub(crate) accepts_gzip: bool,
    /// The parts of the path that a route names.
    parameters: BTreeMap<String, String>,
    /// What was sent with a POST.
    pub(crate) posted: Posted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    Light,
    Dark,
}

impl Theme {
    /// The cookie that keeps it from page to page.
    pub(crate) const COOKIE: &'static str = "theme";

    pub(crate) fn parse(text: &str) -> Option<Theme> {
        match text {
            "light" => Some(Theme::Light),
            "dark" => Some(Theme::Dark),
            _ => None,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }
}

impl View {
    pub(crate) fn queries(&self) -> Result<Arc<dyn Queries>, Error> {
        self.studio.app.queries()
    }

    /// A part of the path; empty if the route does not name it.
    pub(crate) fn parameter(&self, name: &str) -> String {
        self.parameters.get(name).cloned().unwrap_or_default()
    }

    /// Whether the role of the visitor admits a call of the API, by its path in [`ROUTES`].
    pub(crate) fn may(&self, action: &str) -> bool {
        let route = ROUTES.iter().find(|route| route.verb == Verb::Post && route.path == action);
        route.is_some_and(|route| match route.access {
            Access::Role(role) => self.visitor.may(role),
            Access::Open | Access::Own => true,
        })
    }

    /// A field of the query that is there and not empty. `any` is what forms send for "no filter".
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str).filter(|value| !value.is_empty() && *value != "any")
    }

    /// A flag: `?all`, `?all=1` or `?all=true`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.query.get(name).is_some_and(|value| matches!(value.as_str(), "" | "1" | "true"))
    }

    pub(crate) fn number<N: FromStr>(&self, name: &str) -> Result<Option<N>, Error> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let number =
            text.parse().map_err(|_| Error::author("usage", format!("`{name}={text}` is not a number")))?;
        Ok(Some(number))
    }

    /// Rows that one answer may have.
    pub(crate) const LIMIT_MAX: usize = 10_000;

    pub(crate) fn limit(&self, default: usize) -> Result<usize, Error> {
        Ok(self.number("limit")?.unwrap_or(default).min(View::LIMIT_MAX))
    }

    /// `since=7d`, as the time of day that it means.
    pub(crate) fn since(&self) -> Result<Option<Millis>, Error> {
        self.get("since").map(words::since).transpose()
    }

    /// `true` or `false`.
    pub(crate) fn truth(&self, name: &str) -> Result<Option<bool>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => {
                Err(Error::author("usage", format!("`{name}={other}` is neither `true` nor `false`")))
            }
        }
    }

    /// The same page with other values in its query. `None` takes a field out.
    pub(crate) fn with(&self, changes: &[(&str, Option<&str>)]) -> String {
        let mut query = self.query.clone();
        for (name, value) in changes {
            match value {
                Some(value) => drop(query.insert((*name).to_owned(), (*value).to_owned())),
                None => drop(query.remove(*name)),
            }
        }
        address(&self.path, &query)
    }
}

/// One part of a path, with everything encoded that has a meaning in an address.
pub(crate) fn encoded(part: &str) -> String {
    let mut text = String::new();
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte))
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

/// A path with a query, encoded.
pub(crate) fn address(path: &str, query: &BTreeMap<String, String>) -> String {
    if query.is_empty() {
        return path.to_owned();
    }
    let encoded = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    format!("{path}?{encoded}")
}

impl FromRequestParts<Arc<Studio>> for View {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, studio: &Arc<Studio>) -> Result<View, PageError> {
        let visitor = parts.extensions.get::<Visitor>().cloned();
        let visitor = visitor.ok_or_else(|| Error::bug("a route without a visitor asks for one"))?;
        let query = answer::fields(parts.uri.query().unwrap_or_default());
        let cookie = guard::cookie(&parts.headers, Theme::COOKIE);
        let theme = match query.get("theme") {
            Some(asked) => Theme::parse(asked),
            None => cookie.as_deref().and_then(Theme::parse),
        };
        let parameters = RawPathParams::from_request_parts(parts, studio).await.ok();
        let parameters = parameters.iter().flatten().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(View {
            studio: Arc::clone(studio),
            visitor,
            path: parts.uri.path().to_owned(),
            parameters: parameters.collect(),
            posted: parts.extensions.get::<Posted>().cloned().unwrap_or_default(),
            query,
            theme,
            accepts_gzip: compress::is_accepted(&parts.headers),
        })
    }
}
