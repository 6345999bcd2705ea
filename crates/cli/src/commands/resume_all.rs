//! `escrow resume --all`: continues every run that no process drives and that can continue.

use std::num::NonZeroUsize;
use std::sync::Arc;

use escrow_app::runs::{self, Resumed};
use escrow_app::{Driver, Error, documents};
use escrow_model::{RunId, RunStatus};
use serde_json::{Value, json};

use crate::arguments::{Output, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{TextTable, Ui, printable};

/// Oldest first; one after another, or as many at once as `jobs` says.
pub(super) async fn resume_all(jobs: Option<NonZeroUsize>, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let jobs = jobs.unwrap_or(NonZeroUsize::MIN);
    let is_one = jobs == NonZeroUsize::MIN;
    let app = if is_one { session::app(shared, ui)? } else { session::app_for_many(shared, ui)? };
    let app = Arc::new(app);
    let driver = Driver::new(Arc::clone(&app), jobs);
    session::stop_on_signals(&app);
    let resumed = runs::resume_all(&driver).await?;
    let exit = resumed.iter().fold(Exit::Completed, |worst, one| {
        worst.worse(one.outcome.as_ref().map_or_else(|error| Exit::from(error.class()), Exit::of))
    });
    let outcomes: Vec<Outcome> = resumed.into_iter().map(Outcome::of).collect();
    tell(&outcomes, ui);
    Ok(exit)
}

/// How one run ended or where it waits, or why it could not continue.
struct Outcome {
    id: RunId,
    playbook: String,
    status: Option<RunStatus>,
    /// Its reason, or the error.
    words: String,
    document: Value,
}

impl Outcome {
    fn of(resumed: Resumed) -> Outcome {
        let (id, playbook) = (resumed.row.id, resumed.row.playbook);
        match resumed.outcome {
            Ok(run) => {
                let words = run.reason().map(|reason| reason.code.as_str().to_owned()).unwrap_or_default();
                let document = documents::run_summary(&run);
                Outcome { id, playbook, status: Some(run.status()), words, document }
            }
            Err(error) => {
                let words = error.to_string();
                let document = documents::resume_failure(&id, &playbook, &words);
                Outcome { id, playbook, status: None, words, document }
            }
        }
    }
}

fn tell(outcomes: &[Outcome], ui: &Ui) {
    let documents: Vec<&Value> = outcomes.iter().map(|outcome| &outcome.document).collect();
    match ui.output() {
        Output::Json => drop(ui.data(&json!({ "resumed": documents }))),
        Output::Jsonl => drop(documents.iter().all(|run| ui.data(&json!({ "run": run })))),
        Output::Human if outcomes.is_empty() => ui.page("nothing to resume"),
        Output::Human => {
            let page = ui.page;
            let mut table = TextTable::new();
            for outcome in outcomes {
                let status = outcome.status.map_or("error".to_owned(), |s| s.as_str().replace('_', " "));
                let painted = match outcome.status {
                    Some(RunStatus::Completed) => page.green(&status),
                    Some(RunStatus::Running | RunStatus::Waiting) => page.yellow(&status),
                    Some(
                        RunStatus::Failed | RunStatus::TimedOut | RunStatus::Aborted | RunStatus::Cancelled,
                    )
                    | None => page.red(&status),
                };
                let playbook = printable(&outcome.playbook);
                table.row(&[
                    (outcome.id.as_str(), page.cyan(outcome.id.as_str())),
                    (&status, painted),
                    (&playbook, page.bold(&playbook)),
                    ("", outcome.words.clone()),
                ]);
            }
            ui.page(&table.render());
        }
    }
}
