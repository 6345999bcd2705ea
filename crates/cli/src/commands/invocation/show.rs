//! `escrow invocation show`: its runs, its outcomes, and why it stands where it does.

use escrow_app::Error;
use escrow_app::documents::{self, Change};
use escrow_app::invocations::{find, harness_totals};
use escrow_app::runs::listed;
use escrow_engine::HarnessTotals;
use escrow_model::rfc3339;
use escrow_store::{InvocationRow, OutcomeFilter, OutcomeRow, Queries, RunFilter, RunRow};
use serde_json::json;

use crate::arguments::{InvocationShow, Output};
use crate::commands::history;
use crate::exit::Exit;
use crate::terminal::{Paint, TextTable, Ui, count, printable, status_painted, told_apart};

/// Runs and outcomes that are shown, newest first; there may be more.
const SHOWN_MAX: usize = 100;

pub(super) async fn show(arguments: &InvocationShow, queries: &dyn Queries, ui: &Ui) -> Result<Exit, Error> {
    let row = find(queries, &arguments.id).await?;
    if arguments.history {
        let changes = queries.transitions("invocation", &row.id).await?.iter().map(Change::from).collect();
        history::tell(changes, &json!({ "invocation": { "id": row.id } }), ui);
        return Ok(Exit::Completed);
    }
    let filter =
        RunFilter { invocation: Some(row.id.clone()), limit: Some(SHOWN_MAX), ..RunFilter::default() };
    let all = queries.runs(&filter).await?;
    let filter = OutcomeFilter {
        invocation: Some(row.id.clone()),
        limit: Some(SHOWN_MAX),
        ..OutcomeFilter::default()
    };
    let outcomes = queries.outcomes(&filter).await?;
    let primary = queries.primary_outcome(&row.id).await?;
    let totals = harness_totals(queries, &row.id).await?;
    if ui.output() == Output::Human {
        let mut text = page(&row, &all, &outcomes, primary.as_ref(), ui.page);
        text.push_str(&totals.map(|totals| totals_line(&totals)).unwrap_or_default());
        ui.page(&text);
        return Ok(Exit::Completed);
    }
    let all = listed(queries, &all).await?;
    ui.data(&documents::invocation_with(&row, &all, &outcomes, primary.as_ref(), totals.as_ref()));
    Ok(Exit::Completed)
}

/// What the harnesses of all its runs have used.
fn totals_line(totals: &HarnessTotals) -> String {
    let known = |figure: Option<u64>| figure.map_or_else(|| "-".to_owned(), |figure| figure.to_string());
    let attempts = count(totals.attempts.try_into().unwrap_or(usize::MAX), "attempt");
    let (turns, input, output) =
        (known(totals.turns), known(totals.input_tokens), known(totals.output_tokens));
    let usd = totals.cost_usd.map_or_else(|| "-".to_owned(), |usd| format!("{usd:.4}"));
    format!(
        "\nharnesses  {attempts}, {turns} turns, {input} input tokens, {output} output tokens, {usd} US dollars\n"
    )
}

fn page(
    row: &InvocationRow,
    runs: &[RunRow],
    outcomes: &[OutcomeRow],
    primary: Option<&OutcomeRow>,
    paint: Paint,
) -> String {
    let name = row.name.as_ref().or(row.skill.as_ref()).map_or("", String::as_str);
    let mut text = format!("invocation {}  {}\n", paint.cyan(&row.id), paint.bold(&printable(name)));
    let by = row.started_by.as_ref().map(|by| format!(" by {}", printable(by))).unwrap_or_default();
    let ended = row.ended_at.map_or("-".to_owned(), rfc3339);
    text.push_str(&format!("started {}{by}   ended {ended}\n", rfc3339(row.started_at)));
    for (label, value) in [("skill", &row.skill), ("prompt", &row.prompt)] {
        if let Some(value) = value {
            text.push_str(&format!("{label} {}\n", printable(value)));
        }
    }
    let reason = row.reason.as_ref();
    let code = reason.map(|reason| format!("  {}", reason.code)).unwrap_or_default();
    text.push_str(&format!("\n{}{code}\n", status_painted(row.status, paint)));
    if let Some(reason) = reason {
        let of = row.decisive_run.as_ref().map(|run| format!("  ({run})")).unwrap_or_default();
        text.push_str(&format!("  {}{}\n", printable(&reason.summary), paint.dim(&of)));
    }
    if let Some(health) = row.health.filter(|health| row.ended_by_hand && *health != row.status) {
        let word = health.as_str().replace('_', " ");
        text.push_str(&format!("  {} the worst of its runs is {word}\n", paint.yellow("but")));
    }
    text.push_str(&format!("\n{}\n", count(usize::try_from(row.runs()).unwrap_or(usize::MAX), "run")));
    let mut table = TextTable::new();
    for run in runs {
        let status = run.status.as_str().replace('_', " ");
        let inside = if run.depth > 0 { format!("  {}", run.id) } else { run.id.to_string() };
        let summary = run.reason.as_ref().map(|reason| printable(&reason.summary)).unwrap_or_default();
        let playbook = printable(&run.playbook);
        let told = told_apart(run);
        table.row(&[
            (&inside, paint.cyan(&inside)),
            (&status, status_painted(run.status, paint)),
            (&playbook, paint.bold(&playbook)),
            (&told, told.clone()),
            ("", summary),
        ]);
    }
    text.push_str(&table.render());
    if let Some(primary) = primary {
        text.push_str(&format!("\n{}\n", count(outcomes.len(), "outcome")));
        let mut table = TextTable::new();
        for one in outcomes {
            let recorded = &one.outcome;
            let mark = if recorded.id == primary.outcome.id { "→" } else { " " };
            let name = printable(&recorded.name);
            table.row(&[
                (mark, mark.to_owned()),
                (recorded.id.as_str(), paint.cyan(recorded.id.as_str())),
                (&recorded.outcome.kind, recorded.outcome.kind.clone()),
                (&name, paint.bold(&name)),
                ("", printable(&recorded.outcome.summary)),
            ]);
        }
        text.push_str(&table.render());
    }
    text
}
