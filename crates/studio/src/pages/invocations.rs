//! Invocations: requests, the runs that each started, and the final outcome of each step.

use escrow_app::invocations::{InvocationFilter, InvocationRow};
use escrow_app::now_ms;
use escrow_app::outcomes::{OutcomeFilter, OutcomeRow};
use escrow_app::runs::{RunFilter, RunRow, parse_status};
use escrow_model::{Millis, RunStatus};
use maud::{Markup, html};

use super::{choice, more, spans};
use crate::answer::PageError;
use crate::layout::{Frame, Mark, Nav, duration, line, ticked, ticked_short, when};
use crate::view::View;

const LIMIT: usize = 30;

/// Runs and outcomes that are read for one invocation.
const OF_ONE: usize = 50;

pub(crate) async fn page(view: View) -> Result<Markup, PageError> {
    let frame = Frame::of(&view).await?;
    let queries = view.queries()?;
    let limit = view.limit(LIMIT)?;
    let filter = InvocationFilter {
        status: view.get("status").map(parse_status).transpose()?,
        since: view.since()?,
        limit: Some(limit + 1),
    };
    let now = now_ms();
    let mut cards = Vec::new();
    let mut rows = queries.invocations(&filter).await?;
    let is_cut = rows.len() > limit;
    rows.truncate(limit);
    let (steps, requests): (Vec<&InvocationRow>, Vec<&InvocationRow>) = rows
        .iter()
        .partition(|row| chain_of(row).is_some_and(|chain| rows.iter().any(|one| one.id == chain)));
    for row in requests {
        // The steps of a chain have invocations of their own, and belong to that of its run.
        let mut of_row: Vec<&InvocationRow> =
            steps.iter().filter(|step| chain_of(step).as_deref() == Some(&row.id)).copied().collect();
        of_row.sort_by_key(|step| std::cmp::Reverse(step.step_index));
        of_row.push(row);
        let (mut runs, mut outcomes) = (Vec::new(), Vec::new());
        for one in of_row {
            let (invocation, limit) = (Some(one.id.clone()), Some(OF_ONE));
            let filter = RunFilter { invocation: invocation.clone(), limit, ..RunFilter::default() };
            runs.extend(queries.runs(&filter).await?);
            let filter = OutcomeFilter { invocation, limit, ..OutcomeFilter::default() };
            outcomes.extend(queries.outcomes(&filter).await?);
        }
        let primary = queries.primary_outcome(&row.id).await?;
        cards.push(card(row, &runs, &outcomes, primary.as_ref(), now));
    }
    let statuses: Vec<String> = RunStatus::ALL.iter().map(|status| status.as_str().to_owned()).collect();
    let content = html! {
        div.head { div.grow { h1 { "Invocations" } p { "One request, the runs that it started, and the final outcome of each step. In a shell: " code { "escrow invocation list" } } } }
        form.bar method="get" { (choice(&view, "status", "Status", &statuses)) (choice(&view, "since", "Since", &spans())) button.btn { "Apply" } }
        @if cards.is_empty() { p.sub { "No invocation yet. " code { "escrow invocation start --name NAME" } " begins one; " code { "escrow run --invocation ID" } " joins it." } }
        @for card in &cards { (card) }
        @if is_cut { (more(&view, limit)) }
    };
    Ok(frame.page(&view, Nav::Invocations, "Invocations", &content))
}

/// The invocation of the chain's run that this one is a step of.
fn chain_of(row: &InvocationRow) -> Option<String> {
    row.chain_run_id.as_ref().map(|run| run.chain_invocation().to_string())
}

fn card(
    row: &InvocationRow,
    runs: &[RunRow],
    outcomes: &[OutcomeRow],
    primary: Option<&OutcomeRow>,
    now: Millis,
) -> Markup {
    let name = row.name.as_ref().or(row.skill.as_ref()).map_or(row.id.as_str(), String::as_str);
    let mark = Mark::of_run(row.status, true);
    html! {
        section.sect id=(row.id) aria-label=(line(name)) data-row="" data-failure=[(mark.tone == "bad").then_some("")] {
            div.sect-h {
                h2 { (mark.shown()) " " (line(name)) }
                p { @if let Some(by) = &row.started_by { "asked for by " (line(by)) ", " } (when(row.started_at, now)) @if let Some(end) = row.ended_at { ", took " (duration(end.saturating_sub(row.started_at))) } }
                span.grow {}
                span.meta { a.id href={ "/runs?invocation=" (row.id) } { (line(&row.id)) } }
            }
            @if let Some(prompt) = &row.prompt { p.small.sub { (line(prompt)) } }
            div.box {
                table.stackable {
                    caption.vh { "Steps of " (line(name)) }
                    thead { tr { th scope="col" { "Step" } th scope="col" { "Status" } th scope="col" { "Final outcome" } th.num scope="col" { "Took" } } }
                    tbody { @for run in runs.iter().rev() { (step(run, outcomes, primary)) } }
                }
            }
            @if runs.is_empty() { p.small.dim { "Nothing ran in it." } }
        }
    }
}

fn step(run: &RunRow, outcomes: &[OutcomeRow], primary: Option<&OutcomeRow>) -> Markup {
    // Newest first, so the first of a run is its final one.
    let last = outcomes.iter().find(|outcome| outcome.run_id.as_ref() == Some(&run.id));
    let took = run.ended_at.map(|end| duration(end.saturating_sub(run.started_at))).unwrap_or_default();
    html! {
        tr class=[(run.depth > 0).then_some("nested")] {
            td { a href={ "/runs/" (run.id) } { (line(&run.playbook)) } @if let Some(title) = &run.title { " " span.sub { (line(title)) } } }
            td { (Mark::of_run(run.status, true).shown()) }
            td.small {
                @match last {
                    Some(outcome) => {
                        (Mark::of_outcome(outcome.outcome.outcome.passed).icon()) " " code { (line(&outcome.outcome.outcome.kind)) } " " (ticked(&outcome.outcome.outcome.summary))
                        @if primary.is_some_and(|primary| primary.outcome.id == outcome.outcome.id) { " " span.tag { "speaks for the invocation" } }
                    }
                    None => span.sub { (ticked_short(run.reason.as_ref().map_or("", |reason| reason.summary.as_str()))) },
                }
            }
            td.num.small.dim { (took) }
        }
    }
}
