//! `escrow resume --all`: goes on with every run that nobody drives and that something can be done for.

use std::collections::BTreeSet;

use escrow_model::{RunId, RunStatus, WaitKind};
use escrow_runtime::entropy::now_ms;
use escrow_store::{RunFilter, RunRow, Store};
use serde_json::{Value, json};

use super::resume::{Wish, drive};
use super::runs::is_driven;
use super::start::exit_of;
use crate::arguments::Output;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{Table, Ui, printable};

/// One after another, oldest first. A run that cannot go on does not keep the others from it.
pub(super) fn resume_all(state: &StateDirectory, ui: &Ui) -> Result<Exit, Failure> {
    let abandoned = abandoned(&*state.read()?)?;
    let mut worst = Exit::Completed;
    let mut outcomes = Vec::new();
    for row in abandoned {
        // A connection each: one run's trouble with the database is not the next one's.
        let outcome = state.write().and_then(|store| drive(&row, store, state, ui, Wish::GoOn));
        let exit = outcome.as_ref().map_or_else(Failure::code, exit_of);
        worst = worst.worse(exit);
        outcomes.push(Outcome::of(&row, outcome));
        if exit == Exit::Interrupted {
            break;
        }
    }
    tell(&outcomes, ui);
    Ok(worst)
}

/// Runs that somebody drove until they were killed; and those that wait, when a message has come for them or
/// their time is up. A nested run goes on with the one around it.
fn abandoned(store: &Store) -> Result<Vec<RunRow>, Failure> {
    let of = |status| store.runs(&RunFilter { status: Some(status), ..RunFilter::default() });
    let rows: Vec<RunRow> = of(RunStatus::Running)?.into_iter().chain(of(RunStatus::Waiting)?).collect();
    let waits = store.open_waits()?;
    let now = now_ms();
    let mut called: BTreeSet<String> = waits
        .iter()
        .filter(|wait| wait.expires_at.is_some_and(|expiry| expiry <= now))
        .map(|wait| wait.run.to_string())
        .collect();
    for row in &rows {
        if row.status == RunStatus::Running || !store.undelivered(&row.id)?.is_empty() {
            called.insert(row.id.to_string());
        }
    }
    loop {
        let before = called.len();
        let nested = waits.iter().filter(|wait| wait.kind == WaitKind::Nested && called.contains(&wait.id));
        let around: Vec<String> = nested.map(|wait| wait.run.to_string()).collect();
        called.extend(around);
        if called.len() == before {
            break;
        }
    }
    let mut wanted = Vec::new();
    for row in rows {
        if row.depth == 0 && called.contains(row.id.as_str()) && !is_driven(store, &row)? {
            wanted.push(row);
        }
    }
    wanted.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(wanted)
}

/// What became of one run.
struct Outcome {
    id: RunId,
    playbook: String,
    status: Option<RunStatus>,
    /// Its reason, or why it could not go on.
    words: String,
    document: Value,
}

impl Outcome {
    fn of(row: &RunRow, outcome: Result<escrow_engine::Run, Failure>) -> Outcome {
        let (id, playbook) = (row.id.clone(), row.playbook.clone());
        match outcome {
            Ok(run) => {
                let words = run.reason().map(|reason| reason.code.as_str().to_owned()).unwrap_or_default();
                let document = run.run_document();
                Outcome { id, playbook, status: Some(run.status()), words, document }
            }
            Err(failure) => {
                let words = failure.to_string();
                let document = json!({ "id": id, "playbook": playbook, "error": words });
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
            let mut table = Table::new();
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
