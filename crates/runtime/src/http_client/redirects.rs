//! Follows redirects, and keeps secrets with the origin that they were meant for.

use std::time::{Duration, Instant};

use ureq::http::Uri;

use std::sync::Arc;

use super::witness::Progress;
use super::{Body, Call, CallError, Header, Method, Problem, Reply, exchange};

/// One request of a call.
pub(super) struct Hop {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: Vec<Header>,
    pub(super) body: Option<Body>,
    pub(super) time_left: Duration,
}

pub(super) fn follow(call: &Call, progress: &Arc<Progress>) -> Result<Reply, CallError> {
    let until = Instant::now() + call.timeout;
    let uri = parse(&call.url).map_err(|why| progress.error(Problem::Request, why))?;
    let mut hop = Hop {
        method: call.method,
        uri,
        headers: call.headers.clone(),
        body: call.body.clone(),
        time_left: call.timeout,
    };
    let mut redirects = 0;
    loop {
        hop.time_left = until.saturating_duration_since(Instant::now());
        let mut reply = exchange::exchange(call, &hop, progress)?;
        reply.redirects = redirects;
        let (301..=303 | 307 | 308, Some(location)) = (reply.status, reply.header("location")) else {
            return Ok(reply);
        };
        if call.redirects_max == 0 {
            return Ok(reply);
        }
        if redirects == call.redirects_max {
            let message = format!("more than {} redirects", call.redirects_max);
            return Err(progress.error(Problem::Redirect, message));
        }
        redirects += 1;
        hop = next(hop, reply.status, location).map_err(|why| progress.error(Problem::Redirect, why))?;
    }
}

fn next(hop: Hop, status: u16, location: &str) -> Result<Hop, String> {
    let uri = parse(&joined(&hop.uri, location)).map_err(|why| format!("redirected, but {why}"))?;
    let Hop { mut method, mut headers, mut body, time_left, uri: before } = hop;
    let becomes_get =
        status == 303 && method != Method::Head || matches!(status, 301 | 302) && method == Method::Post;
    if becomes_get {
        method = Method::Get;
        body = None;
        headers.retain(|header| !header.name.to_ascii_lowercase().starts_with("content-"));
    }
    if origin(&uri) != origin(&before) {
        if body.as_ref().is_some_and(|body| body.has_secret) {
            return Err(format!("redirected to {}, which must not get the secret of the body", shown(&uri)));
        }
        headers.retain(|header| !header.has_secret && !is_credential(&header.name));
    }
    Ok(Hop { method, uri, headers, body, time_left })
}

fn is_credential(name: &str) -> bool {
    ["authorization", "cookie", "proxy-authorization"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// An `http` or `https` URL with a host and without a user.
pub(super) fn parse(url: &str) -> Result<Uri, String> {
    let uri: Uri = url.parse().map_err(|_| "the URL is not valid".to_owned())?;
    match (uri.scheme_str(), uri.authority()) {
        (Some("http" | "https"), Some(authority)) if authority.as_str().contains('@') => {
            Err("the URL contains a user: write the header `Authorization` instead".into())
        }
        (Some("http" | "https"), Some(authority)) if !authority.host().is_empty() => Ok(uri),
        (Some("http" | "https"), _) => Err("the URL has no host".into()),
        (_, _) => Err("the URL begins neither with `http://` nor with `https://`".into()),
    }
}

/// Scheme, host and port.
fn origin(uri: &Uri) -> (String, String, u16) {
    let scheme = uri.scheme_str().unwrap_or_default();
    let port = uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
    (scheme.to_owned(), uri.host().unwrap_or_default().to_ascii_lowercase(), port)
}

fn shown(uri: &Uri) -> String {
    format!("{}://{}", uri.scheme_str().unwrap_or_default(), uri.host().unwrap_or_default())
}

/// A `Location`, relative to the URL that answered with it.
fn joined(base: &Uri, location: &str) -> String {
    let location = location.split('#').next().unwrap_or_default();
    let scheme = base.scheme_str().unwrap_or_default();
    let authority = base.authority().map(|authority| authority.as_str()).unwrap_or_default();
    if location.contains("://") && !location.starts_with(['/', '?']) {
        return location.to_owned();
    }
    if let Some(rest) = location.strip_prefix("//") {
        return format!("{scheme}://{rest}");
    }
    if location.starts_with('/') {
        return format!("{scheme}://{authority}{location}");
    }
    if location.starts_with('?') {
        return format!("{scheme}://{authority}{}{location}", base.path());
    }
    let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{scheme}://{authority}{folder}/{location}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(method: Method, has_secret: bool) -> Hop {
        let header = |name: &str, has_secret| Header { name: name.into(), value: "x".into(), has_secret };
        Hop {
            method,
            uri: "https://a.example/x/y?z".parse().unwrap(),
            headers: vec![
                header("X-Key", true),
                header("Authorization", false),
                header("Accept", false),
                header("Content-Type", false),
            ],
            body: Some(Body { bytes: Arc::new(b"b".to_vec()), has_secret }),
            time_left: Duration::ZERO,
        }
    }

    fn names(hop: &Hop) -> Vec<&str> {
        hop.headers.iter().map(|header| header.name.as_str()).collect()
    }

    #[test]
    fn secrets_stay_with_their_origin() {
        for elsewhere in ["https://b.example/", "http://a.example/", "https://a.example:444/", "//b.example"]
        {
            let next = next(hop(Method::Post, false), 307, elsewhere).unwrap();
            assert_eq!(names(&next), ["Accept", "Content-Type"], "{elsewhere}");
            assert!(next.body.is_some());
            assert!(super::next(hop(Method::Post, true), 308, elsewhere).is_err(), "{elsewhere}");
        }
        for here in ["/z", "z", "?z", "https://A.example:443/z"] {
            let next = next(hop(Method::Post, true), 307, here).unwrap();
            assert_eq!(names(&next).len(), 4, "{here}");
        }
    }

    #[test]
    fn a_redirect_after_a_post_is_a_get_without_its_body() {
        for (method, status, becomes) in [
            (Method::Post, 301, Method::Get),
            (Method::Post, 302, Method::Get),
            (Method::Put, 303, Method::Get),
            (Method::Put, 302, Method::Put),
            (Method::Post, 307, Method::Post),
            (Method::Head, 303, Method::Head),
        ] {
            let next = next(hop(method, false), status, "/z").unwrap();
            assert_eq!(next.method, becomes, "{status}");
            assert_eq!(next.body.is_none(), becomes == Method::Get, "{status}");
        }
    }

    #[test]
    fn locations_are_relative_to_the_url_that_redirects() {
        for (location, url) in [
            ("/z", "https://a.example/z"),
            ("z#f", "https://a.example/x/z"),
            ("?q", "https://a.example/x/y?q"),
            ("//b.example/z", "https://b.example/z"),
            ("http://c.example", "http://c.example/"),
        ] {
            assert_eq!(next(hop(Method::Get, false), 302, location).unwrap().uri, url, "{location}");
        }
        for location in ["file:///etc/passwd", "ftp://a.example/", "https://", "https://u:p@a.example/"] {
            assert!(next(hop(Method::Get, false), 302, location).is_err(), "{location}");
        }
    }
}
