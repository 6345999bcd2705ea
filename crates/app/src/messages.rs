//! Messages to runs that wait: approve, deny, answer, assume. A run that no process drives continues here.

mod assume;
mod wait;

use std::path::Path;

use escrow_engine::Run;
use escrow_model::{Message, RunId};
use escrow_runtime::secrets::Secrets;
use escrow_store::{Queries, RunRow};

pub use assume::{Assumed, assume};

use crate::app::App;
use crate::error::Error;
use crate::runs::{HELD, Purpose, drive_around, driver_of, replay};

/// A message, and whether the run continues here when no process drives it.
#[derive(Debug)]
pub struct Reply {
    /// The wait that it answers, as lists of open waits name it.
    pub wait: String,
    pub decision: Decision,
    pub then: Then,
}

#[derive(Debug)]
pub enum Decision {
    Approve { by: Option<String>, note: Option<String> },
    Deny { by: Option<String>, note: Option<String> },
    Answer { text: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Drive the run, unless another process does.
    Drive,
    /// Leave the run to the process that drives it, now or later.
    Record,
}

#[derive(Debug)]
pub enum Delivered {
    /// The message is in the inbox of the run.
    Recorded { wait: String, run: RunId },
    /// The outermost run around it was driven here until it ended or waits again.
    Rested(Box<Run>),
}

pub async fn reply(app: &App, reply: Reply) -> Result<Delivered, Error> {
    let purpose = match &reply.decision {
        Decision::Deny { .. } => Purpose::End,
        Decision::Approve { .. } | Decision::Answer { .. } => Purpose::Continue,
    };
    let then = reply.then;
    let (wait, row) = record(app, reply).await?;
    if then == Then::Record || driver_of(app, &row).await?.is_some() {
        return Ok(Delivered::Recorded { wait, run: row.id });
    }
    match drive_around(app, &row, purpose).await {
        Ok(run) => Ok(Delivered::Rested(Box::new(run))),
        // A process that took the run over meanwhile reads the message.
        Err(error) if error.code() == HELD => Ok(Delivered::Recorded { wait, run: row.id }),
        Err(error) => Err(error),
    }
}

/// Puts the message into the inbox of the run, if it can answer the wait.
async fn record(app: &App, reply: Reply) -> Result<(String, RunRow), Error> {
    let queries = app.queries()?;
    let wait = wait::find(&*queries, &reply.wait).await?;
    let row = queries.run(wait.run.as_str()).await?;
    let id = wait.id.clone();
    let mut message = match reply.decision {
        Decision::Approve { by, note } => Message::Approve { id, by: by.or_else(|| app.actor()), note },
        Decision::Deny { by, note } => Message::Deny { id, by: by.or_else(|| app.actor()), note },
        Decision::Answer { text } => Message::Answer { id, text, by: app.actor() },
    };
    wait::fits(&wait, &message)?;
    redact(&*queries, &row, &mut message).await?;
    wait::admits(&wait, &message)?;
    if queries.undelivered(&wait.run).await?.iter().any(|sent| wait::is_about(&sent.message, &wait.id)) {
        let message = format!(
            "`{}` is already answered; the message is not delivered to run `{}` yet",
            wait.id, row.id
        );
        return Err(Error::person("resolved", message).help(format!("`escrow resume {}` resumes it", row.id)));
    }
    app.journal()?.send(&wait.run, &message, app.sender()).await?;
    Ok((wait.id, row))
}

/// A message stays in the inbox until it is delivered, so secrets are taken out before it is sent.
async fn redact(queries: &dyn Queries, row: &RunRow, message: &mut Message) -> Result<(), Error> {
    let run = replay(queries, row).await?;
    if !run.plan_of().secrets.is_empty() {
        let secrets = Secrets::at_hand(run.plan_of(), Path::new(&run.options().directory));
        secrets.redactor().message(message);
    }
    Ok(())
}
