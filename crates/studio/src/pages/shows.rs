//! Shows: their runs, newest first. Each is drawn as its plays and the gates behind them.

use escrow_app::runs::Run;
use escrow_app::shows::{GateState, GateStatus, PlayStatus};
use escrow_app::{now_ms, shows, words};
use escrow_model::{CheckStatus, Millis};
use maud::{Markup, html};

use super::drawing::{Edge, Node, Route, columns, drawing};
use super::more;
use crate::answer::PageError;
use crate::layout::{Frame, Mark, Nav, anchor, clipped, line, ticked, when};
use crate::view::View;

const LIMIT: usize = 20;

/// Plays that are drawn; the table has all.
const PLAYS_DRAWN_MAX: usize = 60;

pub(crate) async fn page(view: View) -> Result<Markup, PageError> {
    let frame = Frame::of(&view).await?;
    let limit = view.limit(LIMIT)?;
    let mut runs = shows::list(&view.studio.app, limit + 1).await?;
    let is_cut = runs.len() > limit;
    runs.truncate(limit);
    let now = now_ms();
    let content = html! {
        div.head { div.grow { h1 { "Shows" } p { (words::count(runs.len(), "run")) @if is_cut { " and older ones" } ". Plays behind gates, each a run of its own. In a shell: " code { "escrow play status" } } } }
        @if runs.is_empty() { p.sub { "No show has run yet. " code { "escrow play run FILE" } " runs one." } }
        @for run in &runs { (show(run, now)) }
        @if is_cut { (more(&view, limit)) }
    };
    Ok(frame.page(&view, Nav::Shows, "Shows", &content))
}

fn gate_mark(gate: &GateStatus<'_>) -> Mark {
    match gate.state {
        GateState::Open | GateState::OpenedByPerson => Mark::PASSED,
        GateState::Waiting => Mark::of_check(CheckStatus::Waiting, false),
        GateState::Undecided => Mark::of_check(CheckStatus::Pending, false),
        // No verdict yet: it is closed because the play has not come to it.
        GateState::Closed if gate.runs == 0 => Mark::of_check(CheckStatus::Pending, false),
        GateState::Closed => Mark::NOT_PASSED,
    }
}

fn gate_words(gate: &GateStatus<'_>) -> &'static str {
    match gate.state {
        GateState::Open => "open",
        GateState::OpenedByPerson => "opened by a person",
        GateState::Waiting => "waits for a person",
        GateState::Undecided | GateState::Closed if gate.runs == 0 => "not reached",
        GateState::Undecided => "not decided yet",
        GateState::Closed => "closed",
    }
}

fn show(run: &Run, now: Millis) -> Markup {
    let id = &run.options().run;
    let mark = Mark::of_run(run.status(), true);
    let plays = shows::plays(run);
    let page = format!("/runs/{id}");
    html! {
        section.sect id=(id) data-row="" data-failure=[(mark.tone == "bad").then_some("")] aria-label=(line(&run.plan_of().name)) {
            div.sect-h {
                h2 { (mark.shown()) " " a href=(page) { (line(&run.plan_of().name)) } }
                p { (when(run.started_at(), now)) @if let Some(reason) = run.reason() { ", " (ticked(&line(&reason.summary))) } }
                span.grow {}
                span.meta { a.id href=(page) { (id) } }
            }
            div.box data-live={ "show-" (id) } {
                @if plays.len() <= PLAYS_DRAWN_MAX { div.graph.scroll role="region" aria-label={ "Plays and gates of " (line(&run.plan_of().name)) } tabindex="0" { (drawn(&plays, &page)) } }
                (table(&plays, &page))
            }
        }
    }
}

/// A node for each play and for each gate; what depends on a play stands behind its gate.
fn drawn(plays: &[PlayStatus<'_>], page: &str) -> Markup {
    let mut nodes: Vec<Node> = Vec::new();
    let mut needs: Vec<Vec<usize>> = Vec::new();
    let mut exits: Vec<(&str, usize)> = Vec::new();
    let mut routes = Vec::new();
    for play in plays {
        let mark = Mark::of_check(play.status, false);
        let times = if play.runs > 1 { format!(" · ×{}", play.runs) } else { String::new() };
        let place = nodes.len();
        nodes.push(Node {
            name: play.name.to_owned(),
            said: format!("{}{times}", mark.word),
            mark,
            is_ghost: play.runs == 0,
            is_stack: false,
            href: link(play.run_id, page, play.name),
            column: 0,
        });
        needs.push(Vec::new());
        let Some(gate) = &play.gate else {
            exits.push((play.name, place));
            continue;
        };
        nodes.push(Node {
            name: "gate".to_owned(),
            said: gate_words(gate).to_owned(),
            mark: gate_mark(gate),
            is_ghost: gate.runs == 0,
            is_stack: false,
            href: link(gate.run_id, page, play.name),
            column: 0,
        });
        needs.push(vec![place]);
        exits.push((play.name, place + 1));
        if gate.runs > 1 {
            routes.push(Route { from: place + 1, to: place, label: "done again" });
        }
    }
    for play in plays {
        let Some(own) = exits.iter().find(|(name, _)| *name == play.name).map(|(_, place)| *place) else {
            continue;
        };
        let own = if play.gate.is_some() { own - 1 } else { own };
        needs[own] =
            exits.iter().filter(|(name, _)| play.depends_on.contains(name)).map(|(_, at)| *at).collect();
    }
    let columns = columns(&needs);
    for (node, column) in nodes.iter_mut().zip(columns) {
        node.column = column;
    }
    let edges: Vec<Edge> = needs
        .iter()
        .enumerate()
        .flat_map(|(to, before)| before.iter().map(move |from| (*from, to)))
        .map(|(from, to)| Edge { from, to, class: if nodes[to].is_ghost { "ghost" } else { "" } })
        .collect();
    drawing(&nodes, &edges, &routes, "Plays, their gates, and what each waits for")
}

/// The run of a play, or its check in the run of the show.
fn link(run: Option<&str>, page: &str, play: &str) -> String {
    run.map_or_else(|| format!("{page}#{}", anchor("check", play)), |run| format!("/runs/{run}"))
}

fn table(plays: &[PlayStatus<'_>], page: &str) -> Markup {
    html! {
        table.stackable {
            caption.vh { "Plays of the show, in the order of its file" }
            thead { tr { th scope="col" { "Play" } th scope="col" { "Status" } th scope="col" { "Gate" } th scope="col" { "Verdict" } th scope="col" { "Waits for" } th.num scope="col" { "Times" } } }
            tbody {
                @for play in plays {
                    tr {
                        td { a.plain href=(link(play.run_id, page, play.name)) { b.mono { (line(play.name)) } } " " span.small.sub { (line(play.playbook.unwrap_or_default())) } }
                        td { (Mark::of_check(play.status, false).shown()) }
                        td { @if let Some(gate) = &play.gate { (gate_mark(gate).icon()) " " (gate_words(gate)) } @else { span.dim { "none" } } }
                        td.small.sub { @if let Some(gate) = &play.gate { (clipped(&gate.summary().unwrap_or_default(), 160)) } }
                        td.small { (line(&play.depends_on.join(", "))) }
                        td.num { (play.runs) }
                    }
                }
            }
        }
    }
}
