//! `escrow resume`: continues a run whose process is gone, that waits, or that failed.

use escrow_app::messages::{self, Assumed};
use escrow_app::{Error, runs};

use super::resume_all;
use super::run::report_driven;
use crate::arguments::{ResumeArguments, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::Ui;

pub(crate) async fn resume(arguments: &ResumeArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let Some(run) = &arguments.run else { return resume_all::resume_all(arguments.jobs, shared, ui).await };
    let app = session::app(shared, ui)?;
    let assumed: Vec<Assumed> =
        arguments.assume.iter().map(|text| Assumed::parse(text)).collect::<Result<_, _>>()?;
    session::stop_on_signals(&app);
    let run = if arguments.failed {
        runs::retry_failed(&app, run).await?
    } else if assumed.is_empty() {
        runs::resume(&app, run).await?
    } else {
        messages::assume(&app, run, assumed).await?
    };
    report_driven(&run, &app, ui).await
}
