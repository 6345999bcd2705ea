//! Runs: filters in the address, groups by invocation, and a grid of runs and checks for one playbook.

mod grid;
mod strip;

use std::collections::BTreeMap;
use std::sync::Arc;

use escrow_app::invocations::{self, InvocationRow};
use escrow_app::runs::{Queries, RunFilter, RunRow, is_driven, parse_status};
use escrow_app::{Error, now_ms, words};
use escrow_model::{DeliveryStatus, Millis, RunId, RunStatus};
use maud::{Markup, html};

use super::{choice, empty, more, spans};
use crate::answer::PageError;
use crate::layout::{Frame, Mark, Nav, duration, id_short, line, status, ticked_short, when};
use crate::view::View;

pub(crate) use strip::{Strip, Strips};

/// Runs whose checks are shown; of further ones the page of the run has them.
const STRIPS_MAX: usize = 200;

/// Runs on one page, unless the address asks for more.
const LIMIT: usize = 100;

pub(crate) async fn page(view: View) -> Result<Markup, PageError> {
    let frame = Frame::of(&view).await?;
    let queries = view.queries()?;
    let limit = view.limit(LIMIT)?;
    let (rows, is_cut) = found(&view, &*queries, limit).await?;
    let is_filtered = ["status", "playbook", "invocation", "since", "q", "reason"]
        .iter()
        .any(|name| view.get(name).is_some());
    if rows.is_empty() && !is_filtered {
        return Ok(frame.page(&view, Nav::Runs, "Nothing has run yet", &empty::hello()));
    }
    let by_time = view.get("by") == Some("time");
    let by = match (by_time, view.get("invocation")) {
        (true, _) => GroupBy::Time,
        (false, Some(_)) => GroupBy::OwnInvocation,
        (false, None) => GroupBy::Invocation,
    };
    let groups = grouped(&*queries, &rows, by).await?;
    let mut driven = BTreeMap::new();
    for row in rows.iter().filter(|row| row.status == RunStatus::Running) {
        driven.insert(row.id.clone(), is_driven(&*queries, row).await?);
    }
    let mut strips = BTreeMap::new();
    for row in rows.iter().take(STRIPS_MAX) {
        if let Some(strip) = view.studio.strips.of(&*queries, row).await {
            strips.insert(row.id.clone(), strip);
        }
    }
    let known = Known { driven, strips };
    let grid = match view.get("playbook") {
        Some(playbook) => Some(grid::grid(&*queries, playbook).await?),
        None => None,
    };
    let now = now_ms();
    let invocations = groups.iter().filter(|group| group.invocation.is_some()).count();
    let (running, interrupted): (Vec<bool>, Vec<bool>) = known.driven.values().partition(|driven| **driven);
    let (running, interrupted) = (running.len(), interrupted.len());
    let content = html! {
        div.head {
            div.grow {
                h1 { "Runs" }
                p { (words::count(rows.len(), "run")) @if is_cut { " and older ones" } ", " (words::count(invocations, "invocation")) ", " (running) " running" @if interrupted > 0 { ", " (interrupted) " interrupted" } ". " @if is_searched(&view) { "The command line has no search; all of them: " } @else { "In a shell: " } code { (shell(&view, limit)) } }
            }
            div.btns {
                span.seg {
                    a href=(view.with(&[("by", None)])) aria-current=[(!by_time).then_some("true")] { "By invocation" }
                    a href=(view.with(&[("by", Some("time"))])) aria-current=[by_time.then_some("true")] { "By time" }
                    @if grid.is_some() { a href="#grid" { "Grid" } }
                }
            }
        }
        (filters(&view, &rows))
        p.news role="status" data-news="" {}
        @if rows.is_empty() {
            p.sub { "No run matches. " a href="/runs" { "Every run" } }
        } @else {
            div.box id="list" {
                table.runs.stackable {
                    caption.vh { "Runs, newest first" }
                    thead { tr {
                        th.c-st scope="col" { "Status" } th.c-pb scope="col" { "Playbook" } th scope="col" { "Reason" }
                        th.c-ck scope="col" { "Checks" } th.c-ar scope="col" { "Artifacts" } th.num.c-du scope="col" { "Took" } th.num.c-wh scope="col" { "Started" }
                    } }
                    @for group in &groups { (tbody(group, &known, now)) }
                }
            }
            @if is_cut { (more(&view, limit)) }
        }
        @if let Some(grid) = grid { (grid) }
    };
    Ok(frame.page(&view, Nav::Runs, "Runs", &content))
}

/// Whether words or codes are looked for.
fn is_searched(view: &View) -> bool {
    view.get("q").is_some() || view.get("reason").is_some()
}

/// The same question to the command line, which has no search.
fn shell(view: &View, limit: usize) -> String {
    let mut command = "escrow runs --all".to_owned();
    for name in ["status", "playbook", "invocation", "since"] {
        if let Some(value) = view.get(name) {
            command.push_str(&format!(" --{name} {}", words::shell_word(&words::printable(value))));
        }
    }
    format!("{command} --limit {limit}")
}

/// The runs that the address asks for, and whether there are more.
async fn found(view: &View, queries: &dyn Queries, limit: usize) -> Result<(Vec<RunRow>, bool), Error> {
    let invocation = match view.get("invocation") {
        Some(name) => Some(invocations::find(queries, name).await?.id),
        None => None,
    };
    // Words and codes are looked for here, so that many more are read than are shown.
    let is_searched = is_searched(view);
    let filter = RunFilter {
        status: view.get("status").map(parse_status).transpose()?,
        playbook: view.get("playbook").map(str::to_owned),
        invocation,
        since: view.since()?,
        limit: Some(if is_searched { 5_000 } else { limit + 1 }),
        ..RunFilter::default()
    };
    let mut rows = queries.runs(&filter).await?;
    if let Some(code) = view.get("reason") {
        rows.retain(|row| row.reason.as_ref().is_some_and(|reason| reason.code.as_str() == code));
    }
    if let Some(text) = view.get("q") {
        let text = text.to_lowercase();
        rows.retain(|row| holds(row, &text));
    }
    let is_cut = rows.len() > limit;
    rows.truncate(limit);
    Ok((rows, is_cut))
}

fn holds(row: &RunRow, text: &str) -> bool {
    let reason = row.reason.as_ref();
    let places = [
        Some(row.id.as_str()),
        Some(row.playbook.as_str()),
        row.title.as_deref(),
        row.invocation_id.as_deref(),
        reason.map(|reason| reason.code.as_str()),
        reason.map(|reason| reason.summary.as_str()),
    ];
    places.into_iter().flatten().any(|place| place.to_lowercase().contains(text))
}

/// What is known of runs besides their rows.
struct Known {
    /// Whether a process drives it, of those that run.
    driven: BTreeMap<RunId, bool>,
    strips: BTreeMap<RunId, Arc<Strip>>,
}

/// What makes runs a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupBy {
    /// The invocation of the outermost run.
    Invocation,
    /// The invocation of the run itself.
    OwnInvocation,
    /// None but nesting.
    Time,
}

struct Group<'r> {
    invocation: Option<InvocationRow>,
    rows: Vec<&'r RunRow>,
}

impl Group<'_> {
    /// Whether the group has the run that this one is nested in.
    fn has_around(&self, row: &RunRow) -> bool {
        row.depth > 0 && self.rows.iter().any(|outer| outer.id == row.root)
    }
}

/// Runs of one invocation stand together, where its newest run is; nested runs below the run that they are nested in. A step of a
/// chain has an invocation of its own, and stands below the run of the chain all the same, unless the address asks for an invocation.
async fn grouped<'r>(
    queries: &dyn Queries,
    rows: &'r [RunRow],
    by: GroupBy,
) -> Result<Vec<Group<'r>>, Error> {
    let mut groups: Vec<Group<'r>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut of_roots: BTreeMap<&RunId, Option<String>> =
        rows.iter().map(|row| (&row.id, row.invocation_id.clone())).collect();
    for row in rows {
        if !of_roots.contains_key(&row.root) {
            // The outermost run is older than those that are listed, or filtered out.
            let root = queries.run(row.root.as_str()).await.ok();
            of_roots.insert(&row.root, root.and_then(|root| root.invocation_id));
        }
        let invocation = match by {
            GroupBy::Invocation => of_roots[&row.root].clone().or_else(|| row.invocation_id.clone()),
            GroupBy::OwnInvocation => row.invocation_id.clone(),
            GroupBy::Time => None,
        };
        let key = invocation.clone().unwrap_or_else(|| row.root.to_string());
        if let Some(place) = places.get(&key) {
            groups[*place].rows.push(row);
            continue;
        }
        places.insert(key, groups.len());
        let invocation = match invocation {
            Some(id) => queries.invocation(&id).await?,
            None => None,
        };
        groups.push(Group { invocation, rows: vec![row] });
    }
    for group in &mut groups {
        outer_first(&mut group.rows);
    }
    Ok(groups)
}

/// Newest first, but a run before those that are nested in it, which are in the order of their start.
fn outer_first(rows: &mut Vec<&RunRow>) {
    let mut places: BTreeMap<&RunId, usize> = BTreeMap::new();
    for row in rows.iter() {
        let next = places.len();
        places.entry(&row.root).or_insert(next);
    }
    rows.sort_by_key(|row| (places[&row.root], row.depth > 0, row.started_at, row.id.clone()));
}

fn filters(view: &View, rows: &[RunRow]) -> Markup {
    let statuses: Vec<String> = RunStatus::ALL.iter().map(|status| status.as_str().to_owned()).collect();
    let mut playbooks: Vec<String> = rows.iter().map(|row| row.playbook.clone()).collect();
    let mut codes: Vec<String> =
        rows.iter().filter_map(|row| Some(row.reason.as_ref()?.code.as_str().to_owned())).collect();
    for list in [&mut playbooks, &mut codes] {
        list.sort();
        list.dedup();
    }
    html! {
        form.bar method="get" aria-label="Filter runs" {
            (choice(view, "status", "Status", &statuses))
            (choice(view, "playbook", "Playbook", &playbooks))
            (choice(view, "reason", "Reason", &codes))
            (choice(view, "since", "Since", &spans()))
            @if let Some(text) = view.get("q") { label.field { span { "Search" } input type="text" name="q" value=(text); } }
            @if let Some(invocation) = view.get("invocation") { input type="hidden" name="invocation" value=(invocation); }
            button.btn { "Apply" }
            span.grow {}
            span.small.dim.mono { (view.with(&[])) }
        }
    }
}

fn tbody(group: &Group<'_>, known: &Known, now: Millis) -> Markup {
    html! {
        tbody class=[group.invocation.as_ref().map(|_| "g")] {
            @if let Some(invocation) = &group.invocation {
                tr.inv {
                    th colspan="7" scope="rowgroup" {
                        div.inv-row {
                            b { (line(invocation.name.as_ref().or(invocation.skill.as_ref()).map_or("Invocation", String::as_str))) }
                            @if let Some(health) = invocation.health.filter(|_| invocation.runs() > 1) { (Mark::of_run(health, true).shown()) }
                            @let nested = group.rows.iter().filter(|row| group.has_around(row)).count();
                            span { (words::count(group.rows.len() - nested, "run")) @if nested > 0 { ", " (nested) " nested" } }
                            @if let Some(by) = &invocation.started_by { span { "asked for by " (line(by)) } }
                            span.grow {}
                            a.id href={ "/invocations#" (line(&invocation.id)) } { (line(&invocation.id)) }
                        }
                    }
                }
            }
            @for row in &group.rows {
                (run_row(row, group.has_around(row), known, now))
            }
        }
    }
}

/// `is_below` tells whether the run that it is nested in stands above it.
fn run_row(row: &RunRow, is_below: bool, known: &Known, now: Millis) -> Markup {
    let mark = Mark::of_run(row.status, known.driven.get(&row.id).copied().unwrap_or(true));
    let took = row.ended_at.map(|end| duration(end.saturating_sub(row.started_at))).unwrap_or_default();
    let summary = row.reason.as_ref().map(|reason| line(&reason.summary)).unwrap_or_default();
    html! {
        tr class=[is_below.then_some("nested")] id=(row.id) data-row="" data-why={ "/runs/" (row.id) "#why" } data-run=(row.id) data-failure=[(mark.tone == "bad").then_some("")] {
            td.c-st data-live={ "st-" (row.id) } { (mark.shown()) }
            td.c-pb { a.rid href={ "/runs/" (row.id) } { (line(&row.playbook)) } @if row.depth > 0 && !is_below { " " span.small.dim { "in " a.id href={ "/runs/" (row.root) } { (id_short(row.root.as_str())) } } } }
            td.why.cut title=(summary) data-live={ "why-" (row.id) } {
                @if let Some(title) = &row.title { b { (line(title)) } " " }
                (ticked_short(&summary))
                @if !row.warnings.is_empty() { " " span.warn { (words::count(row.warnings.len(), "warning")) } }
            }
            td.c-ck data-live={ "ck-" (row.id) } { @if let Some(strip) = known.strips.get(&row.id) { (strip.shown(mark == Mark::INTERRUPTED)) } }
            td.c-ar data-live={ "ar-" (row.id) } { (delivery(row.artifacts_status)) }
            td.num.c-du data-live={ "du-" (row.id) } { (took) }
            td.num.c-wh.dim { (when(row.started_at, now)) }
        }
    }
}

fn delivery(delivered: Option<DeliveryStatus>) -> Markup {
    match delivered {
        Some(DeliveryStatus::Passed) => status("file", "ok", "passed"),
        Some(DeliveryStatus::Failed) => status("nofile", "bad", "failed"),
        Some(DeliveryStatus::Warning) => status("warn", "warn", "warning"),
        Some(DeliveryStatus::Skipped) | None => html! {},
    }
}
