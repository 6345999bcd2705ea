//! Only callers outside of a state's runs decide about them.
//!
//! This stops an agent that approves its own work without thinking. A hostile process of the same user can escape from
//! its ancestors, though not from the mark of a sandbox. It could still write the files of the state without this
//! program: it needs a sandbox with `filesystem`, or another user.

use escrow_model::RunId;
use escrow_runtime::sandbox;

use crate::app::App;
use crate::around::runs_around;
use crate::error::Error;

/// Refuses a caller that is, or descends from, a command of a run in this state, and any caller in a sandbox.
pub(crate) async fn check(app: &App) -> Result<(), Error> {
    match run_around(app).await? {
        None => check_sandbox(),
        Some(id) => {
            Err(refused(format!("a process inside run `{id}` cannot decide about runs of the same state")))
        }
    }
}

/// Refuses a caller in a sandbox whose run is not known: it has hidden it, or the run is of another state.
pub(crate) fn check_sandbox() -> Result<(), Error> {
    if sandbox::is_confined() {
        return Err(refused("a process inside the sandbox of a check cannot decide about runs".to_owned()));
    }
    Ok(())
}

fn refused(message: String) -> Error {
    Error::forbidden("inside_run", message).help("a person decides, from a shell that no check has started")
}

/// The run of this state whose command is, or has started, the caller.
pub(crate) async fn run_around(app: &App) -> Result<Option<RunId>, Error> {
    Ok(runs_around(app).await?.into_iter().next().map(|row| row.id))
}
