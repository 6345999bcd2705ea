//! Compresses responses for clients that accept gzip.
//!
//! A page holds the secret of its forms beside text of others, which compression could leak to someone who makes a
//! browser repeat a request and sees the lengths. The cookies are `SameSite=Strict`, so another site's requests carry
//! no session, and each session has a secret of its own.

use std::io::Write;

use axum::body::{Body, to_bytes};
use axum::http::HeaderMap;
use axum::http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, VARY,
};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Shorter bodies fit into one packet as they are.
const BYTES_MIN: usize = 1_024;

/// Longer ones are sent as they are: they are downloads, not pages.
const BYTES_MAX: usize = 32 << 20;

/// Whether a request accepts gzip. `gzip;q=0` refuses it.
pub(crate) fn is_accepted(headers: &HeaderMap) -> bool {
    let all = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        is_gzip && !parts.any(|weight| matches!(weight, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

/// The same response, with its body compressed if it is text.
pub(crate) async fn compressed(response: Response) -> Response {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_text = kind.starts_with("text/html")
        || kind.starts_with("text/plain")
        || kind.starts_with("application/json")
        || kind.starts_with("application/x-ndjson");
    if !is_text || response.headers().contains_key(CONTENT_ENCODING) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return Response::from_parts(parts, Body::empty());
    };
    parts.headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    if !(BYTES_MIN..=BYTES_MAX).contains(&bytes.len()) {
        return Response::from_parts(parts, Body::from(bytes));
    }
    // Tables repeat themselves: the fastest level takes nine tenths off, and a page is read once.
    match gzip(&bytes, Compression::fast()) {
        Some(smaller) => {
            parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            parts.headers.remove(CONTENT_LENGTH);
            Response::from_parts(parts, Body::from(smaller))
        }
        None => Response::from_parts(parts, Body::from(bytes)),
    }
}

pub(crate) fn gzip(bytes: &[u8], level: Compression) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 6), level);
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_used_only_where_it_is_accepted() {
        let accepted = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, text.parse().expect("a header"));
            is_accepted(&headers)
        };
        assert!(accepted("gzip, deflate, br") && accepted("br;q=1.0, GZIP;q=0.5"));
        assert!(!accepted("br") && !accepted("gzip;q=0") && !accepted("identity"));
        assert!(!is_accepted(&HeaderMap::new()));
    }
}
