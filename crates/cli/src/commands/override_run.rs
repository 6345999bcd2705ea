//! `escrow runs override`: a person's decision about a run that has ended.

use escrow_app::runs::{self, StatusOverride, parse_status};
use escrow_app::{App, Error};

use super::run::report;
use crate::arguments::OverrideArguments;
use crate::exit::Exit;
use crate::terminal::Ui;

pub(crate) async fn override_run(arguments: &OverrideArguments, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let word = StatusOverride {
        run: arguments.run.clone(),
        status: parse_status(&arguments.status)?,
        from: arguments.from.as_deref().map(parse_status).transpose()?,
        by: arguments.by.clone(),
        why: arguments.why.clone(),
    };
    let run = runs::override_status(app, &word).await?;
    report(&run, &*app.queries()?, ui).await;
    Ok(Exit::Completed)
}
