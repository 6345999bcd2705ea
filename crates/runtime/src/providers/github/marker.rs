//! Hidden markers in what Escrow writes on GitHub, by which it finds it again.

/// The text with the effect key in an HTML comment, which GitHub does not show. A marker in the text itself, which an agent
/// may have written, is made unreadable: it would make another effect look done.
pub(super) fn signed(body: &str, key: &str) -> String {
    format!("{}\n\n{}", body.replace("<!-- escrow:", "<!-- escrow :"), of_effect(key))
}

pub(super) fn of_effect(key: &str) -> String {
    format!("<!-- escrow:effect {key} -->")
}

/// Names a comment that is updated in place. Nothing in the name ends the HTML comment.
pub(super) fn of_comment(name: &str) -> String {
    let safe: String =
        name.chars().map(|c| if c == '-' || c == '>' || c.is_control() { '_' } else { c }).collect();
    format!("<!-- escrow:comment {safe} -->")
}
