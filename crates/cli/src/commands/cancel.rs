//! `escrow cancel`: a letter to the process that drives the run; if nobody does, the run is ended here.

use anyhow::Result;
use escrow_model::Letter;
use escrow_runtime::holder::{liveness, this_process};
use escrow_runtime::supervisor::Beginning;
use escrow_store::LeaseError;
use serde_json::json;

use super::runs::replay;
use super::start::Begun;
use crate::arguments::{CancelArguments, Shared};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{Live, Talk, closing};

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
    match store.acquire(&row.id, &this_process(), liveness) {
        Ok(lease) => {
            let run = replay(&store, &row)?;
            let mut live = Live::new(talk, &run);
            let begun = Begun { run, lease, store, beginning: Beginning::Resumed };
            let run = begun.drive(&state, &mut live)?;
            live.finish();
            talk.say(closing(&run, talk.paint).trim_end());
            talk.data_if_machine(&run.document());
        }
        Err(LeaseError::Held { holder, .. }) => {
            talk.say(&format!("asked process {} to end run {}", holder.pid, row.id));
            talk.data_if_machine(&json!({ "run": { "id": row.id }, "asked": holder.pid }));
        }
        Err(LeaseError::NoSuchRun(id)) => {
            return Err(Failure::author("unknown_run", format!("there is no run `{id}`")).into());
        }
        Err(LeaseError::Store(error)) => return Err(Failure::from(error).into()),
    }
    Ok(Exit::Completed)
}

/// Who acts, as far as the environment tells.
pub(crate) fn who() -> Option<String> {
    std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).ok().filter(|name| !name.is_empty())
}
