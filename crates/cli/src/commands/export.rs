//! `escrow runs export` and `runs import`: a run as one file, and back.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use escrow_app::{App, Error, StateDirectory, transfer};
use serde_json::json;

use crate::arguments::{ExportArguments, ImportArguments, Output};
use crate::exit::Exit;
use crate::terminal::{Ui, bytes_words};

pub(crate) async fn export(arguments: &ExportArguments, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let snapshot = transfer::export(app, &arguments.run).await?;
    let written = match ui.output() {
        // One line is one value.
        Output::Jsonl => serde_json::to_vec(&snapshot),
        Output::Json | Output::Human => serde_json::to_vec_pretty(&snapshot),
    };
    let mut text = written
        .map_err(|error| Error::world("export", format!("the run cannot be written as JSON: {error}")))?;
    text.push(b'\n');
    match &arguments.out {
        None => {
            let mut stdout = io::stdout().lock();
            ui.is_answered(stdout.write_all(&text).and_then(|()| stdout.flush()));
        }
        Some(path) => {
            write_whole(app.state(), path, &text)?;
            let size = bytes_words(text.len() as u64);
            ui.say(&format!("wrote {} to {}: {size}", snapshot.run, path.display()));
        }
    }
    for file in snapshot.artifacts.iter().chain(&snapshot.outputs) {
        if let Some(why) = file.left_out {
            let why = why.as_str().replace('_', " ");
            ui.say(&format!("{}: `{}` is not in it: {why}", ui.paint.yellow("warning"), file.path));
        }
    }
    Ok(Exit::Completed)
}

/// A reader of the file sees all of it or none.
fn write_whole(state: &StateDirectory, path: &Path, text: &[u8]) -> Result<(), Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = Path::new(&name);
    let written = state
        .create_export(part)
        .and_then(|mut file| file.write_all(text))
        .and_then(|()| fs::rename(part, path));
    written.map_err(|error| {
        let _ = fs::remove_file(part); // it may never have been made
        Error::world("export", format!("cannot write `{}`: {error}", path.display()))
    })
}

pub(crate) async fn import(arguments: &ImportArguments, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let imported = transfer::import(app, &arguments.file).await?;
    let word = if imported.is_new { "imported" } else { "already there" };
    let entries = imported.entries;
    let counted = if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") };
    ui.say(&format!("{} {}: {counted}", ui.paint.green(word), imported.run));
    ui.data_if_machine(&json!({ "run": imported.run, "imported": imported.is_new, "entries": entries }));
    Ok(Exit::Completed)
}
