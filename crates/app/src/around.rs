//! The runs around this process, when it is a command of a run or was started by one, and their secrets.
//!
//! **Invariant:** what this process writes into a state is redacted by the secrets that the commands around it were granted,
//! and by those that the runs around it read from files.

use std::path::Path;
use std::sync::Arc;

use escrow_runtime::{Redactor, Secrets};
use escrow_store::{LookupError, RunRow};
use serde_json::Value;

use crate::app::App;
use crate::error::Error;
use crate::timeline::RunStart;

/// Those of this state, nearest first.
pub(crate) async fn runs_around(app: &App) -> Result<Vec<RunRow>, Error> {
    let around = app.runs_around();
    if around.is_empty() {
        return Ok(Vec::new());
    }
    let queries = app.queries()?;
    let mut rows = Vec::<RunRow>::new();
    for id in around {
        match queries.run(&id).await {
            Ok(row) if row.id.as_str() == id && rows.iter().all(|known| known.id != row.id) => rows.push(row),
            Ok(_) | Err(LookupError::None(_) | LookupError::Ambiguous { .. }) => {}
            Err(error @ LookupError::Store(_)) => return Err(error.into()),
        }
    }
    Ok(rows)
}

/// The secrets of the runs around this process, as far as it can read them without running a program. Those that it was
/// granted are known whichever state the runs have.
pub(crate) async fn secrets_around(app: &App) -> Result<Secrets, Error> {
    let mut known = Secrets::granted_to_this_process();
    for row in runs_around(app).await? {
        let first = app.queries()?.first_entry(&row.id).await?;
        if let Some(start) = RunStart::of(&first) {
            let theirs = Secrets::at_hand(start.plan, Path::new(&start.options.directory));
            known = known.started_within(&theirs);
        }
    }
    Ok(known)
}

/// Refuses what is stored as it is and would be another thing with `***` in it.
pub(crate) async fn refuse_secrets(app: &App, what: &str, stored: &Value) -> Result<(), Error> {
    if secrets_around(app).await?.found_in(stored).is_none() {
        return Ok(());
    }
    let message = format!("{what} contains the value of a secret of the run around this command");
    Err(Error::author("secret_written_down", message)
        .help("a check with `secrets: [NAME]` reads it as `$NAME`; do not use a common word as a secret"))
}

/// For texts that are not part of a run.
pub(crate) async fn redactor_around(app: &App) -> Result<Arc<Redactor>, Error> {
    Ok(Arc::clone(secrets_around(app).await?.redactor()))
}
