//! URLs whose values cannot change their structure.
//!
//! ```text
//!   {{ base }}/repos/{{ name }}?q={{ text }}
//!      │              └─ a segment: percent-encoded, never `.` or `..`
//!      └─ the beginning: a whole URL, taken as it is
//! ```
//!
//! **Invariant:** behind the beginning a value adds no scheme, no host, no user, no segment, no parameter and no
//! fragment.

use thiserror::Error;

use crate::parts::Part;

/// Why the parts are no URL.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum UrlError {
    #[error("the value `{value}` cannot be part of a host")]
    Host { value: String },
    #[error("a value makes the path segment `{segment}`, which leads to another directory")]
    Dots { segment: String },
    #[error("the URL contains a control character or a space")]
    Control,
}

/// The text of a URL, with each value encoded for its place.
pub(crate) fn encoded(parts: &[Part]) -> Result<Vec<Part>, UrlError> {
    let mut url = String::new();
    let mut done = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let text = match part {
            Part::Written(text) => text.clone(),
            Part::Value(value) if index == 0 => begun(value),
            Part::Value(value) => match Place::after(&url) {
                Place::Authority if value.chars().all(is_of_host) => value.clone(),
                Place::Authority => return Err(UrlError::Host { value: value.clone() }),
                Place::Path | Place::Query => percent_encoded(value),
            },
        };
        url.push_str(&text);
        done.push(match part {
            Part::Written(_) => Part::Written(text),
            Part::Value(_) => Part::Value(text),
        });
    }
    if url.chars().any(|c| c.is_control() || c == ' ') {
        return Err(UrlError::Control);
    }
    match parts.iter().skip(1).any(|part| matches!(part, Part::Value(_))) {
        true => without_dots(&url).map(|()| done),
        false => Ok(done),
    }
}

/// Everything but letters, digits and `-._~` as `%XX`.
pub fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

/// A value that begins the URL is one itself. A `$` in it names no secret.
fn begun(value: &str) -> String {
    value.replace('$', "%24")
}

enum Place {
    Authority,
    Path,
    Query,
}

impl Place {
    fn after(url: &str) -> Place {
        let Some((_, rest)) = url.split_once("://") else { return Place::Authority };
        match rest.find(['/', '?', '#']) {
            None => Place::Authority,
            Some(_) if rest.contains(['?', '#']) => Place::Query,
            Some(_) => Place::Path,
        }
    }
}

fn is_of_host(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_')
}

/// Servers resolve `.` and `..` before they look at a path.
fn without_dots(url: &str) -> Result<(), UrlError> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    match path.split('/').skip(1).find(|segment| matches!(*segment, "." | "..")) {
        Some(segment) => Err(UrlError::Dots { segment: segment.to_owned() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(parts: &[Part]) -> Result<String, UrlError> {
        encoded(parts).map(|parts| parts.iter().map(Part::text).collect())
    }

    fn written(text: &str) -> Part {
        Part::Written(text.to_owned())
    }

    fn value(text: &str) -> Part {
        Part::Value(text.to_owned())
    }

    #[test]
    fn a_value_stays_in_its_segment_and_in_its_parameter() {
        let parts =
            [written("https://h/a/"), value("x/../y?z=1#f"), written("/b?q="), value("1&admin=true $T")];
        assert_eq!(url(&parts).unwrap(), "https://h/a/x%2F..%2Fy%3Fz%3D1%23f/b?q=1%26admin%3Dtrue%20%24T");
    }

    #[test]
    fn a_value_cannot_lead_to_another_host_or_directory() {
        for hostile in ["evil.example/", "a@evil.example", "evil:80", "a?b", "a#b", "a\\b"] {
            let parts = [written("https://"), value(hostile), written(".example/x")];
            assert!(matches!(url(&parts), Err(UrlError::Host { .. })), "{hostile}");
        }
        for dots in [".", ".."] {
            let parts = [written("https://h/a/"), value(dots), written("/b")];
            assert!(matches!(url(&parts), Err(UrlError::Dots { .. })), "{dots}");
        }
        let joined = [written("https://h/a/."), value("."), written("/b")];
        assert!(matches!(url(&joined), Err(UrlError::Dots { .. })));
    }

    #[test]
    fn a_value_that_begins_the_url_is_a_base() {
        let parts = [value("https://h:8080/api"), written("/x/"), value("a b")];
        assert_eq!(url(&parts).unwrap(), "https://h:8080/api/x/a%20b");
        assert_eq!(url(&[value("https://h/?t=$TOKEN")]).unwrap(), "https://h/?t=%24TOKEN");
        assert_eq!(url(&[value("https://h/\r\nx")]), Err(UrlError::Control));
    }

    #[test]
    fn a_value_behind_one_that_begins_the_url_can_be_part_of_its_host() {
        assert_eq!(url(&[value("https://h"), value("evil")]).unwrap(), "https://hevil");
        assert!(url(&[value("https://h"), value("@evil/")]).is_err());
    }
}
