//! One run: its verdict first, then everything that supports it.

mod agent;
mod artifacts;
mod checks;
mod facts;
mod graph;
mod journal;
mod output;
mod timeline;
mod verdict;
mod why;

use std::sync::Arc;

use axum::http::HeaderValue;
use axum::http::header::CONTENT_DISPOSITION;
use axum::response::{IntoResponse, Response};
use escrow_app::artifacts::{PromisedArtifact, SinceVerified};
use escrow_app::attempted::{Attempts, attempts_of};
use escrow_app::effects::{self, EffectRow};
use escrow_app::explain::{Account, account};
use escrow_app::harnesses::{LifecycleReceipt, receipts_of_run};
use escrow_app::messages::{WaitRow, barred, waits_of};
use escrow_app::outcomes::{OutcomeFilter, OutcomeRow};
use escrow_app::runs::{CheckReport, Hash, Run, RunRow, entries_in_parts, is_driven, rebuilt};
use escrow_app::{Error, now_ms};
use escrow_model::{CheckStatus, Criticality, Entry, Millis, RunStatus, WaitKind};
use maud::{Markup, html};

use self::checks::Listed;
use super::ask::{self, Asked};
use super::card;
use crate::answer::PageError;
use crate::layout::{Frame, Mark, Nav, anchor, duration, lasting, line, whole};
use crate::view::View;

/// Checks at the side.
const SIDE_MAX: usize = 150;

/// Effects in its table, newest first.
const EFFECTS_MAX: usize = 100;

/// Outcomes that are shown as cards.
const CARDS_MAX: usize = 12;

/// Everything that the page shows.
struct Shown {
    row: RunRow,
    /// The name of its invocation.
    request: Option<String>,
    run: Run,
    entries: Vec<Entry>,
    /// The numbers and hashes of the last entries.
    hashes: Vec<(u64, Hash)>,
    waits: Vec<WaitRow>,
    /// What its unknown effects are about.
    attempts: Attempts,
    outcomes: Vec<OutcomeRow>,
    effects: Vec<EffectRow>,
    /// What the hooks of its agents reported.
    receipts: Vec<LifecycleReceipt>,
    /// Approvals that were given for something else than was asked in the end.
    stale: Vec<WaitRow>,
    account: Option<Account>,
    promised: Vec<PromisedArtifact>,
    /// For each of `promised`, what became of its files.
    now_of_files: Vec<Vec<SinceVerified>>,
    mark: Mark,
    now: Millis,
}

impl Shown {
    async fn load(view: &View, row: RunRow) -> Result<Shown, Error> {
        let queries = view.queries()?;
        let hashes = queries.last_hashes(&row.id, journal::ENTRIES).await?;
        let entries = entries_in_parts(&*queries, &row).await?;
        let run = rebuilt(&row, &entries)?;
        let (waits, decided): (Vec<WaitRow>, Vec<WaitRow>) =
            waits_of(&*queries, &row.id).await?.into_iter().partition(|wait| wait.resolved_at.is_none());
        let attempts = attempts_of(view.studio.app.state(), &*queries, &waits).await?;
        let stale = ask::stale(decided);
        // Only harnesses have hooks, and their ledger is another file.
        let has_agents = run
            .check_reports()
            .any(|check| check.record().is_some_and(|record| record.contains_key("harness")));
        let receipts =
            if has_agents { receipts_of_run(view.studio.app.state(), row.id.as_str())? } else { Vec::new() };
        let filter = OutcomeFilter { run: Some(row.id.clone()), ..OutcomeFilter::default() };
        let outcomes = queries.outcomes(&filter).await?;
        let effects = effects::of_run(&*queries, &row.id, &entries).await?;
        let asked = view.get("check");
        let account = match (asked, row.status) {
            (Some(check), _) => Some(account(&row, &entries, Some(check))?),
            (None, RunStatus::Completed | RunStatus::Running) => None,
            (None, _) => account(&row, &entries, None).ok(),
        };
        let mark = Mark::of_run(row.status, is_driven(&*queries, &row).await?);
        let request = match &row.invocation_id {
            Some(id) => queries.invocation(id).await?.and_then(|row| row.name.or(row.skill)),
            None => None,
        };
        let now = now_ms();
        let (promised, now_of_files) = artifacts::look(&run, view.studio.app.state());
        Ok(Shown {
            row,
            request,
            run,
            entries,
            hashes,
            waits,
            attempts,
            outcomes,
            effects,
            receipts,
            stale,
            account,
            promised,
            now_of_files,
            mark,
            now,
        })
    }

    fn elapsed_ms(&self) -> u64 {
        self.until().saturating_sub(self.run.started_at())
    }

    /// It should be running, and its process is gone.
    fn is_interrupted(&self) -> bool {
        self.mark == Mark::INTERRUPTED
    }

    /// The end of the run, or how far it has come. Of an interrupted run nothing is known behind its last entry.
    fn until(&self) -> Millis {
        let last = self.entries.last().map(|entry| entry.at).filter(|_| self.is_interrupted());
        self.run.ended_at().or(last).unwrap_or(self.now)
    }

    /// How a check stands, in shape, colour and word.
    fn mark_of(&self, check: &CheckReport<'_>) -> Mark {
        let spec = self.run.plan_of().check(check.index);
        if check.status == CheckStatus::Running && self.is_interrupted() {
            return Mark::CUT_OFF;
        }
        Mark::of_check(check.status, spec.continue_on_failure && spec.criticality == Criticality::Info)
    }

    /// How many items a check has; of one without items, how often it ran.
    fn repeated(&self, check: &CheckReport<'_>) -> usize {
        if check.has_items {
            return self.run.item_reports(check.index).count();
        }
        usize::try_from(check.runs).unwrap_or(usize::MAX)
    }

    /// The time of an entry since the run began.
    fn since_start(&self, at: Millis) -> String {
        let ms = at.saturating_sub(self.run.started_at());
        format!("+{}.{:03}s", ms / 1_000, ms % 1_000)
    }
}

/// Which checks to show where there is no room for all: those that need a look, then the others, in the order of the playbook.
fn chosen(shown: &Shown, most: usize) -> Vec<bool> {
    let number = shown.run.plan_of().checks.len();
    if number <= most {
        return vec![true; number];
    }
    let mut order: Vec<(bool, usize)> = shown
        .run
        .check_reports()
        .map(|check| {
            (
                !matches!(shown.mark_of(&check).tone, "bad" | "warn" | "unk" | "wait" | "run"),
                check.index.place(),
            )
        })
        .collect();
    order.sort_unstable();
    let mut chosen = vec![false; number];
    for (_, place) in order.into_iter().take(most) {
        chosen[place] = true;
    }
    chosen
}

pub(crate) async fn page(view: View) -> Result<Response, PageError> {
    let frame = Frame::of(&view).await?;
    let row = view.queries()?.run(&view.parameter("id")).await?;
    let (studio, held) = (Arc::clone(&view.studio), row.clone());
    Ok(studio.long_runs.holding(&row, move || made(view, frame, held)).await?)
}

async fn made(view: View, frame: Frame, row: RunRow) -> Result<Response, Error> {
    let shown = Shown::load(&view, row).await?;
    let title = match shown.run.title() {
        Some(title) => format!("{}: {}, {}", shown.mark.word, line(&shown.row.playbook), line(title)),
        None => format!("{}: {}", shown.mark.word, line(&shown.row.playbook)),
    };
    let content = content(&view, &shown);
    if view.has("export") {
        let mut response = whole(&title, &content, shown.now).into_response();
        let name = format!("attachment; filename=\"{}.html\"", shown.row.id);
        if let Ok(value) = HeaderValue::from_str(&name) {
            response.headers_mut().insert(CONTENT_DISPOSITION, value);
        }
        return Ok(response);
    }
    Ok(frame.page(&view, Nav::Runs, &title, &content).into_response())
}

fn content(view: &View, shown: &Shown) -> Markup {
    let row = &shown.row;
    let is_calm = matches!(row.status, RunStatus::Completed);
    let artifacts = artifacts::section(shown);
    let listed = Listed::of(view, shown);
    let why = why::section(shown, &listed);
    html! {
        nav aria-label="Breadcrumb" { ol.crumbs {
            li { a href="/runs" { "Runs" } }
            @if let Some(id) = &row.invocation_id { li { a href={ "/runs?invocation=" (line(id)) } title=(line(id)) { (line(shown.request.as_deref().unwrap_or(id))) } } }
            li { a href={ "/runs?playbook=" (crate::view::encoded(&row.playbook)) } { (line(&row.playbook)) } }
            li aria-current="page" { span.id { (row.id) } }
        } }
        (verdict::header(view, shown))
        (facts::facts(shown))
        div.cols {
            (side(shown, &listed))
            div {
                @for wait in shown.waits.iter().filter(|wait| wait.kind != WaitKind::Nested) { section.sect aria-label="Decision" { (ask::card(view, &Asked { wait, attempted: shown.attempts.of(wait), barred: barred(&shown.run, wait, &view.visitor.actor).as_deref() }, &shown.stale, shown.now)) } }
                @for wait in shown.waits.iter().filter(|wait| wait.kind == WaitKind::Nested) {
                    section.sect { p { code { (line(&wait.check)) (line(&wait.scope)) } " waits for " a.id href={ "/runs/" (wait.id) } { (wait.id) } } }
                }
                @if is_calm { (artifacts) (why) } @else { (why) (artifacts) }
                @if has_graph(shown) { (graph::section(shown, &listed)) }
                (timeline::section(shown))
                (outcomes(shown))
                (effects_section(shown))
                (checks::section(view, shown, &listed))
                (journal::section(shown))
            }
        }
    }
}

/// A drawing of one check would say nothing that its line does not.
fn has_graph(shown: &Shown) -> bool {
    shown.run.plan_of().checks.len() > 1
}

/// The first checks that a harness worked for.
fn agents(shown: &Shown) -> impl Iterator<Item = CheckReport<'_>> {
    let is_agent =
        |check: &CheckReport<'_>| check.record().is_some_and(|record| record.contains_key("harness"));
    shown.run.check_reports().filter(is_agent).take(5)
}

/// The checks, in the order of the playbook, with where to find each. Of many, those that need a look.
fn side(shown: &Shown, listed: &Listed) -> Markup {
    let is_shown = chosen(shown, SIDE_MAX);
    let left_out = is_shown.iter().filter(|is_shown| !**is_shown).count();
    html! {
        aside.side aria-label="Checks of this run" {
            h2 { "Checks" }
            ul.checks {
                @for check in shown.run.check_reports().filter(|check| is_shown[check.index.place()]) {
                    @let mark = shown.mark_of(&check);
                    @let is_ghost = matches!(mark.word, "skipped" | "pending");
                    li class=[is_ghost.then_some("ghost")] {
                        a href=(listed.href(shown, &check)) data-live={ "side-" (anchor("", check.name)) } {
                            (mark.icon())
                            span.cut { span.mono { (line(check.name)) } span.vh { " " (mark.word) } " " @if shown.repeated(&check) > 1 { span.x { "×" (shown.repeated(&check)) } } }
                            span.n { @if is_ghost || matches!(mark.word, "waiting" | "running" | "interrupted") { (mark.word) } @else { (checks::took(&check).map(duration).unwrap_or_default()) } }
                        }
                    }
                }
            }
            @if left_out > 0 { p.small { a href="#graph-table" { "and " (left_out) " more" } } }
            h2.toc-h { "On this page" }
            ul.toc {
                @if shown.account.is_some() || shown.is_interrupted() { li { a href="#why" { span { "Why" } span.n {} } } }
                @if !shown.run.plan_of().artifacts.expected.is_empty() { li { a href="#artifacts" { span { "Expected artifacts" } span.n {} } } }
                @if has_graph(shown) { li { a href="#graph" { span { "Graph" } span.n { (shown.run.plan_of().checks.len()) } } } }
                li { a href="#timeline" { span { "Timeline" } span.n data-live="toc-timeline" { @if shown.run.ended_at().is_some() || shown.is_interrupted() { (duration(shown.elapsed_ms())) } @else { (lasting(shown.run.started_at(), shown.now)) } } } }
                @if !shown.outcomes.is_empty() { li { a href="#outcomes" { span { "Outcomes" } span.n { (shown.outcomes.len()) } } } }
                @if !shown.effects.is_empty() { li { a href="#effects" { span { "Effects" } span.n { (shown.effects.len()) } } } }
                @for check in agents(shown) { li { a href={ "#" (anchor("check", check.name)) } { span { "Agent " code { (line(check.name)) } } span.n {} } } }
                li { a href="#checks" { span { "Checks and logs" } span.n {} } }
                li { a href="#journal" { span { "Journal" } span.n { (shown.entries.len()) } } }
            }
        }
    }
}

/// The newest of each name as a card; older versions are one click away.
fn outcomes(shown: &Shown) -> Markup {
    if shown.outcomes.is_empty() {
        return html! {};
    }
    let mut newest: Vec<&OutcomeRow> = Vec::new();
    for row in &shown.outcomes {
        let is_known = |one: &&OutcomeRow| {
            one.outcome.name == row.outcome.name && one.outcome.outcome.kind == row.outcome.outcome.kind
        };
        if !newest.iter().any(is_known) {
            newest.push(row);
        }
    }
    let (left, right): (Vec<_>, Vec<_>) =
        newest.iter().take(CARDS_MAX).enumerate().partition(|(place, _)| place % 2 == 0);
    html! {
        section.sect id="outcomes" aria-labelledby="h-out" {
            div.sect-h {
                h2 id="h-out" { "Outcomes" } p { "newest of each; every version is kept" }
                span.grow {} span.meta { a href={ "/outcomes?run=" (shown.row.id) } { (shown.outcomes.len()) " versions" } }
            }
            div.cards {
                @for side in [left, right] { @if !side.is_empty() { div { @for (_, row) in side { (card::card(row, shown.now)) } } } }
            }
        }
    }
}

fn effects_section(shown: &Shown) -> Markup {
    html! {
        @if !shown.effects.is_empty() {
            section.sect id="effects" aria-labelledby="h-eff" {
                div.sect-h { h2 id="h-eff" { "Effects" } p { "what this run changed, or may have changed, outside" } }
                div.box { (super::effects::table(shown.effects.get(..EFFECTS_MAX).unwrap_or(&shown.effects), shown.now)) }
                @if shown.effects.len() > EFFECTS_MAX { p.small.dim { "and " (shown.effects.len() - EFFECTS_MAX) " older ones: " a href={ "/effects?run=" (shown.row.id) } { "every effect of this run" } } }
            }
        }
    }
}
