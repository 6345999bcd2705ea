//! Headers that frame an HTTP message or name its host.

/// A second opinion on the length of a body, or on the host, would be read differently by different servers.
const TRANSPORT: &[&str] = &[
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "upgrade",
    "te",
    "trailer",
    "expect",
];

/// Whether a header follows from the request, so that an author must not set it.
pub fn is_of_transport(name: &str) -> bool {
    TRANSPORT.iter().any(|known| name.trim().eq_ignore_ascii_case(known))
}
