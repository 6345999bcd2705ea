//! The files that an exported run carries: delivered artifacts, and long output.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use escrow_engine::Run;
use escrow_model::{ArtifactPath, ProducedArtifact, Warning, hex};
use escrow_runtime::inspection::{open_beneath, write_beneath};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Snapshot, Unsound};

/// Larger files are named by their digest and left out.
const BYTES_MAX: u64 = 16 << 20;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carried {
    /// Beneath the artifact directory, or the name of an output file.
    pub path: String,
    pub size: u64,
    pub sha256: String,
    /// The content in base64, unless it was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
}

/// Why a document names a file without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    TooLarge,
    Secret,
    Missing,
    Changed,
}

impl LeftOut {
    pub fn as_str(self) -> &'static str {
        match self {
            LeftOut::TooLarge => "too_large",
            LeftOut::Secret => "secret",
            LeftOut::Missing => "missing",
            LeftOut::Changed => "changed",
        }
    }
}

impl Carried {
    fn without(path: &str, size: u64, sha256: String, why: LeftOut) -> Carried {
        Carried { path: path.to_owned(), size, sha256, content: None, left_out: Some(why) }
    }

    /// Writes the content beneath a directory of the state. An earlier run may have left links in it: they are not
    /// followed.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        let Some(content) = self.content.as_deref().and_then(decode) else { return Ok(()) };
        let path = ArtifactPath::parse(&self.path).map_err(io::Error::other)?;
        write_beneath(directory, &path, &content)
    }
}

/// The files that the journal says were delivered, as they are on the disk now.
pub(super) fn artifacts(run: &Run) -> Vec<Carried> {
    let directory = PathBuf::from(&run.options().artifacts);
    let mut all: Vec<Carried> = Vec::new();
    for file in produced(run) {
        let (path, sha256) = (file.path.clone(), file.sha256.clone());
        if all.iter().any(|carried| carried.path == path) {
            continue;
        }
        let size = file.size;
        all.push(match content_beneath(&directory, &path, &sha256) {
            _ if holds_secret(run, &path) => Carried::without(&path, size, sha256, LeftOut::Secret),
            _ if size > BYTES_MAX => Carried::without(&path, size, sha256, LeftOut::TooLarge),
            Ok(content) => Carried { path, size, sha256, content: Some(content), left_out: None },
            Err(why) => Carried::without(&path, size, sha256, why),
        });
    }
    all
}

fn produced(run: &Run) -> &[ProducedArtifact] {
    run.delivery().map_or(&[], |delivery| &delivery.produced)
}

/// A file that the run warned of stays out of a document that is meant for others.
fn holds_secret(run: &Run, path: &str) -> bool {
    produced(run)
        .iter()
        .filter(|produced| produced.path == path)
        .any(|produced| run.warnings().contains(&Warning::secret_in_artifact(produced)))
}

/// Opens a file as for the verdict: by descriptor, through no link that leads out. Files beside the artifacts stay
/// out of the document, even when a process swaps names meanwhile.
fn content_beneath(directory: &Path, path: &str, sha256: &str) -> Result<String, LeftOut> {
    let path = ArtifactPath::parse(path).map_err(|_| LeftOut::Missing)?;
    let mut file = open_beneath(directory, path.as_str()).ok().flatten().ok_or(LeftOut::Missing)?;
    match file.read_at_most(BYTES_MAX) {
        Err(_) => Err(LeftOut::Missing),
        Ok(Some(bytes)) if digest(&bytes) == sha256 => Ok(STANDARD.encode(bytes)),
        Ok(_) => Err(LeftOut::Changed),
    }
}

/// The output files of a run, in the order of their names.
pub(super) fn outputs(spool: &Path) -> Vec<Carried> {
    let Ok(entries) = fs::read_dir(spool) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_output(name))
        .collect();
    names.sort_unstable();
    names.into_iter().filter_map(|name| output(spool, &name)).collect()
}

/// The spool also holds contexts and the like; output is told by its ending.
fn is_output(name: &str) -> bool {
    [".stdout", ".stderr"].iter().any(|ending| name.ends_with(ending))
}

fn output(spool: &Path, name: &str) -> Option<Carried> {
    let path = spool.join(name);
    let size = fs::metadata(&path).ok()?.len();
    let mut file = fs::File::open(&path).ok()?;
    let mut hasher = Sha256::new();
    let sha256 = {
        io::copy(&mut file, &mut HashWriter(&mut hasher)).ok()?;
        hex(&hasher.finalize())
    };
    if size > BYTES_MAX {
        return Some(Carried::without(name, size, sha256, LeftOut::TooLarge));
    }
    let content = Some(STANDARD.encode(fs::read(&path).ok()?));
    Some(Carried { path: name.to_owned(), size, sha256, content, left_out: None })
}

pub(super) struct HashWriter<'a>(pub(super) &'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Artifacts must be those of the journal, each of them once; outputs what the document itself says. No path leads
/// elsewhere.
pub(super) fn check(snapshot: &Snapshot, run: &Run) -> Result<(), Unsound> {
    for carried in &snapshot.artifacts {
        let problem =
            |problem: &str| Unsound::Artifact { path: carried.path.clone(), problem: problem.into() };
        if ArtifactPath::parse(&carried.path).is_err() {
            return Err(problem("leads out of the artifact directory"));
        }
        let promised = produced(run).iter().any(|file| {
            (&file.path, &file.sha256, file.size) == (&carried.path, &carried.sha256, carried.size)
        });
        if !promised {
            return Err(problem("is not what the journal says was delivered"));
        }
        // Whether it is missing or changed is the word of the document; the rest follows from the journal.
        let must_be_left_out = holds_secret(run, &carried.path) || carried.size > BYTES_MAX;
        if must_be_left_out != matches!(carried.left_out, Some(LeftOut::Secret | LeftOut::TooLarge)) {
            return Err(problem("is left out, or not, for another reason than the journal gives"));
        }
        content(carried)?;
    }
    let unlisted = produced(run)
        .iter()
        .find(|file| snapshot.artifacts.iter().filter(|carried| carried.path == file.path).count() != 1);
    if let Some(file) = unlisted {
        let problem = "was delivered, and must be listed once".to_owned();
        return Err(Unsound::Artifact { path: file.path.clone(), problem });
    }
    let mut names = BTreeSet::new();
    for carried in &snapshot.outputs {
        if !names.insert(&carried.path) {
            let problem = "is listed twice".to_owned();
            return Err(Unsound::Artifact { path: carried.path.clone(), problem });
        }
        let plain = ArtifactPath::parse(&carried.path).is_ok() && !carried.path.contains('/');
        if !plain || !is_output(&carried.path) {
            let problem = "is not a name of an output file".to_owned();
            return Err(Unsound::Artifact { path: carried.path.clone(), problem });
        }
        content(carried)?;
    }
    Ok(())
}

fn content(carried: &Carried) -> Result<(), Unsound> {
    if carried.content.is_some() == carried.left_out.is_some() {
        let problem = "needs either `content` or `left_out`".to_owned();
        return Err(Unsound::Artifact { path: carried.path.clone(), problem });
    }
    let Some(text) = &carried.content else { return Ok(()) };
    let bytes = decode(text).unwrap_or_default();
    if digest(&bytes) == carried.sha256 && bytes.len() as u64 == carried.size {
        return Ok(());
    }
    let problem = "was changed: its content does not match its digest".to_owned();
    Err(Unsound::Artifact { path: carried.path.clone(), problem })
}

fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
