//! Chains: their state, what fires them, and their last run by steps. One chain: its steps with the values that their
//! conditions saw, its definition, its runs, and a form that fires it.

mod hours;

use escrow_app::chains::{self, ChainRow, FileState, FireEvent, ListedChain, PlannedStep};
use escrow_app::runs::{Queries, Run, replay_of};
use escrow_app::schedule::{Upcoming, upcoming};
use escrow_app::{Error, now_ms, words};
use escrow_model::{ChainStatus, CheckIndex, CheckStatus, Millis, RunStatus};
use maud::{Markup, html};
use serde_json::Value;

use super::runs::Strip;
use super::{csrf, more};
use crate::answer::PageError;
use crate::layout::{Frame, Mark, Nav, anchor, clipped, code, icon, line, status, ticked, when};
use crate::view::{View, encoded};

/// Runs of a chain in its table.
const RUNS: usize = 10;

/// Chains that are listed, unless the address asks for more.
const LIMIT: usize = 100;

pub(crate) async fn list(view: View) -> Result<Markup, PageError> {
    let frame = Frame::of(&view).await?;
    let limit = view.limit(LIMIT)?;
    let all = chains::rows(&view.studio.app).await?;
    let queries = view.queries()?;
    let now = now_ms();
    let ticks = upcoming(&view.studio.app, now, now + hours::SPAN_MS).await?;
    let mut rows = Vec::new();
    for one in all.iter().take(limit) {
        let listed = chains::listed(&view.studio.app, one.clone()).await?;
        rows.push(row(&*queries, &listed, ticks.get(&one.name), now).await?);
    }
    let of = |status: ChainStatus| all.iter().filter(|one| one.status == status).count();
    let (active, paused) = (of(ChainStatus::Active), of(ChainStatus::Paused));
    let content = html! {
        div.head { div.grow { h1 { "Chains" } p { "Playbooks that follow one another when something happens. " @if !all.is_empty() { (active) " active, " (paused) " paused. " } "In a shell: " code { "escrow chain list" } } } }
        @if all.is_empty() { p.sub { "No chain is defined. " code { "escrow chain define FILE" } " defines one." } }
        @else {
            div.box {
                table.stackable {
                    caption.vh { "Chains" }
                    thead { tr { th scope="col" { "State" } th scope="col" { "Chain" } th scope="col" { "Trigger" } th scope="col" { "Next fire" } th scope="col" { "Last run, by steps" } th.num scope="col" { "Completed" } th.num scope="col" { "When" } } }
                    tbody { @for row in &rows { (row) } }
                }
            }
            @if all.len() > limit { p.small.dim { "and " (all.len() - limit) " more" } (more(&view, limit)) }
            (hours::section(&ticks, now))
        }
    };
    Ok(frame.page(&view, Nav::Chains, "Chains", &content))
}

async fn row(
    queries: &dyn Queries,
    listed: &ListedChain,
    upcoming: Option<&Upcoming>,
    now: Millis,
) -> Result<Markup, Error> {
    let last = match listed.runs.first() {
        Some(row) => Some((row, replay_of(queries, &row.id).await?)),
        None => None,
    };
    let waiting = listed.runs.iter().filter(|run| run.status == RunStatus::Waiting).count();
    let row = &listed.row;
    Ok(html! {
        tr id=(anchor("chain", &row.name)) data-row="" data-failure=[last.as_ref().filter(|(_, run)| run.status() == RunStatus::Failed).map(|_| "")] {
            td { (state(row.status)) @if waiting > 0 { p.small.wait { (waiting) " waiting" } } }
            td { a href={ "/chains/" (encoded(&row.name)) } { b { (line(&row.name)) } } @if let Some(about) = row.description() { p.small.sub { (line(about)) } } (file_note(listed.file)) }
            td.small { (trigger(row)) }
            td.small.nowrap { (next_fire(row, upcoming, now)) }
            td data-live={ "last-" (anchor("chain", &row.name)) } {
                @match &last {
                    Some((row, run)) => { a.plain href={ "/runs/" (row.id) } { (Strip::of(run).shown(false)) " " (Mark::of_run(run.status(), true).shown()) } }
                    None => span.dim { "never fired" },
                }
            }
            td.num.small { @if last.is_some() { (listed.runs.iter().filter(|run| run.status == RunStatus::Completed).count()) " of " (listed.runs.len()) } }
            td.num.small.dim { @if let Some((row, _)) = &last { (when(row.created_at, now)) } }
        }
    })
}

/// A chain that is not active fires by hand alone.
fn next_fire(row: &ChainRow, upcoming: Option<&Upcoming>, now: Millis) -> Markup {
    match row.status {
        ChainStatus::Active if row.trigger().is_none() => {
            html! { "by hand" }
        }
        ChainStatus::Active => hours::next(upcoming, now),
        ChainStatus::Paused => html! { span.dim { "paused" } },
        ChainStatus::Disabled => html! { span.dim { "disabled" } },
    }
}

fn state(state: ChainStatus) -> Markup {
    match state {
        ChainStatus::Active => status("ok", "ok", "active"),
        ChainStatus::Paused => status("wait", "wait", "paused"),
        ChainStatus::Disabled => status("block", "skip", "disabled"),
    }
}

fn file_note(file: FileState) -> Markup {
    match file {
        FileState::Same => html! {},
        FileState::Changed => html! { p.small.warn { "its file has changed since it was defined" } },
        FileState::Missing => html! { p.small.warn { "its file is gone" } },
    }
}

/// What fires it, as the file has it.
fn trigger(row: &ChainRow) -> Markup {
    let words: Vec<String> = match row.trigger() {
        Some(Value::Object(members)) => members
            .iter()
            .map(|(name, value)| {
                format!("{name} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            })
            .collect(),
        Some(other) => vec![other.to_string()],
        None => vec!["by hand".to_owned()],
    };
    html! { @for word in &words { p { code { (clipped(word, 120)) } } } }
}

pub(crate) async fn show(view: View) -> Result<Markup, PageError> {
    let frame = Frame::of(&view).await?;
    let queries = view.queries()?;
    let shown = chains::show(&view.studio.app, &view.parameter("name")).await?;
    let mut runs = Vec::new();
    for row in shown.runs.iter().take(RUNS) {
        runs.push((row.clone(), replay_of(&*queries, &row.id).await?));
    }
    let event = FireEvent { name: FireEvent::MANUAL.to_owned(), ..FireEvent::default() };
    // A chain whose playbooks are gone has no plan; the rest of the page is as useful.
    let plan = chains::plan(&shown.row, event);
    let now = now_ms();
    let ticks = upcoming(&view.studio.app, now, now + hours::SPAN_MS).await?;
    let row = &shown.row;
    let content = html! {
        nav aria-label="Breadcrumb" { ol.crumbs { li { a href="/chains" { "Chains" } } li aria-current="page" { (line(&row.name)) } } }
        div.head {
            div.grow { h1 { (line(&row.name)) } @if let Some(about) = row.description() { p { (line(about)) } } }
            div.btns { (buttons(&view, &shown)) }
        }
        dl.facts {
            div { dt { "State" } dd { (state(row.status)) } dd.more { (file_note(shown.file)) } }
            div { dt { "Trigger" } dd.small { (trigger(row)) } }
            div { dt { "Next fire" } dd { (next_fire(row, ticks.get(&row.name), now)) } }
            div { dt { "Version" } dd { (row.version) } dd.more { span.mono { (row.sha256.get(..12).unwrap_or_default()) } } }
            div { dt { "Defined by" } dd { (row.defined_by.as_deref().map(line).unwrap_or_default()) } dd.more { span { (when(row.updated_at, now)) } } }
            div { dt { "Runs" } dd { (shown.runs.len()) } dd.more { span { (shown.runs.iter().filter(|run| run.status == RunStatus::Completed).count()) " completed" } } }
        }
        div.half {
            div.stack {
                section aria-labelledby="h-steps" {
                    div.sect-h { h2 id="h-steps" { "Steps" } p { @match runs.first() { Some((row, _)) => { "with the values of " a.id href={ "/runs/" (row.id) } { "the last run" } }, None => "it has not run yet" } } }
                    div.box { @match (runs.first(), &plan) {
                        (Some((_, run)), _) => (steps(run)),
                        (None, Ok(plan)) => (planned(&plan.steps)),
                        (None, Err(error)) => p.pad { (ticked(&error.to_string())) },
                    } }
                }
                (fire_form(&view, &shown))
            }
            div.stack {
                section aria-labelledby="h-def" {
                    div.sect-h { h2 id="h-def" { "Definition" } p.mono title=(line(&row.file)) { (line(&below(&view, &row.file))) } }
                    div.box { code.yaml tabindex="0" role="region" aria-label="Text of the definition" { @for part in row.text.lines() { span.l { (words::visible(part)) "\n" } } } }
                }
                @if let (Some(_), Ok(plan)) = (runs.first(), &plan) {
                    section aria-labelledby="h-plan" { div.sect-h { h2 id="h-plan" { "What a fire by hand could do" } p { "nothing is called for it" } } div.box { (planned(&plan.steps)) } }
                }
            }
        }
        @if !runs.is_empty() { (table(&runs, now)) }
    };
    Ok(frame.page(&view, Nav::Chains, &row.name, &content))
}

/// A path as it is below the project.
fn below(view: &View, file: &str) -> String {
    let project = view.studio.app.state().path().parent();
    let inside = project.and_then(|project| std::path::Path::new(file).strip_prefix(project).ok());
    inside.map_or_else(|| file.to_owned(), |inside| inside.display().to_string())
}

fn buttons(view: &View, shown: &ListedChain) -> Markup {
    let name = encoded(&shown.row.name);
    let (action, word) = match shown.row.status {
        ChainStatus::Active => ("pause", "Pause"),
        ChainStatus::Paused => ("resume", "Resume"),
        ChainStatus::Disabled => {
            return html! { code.cmd.inline { "escrow chain enable " (line(&shown.row.name)) } };
        }
    };
    if !view.may(&format!("/api/chains/{{name}}/{action}")) {
        return html! {};
    }
    html! { form method="post" action={ "/api/chains/" (name) "/" (action) } { (csrf(view)) button.btn { (word) } } }
}

/// The steps of a run: what each did, and what its condition saw.
fn steps(run: &Run) -> Markup {
    html! {
        ol.flow {
            @for check in run.check_reports() {
                @let spec = run.plan_of().check(check.index);
                @let mark = Mark::of_check(check.status, false);
                li data-row="" data-failure=[(mark.tone == "bad").then_some("")] {
                    span.idx { (check.index.place() + 1) }
                    div {
                        p { b { (line(check.name)) } " " @if let Some(step) = &spec.step { span.small.sub { (step.work.skill().map_or("", |_| "skill ")) (step.work.action().map_or("", |_| "action ")) code { (line(step.work.skill().or(step.work.action()).unwrap_or_default())) } } } @if spec.requires_approval.is_some() { " " span.tag.wait { "asks a person" } } }
                        (condition(run, check.index))
                        @if let Some(issue) = check.issues.first().filter(|_| check.status == CheckStatus::Failed) { p.small.bad { (ticked(&line(&issue.message))) } }
                        @if let Some(outcome) = run.step_outcome(check.index).and_then(|outcome| outcome.get("summary")).and_then(Value::as_str) { p.small.sub { (ticked(outcome)) } }
                        @if let Some(nested) = run.step_run(check.index) { p.small { a.id href={ "/runs/" (line(nested)) } { (line(nested)) } } }
                    }
                    div.r { (mark.shown()) @if let Some(reason) = check.skip_reason { p.small.code { (reason.as_str()) } } }
                }
            }
        }
    }
}

fn condition(run: &Run, step: CheckIndex) -> Markup {
    let is_decided = run.check_status(step) != CheckStatus::Pending;
    let source = run
        .plan_of()
        .check(step)
        .step
        .as_ref()
        .and_then(|step| step.condition.as_ref())
        .map(|one| one.source());
    let Some(source) = source else { return html! {} };
    let seen = is_decided.then(|| run.step_condition(step)).flatten();
    html! {
        p.cond { span.dim { "when " } code { (clipped(source, 200)) } }
        @if let Some(seen) = seen {
            p.vals {
                span.val { span { "it" } b { (seen.held.map_or("could not be evaluated", |held| if held { "held" } else { "did not hold" })) } }
                @for part in seen.explanation.walk().into_iter().take(8) { span.val { span { (clipped(part.source.trim(), 60)) } b { (clipped(part.value.as_deref().unwrap_or("not evaluated"), 60)) } } }
            }
        }
    }
}

fn planned(steps: &[PlannedStep]) -> Markup {
    html! {
        ol.flow {
            @for step in steps {
                li {
                    span.idx { (step.index + 1) }
                    div {
                        p { b { (line(step.name.as_deref().or(step.skill.as_deref()).or(step.action.as_deref()).unwrap_or("step"))) } @if step.requires_approval { " " span.tag.wait { "asks a person" } } }
                        @if let Some(known) = &step.condition { p.cond { span.dim { "when " } code { (clipped(&known.source, 200)) } " " span.small.sub { (known.held.map_or("is not known before it runs", |held| if held { "holds" } else { "does not hold" })) } } }
                        @for effect in step.effects.iter().take(5) { div.small { (icon("arrow", "unk")) " can do " (code(&effect.check)) @if let Some(request) = &effect.request { (command(request)) } } }
                        @for stop in step.stopped_by.iter().take(5) { p.small.sub { "stopped by " (ticked(stop)) } }
                    }
                    div.r { @if step.effects.is_empty() { span.small.dim { "no effects" } } }
                }
            }
        }
    }
}

/// What an effect would run: a command of one line beside its name, a longer one below it.
fn command(request: &str) -> Markup {
    const LINES_MAX: usize = 12;
    let lines: Vec<&str> = request.trim_end().lines().collect();
    match lines.as_slice() {
        [one] => html! { ": " code { (clipped(one, 400)) } },
        lines => html! {
            pre.value { @for part in lines.iter().take(LINES_MAX) { (clipped(part, 400)) "\n" } @if lines.len() > LINES_MAX { "… " (words::count(lines.len() - LINES_MAX, "more line")) } }
        },
    }
}

fn fire_form(view: &View, shown: &ListedChain) -> Markup {
    if shown.row.status == ChainStatus::Disabled || !view.may("/api/chains/{name}/fire") {
        return html! {};
    }
    html! {
        section aria-labelledby="h-fire" {
            div.sect-h { h2 id="h-fire" { "Fire it" } p { "begins a run now" } }
            form.box.pad.field method="post" action={ "/api/chains/" (encoded(&shown.row.name)) "/fire" } {
                (csrf(view))
                label for="event" { "Event " small { "JSON; its member " code { "event" } " is its name" } }
                textarea id="event" name="event" rows="4" spellcheck="false" { "{}" }
                div.btns { button.btn.primary { "Fire" } code.cmd.inline { "escrow chain fire " (line(&shown.row.name)) " --event FILE" } }
            }
        }
    }
}

fn table(runs: &[(chains::ChainRunRow, Run)], now: Millis) -> Markup {
    html! {
        section.sect aria-labelledby="h-runs" {
            div.sect-h { h2 id="h-runs" { "Runs" } p { "newest first" } }
            div.box {
                table.crs.stackable {
                    caption.vh { "Runs of the chain, newest first" }
                    thead { tr { th scope="col" { "Status" } th scope="col" { "Steps" } th scope="col" { "Event" } th scope="col" { "Reason" } th.num scope="col" { "When" } } }
                    tbody {
                        @for (row, run) in runs {
                            tr data-row="" data-run=(row.id) data-failure=[(run.status() == RunStatus::Failed).then_some("")] {
                                td data-live={ "st-" (row.id) } { a.plain href={ "/runs/" (row.id) } { (Mark::of_run(run.status(), true).shown()) } }
                                td data-live={ "steps-" (row.id) } { (Strip::of(run).shown(false)) }
                                td.small { code { (clipped(row.event_name(), 60)) } @if let Some(title) = run.title() { " " (line(title)) } }
                                td.small.sub { (ticked(&line(run.reason().map_or("", |reason| reason.summary.as_str())))) }
                                td.num.small.dim { (when(row.created_at, now)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
