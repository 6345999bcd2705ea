//! Decisions about runs that wait: approve, deny, answer, assume. A run that no process drives continues here.
//!
//! **Invariant:** the first decision wins. A decision is compared and recorded in one transaction, and what was accepted
//! stays accepted, whatever the run does next.

mod assume;
mod barred;
mod difference;
pub(crate) mod outsider;
mod wait;

use std::path::Path;

use escrow_engine::Run;
use escrow_model::{Message, RunId};
use escrow_runtime::Secrets;
use escrow_store::{Decided, RunRow};

pub use escrow_store::{GivenApproval, WaitRow};

pub use crate::settled::{all_waits, open_waits, ready_waits, waits_of};
pub(crate) use assume::record_assumptions;
pub use assume::{Assumed, assume};
pub use barred::{barred, barred_from};
pub use difference::{Difference, differences};

use crate::app::App;
use crate::around::secrets_around;
use crate::error::{Error, Kind};
use crate::person_text::{NAME_LENGTH_MAX, WHY_LENGTH_MAX, one_line, text};
use crate::runs::{Purpose, drive_around, driver_of, replay};

/// A message, and whether the run continues here when no process drives it.
#[derive(Debug)]
pub struct Reply {
    /// The wait that it answers, as lists of open waits name it.
    pub wait: String,
    pub decision: Decision,
    /// The digest of the request that the person was shown. Another one is refused.
    pub shown: Option<String>,
    pub then: Then,
}

/// `claim` is a name that the caller gives. It is kept and never counts.
#[derive(Clone, Debug)]
pub enum Decision {
    Approve { claim: Option<String>, note: Option<String> },
    Deny { claim: Option<String>, note: Option<String> },
    Answer { text: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Drive the run, unless another process does.
    Drive,
    /// Leave the run to the process that drives it, now or later.
    Record,
}

/// A decision that was accepted.
#[derive(Debug)]
pub enum Delivered {
    /// A process that drives the run will act on it.
    ToDriver { wait: String, run: RunId },
    /// No process drives the run. It acts on the decision when it is resumed.
    Recorded { wait: String, run: RunId },
    /// The outermost run around it was driven here until it ended or waits again.
    Rested(Box<Run>),
    /// The run could not be continued here.
    NotContinued { wait: String, run: RunId, error: Error },
}

impl Decision {
    /// Ending a run needs less than continuing it.
    fn purpose(&self) -> Purpose {
        match self {
            Decision::Deny { .. } => Purpose::End,
            Decision::Approve { .. } | Decision::Answer { .. } => Purpose::Continue,
        }
    }
}

/// Drives a run that a decision was recorded for, and the runs around it, unless another process does.
pub async fn proceed(app: &App, run: &RunId, decision: &Decision) -> Result<(), Error> {
    let row = app.queries()?.run(run.as_str()).await?;
    match drive_around(app, &row, decision.purpose()).await {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == Kind::Held => Ok(()),
        Err(error) => Err(error),
    }
}

pub async fn reply(app: &App, reply: Reply) -> Result<Delivered, Error> {
    let purpose = reply.decision.purpose();
    let then = reply.then;
    let (wait, row) = record(app, reply).await?;
    let run = row.id.clone();
    if driver_of(app, &row).await?.is_some() {
        return Ok(Delivered::ToDriver { wait, run });
    }
    if then == Then::Record {
        return Ok(Delivered::Recorded { wait, run });
    }
    match drive_around(app, &row, purpose).await {
        Ok(driven) => {
            wait::in_time(app, &wait, &run).await?;
            Ok(Delivered::Rested(Box::new(driven)))
        }
        // A process that took the run over meanwhile reads the message.
        Err(error) if error.kind() == Kind::Held => Ok(Delivered::ToDriver { wait, run }),
        Err(error) => Ok(Delivered::NotContinued { wait, run, error }),
    }
}

/// Puts the decision into the inbox of the run, if it is the first decision about the wait.
async fn record(app: &App, reply: Reply) -> Result<(String, RunRow), Error> {
    outsider::check(app).await?;
    let queries = app.queries()?;
    let wait = wait::find(&*queries, &reply.wait).await?;
    if reply.shown.as_ref().is_some_and(|shown| *shown != wait.digest) {
        let message = format!("`{}` is stale: what was shown is not what it asks for now", wait.id);
        return Err(Error::person("stale", message).help("`escrow approvals` lists what waits now"));
    }
    let row = queries.run(wait.run.as_str()).await?;
    let (id, by) = (wait.id.clone(), app.actor());
    let mut message = match reply.decision {
        Decision::Approve { claim, note } => Message::Approve { id, by, claim, note },
        Decision::Deny { claim, note } => Message::Deny { id, by, claim, note },
        Decision::Answer { text } => Message::Answer { id, text, by },
    };
    if let Message::Approve { claim, note, .. } | Message::Deny { claim, note, .. } = &message {
        claim.as_deref().map_or(Ok(()), |claim| one_line("--by", claim, NAME_LENGTH_MAX))?;
        note.as_deref().map_or(Ok(()), |note| text("--note", note, WHY_LENGTH_MAX))?;
    }
    wait::fits(&wait, &message)?;
    let run = replay(&*queries, &row).await?;
    redact(app, &run, &mut message).await?;
    wait::admits(&wait, &message)?;
    wait::refused(&run, &message)?;
    match app.records()?.decide(&wait.run, &message, app.sender()).await? {
        Decided::Accepted(_) => Ok((wait.id, row)),
        Decided::Refused(why) => Err(wait::not_accepted(&wait, &why)),
    }
}

/// A message stays in the inbox until it is delivered, so secrets are taken out before it is sent.
async fn redact(app: &App, run: &Run, message: &mut Message) -> Result<(), Error> {
    let secrets = Secrets::at_hand(run.plan_of(), Path::new(&run.options().directory));
    secrets.started_within(&secrets_around(app).await?).redactor().message(message);
    Ok(())
}
