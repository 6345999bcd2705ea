//! `escrow cancel`: a message to the process that drives the run; if nobody does, the run is ended here.

use anyhow::Result;
use escrow_model::Message;
use escrow_runtime::holder::liveness;
use escrow_store::Liveness;
use serde_json::json;

use super::messages::drive_upward;
use super::resume::Wish;
use super::run::report;
use crate::arguments::{CancelArguments, Shared};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::Ui;

pub(crate) fn cancel(arguments: &CancelArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    let row = state.read()?.run(&arguments.run).map_err(Failure::from)?;
    if row.status.is_terminal() {
        let message = format!("run `{}` has already ended: {}", row.id, row.status.as_str());
        return Err(Failure::person("ended", message).into());
    }
    let store = state.write()?;
    let message = Message::Cancel { by: who(), system: false };
    store.send(&row.id, &message, "cli").map_err(Failure::from)?;
    if let Some(holder) = store.holder(&row.id).map_err(Failure::from)?
        && liveness(&holder) != Liveness::Dead
    {
        ui.say(&format!("asked process {} to end run {}", holder.pid, row.id));
        ui.data_if_machine(&json!({ "run": { "id": row.id }, "asked": holder.pid }));
    } else {
        let run = drive_upward(&row, &store, &state, ui, Wish::End)?;
        report(&run, &store, ui);
    }
    Ok(Exit::Completed)
}

/// Who acts, as far as the environment tells.
pub(crate) fn who() -> Option<String> {
    std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).ok().filter(|name| !name.is_empty())
}
