//! A run as one JSON document. `docs/export.md` describes every field.
//!
//! The document holds the journal byte for byte, as text, so that its hash chain can be checked anywhere.
//!
//! **Invariant:** a document is believed only as far as it proves itself. Entries are checked by their chain,
//! artifacts by the digests that the journal recorded; paths are checked before anything is written.

mod files;
mod outcomes;

use std::fmt;
use std::path::Path;

use escrow_engine::Run;
use escrow_model::{Entry, RunId, hex};
use escrow_store::{AddedOutcome, Break, Hash, InvocationRecord, StoredEntry, Verification, verify_entries};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use files::{Carried, LeftOut};

const FORMAT: &str = "escrow.run";
/// Version 1 had no digest of the document.
const VERSION: u32 = 2;
const VERSION_OLDEST: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// `escrow.run`.
    pub format: String,
    pub version: u32,
    /// The version of Escrow that wrote it.
    pub escrow: String,
    pub exported_at: String,
    pub run: RunId,
    pub playbook: String,
    pub status: String,
    /// The hash of the last entry. It names the whole journal.
    pub hash: String,
    pub entries: Vec<CarriedEntry>,
    /// Files that the run delivered.
    pub artifacts: Vec<Carried>,
    /// Output of commands that was too long for the journal.
    pub outputs: Vec<Carried>,
    /// Outcomes that people added to the run; the journal has all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<AddedOutcome>,
    /// The record of people's words about the invocation that the run belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocation: Option<InvocationRecord>,
    /// SHA-256 of the document without this field, as compact JSON. Version 1 has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl Snapshot {
    /// The document with its digest, which covers every other field.
    pub(crate) fn sealed(self) -> Snapshot {
        let open = Snapshot { digest: None, ..self };
        let digest = open.computed_digest();
        Snapshot { digest: Some(digest), ..open }
    }

    /// The digest of a document that has none yet.
    fn computed_digest(&self) -> String {
        let mut hasher = Sha256::new();
        serde_json::to_writer(files::HashWriter(&mut hasher), self)
            .expect("a snapshot has only string keys, and a hasher takes all bytes");
        hex(&hasher.finalize())
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CarriedEntry {
    pub seq: u64,
    pub hash: String,
    /// The bytes that were hashed; they are JSON.
    pub bytes: String,
}

/// Why a document cannot be trusted.
#[derive(Debug)]
pub(crate) enum Unsound {
    NotASnapshot(String),
    UnknownVersion(u64),
    /// Something in the document is not what was written.
    Digest,
    Broken {
        seq: u64,
        reason: Break,
    },
    /// The document says that the journal ends in another entry.
    CutOff {
        entries: u64,
    },
    Artifact {
        path: String,
        problem: String,
    },
    Outcome {
        id: String,
        problem: String,
    },
    Invocation {
        problem: &'static str,
    },
    Replay(String),
    /// A field for people does not say what the journal says.
    Header {
        field: &'static str,
        journal: String,
    },
}

impl fmt::Display for Unsound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsound::NotASnapshot(why) => write!(formatter, "it is not an exported run: {why}"),
            Unsound::UnknownVersion(version) => {
                write!(
                    formatter,
                    "it has format version {version}, this Escrow knows {VERSION_OLDEST} to {VERSION}"
                )
            }
            Unsound::Digest => formatter
                .write_str("it was changed after it was exported: its `digest` is that of another document"),
            Unsound::Broken { seq, reason } => write!(formatter, "it is broken at entry {seq}: {reason}"),
            Unsound::CutOff { entries } => write!(
                formatter,
                "it is broken at entry {}: the journal does not end where the export says",
                entries + 1
            ),
            Unsound::Artifact { path, problem } => write!(formatter, "`{path}` {problem}"),
            Unsound::Outcome { id, problem } => write!(formatter, "outcome `{id}` {problem}"),
            Unsound::Invocation { problem } => {
                write!(formatter, "its record of the invocation is invalid: it {problem}")
            }
            Unsound::Header { field, journal } => {
                write!(formatter, "its field `{field}` does not say what the journal says: `{journal}`")
            }
            Unsound::Replay(why) => write!(formatter, "its journal cannot be replayed: {why}"),
        }
    }
}

/// A document that passed every check.
pub(crate) struct Sound {
    pub(crate) snapshot: Snapshot,
    pub(crate) entries: Vec<StoredEntry>,
    pub(crate) run: Run,
    pub(crate) hash: Hash,
}

/// Reads a document and checks every part of it that can be checked.
pub(crate) fn read(bytes: &[u8]) -> Result<Sound, Unsound> {
    let snapshot = parse(bytes)?;
    if !is_run_id(snapshot.run.as_str()) {
        return Err(Unsound::NotASnapshot("`run` is not the id of a run".into()));
    }
    let mut entries = Vec::with_capacity(snapshot.entries.len());
    for entry in &snapshot.entries {
        let reason = Break::HashMismatch;
        let hash = Hash::parse(&entry.hash).ok_or(Unsound::Broken { seq: entry.seq, reason })?;
        entries.push(StoredEntry { seq: entry.seq, bytes: entry.bytes.clone().into_bytes(), hash });
    }
    let hash = match verify_entries(&snapshot.run, &entries) {
        Verification::Intact { hash, .. } => hash,
        Verification::Broken { seq, reason } => return Err(Unsound::Broken { seq, reason }),
        Verification::NoSuchRun => return Err(Unsound::NotASnapshot("it has no journal".into())),
    };
    if Hash::parse(&snapshot.hash) != Some(hash) {
        return Err(Unsound::CutOff { entries: entries.len() as u64 });
    }
    let run = replay(&entries)?;
    if run.options().run != snapshot.run {
        return Err(Unsound::Replay("it belongs to another run".into()));
    }
    for (field, said, journal) in [
        ("playbook", &snapshot.playbook, run.plan_of().name.as_str()),
        ("status", &snapshot.status, run.status().as_str()),
    ] {
        if said != journal {
            return Err(Unsound::Header { field, journal: journal.to_owned() });
        }
    }
    files::check(&snapshot, &run)?;
    outcomes::check(&snapshot, &run)?;
    check_invocation(&snapshot, &run)?;
    let snapshot = check_digest(snapshot)?;
    Ok(Sound { snapshot, entries, run, hash })
}

/// Files are written to a directory of this name, and the author of a document chooses the name.
fn is_run_id(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.strip_prefix("r_").is_some_and(|rest| rest.len() == 20 && rest.bytes().all(is_letter))
}

/// What the journal does not record has the digest of the document alone.
fn check_digest(snapshot: Snapshot) -> Result<Snapshot, Unsound> {
    if snapshot.version == VERSION_OLDEST {
        // Otherwise a document could be made to look older, in order to be without a digest. Entries have hashes.
        let is_as_old = snapshot.digest.is_none() && !snapshot.entries.iter().any(is_of_sealed_documents);
        return if is_as_old { Ok(snapshot) } else { Err(Unsound::Digest) };
    }
    let said = snapshot.digest.clone();
    let sealed = snapshot.sealed();
    if sealed.digest == said { Ok(sealed) } else { Err(Unsound::Digest) }
}

/// Whether the entry has a format that no Escrow wrote which exported without a digest.
fn is_of_sealed_documents(entry: &CarriedEntry) -> bool {
    #[derive(Deserialize)]
    struct Format {
        v: u32,
    }
    serde_json::from_str(&entry.bytes).is_ok_and(|Format { v }| v >= 3)
}

/// People's words about an invocation are in no journal. They must at least belong to this invocation, and be words
/// that people can say.
fn check_invocation(snapshot: &Snapshot, run: &Run) -> Result<(), Unsound> {
    let Some(record) = &snapshot.invocation else { return Ok(()) };
    let problem = if run.options().invocation.as_deref() == Some(&record.id) {
        record.problem()
    } else {
        Some("is of another invocation")
    };
    problem.map_or(Ok(()), |problem| Err(Unsound::Invocation { problem }))
}

/// Reports an unknown version as such, whatever else the document holds.
fn parse(bytes: &[u8]) -> Result<Snapshot, Unsound> {
    #[derive(Deserialize)]
    struct Head {
        format: Option<String>,
        version: Option<u64>,
    }
    let bad = |error: serde_json::Error| {
        let cut = if error.is_eof() { " (the file is cut off)" } else { "" };
        Unsound::NotASnapshot(format!("{error}{cut}"))
    };
    let head: Head = serde_json::from_slice(bytes).map_err(bad)?;
    if head.format.as_deref() != Some(FORMAT) {
        return Err(Unsound::NotASnapshot(format!("`format` is not `{FORMAT}`")));
    }
    match head.version {
        Some(version) if (u64::from(VERSION_OLDEST)..=u64::from(VERSION)).contains(&version) => {}
        Some(version) => return Err(Unsound::UnknownVersion(version)),
        None => return Err(Unsound::NotASnapshot("`version` is missing".into())),
    }
    serde_json::from_slice(bytes).map_err(bad)
}

fn replay(entries: &[StoredEntry]) -> Result<Run, Unsound> {
    let decoded: Result<Vec<Entry>, _> =
        entries.iter().map(|entry| escrow_store::decode_entry(&entry.bytes)).collect();
    let decoded = decoded.map_err(|error| Unsound::Replay(error.to_string()))?;
    Run::replay(&decoded).map_err(|error| Unsound::Replay(error.to_string()))
}

/// A run as it is stored here, with its files. What people added to it is left to the caller.
pub(crate) fn take(
    run: &Run,
    entries: &[StoredEntry],
    spool: &Path,
    exported_at: String,
) -> Result<Snapshot, Unsound> {
    let last = entries.last().ok_or_else(|| Unsound::NotASnapshot("it has no entries".into()))?;
    let mut carried = Vec::with_capacity(entries.len());
    for entry in entries {
        let bytes = String::from_utf8(entry.bytes.clone())
            .map_err(|_| Unsound::Broken { seq: entry.seq, reason: Break::NotJson })?;
        carried.push(CarriedEntry { seq: entry.seq, hash: entry.hash.to_string(), bytes });
    }
    Ok(Snapshot {
        format: FORMAT.to_owned(),
        version: VERSION,
        escrow: env!("CARGO_PKG_VERSION").to_owned(),
        exported_at,
        run: run.options().run.clone(),
        playbook: run.plan_of().name.clone(),
        status: run.status().as_str().to_owned(),
        hash: last.hash.to_string(),
        entries: carried,
        artifacts: files::artifacts(run),
        outputs: files::outputs(spool),
        outcomes: Vec::new(),
        invocation: None,
        digest: None,
    })
}
