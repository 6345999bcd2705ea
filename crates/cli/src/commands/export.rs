//! `escrow runs export` and `runs import`: a run as one file, and back.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anyhow::Result;
use escrow_model::rfc3339;
use escrow_runtime::entropy::now_ms;
use escrow_store::{Durability, Imported};
use serde_json::json;

use super::runs::replay;
use crate::arguments::{ExportArguments, ImportArguments};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::snapshot::{self, Sound, Unsound};
use crate::state::StateDirectory;
use crate::terminal::{Ui, bytes_words};

pub(crate) fn export(arguments: &ExportArguments, state: &StateDirectory, ui: &Ui) -> Result<Exit> {
    let store = state.read()?;
    let row = store.run(&arguments.run).map_err(Failure::from)?;
    let run = replay(&store, &row)?;
    let entries = store.journal(&row.id).map_err(Failure::from)?;
    let added = store.added_to(&row.id).map_err(Failure::from)?;
    let invocation = match &run.options().invocation {
        // What lies inside another run does not count for an invocation.
        Some(id) if run.options().depth == 0 => store.invocation_record(id).map_err(Failure::from)?,
        _ => None,
    };
    let unsound = |why: Unsound| Failure::world("broken_journal", format!("run `{}`: {why}", row.id));
    let spool = state.spool(&row.id);
    let snapshot =
        snapshot::take(&run, &entries, &spool, added, invocation, rfc3339(now_ms())).map_err(unsound)?;
    let mut text = serde_json::to_vec_pretty(&snapshot)
        .map_err(|error| Failure::world("export", format!("the run cannot be written as JSON: {error}")))?;
    text.push(b'\n');
    match &arguments.out {
        None => drop(ui.is_written(io::stdout().lock().write_all(&text))),
        Some(path) => {
            write_whole(path, &text)?;
            let size = bytes_words(text.len() as u64);
            ui.say(&format!("wrote {} to {}: {size}", row.id, path.display()));
        }
    }
    for left in snapshot.artifacts.iter().chain(&snapshot.outputs) {
        if let Some(why) = &left.left_out {
            let why = why.replace('_', " ");
            ui.say(&format!("{}: `{}` is not in it: {why}", ui.paint.yellow("warning"), left.path));
        }
    }
    Ok(Exit::Completed)
}

fn entries_words(number: usize) -> String {
    if number == 1 { "1 entry".to_owned() } else { format!("{number} entries") }
}

/// Whoever reads the file sees all of it or none.
fn write_whole(path: &Path, text: &[u8]) -> Result<(), Failure> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = Path::new(&name);
    let written = fs::write(part, text).and_then(|()| fs::rename(part, path));
    written.map_err(|error| {
        let _ = fs::remove_file(part); // it may never have been made
        Failure::world("export", format!("cannot write `{}`: {error}", path.display()))
    })
}

pub(crate) fn import(arguments: &ImportArguments, state: &StateDirectory, ui: &Ui) -> Result<Exit> {
    let Sound { snapshot, entries, run, .. } = read_file(&arguments.file)?;
    let id = &snapshot.run;
    if !run.status().is_terminal() {
        let message = format!("run `{id}` has not ended, so it may be driven elsewhere");
        return Err(Failure::person("not_ended", message)
            .help("export it again after it has ended; only one process may drive a run")
            .into());
    }
    let store = state.write()?;
    let imported = store.import(id, &entries, snapshot.invocation.as_ref()).map_err(Failure::from)?;
    let word = match imported {
        Imported::Done { .. } => "imported",
        Imported::AlreadyThere => "already there",
        Imported::Differs => {
            let message = format!("another run `{id}` exists here and was not changed");
            return Err(Failure::person("differs", message).into());
        }
    };
    store.add_outcomes(&snapshot.outcomes, Durability::Full).map_err(Failure::from)?;
    let files = [(&snapshot.artifacts, state.artifacts(id)), (&snapshot.outputs, state.spool(id))];
    for (carried, directory) in files {
        for file in carried {
            file.write(&directory).map_err(|error| {
                Failure::world("import", format!("cannot write `{}`: {error}", file.path))
                    .help("the journal is imported; import it again after fixing this")
            })?;
        }
    }
    ui.say(&format!("{} {id}: {}", ui.paint.green(word), entries_words(entries.len())));
    ui.data_if_machine(
        &json!({ "run": id, "imported": imported != Imported::AlreadyThere, "entries": entries.len() }),
    );
    Ok(Exit::Completed)
}

/// An exported run that proved itself, or why it is not one.
pub(crate) fn read_file(path: &Path) -> Result<Sound, Failure> {
    let file = path.display();
    let bytes = read_whole(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::author("no_such_file", format!("there is no file `{file}`")),
        _ => Failure::world("unreadable", format!("cannot read `{file}`: {error}")),
    })?;
    snapshot::read(&bytes).map_err(|why| {
        let code = match why {
            Unsound::NotASnapshot(_) => "bad_export",
            Unsound::UnknownVersion(_) => "unknown_version",
            Unsound::Broken { .. } | Unsound::CutOff { .. } | Unsound::Replay(_) => "broken_journal",
            Unsound::Artifact { .. } => "broken_artifact",
            Unsound::Outcome { .. } => "broken_outcome",
            Unsound::Invocation { .. } => "broken_invocation",
        };
        let failure = Failure::world(code, format!("`{file}`: {why}"));
        match why {
            Unsound::UnknownVersion(_) => failure.help("it was written by a newer Escrow; use that version"),
            _ => failure,
        }
    })
}

/// Longer ones are not read: the whole of it must fit into memory, some of it twice.
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
