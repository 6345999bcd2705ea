//! Ends a run whose place a newer fire takes.

use escrow_model::{EffectState, Event, Message, RunId, RunStatus};
use escrow_store::{LookupError, RunRow};

use crate::app::App;
use crate::effects::{self, EffectQuery};
use crate::error::{Class, Error};
use crate::runs::{self, Purpose, drive_around, driver_of};

/// How far a run is with making way for a newer fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// It has ended.
    Ends,
    /// A process drives it, which has got or will read the request.
    Stays,
    /// A person must first say what became of its effect.
    Asks,
}

/// Asks a run to end that a newer fire replaces, and ends it here if no process drives it. An effect is never cut off to make
/// room.
pub(crate) async fn replace(app: &App, run: &RunId, successor: &RunId) -> Result<Replaced, Error> {
    let Some(row) = open(app, run).await? else { return Ok(Replaced::Ends) };
    if !is_asked(app, run, successor).await? {
        runs::request_way(app, &row, successor).await?;
    }
    if driver_of(app, &row).await?.is_some() {
        return Ok(Replaced::Stays);
    }
    let effects =
        effects::list(app, &EffectQuery { run: Some(run.to_string()), ..Default::default() }).await?;
    let in_doubt = |state| matches!(state, EffectState::Intended | EffectState::Unknown);
    let purpose = match (row.status, effects.iter().any(|effect| in_doubt(effect.state))) {
        // Nothing but an answer takes it further.
        (RunStatus::Waiting, true) => return Ok(Replaced::Asks),
        // What becomes of the effect may be found out, which needs secrets.
        (_, true) => Purpose::Continue,
        (_, false) => Purpose::End,
    };
    match drive_around(app, &row, purpose).await {
        Ok(_) => {}
        // A process that took the run over meanwhile reads the request.
        Err(error) if error.class() == Class::Person => return Ok(Replaced::Stays),
        Err(error) => return Err(error),
    }
    Ok(match open(app, run).await? {
        None => Replaced::Ends,
        Some(row) if row.status == RunStatus::Waiting => Replaced::Asks,
        Some(_) => Replaced::Stays,
    })
}

/// `None` when the run has ended, or has not begun.
async fn open(app: &App, run: &RunId) -> Result<Option<RunRow>, Error> {
    match app.queries()?.run(run.as_str()).await {
        Ok(row) if !row.status.is_terminal() => Ok(Some(row)),
        Ok(_) | Err(LookupError::None(_) | LookupError::Ambiguous { .. }) => Ok(None),
        Err(error @ LookupError::Store(_)) => Err(error.into()),
    }
}

/// Whether a run has been asked to make way, or will read so.
async fn is_asked(app: &App, run: &RunId, successor: &RunId) -> Result<bool, Error> {
    let is_ours = |message: &Message| matches!(message, Message::Cancel { successor: Some(other), patient: true, .. } if other == successor);
    if app.queries()?.undelivered(run).await?.iter().any(|sent| is_ours(&sent.message)) {
        return Ok(true);
    }
    let entries = app.journal()?.entries(run, 0).await?;
    Ok(entries.iter().any(|(_, entry)| match &entry.event {
        Event::MessageDelivered { message, .. } => is_ours(message),
        _ => false,
    }))
}
