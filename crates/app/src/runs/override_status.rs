//! Overrides the status of a run that has ended, as one more entry of its journal.

use escrow_engine::{NotOverridden, Override, Run};
use escrow_model::{RunId, RunStatus};
use escrow_runtime::now_ms;

use super::after_end::commit_after_end;
use super::resume::take_over;
use crate::app::App;
use crate::error::Error;
use crate::messages::outsider;
use crate::person_text::{NAME_LENGTH_MAX, WHY_LENGTH_MAX, one_line, text};

/// A request to override the status of a run.
#[derive(Debug)]
pub struct StatusOverride {
    pub run: String,
    pub status: RunStatus,
    /// Only if the run has this status now.
    pub from: Option<RunStatus>,
    pub by: String,
    pub why: String,
}

pub async fn override_status(app: &App, request: &StatusOverride) -> Result<Run, Error> {
    one_line("--by", &request.by, NAME_LENGTH_MAX)?;
    text("--why", &request.why, WHY_LENGTH_MAX)?;
    outsider::check(app).await?;
    let row = app.queries()?.run(&request.run).await?;
    if !row.status.is_terminal() {
        return Err(refused(&row.id, &NotOverridden::NotEnded(row.status)));
    }
    // Only the holder writes the journal of a run: the status that is compared is the status that is replaced.
    let taken = take_over(app, &row).await?;
    commit_after_end(app, taken, |run, redactor| {
        if let Some(from) = request.from.filter(|from| *from != run.status()) {
            let id = &row.id;
            let message = format!("run `{id}` is {}, not {}", run.status().as_str(), from.as_str());
            return Err(Error::person("changed", message).help(format!("`escrow runs show {id} --history`")));
        }
        let (mut by, mut why) = (request.by.trim().to_owned(), request.why.trim().to_owned());
        redactor.text(&mut by);
        redactor.text(&mut why);
        let word = Override { status: request.status, by, why };
        run.override_status(now_ms(), word).map_err(|why| refused(&row.id, &why))
    })
    .await
}

fn refused(run: &RunId, why: &NotOverridden) -> Error {
    let message = format!("run `{run}` cannot be overridden: {why}");
    match why {
        NotOverridden::NotEnded(_) => {
            Error::person("not_ended", message).help(format!("`escrow cancel {run}` ends it"))
        }
        NotOverridden::Same(_) => Error::person("same_status", message),
        NotOverridden::NotForPeople(_) => {
            Error::author("usage", message).help("one of completed, failed, aborted, cancelled")
        }
        NotOverridden::Nameless => Error::author("usage", message),
    }
}
