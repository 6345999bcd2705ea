//! `escrow wait`: until a run ends or waits for a person; then it exits as the run would have.

use std::time::Duration;

use escrow_app::{Error, runs};

use super::run::report_driven;
use crate::arguments::{Shared, WaitArguments};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{Ui, parse_duration};

pub(crate) async fn wait(arguments: &WaitArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let timeout = arguments.timeout.as_deref().map(read_timeout).transpose()?;
    let app = session::app(shared, ui)?;
    match runs::wait(&app, &arguments.run, timeout).await? {
        Some(run) => report_driven(&run, &app, ui).await,
        None => {
            let given = arguments.timeout.as_deref().unwrap_or_default();
            ui.say(&format!("still running after {given}"));
            Ok(Exit::TimedOut)
        }
    }
}

fn read_timeout(text: &str) -> Result<Duration, Error> {
    parse_duration(text).map(Duration::from_millis).ok_or_else(|| {
        Error::author("usage", format!("`--timeout {text}` is not a duration")).help("write e.g. `30m`")
    })
}
