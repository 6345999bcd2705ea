//! Artifacts: what a run must deliver, what an inspection found, and how that is judged.

mod delivery;
mod namespace;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::Expression;

pub use delivery::{
    Delivery, DeliveryStatus, Expectation, MissingArtifact, Problem, ProducedArtifact, UnexpectedArtifact,
};
pub use namespace::{folder_in_scope, folder_of};

/// Everything a run must or may deliver, merged and validated before it starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArtifactContract {
    pub expected: Vec<ExpectedArtifact>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedArtifact {
    pub id: String,
    pub location: Location,
    pub required: bool,
    pub description: String,
    pub source: Source,
    /// The least size in bytes that counts as a delivery.
    pub min_size: u64,
    /// The file must have been made or changed during the run.
    pub fresh: bool,
    pub mime_type: Option<String>,
    pub schema: Option<Value>,
    /// The outcome kind that the file must parse as.
    pub kind: Option<String>,
    /// Whose entry of the same id this one has replaced.
    pub replaces: Option<Source>,
    /// The check that delivers it into a folder of its own; none for what the whole run delivers.
    pub check: Option<String>,
    /// `if`: it is expected only when this holds.
    pub condition: Option<Expression>,
    /// An expression or a template reads its content, so a look at it brings the content along.
    pub content_read: bool,
}

impl ExpectedArtifact {
    /// A required artifact that must not be empty and must be made during the run.
    pub fn new(id: impl Into<String>, location: Location, source: Source) -> ExpectedArtifact {
        ExpectedArtifact {
            id: id.into(),
            location,
            required: true,
            description: String::new(),
            source,
            min_size: 1,
            fresh: true,
            mime_type: None,
            schema: None,
            kind: None,
            replaces: None,
            check: None,
            condition: None,
            content_read: false,
        }
    }
}

/// What a run around this one has verified, for the check that nests this run. It lies in the directory of that run.
#[derive(Clone, Debug, PartialEq)]
pub struct OuterArtifact {
    pub directory: String,
    /// The check that verified it, with its item.
    pub gate: String,
    pub id: String,
    pub location: Location,
    pub files: Vec<ProducedArtifact>,
}

impl OuterArtifact {
    /// What a further look at it expects. Only the digests matter.
    pub fn expected(&self) -> ExpectedArtifact {
        ExpectedArtifact::new(&self.id, self.location.clone(), Source::Playbook)
    }

    /// Where a file of it lies.
    pub fn path_of(&self, file: &str) -> String {
        format!("{}/{file}", self.directory)
    }
}

/// Where an artifact was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Playbook,
    AgentProfile,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Playbook => "playbook",
            Source::AgentProfile => "agent_profile",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Location {
    Path(ArtifactPath),
    Glob { pattern: String, count: Count },
}

impl Location {
    /// What people see: the path or the pattern.
    pub fn label(&self) -> &str {
        match self {
            Location::Path(path) => path.as_str(),
            Location::Glob { pattern, .. } => pattern,
        }
    }

    /// The same place, seen from a directory above.
    fn below(&self, folder: &str) -> Result<Location, ArtifactPathError> {
        let whole = format!("{folder}/{}", self.label());
        match self {
            Location::Path(_) => Ok(Location::Path(ArtifactPath::parse(&whole)?)),
            Location::Glob { count, .. } => {
                ArtifactPath::check_pattern(&whole)?;
                Ok(Location::Glob { pattern: whole, count: *count })
            }
        }
    }

    /// A pattern that matches this location alone. Braces in a path are literal.
    fn as_pattern(&self) -> String {
        match self {
            Location::Path(path) => path.as_str().replace('{', "[{]").replace('}', "[}]"),
            Location::Glob { pattern, .. } => pattern.clone(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    pub min: u32,
    pub max: Option<u32>,
}

/// A path inside the run's artifact directory. `parse` is the only way to make one.
///
/// The text is checked here so that a bad playbook fails early; that no link leads out is checked again by
/// the kernel when the file is opened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArtifactPath(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ArtifactPathError {
    #[error("the path is empty")]
    Empty,
    #[error("an absolute path is not allowed")]
    Absolute,
    #[error("`..` is not allowed")]
    Parent,
    #[error("an empty or `.` segment is not allowed")]
    Segment,
    #[error("a NUL or control character is not allowed")]
    Control,
    #[error("a backslash or drive letter is not allowed")]
    Windows,
    #[error("`*`, `?`, `[` and `]` are not allowed in `path`")]
    Glob,
    #[error("the path is longer than 1024 bytes, or a segment is longer than 255")]
    TooLong,
}

impl ArtifactPath {
    pub fn parse(text: &str) -> Result<ArtifactPath, ArtifactPathError> {
        check_segments(text)?;
        if text.contains(['*', '?', '[', ']']) {
            return Err(ArtifactPathError::Glob);
        }
        Ok(ArtifactPath(text.to_owned()))
    }

    /// The same rules for a pattern, whose wildcards are allowed.
    pub fn check_pattern(text: &str) -> Result<(), ArtifactPathError> {
        check_segments(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn check_segments(text: &str) -> Result<(), ArtifactPathError> {
    if text.is_empty() {
        return Err(ArtifactPathError::Empty);
    }
    if text.starts_with('/') || text.starts_with('~') {
        return Err(ArtifactPathError::Absolute);
    }
    if text.chars().any(char::is_control) {
        return Err(ArtifactPathError::Control);
    }
    let drive = text.as_bytes().get(1) == Some(&b':') && text.as_bytes()[0].is_ascii_alphabetic();
    if drive || text.contains('\\') {
        return Err(ArtifactPathError::Windows);
    }
    if text.len() > 1024 || text.split('/').any(|segment| segment.len() > 255) {
        return Err(ArtifactPathError::TooLong);
    }
    for segment in text.split('/') {
        match segment {
            ".." => return Err(ArtifactPathError::Parent),
            "" | "." => return Err(ArtifactPathError::Segment),
            _ => {}
        }
    }
    Ok(())
}

impl TryFrom<String> for ArtifactPath {
    type Error = ArtifactPathError;

    fn try_from(text: String) -> Result<ArtifactPath, ArtifactPathError> {
        ArtifactPath::parse(&text)
    }
}

impl From<ArtifactPath> for String {
    fn from(path: ArtifactPath) -> String {
        path.0
    }
}

impl fmt::Display for ArtifactPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// One look at where an artifact should be: what was there, or why nothing counts.
#[derive(Clone, Debug, PartialEq)]
pub struct InspectedArtifact {
    pub id: String,
    pub files: Vec<SeenFile>,
    /// Set when the place could not be read as a file beneath the directory.
    pub refused: Option<Refused>,
}

/// Why a place holds nothing that can be looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    pub problem: Problem,
    pub detail: String,
}

impl Refused {
    pub fn outside(detail: impl Into<String>) -> Refused {
        Refused { problem: Problem::Outside, detail: detail.into() }
    }
}

/// A file as the inspection found it.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenFile {
    pub path: String,
    pub size: u64,
    /// Empty in the snapshot taken at the start, where only identity matters.
    pub sha256: String,
    pub inode: u64,
    /// Nanoseconds since the epoch.
    pub changed_ns: i64,
    pub mime_type: Option<String>,
    /// The parsed content, looked at only when a schema or a kind asks for it.
    pub content: Option<Value>,
    /// The way to a member of the content that is given twice.
    pub repeated_key: Option<String>,
    /// It contains a declared secret.
    pub holds_secret: bool,
    /// The content as text, when the look was to bring it along and it is UTF-8 of at most `ARTIFACT_TEXT_BYTES_MAX`.
    pub text: Option<String>,
}

/// How much content of an artifact, over all its files, expressions and templates can read.
pub const ARTIFACT_TEXT_BYTES_MAX: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_relative_paths_are_artifact_paths() {
        for good in ["review.md", "a/b/c.txt", "ünïcode.md", "with space", "..hidden", "a..b"] {
            assert!(ArtifactPath::parse(good).is_ok(), "{good}");
        }
        for (bad, error) in [
            ("", ArtifactPathError::Empty),
            ("/etc/passwd", ArtifactPathError::Absolute),
            ("~/x", ArtifactPathError::Absolute),
            ("../x", ArtifactPathError::Parent),
            ("a/../b", ArtifactPathError::Parent),
            ("a//b", ArtifactPathError::Segment),
            ("./a", ArtifactPathError::Segment),
            ("a/", ArtifactPathError::Segment),
            ("a\0b", ArtifactPathError::Control),
            ("C:evil", ArtifactPathError::Windows),
            ("a\\b", ArtifactPathError::Windows),
            ("*.md", ArtifactPathError::Glob),
        ] {
            assert_eq!(ArtifactPath::parse(bad), Err(error), "{bad:?}");
        }
    }
}
