//! Outcomes: a trend for each kind, and the query that the address is.

use std::collections::BTreeMap;

use escrow_app::outcomes::{OutcomeFilter, OutcomeRow};
use escrow_app::{now_ms, words};
use escrow_model::Millis;
use maud::{Markup, html};

use super::{choice, more, spans};
use crate::answer::PageError;
use crate::api::lists::outcome_filter;
use crate::layout::{Frame, Mark, Nav, id_short, line, ticked, when};
use crate::view::{Theme, View, address};

/// Outcomes that the trend looks at.
const TREND: usize = 1_000;

/// Outcomes of one kind that the trend draws.
const DRAWN: usize = 16;

const LIMIT: usize = 100;

pub(crate) async fn page(view: View) -> Result<Markup, PageError> {
    let frame = Frame::of(&view).await?;
    let queries = view.queries()?;
    let recent = queries.outcomes(&OutcomeFilter { limit: Some(TREND), ..OutcomeFilter::default() }).await?;
    let limit = view.limit(LIMIT)?;
    let filter = OutcomeFilter { limit: Some(limit + 1), ..outcome_filter(&view, LIMIT).await? };
    let mut rows = queries.outcomes(&filter).await?;
    let is_cut = rows.len() > limit;
    rows.truncate(limit);
    let mut kinds: BTreeMap<&str, Vec<&OutcomeRow>> = BTreeMap::new();
    for row in &recent {
        kinds.entry(&row.outcome.outcome.kind).or_default().push(row);
    }
    let names: Vec<String> = kinds.keys().map(|kind| (*kind).to_owned()).collect();
    let now = now_ms();
    let mut filters = view.query.clone();
    filters.remove(Theme::COOKIE);
    let content = html! {
        div.head { div.grow { h1 { "Outcomes" } p { "Typed results of checks. Every version is kept; the newest of an invocation speaks for it." } } }
        @if recent.is_empty() {
            p.sub { "No outcome is stored yet. A check stores one with " code { "outcome: ci_result" } ", a person with " code { "escrow outcomes add" } "." }
        } @else {
            section aria-labelledby="h-tr" {
                div.sect-h { h2 id="h-tr" { "Trend" } p { "oldest to the left; above the line passed, below failed" } }
                div.box.scroll tabindex="0" role="region" aria-label="Trend of each kind" {
                    table.trend {
                        thead { tr { th scope="col" { "Kind" } th scope="col" { "Pass rate" } th scope="col" { "Each outcome" } th scope="col" { "Newest" } } }
                        tbody { @for (kind, of_kind) in &kinds { (trend(kind, of_kind)) } }
                    }
                }
            }
            section.sect aria-labelledby="h-q" {
                div.sect-h { h2 id="h-q" { "Query" } p { @if is_cut { "the newest " (rows.len()) } @else { (rows.len()) } " that match" } }
                form.bar method="get" {
                    (choice(&view, "kind", "Kind", &names))
                    (choice(&view, "passed", "Passed", &["true".to_owned(), "false".to_owned()]))
                    (choice(&view, "since", "Since", &spans()))
                    label.field { span { "Run" } input type="text" name="run" placeholder="r_… or last" value=[view.get("run")]; }
                    label.field { span { "Invocation" } input type="text" name="invocation" placeholder="i_…" value=[view.get("invocation")]; }
                    button.btn.primary { "Ask" }
                }
                div.box.pad { dl.asis.q {
                    dt { "Address" } dd { code { (view.with(&[])) } }
                    dt { "Shell" } dd { code { (shell(&view)) } }
                    dt { "API" } dd { code { (address("/api/outcomes", &filters)) } }
                } }
                @if rows.is_empty() { p.sub { "No outcome matches." } }
                @else { div.box { (table(&rows, now)) } }
                @if is_cut { (more(&view, limit)) }
            }
        }
    };
    Ok(frame.page(&view, Nav::Outcomes, "Outcomes", &content))
}

/// The same question to the command line.
fn shell(view: &View) -> String {
    let mut command = "escrow outcomes".to_owned();
    match view.get("passed") {
        Some("true") => command.push_str(" --passed"),
        Some("false") => command.push_str(" --failed"),
        Some(_) | None => {}
    }
    for name in ["kind", "since", "run", "invocation"] {
        if let Some(value) = view.get(name) {
            command.push_str(&format!(" --{name} {}", words::shell_word(&words::printable(value))));
        }
    }
    command
}

fn trend(kind: &str, newest_first: &[&OutcomeRow]) -> Markup {
    let judged: Vec<bool> = newest_first.iter().filter_map(|row| row.outcome.outcome.passed).collect();
    let passed = judged.iter().filter(|passed| **passed).count();
    let drawn: Vec<&&OutcomeRow> = newest_first.iter().take(DRAWN).collect();
    let said: Vec<&str> =
        drawn.iter().rev().map(|row| Mark::of_outcome(row.outcome.outcome.passed).word).collect();
    let label = format!("{} outcomes, oldest first: {}", drawn.len(), said.join(", "));
    let query = BTreeMap::from([("kind".to_owned(), kind.to_owned())]);
    html! {
        tr {
            th scope="row" { a.plain href=(address("/outcomes", &query)) { code { (line(kind)) } } p.small.dim { (words::count(newest_first.len(), "outcome")) } }
            td {
                @if judged.is_empty() { span.dim { "no verdicts" } }
                @else { span.big { ((200 * passed + judged.len()) / (2 * judged.len())) " %" } p.small.dim { (passed) " of " (judged.len()) " passed" } }
            }
            td.spark {
                svg viewBox="0 0 500 34" preserveAspectRatio="none" role="img" aria-label=(label) {
                    line.sp-base x1="0" x2="500" y1="17" y2="17" vector-effect="non-scaling-stroke" {}
                    @for (place, row) in drawn.iter().enumerate() {
                        @let x = 471usize.saturating_sub(31 * place);
                        @match row.outcome.outcome.passed {
                            Some(true) => { rect.sp-ok x=(x) width="27" y="4" height="11" rx="1.5" {} }
                            Some(false) => { rect.sp-bad x=(x) width="27" y="19" height="11" rx="1.5" {} }
                            None => { rect.sp-none x=(x) width="27" y="14" height="6" rx="1.5" {} }
                        }
                    }
                }
            }
            td.small.sub { @if let Some(newest) = newest_first.first() { (ticked(&newest.outcome.outcome.summary)) } }
        }
    }
}

pub(super) fn table(rows: &[OutcomeRow], now: Millis) -> Markup {
    html! {
        table.stackable {
            caption.vh { "Outcomes, newest first" }
            thead { tr { th scope="col" { "Result" } th scope="col" { "Kind" } th scope="col" { "Summary" } th scope="col" { "Name" } th scope="col" { "Run" } th scope="col" { "Id" } th.num scope="col" { "When" } } }
            tbody {
                @for row in rows {
                    @let recorded = &row.outcome;
                    @let mark = Mark::of_outcome(recorded.outcome.passed);
                    tr id=(recorded.id) data-row="" data-failure=[(mark.tone == "bad").then_some("")] {
                        td { (mark.shown()) }
                        td.mono.small { (line(&recorded.outcome.kind)) }
                        td {
                            @match &row.run_id {
                                Some(run) => a.plain href={ "/runs/" (run) "#" (recorded.id) } { (ticked(&recorded.outcome.summary)) },
                                None => (ticked(&recorded.outcome.summary)),
                            }
                        }
                        td.small.sub { (line(&recorded.name)) }
                        td.small { @if let Some(run) = &row.run_id { a.id href={ "/runs/" (run) } { (id_short(run.as_str())) } } }
                        td.mono.small.dim title=(recorded.id) { (id_short(recorded.id.as_str())) }
                        td.num.small.dim { (when(row.created_at, now)) }
                    }
                }
            }
        }
    }
}
