//! Exports and imports runs: a run is one JSON document, which is verified before any of it is stored.

mod snapshot;

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use escrow_model::{RunId, rfc3339};
use escrow_runtime::now_ms;
use escrow_store::{Durability, Hash, Imported};

pub use snapshot::{Carried, LeftOut, Snapshot};

use crate::app::App;
use crate::error::Error;
use crate::runs::replay;
use snapshot::{Sound, Unsound};

/// A run with its journal, its files, and what people added to it.
pub async fn export(app: &App, run: &str) -> Result<Snapshot, Error> {
    let queries = app.queries()?;
    let row = queries.run(run).await?;
    let run = replay(&*queries, &row).await?;
    let entries = queries.journal(&row.id).await?;
    let added = queries.added_to(&row.id).await?;
    let invocation = match &run.options().invocation {
        // Nested runs do not count for an invocation.
        Some(id) if run.options().depth == 0 => queries.invocation_record(id).await?,
        _ => None,
    };
    snapshot::take(&run, &entries, &app.state().spool(&row.id), rfc3339(now_ms()))
        .map(|snapshot| Snapshot { outcomes: added, invocation, ..snapshot }.sealed())
        .map_err(|why| Error::world("broken_journal", format!("run `{}`: {why}", row.id)))
}

/// An exported file whose journal and files are what they claim to be.
#[derive(Debug)]
pub struct VerifiedFile {
    pub run: RunId,
    pub entries: u64,
    /// The hash of the last entry, which names the whole journal.
    pub hash: Hash,
    /// The digest of the whole document; an export of version 1 has none.
    pub digest: Option<String>,
}

pub fn verify_file(path: &Path) -> Result<VerifiedFile, Error> {
    let sound = read_file(path)?;
    Ok(VerifiedFile {
        run: sound.snapshot.run,
        entries: sound.entries.len() as u64,
        hash: sound.hash,
        digest: sound.snapshot.digest,
    })
}

#[derive(Debug)]
pub struct ImportedRun {
    pub run: RunId,
    pub entries: usize,
    /// False when the same run was here before.
    pub is_new: bool,
}

/// Takes in a run that was exported elsewhere and has ended: a run is driven in one place only.
pub async fn import(app: &App, path: &Path) -> Result<ImportedRun, Error> {
    let Sound { snapshot, entries, run, .. } = read_file(path)?;
    let id = &snapshot.run;
    if !run.status().is_terminal() {
        let message = format!("run `{id}` has not ended, so it may be driven elsewhere");
        return Err(Error::person("not_ended", message)
            .help("export it again after it has ended; only one process may drive a run"));
    }
    let records = app.records()?;
    let is_new = match records.import(id, &entries, snapshot.invocation.as_ref()).await? {
        Imported::Done { .. } => true,
        Imported::AlreadyThere => false,
        Imported::Differs => {
            let message = format!("another run `{id}` exists here and was not changed");
            return Err(Error::person("differs", message));
        }
    };
    records.add_outcomes(&snapshot.outcomes, Durability::Full).await?;
    let files =
        [(&snapshot.artifacts, app.state().artifacts(id)), (&snapshot.outputs, app.state().spool(id))];
    for (carried, directory) in files {
        for file in carried {
            file.write(&directory).map_err(|error| {
                Error::world("import", format!("cannot write `{}`: {error}", file.path))
                    .help("the journal is imported; import it again after fixing this")
            })?;
        }
    }
    Ok(ImportedRun { run: snapshot.run, entries: entries.len(), is_new })
}

fn read_file(path: &Path) -> Result<Sound, Error> {
    let file = path.display();
    let bytes = read_whole(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::author("no_such_file", format!("there is no file `{file}`")),
        _ => Error::world("unreadable", format!("cannot read `{file}`: {error}")),
    })?;
    snapshot::read(&bytes).map_err(|why| {
        let code = match why {
            Unsound::NotASnapshot(_) => "bad_export",
            Unsound::UnknownVersion(_) => "unknown_version",
            Unsound::Broken { .. } | Unsound::CutOff { .. } | Unsound::Replay(_) => "broken_journal",
            Unsound::Header { .. } => "broken_header",
            Unsound::Digest => "broken_document",
            Unsound::Artifact { .. } => "broken_artifact",
            Unsound::Outcome { .. } => "broken_outcome",
            Unsound::Invocation { .. } => "broken_invocation",
        };
        let error = Error::world(code, format!("`{file}`: {why}"));
        match why {
            Unsound::UnknownVersion(_) => error.help("it was written by a newer Escrow; use that version"),
            Unsound::NotASnapshot(_)
            | Unsound::Broken { .. }
            | Unsound::CutOff { .. }
            | Unsound::Replay(_)
            | Unsound::Header { .. }
            | Unsound::Digest
            | Unsound::Artifact { .. }
            | Unsound::Outcome { .. }
            | Unsound::Invocation { .. } => error,
        }
    })
}

/// Longer files are not read: the whole document must fit into memory, some of it twice.
const BYTES_MAX: u64 = 2 << 30;

/// A file or a pipe, to its end; a device has none.
fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_char_device() || kind.is_block_device() {
        return Err(io::Error::other("it is a device"));
    }
    let mut bytes = Vec::new();
    if file.take(BYTES_MAX + 1).read_to_end(&mut bytes)? as u64 > BYTES_MAX {
        return Err(io::Error::other(format!("it is longer than {BYTES_MAX} bytes")));
    }
    Ok(bytes)
}
