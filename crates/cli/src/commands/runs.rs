//! `escrow runs`: what ran, newest first, and one run in full.

use anyhow::Result;
use escrow_engine::Run;
use escrow_model::{Entry, RunStatus, rfc3339};
use escrow_runtime::entropy::now_ms;
use escrow_runtime::holder::liveness;
use escrow_store::{Liveness, RunFilter, RunRow, Store};
use serde_json::{Value, json};

use super::{export, history, override_run};
use crate::arguments::{Output, RunsAction, RunsArguments, RunsList, Shared, ShowArguments};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{Table, Ui, duration_words, parse_duration, printable, show_run, status_painted};

pub(crate) fn runs(arguments: RunsArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    let store = state.read()?;
    match arguments.action {
        Some(RunsAction::Show(which)) => show(&which, &store, ui),
        Some(RunsAction::Override(word)) => override_run::override_run(&word, &state, ui),
        Some(RunsAction::Export(which)) => export::export(&which, &state, ui),
        Some(RunsAction::Import(which)) => export::import(&which, &state, ui),
        Some(RunsAction::List(list)) => self::list(&list, &store, ui),
        None => list(&arguments.list, &store, ui),
    }
}

fn list(arguments: &RunsList, store: &Store, ui: &Ui) -> Result<Exit> {
    let status = arguments.status.as_deref().map(parse_status).transpose()?;
    let since = match arguments.since.as_deref() {
        None => None,
        Some(text) => Some(now_ms().saturating_sub(parse_duration(text).ok_or_else(|| {
            Failure::author("usage", format!("`--since {text}` is not a duration")).help("write e.g. `7d`")
        })?)),
    };
    let filter = RunFilter {
        status,
        playbook: arguments.playbook.clone(),
        invocation: super::invocation::named(arguments.invocation.as_deref(), store)?,
        since,
        limit: Some(arguments.limit),
    };
    let rows = store.runs(&filter).map_err(Failure::from)?;
    if ui.output() != Output::Human {
        let documents: Vec<Value> = rows.iter().map(document).collect();
        match ui.output() {
            Output::Jsonl => documents.iter().all(|run| ui.data(&json!({ "run": run }))),
            Output::Human | Output::Json => ui.data(&json!({ "runs": documents })),
        };
        return Ok(Exit::Completed);
    }
    if rows.is_empty() {
        ui.page("no runs");
        return Ok(Exit::Completed);
    }
    let page = ui.page;
    let mut table = Table::new();
    for row in &rows {
        let status = row.status.as_str().replace('_', " ");
        let painted = status_painted(row.status, page);
        let started = rfc3339(row.started_at).replace('T', " ");
        let started = &started[..19];
        let took =
            row.ended_at.map(|end| duration_words(end.saturating_sub(row.started_at))).unwrap_or_default();
        let summary = row.reason.as_ref().map(|reason| printable(&reason.summary)).unwrap_or_default();
        let playbook = printable(&row.playbook);
        table.row(&[
            (row.id.as_str(), page.cyan(row.id.as_str())),
            (&status, painted),
            (started, page.dim(started)),
            (&took, took.clone()),
            (&playbook, page.bold(&playbook)),
            ("", summary),
        ]);
    }
    ui.page(&table.render());
    Ok(Exit::Completed)
}

pub(crate) fn parse_status(text: &str) -> Result<RunStatus, Failure> {
    RunStatus::parse(text).ok_or_else(|| {
        let known: Vec<&str> = RunStatus::ALL.iter().map(|status| status.as_str()).collect();
        Failure::author("usage", format!("no status is called `{text}`"))
            .help(format!("one of {}", known.join(", ")))
    })
}

/// The run object of a listing: the same as in the run's own document.
pub(crate) fn document(row: &RunRow) -> Value {
    let mut document = json!({
        "id": row.id,
        "playbook": row.playbook,
        "status": row.status,
        "reason": row.reason,
        "invocation_id": row.invocation_id,
        "started_at": rfc3339(row.started_at),
        "ended_at": row.ended_at.map(rfc3339),
        "warnings": row.warnings,
    });
    if let Some(overridden) = &row.overridden {
        document["override"] = overridden.clone();
    }
    document
}

fn show(arguments: &ShowArguments, store: &Store, ui: &Ui) -> Result<Exit> {
    let row = store.run(&arguments.run).map_err(Failure::from)?;
    if arguments.history {
        return history::of_run(&row, store, ui);
    }
    let run = replay(store, &row)?;
    if ui.output() != Output::Human {
        ui.data(&super::run::document(&run, store));
        return Ok(Exit::Completed);
    }
    let mut text = show_run(&run, ui.page);
    if row.status == RunStatus::Running && !is_driven(store, &row)? {
        text.push_str(&format!(
            "{}  the process that drove this run is gone\n  next: escrow resume {}\n",
            ui.page.yellow("interrupted"),
            row.id
        ));
    }
    ui.page(&text);
    Ok(Exit::Completed)
}

/// Whether a live process holds the run.
pub(crate) fn is_driven(store: &Store, row: &RunRow) -> Result<bool, Failure> {
    Ok(store.holder(&row.id)?.is_some_and(|holder| liveness(&holder) != Liveness::Dead))
}

/// The whole journal of a run.
pub(crate) fn entries(store: &Store, row: &RunRow) -> Result<Vec<Entry>, Failure> {
    Ok(store.entries(&row.id, 0)?.into_iter().map(|(_, entry)| entry).collect())
}

/// A run as its journal tells it.
pub(crate) fn replay(store: &Store, row: &RunRow) -> Result<Run, Failure> {
    Run::replay(&entries(store, row)?).map_err(|error| {
        Failure::world("journal", format!("the journal of `{}` cannot be replayed: {error}", row.id))
    })
}
