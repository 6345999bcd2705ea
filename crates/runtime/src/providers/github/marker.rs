//! Hidden markers in what Escrow writes on GitHub, by which it finds it again.

use std::fmt::Write as _;

/// The text with the effect key in an HTML comment, which GitHub does not show. A marker in the text itself, which an agent
/// may have written, is made unreadable: it would make another effect look done.
pub(super) fn signed(body: &str, key: &str) -> String {
    format!("{}\n\n{}", unmarked(body), of_effect(key))
}

/// The text without a readable marker.
pub(super) fn unmarked(text: &str) -> String {
    text.replace("<!-- escrow:", "<!-- escrow :")
}

pub(super) fn of_effect(key: &str) -> String {
    format!("<!-- escrow:effect {key} -->")
}

/// Names a comment that is updated in place. Nothing in the name ends the HTML comment, and two names stay two.
pub(super) fn of_comment(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '>' | '%') || c.is_control() || (c == '-' && safe.ends_with('-')) {
            // Writing to a string cannot fail.
            let _ = write!(safe, "%{:X}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    format!("<!-- escrow:comment {safe} -->")
}

#[cfg(test)]
mod tests {
    use super::of_comment;

    #[test]
    fn two_names_are_two_markers_and_neither_ends_the_html_comment() {
        let names = ["a>", "a_", "a%3E", "a-->", "a--", "a-", "a\n", "nightly-report"];
        let markers = names.map(of_comment);
        for (index, marker) in markers.iter().enumerate() {
            assert_eq!(marker.matches("-->").count(), 1, "{marker}");
            assert!(!markers[..index].contains(marker), "{marker}");
        }
        assert_eq!(of_comment("nightly-report"), "<!-- escrow:comment nightly-report -->");
    }
}
