//! Looks into the text of a playbook without reading it whole: its name, and the line of each check.

use std::collections::BTreeMap;

use crate::diagnostic::Diagnostics;
use crate::yaml;

/// The line of each check, starting at 1. Empty when the text is not a playbook.
pub fn check_lines(text: &str) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    let Some(root) = yaml::parse(text, &mut Diagnostics::default()) else { return lines };
    for entry in root.get("checks").and_then(|checks| checks.map()).unwrap_or_default() {
        let before = text.get(..entry.key_span.start).unwrap_or_default();
        lines.insert(entry.key.clone(), before.matches('\n').count() + 1);
    }
    lines
}

/// The `name` that a playbook gives itself. None for other files.
pub fn playbook_name(text: &str) -> Option<String> {
    let root = yaml::parse(text, &mut Diagnostics::default())?;
    let is_playbook = root.entry("checks").is_some() || root.entry("prompt").is_some();
    root.get("name").filter(|_| is_playbook)?.scalar_text().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_found_by_their_line() {
        let lines = check_lines("name: x\nchecks:\n  a: {type: noop}\n\n  b:\n    type: noop\n");
        assert_eq!(lines.into_iter().collect::<Vec<_>>(), [("a".to_owned(), 3), ("b".to_owned(), 5)]);
        assert!(check_lines("[1, 2").is_empty());
    }
}
