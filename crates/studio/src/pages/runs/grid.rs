//! The last runs of one playbook beside each other: a row for each check.

use escrow_app::Error;
use escrow_app::runs::{Queries, Run, RunFilter, RunRow, replay};
use escrow_model::{CheckStatus, rfc3339};
use maud::{Markup, html};

use crate::layout::{Mark, anchor, icon_small, line};

/// Runs that the grid shows.
const RUNS: usize = 10;

pub(super) async fn grid(queries: &dyn Queries, playbook: &str) -> Result<Markup, Error> {
    let filter = RunFilter { playbook: Some(playbook.to_owned()), limit: Some(RUNS), ..RunFilter::default() };
    let mut runs: Vec<(RunRow, Run)> = Vec::new();
    for row in queries.runs(&filter).await? {
        let run = replay(queries, &row).await?;
        runs.push((row, run));
    }
    runs.reverse();
    // The newest run knows the checks of today; older ones may have had others.
    let Some((_, newest)) = runs.last() else { return Ok(html! {}) };
    let names: Vec<String> = newest.check_reports().map(|check| check.name.to_owned()).collect();
    Ok(html! {
        section.sect id="grid" aria-labelledby="h-grid" {
            div.sect-h { h2 id="h-grid" { code { (line(playbook)) } ", runs by checks" } p { "last " (runs.len()) " runs, oldest first; the number is attempts" } }
            div.box.scroll tabindex="0" role="region" aria-label="Runs by checks" {
                table.matrix-grid {
                    thead { tr {
                        th scope="col" { "Check" }
                        @for (row, _) in &runs {
                            th scope="col" { a href={ "/runs/" (row.id) } { time datetime=(rfc3339(row.started_at)) { (rfc3339(row.started_at).get(11..16).unwrap_or_default()) } } }
                        }
                        th.rate scope="col" { "Succeeded" }
                    } }
                    tbody {
                        @for name in &names { (row_of(name, &runs)) }
                    }
                }
            }
        }
    })
}

fn row_of(name: &str, runs: &[(RunRow, Run)]) -> Markup {
    let mut succeeded = 0usize;
    let cells: Vec<Markup> = runs
        .iter()
        .map(|(row, run)| {
            let Some(index) = run.plan_of().find(name) else { return html! { td.is-skip { span.vh { "no such check" } } } };
            let (check, spec) = (run.check_report(index), run.plan_of().check(index));
            if check.status == CheckStatus::Succeeded {
                succeeded += 1;
            }
            let mark = Mark::of_check(check.status, spec.continue_on_failure && !spec.is_critical());
            let class = match mark.tone {
                "ok" => "is-ok",
                "bad" => "is-bad",
                "warn" => "is-warn",
                _ => "is-skip",
            };
            html! {
                td class=(class) {
                    a href={ "/runs/" (row.id) "#" (anchor("check", name)) } { (icon_small(mark.icon, "")) span.vh { (mark.word) } @if check.runs > 1 { (check.runs) } }
                }
            }
        })
        .collect();
    html! {
        tr { th scope="row" { (line(name)) } @for cell in &cells { (cell) } td.rate.num { (succeeded) " of " (runs.len()) } }
    }
}
