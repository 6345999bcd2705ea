//! `escrow verify`: whether a run's journal is whole and unchanged.

use anyhow::Result;
use escrow_store::Verification;
use serde_json::json;

use crate::arguments::{RunArgument, Shared};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::Talk;

pub(crate) fn verify(arguments: &RunArgument, shared: &Shared, talk: &Talk) -> Result<Exit> {
    let store = StateDirectory::find(shared.state.as_deref())?.read()?;
    let row = store.run(&arguments.run).map_err(Failure::from)?;
    match store.verify(&row.id).map_err(Failure::from)? {
        Verification::Intact { entries, hash } => {
            let hash = hash.to_string();
            talk.say(&format!("{} {}: {entries} entries, {hash}", talk.paint.green("intact"), row.id));
            talk.data_if_machine(&json!({ "run": row.id, "intact": true, "entries": entries, "hash": hash }));
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
