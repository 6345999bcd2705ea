//! The graph of checks: what each depends on, the routes that were taken, and ghosts of what did not run.

use std::collections::{BTreeMap, BTreeSet};

use escrow_app::timeline::{Timeline, What};
use escrow_app::words;
use escrow_model::{CheckIndex, CheckStatus, SkipReason};
use maud::{Markup, html};

use super::{Shown, checks};
use crate::layout::{anchor, clipped, duration};

/// Above this, a drawing is unreadable; the list of checks has all of them.
const NODES_MAX: usize = 150;

const WIDTH: usize = 130;
const HEIGHT: usize = 42;
const COLUMN: usize = 163;
const ROW: usize = 60;

/// Where a check stands in the drawing.
#[derive(Clone, Copy)]
struct Position {
    x: usize,
    y: usize,
}

pub(super) fn section(shown: &Shown) -> Markup {
    let plan = shown.run.plan_of();
    let routes = routes(shown);
    let ghosts = shown
        .run
        .check_reports()
        .filter(|check| check.runs == 0 && check.status == CheckStatus::Skipped)
        .count();
    let number = plan.checks.len();
    html! {
        section.sect id="graph" aria-labelledby="h-graph" data-live="graph" {
            div.sect-h {
                h2 id="h-graph" { "Graph" }
                p { (words::count(number, "check")) ", " (words::count(routes.len(), "route")) " taken, " (ghosts) " did not run" }
            }
            @if number > NODES_MAX { p.sub { "The graph of " (number) " checks is not drawn. " a href="#checks" { "The list has every check" } } }
            @else {
                div.box {
                    div.graph.scroll role="region" aria-label="Graph of checks" tabindex="0" { (drawing(shown, &routes)) }
                    p.legend {
                        span { (sample("g-edge")) "depends on" }
                        span { (sample("g-edge route")) "route taken" }
                        span { (sample("g-edge stop")) "held by a broken contract" }
                        span { (sample("g-edge ghost")) "did not run" }
                    }
                }
            }
        }
    }
}

fn sample(class: &str) -> Markup {
    html! { svg viewBox="0 0 26 10" aria-hidden="true" { path class=(class) d="M0 5h26" {} } }
}

/// The routes that were taken, each once, with the block that took it.
fn routes(shown: &Shown) -> BTreeSet<(String, String, &'static str)> {
    let items = Timeline::new(shown.run.plan_of()).read(&shown.entries);
    let taken = items.into_iter().filter_map(|item| match item.what {
        What::Routed { from, block, to, .. } if from.check != to.check => {
            Some((from.check.to_owned(), to.check.to_owned(), block.as_str()))
        }
        _ => None,
    });
    taken.collect()
}

/// Columns by the longest way from a check that depends on nothing; rows in the order of the playbook.
fn places(shown: &Shown, routes: &BTreeSet<(String, String, &'static str)>) -> Vec<Position> {
    let plan = shown.run.plan_of();
    let mut columns = vec![0usize; plan.checks.len()];
    // Dependencies form no cycle, so this settles after as many rounds as the longest way has steps.
    for _ in 0..plan.checks.len() {
        let mut has_changed = false;
        for (place, check) in plan.checks.iter().enumerate() {
            let before = dependencies(check).map(|index| columns[index.place()] + 1).max().unwrap_or(0);
            if before > columns[place] {
                columns[place] = before;
                has_changed = true;
            }
        }
        if !has_changed {
            break;
        }
    }
    // A check that only routes reach stands below the one that led there.
    for (place, check) in
        plan.checks.iter().enumerate().filter(|(_, check)| !check.starts && check.needs.is_empty())
    {
        let from =
            routes.iter().find(|(_, to, _)| *to == check.name).and_then(|(from, _, _)| plan.find(from));
        if let Some(from) = from {
            columns[place] = columns[from.place()];
        }
    }
    let mut rows: BTreeMap<usize, usize> = BTreeMap::new();
    let placed = columns.iter().map(|column| {
        let row = rows.entry(*column).or_insert(0);
        let place = Position { x: 6 + column * COLUMN, y: 14 + *row * ROW };
        *row += 1;
        place
    });
    placed.collect()
}

fn dependencies(check: &escrow_model::Check) -> impl Iterator<Item = &CheckIndex> {
    check.needs.iter().flat_map(|need| &need.any_of).chain(&check.after)
}

fn drawing(shown: &Shown, routes: &BTreeSet<(String, String, &'static str)>) -> Markup {
    let plan = shown.run.plan_of();
    let places = places(shown, routes);
    let width = places.iter().map(|place| place.x + WIDTH + 9).max().unwrap_or(0).max(960);
    let height = places.iter().map(|place| place.y + HEIGHT + 14).max().unwrap_or(0)
        + if routes.is_empty() { 0 } else { 24 };
    html! {
        svg viewBox={ "0 0 " (width) " " (height) } role="group" aria-label="Checks, what each depends on, and the routes that were taken" {
            @for check in shown.run.check_reports() {
                @let spec = plan.check(check.index);
                @let to = places[check.index.place()];
                @let class = match (check.skip_reason, check.runs) { (Some(SkipReason::ContractBlocked), 0) => "stop", (Some(_), 0) => "ghost", (_, _) => "" };
                @for from in dependencies(spec) { (edge(places[from.place()], to, class)) }
            }
            @for (from, to, block) in routes { (route(&places, plan.find(from), plan.find(to), block)) }
            @for check in shown.run.check_reports() { (node(shown, &check, places[check.index.place()])) }
        }
    }
}

fn edge(from: Position, to: Position, class: &str) -> Markup {
    let (x1, y1, x2, y2) = (from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2);
    let middle = (x1 + x2) / 2;
    html! {
        path class={ "g-edge " (class) } d={ "M" (x1) " " (y1) "C" (middle) " " (y1) " " (middle) " " (y2) " " (x2.saturating_sub(6)) " " (y2) } {}
        path class={ "g-head " (class) } d={ "M" (x2) " " (y2) "l-7 -3.6v7.2z" } {}
    }
}

/// From the bottom of one check to the bottom of another, below both.
fn route(places: &[Position], from: Option<CheckIndex>, to: Option<CheckIndex>, block: &str) -> Markup {
    let (Some(from), Some(to)) = (from, to) else { return html! {} };
    let (from, to) = (places[from.place()], places[to.place()]);
    if from.x == to.x {
        // One above the other: a line between their edges.
        let shift = if from.y < to.y { 24 } else { WIDTH - 24 };
        let x = from.x + shift;
        let (y1, y2) = if from.y < to.y {
            (from.y + HEIGHT, to.y.saturating_sub(7))
        } else {
            (from.y, to.y + HEIGHT + 7)
        };
        let head = if from.y < to.y { "l-3.8 0l3.8 7l3.8 -7z" } else { "l-3.8 0l3.8 -7l3.8 7z" };
        return html! {
            path class="g-edge route" d={ "M" (x) " " (y1) "V" (y2) } {}
            path class="g-head route" d={ "M" (x) " " (y2) (head) } {}
            text class="g-label" x=(x + 6) y=((y1 + y2) / 2 + 4) { (block) }
        };
    }
    let (x1, x2) = (from.x + WIDTH / 2, to.x + WIDTH / 2 + 14);
    let (y1, y2) = (from.y + HEIGHT, to.y + HEIGHT);
    let low = y1.max(y2) + 22;
    html! {
        path class="g-edge route" d={ "M" (x1) " " (y1) "C" (x1) " " (low) " " (x2) " " (low) " " (x2) " " (y2 + 7) } {}
        path class="g-head route" d={ "M" (x2) " " (y2) "l-3.8 7h7.6z" } {}
        text class="g-label" x=((x1 + x2) / 2) y=(low.saturating_sub(6)) text-anchor="middle" { (block) }
    }
}

fn node(shown: &Shown, check: &escrow_app::runs::CheckReport<'_>, place: Position) -> Markup {
    let mark = shown.mark_of(check);
    let is_ghost = matches!(check.status, CheckStatus::Skipped | CheckStatus::Pending) && check.runs == 0;
    let class = match mark.tone {
        _ if is_ghost => "ghost",
        "bad" => "is-bad",
        "warn" => "is-warn",
        "wait" => "is-wait",
        "unk" => "is-unk",
        _ => "",
    };
    let items = if check.has_items { shown.run.item_reports(check.index).count() } else { 0 };
    let said = match check.skip_reason {
        Some(reason) if is_ghost => reason.as_str().to_owned(),
        Some(_) | None => {
            let times =
                if check.runs > 1 && items == 0 { format!(" · ×{}", check.runs) } else { String::new() };
            let took = checks::took(check).map(|ms| format!(" · {}", duration(ms))).unwrap_or_default();
            format!("{}{times}{took}", mark.word)
        }
    };
    let name = if items > 0 { format!("{} ×{items}", check.name) } else { check.name.to_owned() };
    html! {
        g class={ "g-node " (class) @if items > 0 { " stack" } } transform={ "translate(" (place.x) " " (place.y) ")" } {
            a href={ "#" (anchor("check", check.name)) } {
                title { (clipped(check.name, 200)) ": " (said) }
                @if items > 0 { rect.s x="6" y="-6" width=(WIDTH) height=(HEIGHT) rx="7" {} rect.s x="3" y="-3" width=(WIDTH) height=(HEIGHT) rx="7" {} }
                rect.b width=(WIDTH) height=(HEIGHT) rx="7" {}
                text x="11" y="18" { (clipped(&name, 13)) }
                text.m x="11" y="33" { (clipped(&said, 21)) }
                svg class={ "i " (mark.tone) } x="108" y="7" width="14" height="14" viewBox="0 0 16 16" { use href={ "#" (mark.icon) } {} }
            }
        }
    }
}
