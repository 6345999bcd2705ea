//! Guards every route: identifies the visitor, checks the role, and refuses requests that another site forged.
//!
//! ```text
//!   limits ─▶ host ─▶ visitor (token, or the person of this machine) ─▶ role ─▶ origin and form token ─▶ handler
//! ```
//!
//! **Invariant:** a request that changes something is either sent with a token in its `Authorization` header, which no
//! page of another site can add, or by a form of ours: same origin, our cookie, and the field that belongs to it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HeaderName,
    HeaderValue, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use escrow_app::tokens::{self, Role, Token};
use escrow_app::{Error, Peer, tokens::random_text};
use serde_json::Value;

use crate::answer;
use crate::host;
use crate::routes::Access;
use crate::studio::Studio;
use crate::view::Theme;
use crate::visitor::Visitor;

/// Bytes of a posted form or document.
const BODY_BYTES_MAX: usize = 256 * 1024;

const SESSION_COOKIE: &str = "escrow_session";
pub(crate) const TOKEN_COOKIE: &str = "escrow_token";

/// Nothing inline runs, nothing is loaded from elsewhere, and no other site frames a page.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The fields of a form, or of a JSON object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Posted {
    fields: BTreeMap<String, String>,
    /// A program is answered with a document, a form with a page.
    pub(crate) is_document: bool,
}

impl Posted {
    /// A field that is there and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

pub(crate) async fn guard(
    State((studio, access)): State<(Arc<Studio>, Access)>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let wants_page = wants_page(request.headers());
    let is_page_request = request.method() == Method::GET && wants_page;
    let (session, is_new) = session(request.headers());
    let theme = is_page_request.then(|| theme_cookie(request.uri().query().unwrap_or_default())).flatten();
    let mut response = match admit(&studio, access, peer, request, &session).await {
        Ok(request) => next.run(request).await,
        Err(refused) => refused.answer(&studio, wants_page),
    };
    if is_new && is_page_request {
        let cookie = format!("{SESSION_COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict");
        if let Ok(value) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(SET_COOKIE, value);
        }
    }
    if let Some(value) = theme.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
        response.headers_mut().append(SET_COOKIE, value);
    }
    harden(response.headers_mut());
    response
}

/// `?theme=dark` holds for every page from then on; `?theme=system` forgets it.
fn theme_cookie(query: &str) -> Option<String> {
    const YEAR_S: u32 = 31_536_000;
    let asked = answer::fields(query).remove(Theme::COOKIE)?;
    let (word, age_s) = match (Theme::parse(&asked), asked.as_str()) {
        (Some(theme), _) => (theme.as_str(), YEAR_S),
        (None, "system") => ("", 0),
        (None, _) => return None,
    };
    Some(format!("{}={word}; Path=/; Max-Age={age_s}; SameSite=Strict; HttpOnly", Theme::COOKIE))
}

/// Headers that a handler has set stay.
fn harden(headers: &mut HeaderMap) {
    let defaults: [(HeaderName, &'static str); 6] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "same-origin"),
        (CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in defaults {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// Why a request does not reach its handler.
pub(crate) enum Refused {
    TooMany,
    /// The name in `Host` is not ours.
    Host,
    /// A token is needed, and there is none, or an unknown one.
    NoToken,
    Role {
        needed: Role,
    },
    /// It was not sent by a form of ours.
    Forged(&'static str),
    TooLarge,
    Malformed(String),
    Failed(Error),
}

impl Refused {
    fn answer(self, studio: &Studio, wants_page: bool) -> Response {
        let (status, error) = match self {
            Refused::TooMany => {
                (StatusCode::TOO_MANY_REQUESTS, Error::person("too_many", "too many requests").help("wait a while"))
            }
            Refused::Host => (
                StatusCode::MISDIRECTED_REQUEST,
                Error::author("host", "the request names a host that is not this one")
                    .help("open Studio by the address that `escrow studio` prints"),
            ),
            Refused::NoToken if wants_page => return answer::sign_in(studio, StatusCode::UNAUTHORIZED),
            Refused::NoToken => (
                StatusCode::UNAUTHORIZED,
                Error::person("token", "a token is needed")
                    .help("`escrow studio token add NAME --role read` makes one; send it as `Authorization: Bearer`"),
            ),
            Refused::Role { needed } => (
                StatusCode::FORBIDDEN,
                Error::person("role", format!("this needs a token with the role `{}`", needed.as_str())),
            ),
            Refused::Forged(why) => (
                StatusCode::FORBIDDEN,
                Error::person("forged", why).help("load the page again, then repeat what you did"),
            ),
            Refused::TooLarge => {
                (StatusCode::PAYLOAD_TOO_LARGE, Error::author("too_large", "more than 256 KB were sent"))
            }
            Refused::Malformed(why) => (StatusCode::BAD_REQUEST, Error::author("malformed", why)),
            Refused::Failed(error) => (answer::status_of(&error), error),
        };
        answer::failure(status, &error, wants_page)
    }
}

/// The request with its visitor, and with the fields of its body if it has one.
async fn admit(
    studio: &Arc<Studio>,
    access: Access,
    peer: SocketAddr,
    mut request: Request,
    session: &str,
) -> Result<Request, Refused> {
    let is_local = studio.settings.is_local();
    if !is_local && (studio.refusals.is_spent(peer.ip()) || !studio.requests.admits(peer.ip())) {
        return Err(Refused::TooMany);
    }
    let needed = match access {
        // Its handler verifies the sender, and needs the body as it came.
        Access::Own => return Ok(request),
        Access::Open => None,
        Access::Role(role) => Some(role),
    };
    let host = host::of(request.headers()).ok_or(Refused::Host)?;
    if is_local && !host::is_local(host) {
        return Err(Refused::Host);
    }
    let (token, is_bearer) = match bearer(request.headers()) {
        Some(text) => (Some(text), true),
        None => (cookie(request.headers(), TOKEN_COOKIE), false),
    };
    let found = match &token {
        Some(text) => tokens::find(studio.app.state(), text).map_err(Refused::Failed)?,
        None => None,
    };
    let form_token = studio.form_token(session);
    // Only who may act as this user needs to be known by more than a token. Reading the tables of the system takes longer
    // for the processes of a connection, so that is left to requests that change something.
    let owner = (is_local && found.is_none()).then(|| Peer::of(peer, studio.port));
    let is_change = request.method() == Method::POST;
    let runs_around = owner.filter(|_| is_change).map(Peer::runs_around).unwrap_or_default();
    let visitor = match (found, is_bearer) {
        (Some(Token { name, role, .. }), _) => Some(Visitor {
            actor: format!("token:{name}"),
            role,
            form_token: form_token.clone(),
            runs_around,
        }),
        // A token that is given must be valid, wherever it comes from.
        (None, true) => None,
        (None, false) if owner.is_some_and(Peer::is_own) => {
            let actor = studio.app.actor().unwrap_or_else(|| "os:unknown".to_owned());
            Some(Visitor { actor, role: Role::Admin, form_token: form_token.clone(), runs_around })
        }
        (None, false) => None,
    };
    match (visitor, needed) {
        (None, Some(_)) => {
            if !is_local {
                studio.refusals.admits(peer.ip());
            }
            return Err(Refused::NoToken);
        }
        (Some(visitor), Some(needed)) if !visitor.may(needed) => return Err(Refused::Role { needed }),
        (Some(visitor), _) => drop(request.extensions_mut().insert(visitor)),
        (None, None) => {}
    }
    if request.method() != Method::POST {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    if !is_bearer && !host::is_own_origin(&parts.headers) {
        return Err(Refused::Forged("the request does not come from a page of this server"));
    }
    let posted = read(&parts.headers, body).await?;
    let header = parts.headers.get("x-csrf-token").and_then(|value| value.to_str().ok());
    let sent = posted.get("csrf").or(header).unwrap_or_default();
    // Digests are compared, so the time that it takes tells nothing about the token.
    if !is_bearer && needed.is_some() && tokens::digest(sent) != tokens::digest(&form_token) {
        return Err(Refused::Forged("the form is out of date, or was not made by this server"));
    }
    let mut request = Request::from_parts(parts, Body::empty());
    request.extensions_mut().insert(posted);
    Ok(request)
}

async fn read(headers: &HeaderMap, body: Body) -> Result<Posted, Refused> {
    let bytes = to_bytes(body, BODY_BYTES_MAX).await.map_err(|_| Refused::TooLarge)?;
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let content_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let malformed = |why: &str| Refused::Malformed(why.to_owned());
    match content_type.as_str() {
        "application/json" => {
            let object: BTreeMap<String, Value> = serde_json::from_slice(&bytes)
                .map_err(|error| Refused::Malformed(format!("the body is not a JSON object: {error}")))?;
            let mut fields = BTreeMap::new();
            for (name, value) in object {
                let text = match value {
                    Value::Null => continue,
                    Value::String(text) => text,
                    Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                        value.to_string()
                    }
                };
                fields.insert(name, text);
            }
            Ok(Posted { fields, is_document: true })
        }
        "application/x-www-form-urlencoded" => {
            let text = std::str::from_utf8(&bytes).map_err(|_| malformed("the form is not UTF-8"))?;
            Ok(Posted { fields: answer::fields(text), is_document: !wants_page(headers) })
        }
        "" if bytes.is_empty() => Ok(Posted { fields: BTreeMap::new(), is_document: true }),
        _ => Err(malformed("the body must be a form or JSON")),
    }
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

pub(crate) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

/// The session of the cookie, or a new one.
fn session(headers: &HeaderMap) -> (String, bool) {
    match cookie(headers, SESSION_COOKIE) {
        Some(session) if !session.is_empty() => (session, false),
        // Without random numbers no form can be sent, and every page can be read.
        Some(_) | None => (random_text().unwrap_or_default(), true),
    }
}

/// A browser that navigates, and not a program.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"))
}
