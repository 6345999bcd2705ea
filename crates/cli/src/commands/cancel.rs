//! `escrow cancel`: a letter to the process that drives the run; if nobody does, the run is ended here.

use anyhow::Result;
use escrow_model::Letter;
use escrow_runtime::holder::liveness;
use escrow_store::Liveness;
use serde_json::json;

use super::letters::drive_upward;
use super::resume::Wish;
use super::run::report;
use crate::arguments::{CancelArguments, Shared};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::Talk;

pub(crate) fn cancel(arguments: &CancelArguments, shared: &Shared, talk: &Talk) -> Result<Exit> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    let row = state.read()?.run(&arguments.run).map_err(Failure::from)?;
    if row.status.is_terminal() {
        let message = format!("run `{}` has already ended: {}", row.id, row.status.as_str());
        return Err(Failure::person("ended", message).into());
    }
    let store = state.write()?;
    let letter = Letter::Cancel { by: who(), system: false };
    store.send(&row.id, &letter, "cli").map_err(Failure::from)?;
    if let Some(holder) = store.holder(&row.id).map_err(Failure::from)?
        && liveness(&holder) != Liveness::Dead
    {
        talk.say(&format!("asked process {} to end run {}", holder.pid, row.id));
        talk.data_if_machine(&json!({ "run": { "id": row.id }, "asked": holder.pid }));
    } else {
        let run = drive_upward(&row, &store, &state, talk, Wish::End)?;
        report(&run, &store, talk);
    }
    Ok(Exit::Completed)
}

/// Who acts, as far as the environment tells.
pub(crate) fn who() -> Option<String> {
    std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).ok().filter(|name| !name.is_empty())
}
