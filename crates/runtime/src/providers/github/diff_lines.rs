//! Which lines of a pull request can be commented on: those that its diff shows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The lines of the new version of each file that the diff shows.
pub(super) struct DiffLines(BTreeMap<String, BTreeSet<u64>>);

impl DiffLines {
    /// From the files of a pull request, as GitHub lists them.
    pub(super) fn of(files: &[Value]) -> DiffLines {
        let file = |file: &Value| {
            Some((file["filename"].as_str()?.to_owned(), lines(file["patch"].as_str().unwrap_or_default())))
        };
        DiffLines(files.iter().filter_map(file).collect())
    }

    pub(super) fn shows(&self, file: &str, line: u64) -> bool {
        self.0.get(file).is_some_and(|lines| lines.contains(&line))
    }
}

fn lines(patch: &str) -> BTreeSet<u64> {
    let mut shown = BTreeSet::new();
    let mut next = 0;
    for line in patch.lines() {
        if let Some(header) = line.strip_prefix("@@ ") {
            next = begin(header).unwrap_or(0);
        } else if next > 0 && !line.starts_with(['-', '\\']) {
            shown.insert(next);
            next += 1;
        }
    }
    shown
}

/// The first line of `-1,2 +3,4 @@ …`: 3.
fn begin(header: &str) -> Option<u64> {
    let (_, rest) = header.split_once('+')?;
    rest.split([',', ' ']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_the_diff_can_be_commented_on() {
        let patch = "@@ -1,3 +1,4 @@ fn a\n one\n-two\n+zwei\n+drei\n three\n@@ -10 +11 @@\n+new\n\\ No newline at end of file";
        assert_eq!(lines(patch), BTreeSet::from([1, 2, 3, 4, 11]));
        assert!(lines("").is_empty());
        assert!(lines("@@ nonsense\n+x").is_empty());
    }
}
