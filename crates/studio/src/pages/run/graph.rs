//! The graph of checks: what each depends on, the routes that were taken, and ghosts of what did not run. The table
//! below it says the same, and is whole where the drawing folds.

use std::collections::{BTreeMap, BTreeSet};

use escrow_app::runs::{CheckReport, ItemReport};
use escrow_app::timeline::{Timeline, What};
use escrow_app::words;
use escrow_model::{Check, CheckIndex, CheckStatus, SkipReason};
use maud::{Markup, html};

use super::Shown;
use super::checks::{self, Listed};
use crate::layout::{Mark, duration, line};
use crate::pages::drawing::{Edge, Node, Route, columns, drawing, folded};

/// Above this, a drawing is unreadable, and fan-outs are folded.
const NODES_MAX: usize = 150;

/// Checks that stay alone in a folded drawing, because something is wrong with them.
const KEPT_MAX: usize = 40;

/// Names in one cell of the table.
const NAMES_MAX: usize = 20;

/// Characters of the line below a name.
const SAID_MAX: usize = 19;

/// A route by the places of its checks, with the block that took it.
type Taken = (usize, usize, &'static str);

pub(super) fn section(shown: &Shown, listed: &Listed) -> Markup {
    let plan = shown.run.plan_of();
    let routes = routes(shown);
    let reports: Vec<CheckReport<'_>> = shown.run.check_reports().collect();
    let ghosts =
        reports.iter().filter(|check| is_ghost(check) && check.status == CheckStatus::Skipped).count();
    let needs: Vec<Vec<usize>> = plan.checks.iter().map(needed).collect();
    let number = plan.checks.len();
    let groups = if number > NODES_MAX {
        folded(&needs, &kept(shown, &reports), NODES_MAX)
    } else {
        (0..number).collect()
    };
    let drawn = groups.iter().max().map_or(0, |last| last + 1);
    html! {
        section.sect id="graph" aria-labelledby="h-graph" data-live="graph" {
            div.sect-h {
                h2 id="h-graph" { "Graph" }
                p { (words::count(number, "check")) ", " (words::count(routes.len(), "route")) " taken, " (ghosts) " did not run" @if drawn < number { "; drawn as " (drawn) " groups" } }
            }
            div.box {
                div.graph.scroll role="region" aria-label="Graph of checks" tabindex="0" { (drawn_groups(shown, listed, &reports, &needs, &groups, &routes)) }
                p.legend {
                    span { (sample("g-edge")) "depends on" }
                    span { (sample("g-edge route")) "route taken" }
                    span { (sample("g-edge stop")) "held by a broken contract" }
                    span { (sample("g-edge ghost")) "did not run" }
                }
                (table(shown, listed, &reports, &needs, &routes))
            }
        }
    }
}

fn sample(class: &str) -> Markup {
    html! { svg viewBox="0 0 26 10" aria-hidden="true" { path class=(class) d="M0 5h26" {} } }
}

fn is_ghost(check: &CheckReport<'_>) -> bool {
    check.runs == 0 && matches!(check.status, CheckStatus::Skipped | CheckStatus::Pending)
}

/// The first checks that a person looks for.
fn kept(shown: &Shown, reports: &[CheckReport<'_>]) -> Vec<bool> {
    let mut room = KEPT_MAX;
    let is_kept = |check: &CheckReport<'_>| {
        let is_wanted =
            matches!(shown.mark_of(check).tone, "bad" | "warn" | "unk" | "wait" | "run") && room > 0;
        room -= usize::from(is_wanted);
        is_wanted
    };
    reports.iter().map(is_kept).collect()
}

/// The routes that were taken, each once.
fn routes(shown: &Shown) -> BTreeSet<Taken> {
    let plan = shown.run.plan_of();
    let items = Timeline::new(plan).read(&shown.entries);
    let taken = items.into_iter().filter_map(|item| match item.what {
        What::Routed { from, block, to, .. } if from.check != to.check => {
            Some((plan.find(from.check)?.place(), plan.find(to.check)?.place(), block.as_str()))
        }
        _ => None,
    });
    taken.collect()
}

fn needed(check: &Check) -> Vec<usize> {
    let all = check.needs.iter().flat_map(|need| &need.any_of).chain(&check.after);
    let mut places: Vec<usize> = all.map(|index: &CheckIndex| index.place()).collect();
    places.sort_unstable();
    places.dedup();
    places
}

fn drawn_groups(
    shown: &Shown,
    listed: &Listed,
    reports: &[CheckReport<'_>],
    needs: &[Vec<usize>],
    groups: &[usize],
    routes: &BTreeSet<Taken>,
) -> Markup {
    let plan = shown.run.plan_of();
    let mut columns = columns(needs);
    // A check that only routes reach stands below the one that led there.
    let is_routed_to = |check: &Check| !check.starts && check.needs.is_empty();
    for (place, _) in plan.checks.iter().enumerate().filter(|(_, check)| is_routed_to(check)) {
        if let Some((from, _, _)) = routes.iter().find(|(_, to, _)| *to == place) {
            columns[place] = columns[*from];
        }
    }
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, group) in groups.iter().enumerate() {
        members.entry(*group).or_default().push(place);
    }
    // Groups of several columns would leave gaps.
    let used: BTreeSet<usize> =
        members.values().filter_map(|all| all.iter().map(|place| columns[*place]).min()).collect();
    let dense: BTreeMap<usize, usize> =
        used.into_iter().enumerate().map(|(place, column)| (column, place)).collect();
    let nodes: Vec<Node> = members
        .values()
        .map(|all| {
            let column = all.iter().map(|place| columns[*place]).min().unwrap_or(0);
            let column = dense.get(&column).copied().unwrap_or(column);
            match all.as_slice() {
                [one] => node(shown, listed, &reports[*one], column),
                all => fold(shown, listed, all.iter().map(|place| &reports[*place]), column),
            }
        })
        .collect();
    let mut edges: BTreeMap<(usize, usize), &'static str> = BTreeMap::new();
    for (place, before) in needs.iter().enumerate() {
        let class = match (reports[place].skip_reason, reports[place].runs) {
            (Some(SkipReason::ContractBlocked), 0) => "stop",
            (Some(_), 0) => "ghost",
            (_, _) => "",
        };
        for from in before.iter().filter(|from| groups[**from] != groups[place]) {
            let known = edges.entry((groups[*from], groups[place])).or_insert(class);
            // One that ran makes the way of its group.
            if class.is_empty() {
                *known = class;
            }
        }
    }
    let edges: Vec<Edge> = edges.into_iter().map(|((from, to), class)| Edge { from, to, class }).collect();
    let routes: BTreeSet<Taken> = routes
        .iter()
        .map(|(from, to, block)| (groups[*from], groups[*to], *block))
        .filter(|(from, to, _)| from != to)
        .collect();
    let routes: Vec<Route> = routes.into_iter().map(|(from, to, label)| Route { from, to, label }).collect();
    drawing(&nodes, &edges, &routes, "Checks, what each depends on, and the routes that were taken")
}

fn node(shown: &Shown, listed: &Listed, check: &CheckReport<'_>, column: usize) -> Node {
    let mark = shown.mark_of(check);
    let items = if check.has_items { shown.run.item_reports(check.index).count() } else { 0 };
    let is_done = |item: &ItemReport<'_>| item.status == CheckStatus::Succeeded;
    let succeeded =
        if check.has_items { shown.run.item_reports(check.index).filter(is_done).count() } else { 0 };
    let said = match check.skip_reason {
        Some(reason) if is_ghost(check) => reason.as_str().to_owned(),
        Some(_) | None if succeeded < items && check.status == CheckStatus::Succeeded => {
            format!("{succeeded} of {items} succeeded")
        }
        Some(_) | None => {
            let times =
                if check.runs > 1 && items == 0 { format!(" · ×{}", check.runs) } else { String::new() };
            let took = checks::took(check).map(|ms| format!(" · {}", duration(ms))).unwrap_or_default();
            let said = format!("{}{times}{took}", mark.word);
            // The duration is in the timeline, too.
            if said.chars().count() > SAID_MAX { format!("{}{times}", mark.word) } else { said }
        }
    };
    let name = if items > 0 { format!("{} ×{items}", check.name) } else { check.name.to_owned() };
    let href = listed.href(shown, check);
    Node { name, said, mark, is_ghost: is_ghost(check), is_stack: items > 0, href, column }
}

/// Many checks as one node: how many there are of each status.
fn fold<'r>(
    shown: &Shown,
    listed: &Listed,
    members: impl Iterator<Item = &'r CheckReport<'r>>,
    column: usize,
) -> Node {
    let (mut number, mut are_ghosts, mut first) = (0usize, true, None);
    let mut counts: Vec<(Mark, usize)> = Vec::new();
    for check in members {
        let mark = shown.mark_of(check);
        number += 1;
        are_ghosts &= is_ghost(check);
        first.get_or_insert(check);
        match counts.iter_mut().find(|(known, _)| *known == mark) {
            Some((_, number)) => *number += 1,
            None => counts.push((mark, 1)),
        }
    }
    let worst = |mark: &Mark| {
        ["bad", "unk", "wait", "run", "warn", "ok"].iter().position(|tone| *tone == mark.tone).unwrap_or(9)
    };
    counts.sort_by_key(|(mark, _)| worst(mark));
    let said: Vec<String> = counts.iter().map(|(mark, number)| format!("{number} {}", mark.word)).collect();
    Node {
        name: words::count(number, "check"),
        said: said.join(", "),
        mark: counts.first().map_or(Mark::NO_VERDICT, |(mark, _)| *mark),
        is_ghost: are_ghosts,
        is_stack: true,
        href: first.map(|check| listed.href(shown, check)).unwrap_or_default(),
        column,
    }
}

/// The same without a drawing.
fn table(
    shown: &Shown,
    listed: &Listed,
    reports: &[CheckReport<'_>],
    needs: &[Vec<usize>],
    routes: &BTreeSet<Taken>,
) -> Markup {
    let name = |place: &usize| line(reports[*place].name);
    let list = |places: &[usize]| {
        let mut names: Vec<String> = places.iter().take(NAMES_MAX).map(name).collect();
        if places.len() > NAMES_MAX {
            names.push(format!("and {} more", places.len() - NAMES_MAX));
        }
        names.join(", ")
    };
    html! {
        details.fold id="graph-table" data-keep="graph-table" {
            summary.pad { "The same as a table" }
            div.scroll role="region" aria-label="Checks and what each depends on" tabindex="0" {
                table {
                    caption.vh { "Checks, what each depends on, and the routes that were taken" }
                    thead { tr { th scope="col" { "Check" } th scope="col" { "Status" } th scope="col" { "Depends on" } th scope="col" { "Routed to" } th.num scope="col" { "Attempts" } } }
                    tbody {
                        @for (place, check) in reports.iter().enumerate() {
                            @let to: Vec<usize> = routes.iter().filter(|(from, _, _)| *from == place).map(|(_, to, _)| *to).collect();
                            tr { th scope="row" { a href=(listed.href(shown, check)) { (line(check.name)) } } td { (shown.mark_of(check).word) @if let Some(reason) = check.skip_reason { " " (reason.as_str()) } } td { (list(&needs[place])) } td { (list(&to)) } td.num { (check.runs) } }
                        }
                    }
                }
            }
        }
    }
}
