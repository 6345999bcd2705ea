//! Finds the line of each check, for reports that point into the playbook.

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
