//! Artifacts of a part of a run: a nested run, an agent, an item of a fan-out. Each delivers into a folder of its
//! own, and its ids carry the folder's name.

use super::{ArtifactPath, ArtifactPathError, Count, ExpectedArtifact, Location};
use crate::ScopePath;

impl ExpectedArtifact {
    /// The same, as a part of a larger run: `report` at `report.md` of the check `review` is `review__report` at
    /// `review/report.md`.
    pub fn namespaced(&self, check: &str) -> Result<ExpectedArtifact, ArtifactPathError> {
        let folder = folder_of(check);
        Ok(ExpectedArtifact {
            id: format!("{folder}__{}", self.id),
            location: self.location.below(&folder)?,
            check: Some(check.to_owned()),
            ..self.clone()
        })
    }

    /// As one item of the check delivers it: `review__report` is `review__0__report` at `review/0/report.md`.
    pub fn in_scope(&self, scope: &ScopePath) -> ExpectedArtifact {
        let Some((folder, inner)) = self.folder().filter(|_| !scope.is_root()) else { return self.clone() };
        let indices: Vec<String> = scope.indices().iter().map(u32::to_string).collect();
        let place = format!("{folder}/{}", indices.join("/"));
        ExpectedArtifact {
            id: format!("{folder}__{}__{}", indices.join("__"), self.id[folder.len() + 2..].to_owned()),
            location: inner.below(&place).unwrap_or_else(|_| self.location.clone()),
            ..self.clone()
        }
    }

    /// Whether an id is its own, or that of one of its items.
    pub fn covers(&self, id: &str) -> bool {
        if self.id == id {
            return true;
        }
        let Some(folder) = self.check.as_deref().map(folder_of) else { return false };
        let Some(rest) = id.strip_prefix(&format!("{folder}__")) else { return false };
        let mut indices = Vec::new();
        for index in rest.split("__").map_while(|part| part.parse().ok()) {
            indices.push(index);
            if self.in_scope(&ScopePath::new(indices.clone())).id == id {
                return true;
            }
        }
        false
    }

    /// As any item may deliver it, where items are this many levels deep: for a look before they are known.
    pub fn in_any_scope(&self, depth: usize) -> ExpectedArtifact {
        let Some((folder, inner)) = self.folder().filter(|_| depth > 0) else { return self.clone() };
        let stars = vec!["*"; depth].join("/");
        let pattern = format!("{folder}/{stars}/{}", inner.as_pattern());
        ExpectedArtifact {
            location: Location::Glob { pattern, count: Count { min: 0, max: None } },
            ..self.clone()
        }
    }

    /// The folder that its check delivers into, and where it is in there.
    fn folder(&self) -> Option<(String, Location)> {
        let folder = folder_of(self.check.as_deref()?);
        if !self.id.starts_with(&format!("{folder}__")) {
            return None;
        }
        let inner = match &self.location {
            Location::Path(path) => {
                let inner = path.as_str().strip_prefix(&folder)?.strip_prefix('/')?;
                Location::Path(ArtifactPath::parse(inner).ok()?)
            }
            Location::Glob { pattern, count } => {
                let inner = pattern.strip_prefix(&folder)?.strip_prefix('/')?;
                Location::Glob { pattern: inner.to_owned(), count: *count }
            }
        };
        Some((folder, inner))
    }
}

/// The part of the artifact directory that belongs to a check, and the namespace of its ids: its name where that
/// is safe in a path, and what is nearest to it otherwise.
pub fn folder_of(check: &str) -> String {
    let is_safe = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_' | '.');
    let safe: String =
        check.chars().map(|character| if is_safe(character) { character } else { '_' }).collect();
    if safe == check && !check.starts_with('.') && check.len() <= FOLDER_BYTES_MAX {
        return safe;
    }
    // Names that are made safe alike must not share a folder.
    let salt = check.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut end = safe.len().min(FOLDER_BYTES_MAX);
    while !safe.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}-{salt:016x}", safe[..end].trim_start_matches('.'))
}

const FOLDER_BYTES_MAX: usize = 128;

/// The folder of a check in one scope, relative to the artifact directory.
pub fn folder_in_scope(check: &str, scope: &ScopePath) -> String {
    let indices: String = scope.indices().iter().map(|index| format!("/{index}")).collect();
    format!("{}{indices}", folder_of(check))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    fn report() -> ExpectedArtifact {
        ExpectedArtifact::new(
            "report",
            Location::Path(ArtifactPath::parse("out/{a}.md").expect("a good path")),
            Source::AgentProfile,
        )
    }

    #[test]
    fn a_part_of_a_run_has_its_own_folder_and_its_items_have_theirs_in_it() {
        let leg = report().namespaced("review").expect("it fits");
        assert_eq!((leg.id.as_str(), leg.location.label()), ("review__report", "review/out/{a}.md"));
        let item = leg.in_scope(&ScopePath::new(vec![2, 0]));
        assert_eq!(
            (item.id.as_str(), item.location.label()),
            ("review__2__0__report", "review/2/0/out/{a}.md")
        );
        assert_eq!(leg.in_scope(&ScopePath::root()), leg);
        assert_eq!(leg.in_any_scope(2).location.label(), "review/*/*/out/[{]a[}].md");
        let deeper = leg.namespaced("all").expect("it fits");
        assert_eq!(
            (deeper.id.as_str(), deeper.location.label()),
            ("all__review__report", "all/review/out/{a}.md")
        );
    }

    #[test]
    fn whatever_a_check_is_called_its_folder_stays_beneath() {
        assert_eq!(folder_of("post-comment.v2"), "post-comment.v2");
        let mut folders = Vec::new();
        for name in ["..", ".", "a/b", "a_b", "a\\b", "a b", "...", "x*", ".hidden", &"long".repeat(100)] {
            let folder = folder_of(name);
            assert!(ArtifactPath::parse(&folder).is_ok(), "{name} is {folder}");
            assert!(!folders.contains(&folder), "{folder} is shared");
            folders.push(folder);
        }
    }

    #[test]
    fn a_folder_that_makes_a_path_too_long_is_told() {
        let deep = Location::Path(ArtifactPath::parse(&vec!["d".repeat(200); 5].join("/")).expect("it fits"));
        let long = ExpectedArtifact { location: deep, ..report() };
        assert_eq!(long.namespaced(&"n".repeat(100)), Err(ArtifactPathError::TooLong));
    }
}
