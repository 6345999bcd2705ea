//! Whether a request is meant for this server.
//!
//! A page of another site can let its own name resolve to 127.0.0.1 and then read what is served there (DNS rebinding).
//! The name stays in the `Host` header, and is not one of ours.

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};

/// The `Host` header.
pub(crate) fn of(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    hosts.next().is_none().then_some(host)
}

/// Whether the header names this machine itself. The port may be another one: it may be forwarded.
pub(crate) fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => host.split(':').next().unwrap_or(host),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// Whether a form was sent by one of our own pages. Without an `Origin` it was not sent by a browser's form.
pub(crate) fn is_own_origin(headers: &HeaderMap) -> bool {
    let fetched = headers.get("sec-fetch-site").map(|site| site.as_bytes() == b"same-origin");
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    match (origin, of(headers)) {
        (Some(origin), Some(host)) => {
            let is_ours = ["http://", "https://"].iter().any(|scheme| {
                origin.strip_prefix(scheme).is_some_and(|rest| rest.eq_ignore_ascii_case(host))
            });
            is_ours && fetched != Some(false)
        }
        (_, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_local() {
        for host in ["127.0.0.1:7878", "localhost", "LOCALHOST:1", "[::1]:7878", "127.0.0.1"] {
            assert!(is_local(host), "{host}");
        }
        for host in
            ["evil.example:7878", "127.0.0.1.evil.example", "10.0.0.5", "", "[fe80::1]:1", "localhost.evil"]
        {
            assert!(!is_local(host), "{host}");
        }
    }
}
