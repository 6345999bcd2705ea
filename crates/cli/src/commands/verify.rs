//! `escrow verify`: whether a run's journal, here or in an exported file, is whole and unchanged.

use std::path::Path;

use escrow_app::{Error, runs, transfer};
use escrow_model::RunId;
use escrow_store::{Hash, Verification};
use serde_json::json;

use crate::arguments::{Shared, VerifyArguments};
use crate::exit::Exit;
use crate::session;
use crate::terminal::Ui;

pub(crate) async fn verify(arguments: &VerifyArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let path = Path::new(&arguments.subject);
    if path.is_file() || arguments.subject.contains(['/', '.']) {
        let file = transfer::verify_file(path)?;
        intact(&file.run, file.entries, file.hash, ui);
        return Ok(Exit::Completed);
    }
    let (row, verification) = runs::verify(&session::app(shared, ui)?, &arguments.subject).await?;
    match verification {
        Verification::Intact { entries, hash } => {
            intact(&row.id, entries, hash, ui);
            Ok(Exit::Completed)
        }
        Verification::Broken { seq, reason } => {
            let message = format!("the journal of `{}` is broken at entry {seq}: {reason}", row.id);
            Err(Error::world("broken_journal", message))
        }
        Verification::NoSuchRun => Err(Error::author("unknown_run", format!("there is no run `{}`", row.id))),
    }
}

fn intact(run: &RunId, entries: u64, hash: Hash, ui: &Ui) {
    let hash = hash.to_string();
    ui.say(&format!("{} {run}: {entries} entries, {hash}", ui.paint.green("intact")));
    ui.data_if_machine(&json!({ "run": run, "intact": true, "entries": entries, "hash": hash }));
}
