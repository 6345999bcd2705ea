//! The last runs of one playbook beside each other: a row for the run, one for each check, and one for what was delivered.

use escrow_app::Error;
use escrow_app::runs::{Queries, Run, RunFilter, RunRow, is_driven, replay};
use escrow_app::words;
use escrow_model::{CheckStatus, DeliveryStatus, rfc3339};
use maud::{Markup, html};

use super::strip::ENTRIES_MAX;
use crate::layout::{Mark, anchor, icon_small, line};

/// Runs that the grid shows.
const RUNS: usize = 10;

/// Checks that the grid shows. Where there are more, those that did not always succeed come first.
const CHECKS_MAX: usize = 60;

/// A run of the grid.
struct Column {
    row: RunRow,
    mark: Mark,
    /// `None`: its journal is too long to be read for a grid.
    run: Option<Run>,
}

pub(super) async fn grid(queries: &dyn Queries, playbook: &str) -> Result<Markup, Error> {
    let filter = RunFilter { playbook: Some(playbook.to_owned()), limit: Some(RUNS), ..RunFilter::default() };
    let mut columns: Vec<Column> = Vec::new();
    for row in queries.runs(&filter).await? {
        let run = if row.seq <= ENTRIES_MAX { Some(replay(queries, &row).await?) } else { None };
        let mark = Mark::of_run(row.status, is_driven(queries, &row).await?);
        columns.push(Column { row, mark, run });
    }
    columns.reverse();
    if columns.is_empty() {
        return Ok(html! {});
    }
    // The newest run knows the checks of today; older ones may have had others.
    let newest = columns.iter().rev().find_map(|column| column.run.as_ref());
    let mut rows: Vec<Row> = newest
        .into_iter()
        .flat_map(|run| run.check_reports().map(|check| Row::of(check.name, &columns)))
        .collect();
    let number = rows.len();
    if number > CHECKS_MAX {
        rows.sort_by_key(Row::is_clean);
        rows.truncate(CHECKS_MAX);
    }
    let completed = columns.iter().filter(|column| column.mark.tone == "ok").count();
    let has_delivery = columns.iter().any(|column| column.row.artifacts_status.is_some_and(is_verdict));
    Ok(html! {
        section.sect id="grid" aria-labelledby="h-grid" {
            div.sect-h {
                h2 id="h-grid" { code { (line(playbook)) } ", runs by checks" }
                p { "last " (words::count(columns.len(), "run")) ", oldest first; the number is attempts" @if number > rows.len() { "; " (rows.len()) " of " (number) " checks, those that failed first" } }
            }
            div.box.scroll tabindex="0" role="region" aria-label="Runs by checks" {
                table.matrix-grid {
                    thead { tr {
                        th scope="col" { "Check" }
                        @for column in &columns {
                            @let exact = rfc3339(column.row.started_at);
                            th scope="col" { a href={ "/runs/" (column.row.id) } { time datetime=(exact) title={ (exact.replace('T', " ").get(..19).unwrap_or_default()) " UTC" } { (exact.get(11..19).unwrap_or_default()) } } }
                        }
                        th.rate scope="col" { "Succeeded" }
                    } }
                    tbody {
                        tr.sum {
                            th scope="row" { "the run" }
                            @for column in &columns { td class=(class(column.mark)) { a href={ "/runs/" (column.row.id) } { (icon_small(column.mark.icon, "")) span.vh { (column.mark.word) } } } }
                            td.rate.num { (completed) " of " (columns.len()) }
                        }
                        @for row in &rows { (row.shown(&columns)) }
                        @if has_delivery { (delivered(&columns)) }
                    }
                }
            }
        }
    })
}

/// One check in each run.
struct Row {
    name: String,
    cells: Vec<Option<Cell>>,
}

struct Cell {
    mark: Mark,
    runs: u32,
    has_run: bool,
    has_succeeded: bool,
}

impl Row {
    fn of(name: &str, columns: &[Column]) -> Row {
        let cell = |column: &Column| {
            let run = column.run.as_ref()?;
            let index = run.plan_of().find(name)?;
            let (check, spec) = (run.check_report(index), run.plan_of().check(index));
            let is_cut_off = check.status == CheckStatus::Running && column.mark == Mark::INTERRUPTED;
            Some(Cell {
                mark: if is_cut_off {
                    Mark::CUT_OFF
                } else {
                    Mark::of_check(check.status, spec.continue_on_failure && !spec.is_critical())
                },
                runs: check.runs,
                has_run: !matches!(check.status, CheckStatus::Skipped | CheckStatus::Pending),
                has_succeeded: check.status == CheckStatus::Succeeded,
            })
        };
        Row { name: name.to_owned(), cells: columns.iter().map(cell).collect() }
    }

    /// Whether it succeeded in each run.
    fn is_clean(&self) -> bool {
        self.cells.iter().flatten().all(|cell| cell.has_succeeded)
    }

    fn shown(&self, columns: &[Column]) -> Markup {
        let number =
            |holds: fn(&Cell) -> bool| self.cells.iter().flatten().filter(|cell| holds(cell)).count();
        html! {
            tr {
                th scope="row" { (line(&self.name)) }
                @for (cell, column) in self.cells.iter().zip(columns) {
                    @match cell {
                        None => td.is-skip { span.vh { @if column.run.is_some() { "no such check" } @else { "not read" } } },
                        Some(cell) => td class=(class(cell.mark)) {
                            a href={ "/runs/" (column.row.id) "#" (anchor("check", &self.name)) } { (icon_small(cell.mark.icon, "")) span.vh { (cell.mark.word) } @if cell.runs > 1 { (cell.runs) } }
                        },
                    }
                }
                @let ran = number(|cell| cell.has_run);
                td.rate.num { @if ran == 0 { "–" } @else { (number(|cell| cell.has_succeeded)) " of " (ran) } }
            }
        }
    }
}

fn class(mark: Mark) -> &'static str {
    match mark.tone {
        "ok" => "is-ok",
        "bad" => "is-bad",
        "warn" => "is-warn",
        "wait" => "is-wait",
        "run" => "is-run",
        "unk" => "is-unk",
        _ => "is-skip",
    }
}

/// Whether artifacts were promised and looked for.
fn is_verdict(status: DeliveryStatus) -> bool {
    status != DeliveryStatus::Skipped
}

fn delivered(columns: &[Column]) -> Markup {
    let passed =
        columns.iter().filter(|column| column.row.artifacts_status == Some(DeliveryStatus::Passed)).count();
    let judged = columns.iter().filter(|column| column.row.artifacts_status.is_some_and(is_verdict)).count();
    html! {
        tr.sum {
            th scope="row" { "artifacts" }
            @for column in columns {
                @let (class, shape, word) = match column.row.artifacts_status {
                    Some(DeliveryStatus::Passed) => ("is-ok", "file", "passed"),
                    Some(DeliveryStatus::Failed) => ("is-bad", "nofile", "failed"),
                    Some(DeliveryStatus::Warning) => ("is-warn", "warn", "warning"),
                    Some(DeliveryStatus::Skipped) | None => ("is-skip", "pend", "not verified"),
                };
                td class=(class) { a href={ "/runs/" (column.row.id) "#artifacts" } { (icon_small(shape, "")) span.vh { (word) } } }
            }
            td.rate.num { (passed) " of " (judged) }
        }
    }
}
