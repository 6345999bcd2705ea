//! The delivered files of a run: where they are, and their bytes as they were verified.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use escrow_engine::Run;
use escrow_model::{
    ExpectedArtifact, InspectedArtifact, MissingArtifact, ProducedArtifact, UnexpectedArtifact,
};
use escrow_runtime::inspection::{Depth, OpenedFile, PathPattern, inspect, open_beneath};

use crate::app::App;
use crate::error::Error;
use crate::runs::replay;
use crate::state::StateDirectory;

/// A shorter beginning of a digest may be a word.
const DIGEST_CHARS_MIN: usize = 8;

/// Where the files of a run are: for a run that was imported, not where they were when it ran.
pub fn directory(run: &Run, state: &StateDirectory) -> PathBuf {
    let then = PathBuf::from(&run.options().artifacts);
    if then.is_dir() { then } else { state.artifacts(&run.options().run) }
}

/// Opens a delivered file, through no link that leads out of the directory.
pub fn open(directory: &Path, path: &str) -> Result<OpenedFile, Error> {
    let place = || directory.join(path).display().to_string();
    match open_beneath(directory, path) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(Error::gone(format!("`{}` no longer exists", place()))),
        Err(problem) => Err(Error::world("unreadable", format!("`{}`: {problem}", place()))),
    }
}

/// What became of a file since it was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinceVerified {
    Unchanged,
    Changed,
    Gone,
    /// There, with its size, and larger than what the caller wanted to have read.
    NotCompared,
}

impl SinceVerified {
    pub fn as_str(self) -> &'static str {
        match self {
            SinceVerified::Unchanged => "unchanged",
            SinceVerified::Changed => "changed",
            SinceVerified::Gone => "gone",
            SinceVerified::NotCompared => "not_compared",
        }
    }
}

/// Looks at a delivered file as it is now. Takes what it reads from `bytes_left`.
pub fn since_verified(directory: &Path, file: &ProducedArtifact, bytes_left: &mut u64) -> SinceVerified {
    let Ok(mut opened) = open(directory, &file.path) else { return SinceVerified::Gone };
    match opened.size() {
        Ok(size) if size != file.size => return SinceVerified::Changed,
        Ok(size) if size > *bytes_left => return SinceVerified::NotCompared,
        Ok(size) => *bytes_left -= size,
        Err(_) => return SinceVerified::Changed,
    }
    match opened.copy(&mut io::sink()) {
        Ok((_, digest)) if digest == file.sha256 => SinceVerified::Unchanged,
        Ok(_) | Err(_) => SinceVerified::Changed,
    }
}

/// One artifact that the playbook promises, beside what was observed of it.
#[derive(Debug)]
pub struct PromisedArtifact {
    pub expected: ExpectedArtifact,
    pub observed: Observed,
}

#[derive(Debug)]
pub enum Observed {
    Delivered(Vec<ProducedArtifact>),
    Missing(MissingArtifact),
    /// Its `if` does not hold.
    NotExpected(UnexpectedArtifact),
    /// Its check did not run, so it was not owed.
    NotOwed,
    /// The run has not ended. What lies there by now may still change.
    Pending(InspectedArtifact),
}

impl PromisedArtifact {
    /// Whether the run fails without it.
    pub fn is_owed(&self) -> bool {
        match self.observed {
            Observed::Delivered(_) | Observed::Missing(_) | Observed::Pending(_) => self.expected.required,
            Observed::NotExpected(_) | Observed::NotOwed => false,
        }
    }
}

/// Every artifact that the playbook promises. Those of a check with items are listed by item once the run has ended.
pub fn promised(run: &Run, directory: &Path) -> Vec<PromisedArtifact> {
    let written = &run.plan_of().artifacts.expected;
    let Some(delivery) = run.delivery() else {
        let plan = run.plan_of();
        // Which items there will be is not known yet.
        let depth = |one: &ExpectedArtifact| {
            let check = one.check.as_deref().and_then(|check| plan.find(check));
            check.map_or(0, |check| plan.check(check).fan.len())
        };
        let anywhere: Vec<ExpectedArtifact> =
            written.iter().map(|one| one.in_any_scope(depth(one))).collect();
        let place = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let seen = inspect(&place, &anywhere, Depth::Identity);
        let pending = |(expected, seen): (&ExpectedArtifact, InspectedArtifact)| PromisedArtifact {
            expected: expected.clone(),
            observed: Observed::Pending(seen),
        };
        return written.iter().zip(seen).map(pending).collect();
    };
    let observed = |expected: &ExpectedArtifact| {
        if let Some(missing) = delivery.missing(&expected.id) {
            return Observed::Missing(missing.clone());
        }
        if let Some(one) = delivery.not_expected.iter().find(|one| one.id == expected.id) {
            return Observed::NotExpected(one.clone());
        }
        let files = delivery.produced.iter().filter(|file| file.id == expected.id);
        Observed::Delivered(files.cloned().collect())
    };
    let owed = run.expected_artifacts();
    let mut all = Vec::new();
    for expected in written {
        let before = all.len();
        for one in owed.iter().filter(|one| expected.covers(&one.id)) {
            all.push(PromisedArtifact { expected: one.clone(), observed: observed(one) });
        }
        if all.len() == before {
            all.push(PromisedArtifact { expected: expected.clone(), observed: Observed::NotOwed });
        }
    }
    all
}

/// Whether a file that changed since it was verified is fetched all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfChanged {
    Refuse,
    Fetch,
}

/// A delivered file, open, with the digest that it has now.
pub struct FetchedArtifact {
    pub artifact: ProducedArtifact,
    pub sha256: String,
    file: OpenedFile,
}

/// Delivered files by their id, their path, a pattern of paths, or the beginning of their digest. Several only by a pattern.
pub async fn fetch(
    app: &App,
    run: &str,
    wanted: &str,
    if_changed: IfChanged,
) -> Result<Vec<FetchedArtifact>, Error> {
    let queries = app.queries()?;
    let run = replay(&*queries, &queries.run(run).await?).await?;
    let artifacts = match find(&run, wanted)? {
        Some(artifact) => vec![artifact],
        None => matching(&run, wanted)?,
    };
    artifacts.into_iter().map(|artifact| open_verified(&run, artifact, app, if_changed)).collect()
}

/// The files whose path matches a pattern.
fn matching<'a>(run: &'a Run, wanted: &str) -> Result<Vec<&'a ProducedArtifact>, Error> {
    if !wanted.contains(['*', '?', '[', '{']) {
        return Err(not_delivered(run, wanted));
    }
    let pattern = PathPattern::parse(wanted)
        .map_err(|problem| Error::author("usage", format!("invalid pattern `{wanted}`: {problem}")))?;
    let mut files: Vec<&ProducedArtifact> =
        produced(run).filter(|file| pattern.matches(&file.path)).collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files.dedup_by(|one, other| one.path == other.path);
    if files.is_empty() { Err(not_delivered(run, wanted)) } else { Ok(files) }
}

fn open_verified(
    run: &Run,
    artifact: &ProducedArtifact,
    app: &App,
    if_changed: IfChanged,
) -> Result<FetchedArtifact, Error> {
    let artifact = artifact.clone();
    let mut file = open(&directory(run, app.state()), &artifact.path)?;
    let (_, sha256) = file
        .copy(&mut io::sink())
        .map_err(|error| Error::world("unreadable", format!("cannot read `{}`: {error}", artifact.path)))?;
    if sha256 != artifact.sha256 && if_changed == IfChanged::Refuse {
        let message = format!("`{}` has changed since it was verified", artifact.path);
        return Err(Error::person("changed", message).help("`--changed` fetches it as it is now"));
    }
    Ok(FetchedArtifact { artifact, sha256, file })
}

impl FetchedArtifact {
    /// Whether these are other bytes than those that were verified.
    pub fn has_changed(&self) -> bool {
        self.sha256 != self.artifact.sha256
    }

    pub fn copy_to(&mut self, to: &mut impl Write) -> Result<(), Error> {
        let copied = self.file.copy(to);
        let copied = copied.map_err(|error| Error::world("unwritable", format!("cannot write: {error}")))?;
        self.is_same(&copied.1)
    }

    /// Saves the file below a directory, under its path.
    pub fn save_below(&mut self, directory: &Path) -> Result<PathBuf, Error> {
        let to = directory.join(&self.artifact.path);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(|error| {
                Error::world("unwritable", format!("cannot create `{}`: {error}", parent.display()))
            })?;
        }
        self.save(&to)?;
        Ok(to)
    }

    /// Replaces the file whole or not at all.
    pub fn save(&mut self, to: &Path) -> Result<(), Error> {
        let saved = save(&mut self.file, to).map_err(|error| {
            Error::world("unwritable", format!("cannot write `{}`: {error}", to.display()))
        })?;
        self.is_same(&saved)
    }

    fn is_same(&self, copied: &str) -> Result<(), Error> {
        if copied == self.sha256 {
            return Ok(());
        }
        Err(Error::world("changed", format!("`{}` changed while it was fetched", self.artifact.path)))
    }
}

/// Writes a temporary file beside the target, then renames it.
fn save(file: &mut OpenedFile, to: &Path) -> io::Result<String> {
    let name = to.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let beside = to.with_file_name(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let written = fs::File::create_new(&beside).and_then(|mut target| {
        let (_, digest) = file.copy(&mut target)?;
        target.flush()?;
        fs::rename(&beside, to)?;
        Ok(digest)
    });
    if written.is_err() {
        drop(fs::remove_file(&beside));
    }
    written
}

fn produced(run: &Run) -> impl Iterator<Item = &ProducedArtifact> {
    run.delivery().into_iter().flat_map(|delivery| &delivery.produced)
}

fn find<'a>(run: &'a Run, wanted: &str) -> Result<Option<&'a ProducedArtifact>, Error> {
    let is_digest = wanted.len() >= DIGEST_CHARS_MIN && wanted.chars().all(|c| c.is_ascii_hexdigit());
    let digest = wanted.to_ascii_lowercase();
    let ways: [&dyn Fn(&ProducedArtifact) -> bool; 3] =
        [&|file| file.id == wanted, &|file| file.path == wanted, &|file| {
            is_digest && file.sha256.starts_with(&digest)
        }];
    for way in ways {
        let found: Vec<&ProducedArtifact> = produced(run).filter(|file| way(file)).collect();
        match found.as_slice() {
            [] => {}
            // Two files with one digest hold the same bytes.
            [first, rest @ ..] if rest.iter().all(|other| other.sha256 == first.sha256) => {
                return Ok(Some(first));
            }
            [..] => {
                let paths: Vec<String> = found.iter().map(|file| format!("`{}`", file.path)).collect();
                let message = format!("`{wanted}` matches {} files", found.len());
                let help =
                    format!("fetch one by its path, or several by a pattern of paths: {}", paths.join(", "));
                return Err(Error::author("ambiguous_artifact", message).help(help));
            }
        }
    }
    Ok(None)
}

fn not_delivered(run: &Run, wanted: &str) -> Error {
    if let Some(missing) = run.delivery().and_then(|delivery| delivery.missing(wanted)) {
        return Error::not_found("not_delivered", format!("it was not delivered: {}", missing.in_words()));
    }
    let ids: Vec<String> = produced(run).map(|file| format!("`{}`", file.id)).collect();
    let help = match ids.as_slice() {
        [] => "the run delivered nothing".to_owned(),
        ids => format!("it delivered {}", ids.join(", ")),
    };
    let message = format!("run `{}` delivered no artifact `{wanted}`", run.options().run);
    Error::not_found("unknown_artifact", message).help(help)
}
