//! What stands between a fire by hand and its turn.
//!
//! **Invariant:** a fire waits for living processes only. Behind a run that waits for a person, or whose process is gone, it
//! says so and which command helps: the fire stays recorded, and the next check begins it. Only checks and daemons continue
//! runs of processes that are gone.

use std::time::{Duration, Instant};

use escrow_model::{RunId, RunStatus, WaitKind};
use escrow_store::{FireRow, LookupError, Queries, RunRow};

use crate::app::App;
use crate::documents;
use crate::error::Error;
use crate::runs::driver_of;
use crate::settled;

/// How long a run may have no process before the fire stops waiting for it: a daemon takes it over within a second.
const UNDRIVEN: Duration = Duration::from_secs(2);

/// How long a process may take from accepting a fire to beginning its run.
const UNBEGUN: Duration = Duration::from_secs(15);

/// What a fire waits for, over several looks.
#[derive(Default)]
pub(super) struct Turn {
    /// What the caller was told.
    told: Option<String>,
    /// The obstacle that no living process removes, and since when it is seen.
    seen: Option<(Obstacle, Instant)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Obstacle {
    /// A run that waits for a person.
    Waits(RunId),
    /// A run whose process is gone.
    Abandoned(RunId),
    /// Fires that come before it and have not begun.
    Queue,
}

impl Turn {
    /// Looks at the runs that the fire waits for. The error says what keeps its turn from coming by itself.
    pub(super) async fn look(
        &mut self,
        app: &App,
        fire: &FireRow,
        ahead: &[RunId],
        told: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        let found = obstacle(app, ahead).await?;
        if found.is_none() && fire.reason != self.told {
            self.told.clone_from(&fire.reason);
            if let Some(why) = &fire.reason {
                told(&format!("chain {}: {why}", fire.chain));
            }
        }
        self.seen = match (found, self.seen.take()) {
            (None, _) => None,
            (Some(found), Some((before, since))) if found == before => Some((found, since)),
            (Some(found), _) => Some((found, Instant::now())),
        };
        match &self.seen {
            Some((found, since)) if since.elapsed() >= found.patience() => {
                Err(found.error(app, fire).await?)
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Obstacle {
    fn patience(&self) -> Duration {
        match self {
            Obstacle::Waits(_) | Obstacle::Abandoned(_) => UNDRIVEN,
            Obstacle::Queue => UNBEGUN,
        }
    }

    async fn error(&self, app: &App, fire: &FireRow) -> Result<Error, Error> {
        Ok(match self {
            Obstacle::Waits(run) => {
                let next = next_command(&*app.queries()?, run).await?;
                has_not_begun(fire, &format!("run `{run}` of this chain waits for a person"))
                    .help(format!("`{next}` settles it; then `escrow chain check` begins this fire"))
            }
            Obstacle::Abandoned(run) => {
                has_not_begun(fire, &format!("the process of run `{run}` of this chain is gone"))
                    .help("`escrow chain check` resumes that run and then begins this fire")
            }
            Obstacle::Queue => {
                has_not_begun(fire, "fires of this chain that come before it have not begun, either")
                    .help("`escrow chain check` begins them, one after another")
            }
        })
    }
}

/// The fire stays recorded.
pub(super) fn has_not_begun(fire: &FireRow, why: &str) -> Error {
    Error::person("fire_waits", format!("chain `{}` was fired but has not begun: {why}", fire.chain))
}

/// What keeps these runs from ending by themselves, if no process does it.
async fn obstacle(app: &App, ahead: &[RunId]) -> Result<Option<Obstacle>, Error> {
    let queries = app.queries()?;
    let mut found = Some(Obstacle::Queue);
    for run in ahead {
        match queries.run(run.as_str()).await {
            Ok(row) if row.status.is_terminal() => return Ok(None),
            Ok(row) if driver_of(app, &row).await?.is_some() => return Ok(None),
            Ok(RunRow { id, status: RunStatus::Waiting, .. }) => found = Some(Obstacle::Waits(id)),
            Ok(row) => found = Some(Obstacle::Abandoned(row.id)),
            // Its fire is accepted, and it has not begun.
            Err(LookupError::None(_) | LookupError::Ambiguous { .. }) => {}
            Err(error @ LookupError::Store(_)) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// The command that lets a waiting run continue.
async fn next_command(queries: &dyn Queries, run: &RunId) -> Result<String, Error> {
    for wait in settled::open_waits(queries).await? {
        if wait.kind != WaitKind::Nested
            && queries.run(wait.run.as_str()).await?.root == *run
            && let Some(next) = documents::next_of_wait(&wait)
        {
            return Ok(next);
        }
    }
    Ok(format!("escrow runs show {run}"))
}
