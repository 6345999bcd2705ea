//! Looks at the artifact directory and says what is there. Judges nothing.
//!
//! ```text
//!   expected ──┬─ path ─────────────────┬─▶ open beneath ──▶ fstat, hash, parse ──▶ InspectedArtifact
//!              └─ glob ─▶ walk beneath ─┘     (one descriptor from here on)
//! ```
//!
//! **Invariant:** names are resolved by descriptor beneath the directory, never by joining text, and what is
//! measured is what was opened. So a file that is replaced by a link between two looks is either the old file
//! or refused, never something outside.
//!
//! This reads and hashes on the calling thread: a large delivery takes as long as its disk does.

mod beneath;
mod media;
mod opened;
mod reading;
mod walk;
mod writing;

use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use escrow_model::{
    ARTIFACT_TEXT_BYTES_MAX, ExpectedArtifact, InspectedArtifact, Location, Problem, Refused, SeenFile,
};
use globset::{GlobBuilder, GlobMatcher};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::cancellation::Cancellation;
use crate::redaction::Redactor;
use beneath::{Refusal, Resolver};
use reading::read;

pub use opened::{OpenedFile, open_beneath};
pub use reading::{CONTENT_BYTES_MAX, HASHED_BYTES_MAX};
pub use walk::{DEPTH_MAX, ENTRIES_MAX};
pub use writing::write_beneath;

/// How closely to options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Size, inode and change time: enough to tell later whether a file is new.
    Identity,
    /// Also the digest, and type and content where the contract asks for them.
    Full,
}

/// One sighting for each expected artifact, in their order. A directory that is not there has nothing in it.
/// `directory` is its real place: no link leads there.
pub fn inspect(directory: &Path, expected: &[ExpectedArtifact], depth: Depth) -> Vec<InspectedArtifact> {
    inspect_with(Resolver::best(), directory, expected, depth)
}

/// As `inspect` in full, and tells which files hold a secret. A large file is not read to its end when the run is
/// interrupted.
pub fn inspect_for_secrets(
    directory: &Path,
    expected: &[ExpectedArtifact],
    redactor: &Redactor,
    interruption: &Cancellation,
) -> Vec<InspectedArtifact> {
    let options = InspectionOptions { depth: Depth::Full, redactor, interruption };
    inspect_as(Resolver::best(), directory, expected, options)
}

/// How files are looked at.
#[derive(Clone, Copy)]
struct InspectionOptions<'r> {
    depth: Depth,
    /// Knows what a file must not hold.
    redactor: &'r Redactor,
    /// Ends the reading of a large file.
    interruption: &'r Cancellation,
}

fn inspect_with(
    resolver: Resolver,
    directory: &Path,
    expected: &[ExpectedArtifact],
    depth: Depth,
) -> Vec<InspectedArtifact> {
    let options =
        InspectionOptions { depth, redactor: &Redactor::none(), interruption: &Cancellation::never() };
    inspect_as(resolver, directory, expected, options)
}

fn inspect_as(
    resolver: Resolver,
    directory: &Path,
    expected: &[ExpectedArtifact],
    options: InspectionOptions<'_>,
) -> Vec<InspectedArtifact> {
    let mut inspector = match resolver.open_directory(directory) {
        Ok(root) => Inspector { resolver, root, options, buffer: Vec::new() },
        Err(error) => {
            let problem = match error {
                Errno::NOENT => None,
                Errno::LOOP => {
                    let detail = "a link stands in the way to the artifact directory".to_owned();
                    Some(Refused { problem: Problem::Outside, detail })
                }
                Errno::NOTDIR => Some(unreadable("the artifact directory is not a directory")),
                error => Some(unreadable(format!("the artifact directory cannot be read: {error}"))),
            };
            return expected.iter().map(|expected| sighting(expected, Vec::new(), problem.clone())).collect();
        }
    };
    // One walk serves every pattern.
    let wants_walk = expected.iter().any(|expected| matches!(expected.location, Location::Glob { .. }));
    let names = if wants_walk { walk::file_names(inspector.root.as_fd()) } else { Ok(BTreeSet::new()) };
    expected
        .iter()
        .map(|expected| match &expected.location {
            Location::Path(path) => inspector.at_path(expected, path.as_str()),
            Location::Glob { pattern, .. } => inspector.at_pattern(expected, pattern, &names),
        })
        .collect()
}

/// The directory that paths are resolved from. Nothing is read from this descriptor, so it need not be one to read from.
#[cfg(target_os = "linux")]
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

struct Inspector<'r> {
    resolver: Resolver,
    root: OwnedFd,
    options: InspectionOptions<'r>,
    /// Reused for every file that is read.
    buffer: Vec<u8>,
}

impl Inspector<'_> {
    fn at_path(&mut self, expected: &ExpectedArtifact, path: &str) -> InspectedArtifact {
        match self.file(expected, path) {
            Ok(file) => sighting(expected, vec![file], None),
            Err(Refusal::Absent) => sighting(expected, Vec::new(), None),
            Err(refusal) => {
                let refused = Refused { problem: refusal.problem(), detail: refusal.to_string() };
                sighting(expected, Vec::new(), Some(refused))
            }
        }
    }

    /// Matches that are not files beneath the directory do not count. If none counts, the first refusal is reported.
    fn at_pattern(
        &mut self,
        expected: &ExpectedArtifact,
        pattern: &str,
        names: &Result<BTreeSet<String>, String>,
    ) -> InspectedArtifact {
        let (matcher, names) = match (matcher(pattern), names) {
            (Ok(matcher), Ok(names)) => (matcher, names),
            (Err(problem), _) => return sighting(expected, Vec::new(), Some(unreadable(problem))),
            (_, Err(problem)) => return sighting(expected, Vec::new(), Some(unreadable(problem))),
        };
        let mut files = Vec::new();
        let mut refused = None;
        for name in names.iter().filter(|name| matcher.is_match(name)) {
            match self.file(expected, name) {
                Ok(file) => files.push(file),
                Err(Refusal::Absent) => {}
                Err(refusal) => {
                    let detail = format!("`{name}`: {refusal}");
                    refused = refused.or(Some(Refused { problem: refusal.problem(), detail }));
                }
            }
        }
        let refused = if files.is_empty() { refused } else { None };
        limit_text(&mut files);
        sighting(expected, files, refused)
    }

    fn file(&mut self, expected: &ExpectedArtifact, path: &str) -> Result<SeenFile, Refusal> {
        let file = self.resolver.open(self.root.as_fd(), path)?;
        read(file, path, expected, self.options, &mut self.buffer)
    }
}

/// Drops the text of files once those before it have used up what one artifact may bring along.
fn limit_text(files: &mut [SeenFile]) {
    let mut total = 0;
    for file in files.iter_mut().filter(|file| file.text.is_some()) {
        total += file.size;
        if total > ARTIFACT_TEXT_BYTES_MAX {
            file.text = None;
        }
    }
}

/// Whether a pattern, as in `glob`, matches paths.
pub struct PathPattern(GlobMatcher);

impl PathPattern {
    pub fn parse(pattern: &str) -> Result<PathPattern, String> {
        matcher(pattern).map(PathPattern)
    }

    pub fn matches(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| error.to_string())
}

/// The directory or pattern cannot be read at all.
fn unreadable(detail: impl Into<String>) -> Refused {
    Refused { problem: Problem::Absent, detail: detail.into() }
}

fn sighting(
    expected: &ExpectedArtifact,
    files: Vec<SeenFile>,
    refused: Option<Refused>,
) -> InspectedArtifact {
    InspectedArtifact { id: expected.id.clone(), files, refused }
}

#[cfg(test)]
#[path = "inspection/tests.rs"]
mod tests;

#[cfg(test)]
#[path = "inspection/hostile.rs"]
mod hostile;
