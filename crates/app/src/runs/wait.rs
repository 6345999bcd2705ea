//! Waits until a run ends or waits for a person.

use std::time::Duration;

use escrow_engine::Run;
use escrow_model::RunStatus;
use escrow_store::{Queries, RunRow, Watch};
use tokio::time::{Instant, sleep};

use super::{is_driven, replay};
use crate::app::App;
use crate::error::Error;

/// How often the store is asked for changes. A look costs a microsecond or two.
const INTERVAL: Duration = Duration::from_millis(20);

/// How often the process that drives the run is looked for.
const LIVENESS_INTERVAL: Duration = Duration::from_secs(1);

/// The run at rest; `None` when it still runs after `timeout`.
pub async fn wait(app: &App, run: &str, timeout: Option<Duration>) -> Result<Option<Run>, Error> {
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let queries = app.queries()?;
    let row = queries.run(run).await?;
    match at_rest(row, &*queries, deadline).await? {
        Some(row) => replay(&*queries, &row).await.map(Some),
        None => Ok(None),
    }
}

async fn at_rest(
    mut row: RunRow,
    queries: &dyn Queries,
    deadline: Option<Instant>,
) -> Result<Option<RunRow>, Error> {
    let mut watch = Watch::new();
    let mut looked = None::<Instant>;
    loop {
        if watch.changed(queries.version().await?) {
            row = queries.run(row.id.as_str()).await?;
        }
        if row.status != RunStatus::Running {
            return Ok(Some(row));
        }
        if looked.is_none_or(|at| at.elapsed() >= LIVENESS_INTERVAL) {
            // The run may have ended between the two looks.
            if !is_driven(queries, &row).await?
                && queries.run(row.id.as_str()).await?.status == RunStatus::Running
            {
                let message = format!("the process that drove run `{}` is gone", row.id);
                let help = format!("`escrow resume {}` resumes it", row.id);
                return Err(Error::world("interrupted", message).help(help));
            }
            looked = Some(Instant::now());
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(None);
        }
        sleep(INTERVAL).await;
    }
}
