//! `escrow verify`: whether a run's journal, here or in an exported file, is whole and unchanged.

use std::path::Path;

use anyhow::Result;
use escrow_model::RunId;
use escrow_store::{Hash, Verification};
use serde_json::json;

use super::export::read_file;
use crate::arguments::{Shared, VerifyArguments};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::Ui;

pub(crate) fn verify(arguments: &VerifyArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let path = Path::new(&arguments.subject);
    if path.is_file() || arguments.subject.contains(['/', '.']) {
        let sound = read_file(path)?;
        intact(&sound.snapshot.run, sound.entries.len() as u64, sound.hash, ui);
        return Ok(Exit::Completed);
    }
    let store = StateDirectory::find(shared.state.as_deref())?.read()?;
    let row = store.run(&arguments.subject).map_err(Failure::from)?;
    match store.verify(&row.id).map_err(Failure::from)? {
        Verification::Intact { entries, hash } => {
            intact(&row.id, entries, hash, ui);
            Ok(Exit::Completed)
        }
        Verification::Broken { seq, reason } => {
            let message = format!("the journal of `{}` is broken at entry {seq}: {reason}", row.id);
            Err(Failure::world("broken_journal", message).into())
        }
        Verification::NoSuchRun => {
            Err(Failure::author("unknown_run", format!("there is no run `{}`", row.id)).into())
        }
    }
}

fn intact(run: &RunId, entries: u64, hash: Hash, ui: &Ui) {
    let hash = hash.to_string();
    ui.say(&format!("{} {run}: {entries} entries, {hash}", ui.paint.green("intact")));
    ui.data_if_machine(&json!({ "run": run, "intact": true, "entries": entries, "hash": hash }));
}
