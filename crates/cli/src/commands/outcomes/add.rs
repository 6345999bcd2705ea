//! `escrow outcomes add`: an outcome from stdin, kept if its kind admits it.

use std::io::{self, Read};

use escrow_app::outcomes::{self, BYTES_MAX, NewOutcome};
use escrow_app::{App, Error, documents};
use serde_json::json;

use crate::arguments::{AddArguments, Output};
use crate::commands::run::named_invocation;
use crate::exit::Exit;
use crate::terminal::{Ui, printable};

pub(super) async fn add(arguments: &AddArguments, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let mut new = NewOutcome {
        name: arguments.name.clone(),
        content: Vec::new(),
        run: arguments.run.clone(),
        invocation: arguments.invocation.as_deref().map(named_invocation),
        file: arguments.file.clone(),
    };
    new.check()?;
    new.content = read_stdin()?;
    let added = outcomes::add(app, new).await?;
    let recorded = &added.outcome;
    match ui.output() {
        Output::Human => {
            ui.page(recorded.id.as_str());
            ui.say(&format!("{}: {}", recorded.outcome.kind, printable(&recorded.outcome.summary)));
        }
        Output::Json | Output::Jsonl => {
            ui.data(&json!({ "outcome": documents::added_outcome(&added) }));
        }
    }
    Ok(Exit::Completed)
}

fn read_stdin() -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::world("io", format!("cannot read stdin: {error}")))?;
    Ok(bytes)
}
