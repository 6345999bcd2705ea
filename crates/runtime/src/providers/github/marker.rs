//! Hidden markers in what Escrow writes on GitHub, by which it finds it again.

use std::fmt::Write as _;

/// The text with the effect key in an HTML comment, which GitHub does not show. A marker in the text itself, which an agent
/// may have written, is made unreadable: it would make another effect look done.
pub(super) fn signed(body: &str, key: &str) -> String {
    format!("{}\n\n{}", shortened(&unmarked(body)), of_effect(key))
}

/// GitHub refuses texts of more than 65,536 characters; the rest is for markers.
const TEXT_LENGTH_MAX: usize = 60_000;

/// The text, or its beginning with a note that the rest is missing. A review that is refused as a whole helps no one.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(TEXT_LENGTH_MAX) {
        None => text.to_owned(),
        Some((end, _)) => {
            let missing = text[end..].chars().count();
            format!("{}\n\n*Shortened: {missing} more characters do not fit.*", &text[..end])
        }
    }
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
    use super::{of_comment, shortened, signed};

    #[test]
    fn a_long_text_is_shortened_and_keeps_its_marker() {
        let long = "ä".repeat(70_000);
        let body = signed(&long, "e_1");
        assert!(body.chars().count() < 65_000 && body.ends_with("<!-- escrow:effect e_1 -->"));
        assert!(body.contains("Shortened: 10000 more characters"));
        assert_eq!(shortened("short"), "short");
    }

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
