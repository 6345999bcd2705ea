//! Cancels a run: by a message to the process that drives it; if none does, here.

use escrow_engine::Run;
use escrow_model::{Message, RunId};
use escrow_store::RunRow;

use super::resume::{Purpose, drive_around, driver_of};
use crate::app::App;
use crate::error::Error;
use crate::messages::outsider;

#[derive(Debug)]
pub enum Cancelled {
    /// The process that drives the run will read the message.
    Asked { run: RunId, pid: u32 },
    /// The run was ended here. This is the outermost run around it, driven until it ended or waits.
    Ended(Box<Run>),
}

pub async fn cancel(app: &App, run: &str) -> Result<Cancelled, Error> {
    let row = app.queries()?.run(run).await?;
    if row.status.is_terminal() {
        let message = format!("run `{}` has already ended: {}", row.id, row.status.as_str());
        return Err(Error::person("ended", message));
    }
    let inside = outsider::run_around(app).await?;
    if inside.is_none() {
        outsider::check_sandbox()?;
    }
    let message = Message::Cancel { by: app.actor(), system: false, successor: None, inside, patient: false };
    send(app, &row, &message).await
}

/// Asks a run to end so that another one can begin. An effect that is under way may end; nothing further begins. The process
/// that drives the run reads the request.
pub(crate) async fn request_way(app: &App, row: &RunRow, successor: &RunId) -> Result<(), Error> {
    let successor = Some(successor.clone());
    let request = Message::Cancel { by: app.actor(), system: true, successor, inside: None, patient: true };
    app.journal()?.send(&row.id, &request, app.sender()).await?;
    Ok(())
}

async fn send(app: &App, row: &RunRow, message: &Message) -> Result<Cancelled, Error> {
    app.journal()?.send(&row.id, message, app.sender()).await?;
    match driver_of(app, row).await? {
        Some(holder) => Ok(Cancelled::Asked { run: row.id.clone(), pid: holder.pid }),
        None => Ok(Cancelled::Ended(Box::new(drive_around(app, row, Purpose::End).await?))),
    }
}
