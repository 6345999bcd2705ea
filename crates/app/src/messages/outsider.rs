//! Only callers outside of a state's runs decide about them.
//!
//! This stops an agent that approves its own work without thinking. A hostile process of the same user can escape from
//! its ancestors; it needs a sandbox, or another user.

use escrow_store::LookupError;

use crate::app::App;
use crate::error::Error;

/// Refuses a caller that is, or descends from, a command of a run in this state.
pub(crate) async fn check(app: &App) -> Result<(), Error> {
    let around = app.runs_around();
    if around.is_empty() {
        return Ok(());
    }
    let queries = app.queries()?;
    for id in around {
        match queries.run(&id).await {
            Ok(row) if row.id.as_str() == id => {
                let message =
                    format!("a process inside run `{id}` cannot decide about runs of the same state");
                return Err(Error::person("inside_run", message)
                    .help("a person decides, from a shell that no check has started"));
            }
            Ok(_) | Err(LookupError::None(_) | LookupError::Ambiguous { .. }) => {}
            Err(error @ LookupError::Store(_)) => return Err(error.into()),
        }
    }
    Ok(())
}
