//! `escrow cancel`: ends a run, here or by a message to the process that drives it.

use escrow_app::Error;
use escrow_app::runs::{self, Cancelled};
use serde_json::json;

use super::run::report_driven;
use crate::arguments::{CancelArguments, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::Ui;

pub(crate) async fn cancel(arguments: &CancelArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    session::stop_on_signals(&app);
    match runs::cancel(&app, &arguments.run).await? {
        Cancelled::Asked { run, pid } => {
            ui.say(&format!("asked process {pid} to end run {run}"));
            ui.data_if_machine(&json!({ "run": { "id": run }, "asked": pid }));
        }
        Cancelled::Ended(run) => drop(report_driven(&run, &app, ui).await?),
    }
    Ok(Exit::Completed)
}
