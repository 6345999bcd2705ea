//! A drawing of nodes in columns, of the edges between them, and of the routes that were taken.

mod fold;
mod grid;

use maud::{Markup, html};

use self::grid::{Corner, GAP, Grid, HEIGHT, WIDTH};
use crate::layout::{Mark, clipped};

pub(super) use self::fold::{columns, folded};

pub(super) struct Node {
    pub(super) name: String,
    /// The line below the name.
    pub(super) said: String,
    pub(super) mark: Mark,
    pub(super) is_ghost: bool,
    /// Drawn as a stack: it stands for several.
    pub(super) is_stack: bool,
    pub(super) href: String,
    /// From the left; nodes of one column stand below each other.
    pub(super) column: usize,
}

pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// `""`, `stop` or `ghost`.
    pub(super) class: &'static str,
}

pub(super) struct Route {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: &'static str,
}

/// Drawn in the size in which it can be read; what is too wide for the page scrolls.
pub(super) fn drawing(nodes: &[Node], edges: &[Edge], routes: &[Route], label: &str) -> Markup {
    let columns: Vec<usize> = nodes.iter().map(|node| node.column).collect();
    let lines: Vec<(usize, usize)> = edges.iter().map(|edge| (edge.from, edge.to)).collect();
    let ways: Vec<(usize, usize)> = routes.iter().map(|route| (route.from, route.to)).collect();
    let grid = Grid::new(&columns, &lines, &ways);
    let (width, height) = (grid.width(), grid.height());
    html! {
        svg viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) role="group" aria-label=(label) {
            @for one in edges { (edge(&grid, one)) }
            @for one in routes { (route(&grid, one)) }
            @for (place, one) in nodes.iter().enumerate() { (node(one, grid.corner(place))) }
            // Above nodes and lines: a label must be readable wherever it stands.
            @for one in routes { (route_label(&grid, one)) }
        }
    }
}

/// From the right of one node to the left of another. It bends in the gaps between columns.
fn edge(grid: &Grid, edge: &Edge) -> Markup {
    let (from, to) = (grid.corner(edge.from), grid.corner(edge.to));
    let (x1, y1, x2, y2) = (from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2);
    let end = x2.saturating_sub(6);
    let line = (edge.from, edge.to);
    let way = if grid.crosses(line) {
        let (y, first, last) = (grid.crossing(line), x1 + GAP, x2 - GAP);
        let (bend, back) = (x1 + GAP / 2, last + GAP / 2);
        format!("M{x1} {y1}C{bend} {y1} {bend} {y} {first} {y}H{last}C{back} {y} {back} {y2} {end} {y2}")
    } else {
        let middle = (x1 + x2) / 2;
        format!("M{x1} {y1}C{middle} {y1} {middle} {y2} {end} {y2}")
    };
    html! {
        path class={ "g-edge " (edge.class) } d=(way) {}
        path class={ "g-head " (edge.class) } d={ "M" (x2) " " (y2) "l-7 -3.6v7.2z" } {}
    }
}

/// Where the line of a route starts, turns and ends, and the arrow at its end.
struct Course {
    points: Vec<(usize, usize)>,
    head: &'static str,
}

fn course(grid: &Grid, route: &Route) -> Course {
    const DOWN: &str = "l-3.8 -7h7.6z";
    const UP: &str = "l-3.8 7h7.6z";
    const LEFT: &str = "l7 -3.8v7.6z";
    let (from, to) = (grid.corner(route.from), grid.corner(route.to));
    let (above, below) = (grid.row(route.from), grid.row(route.to));
    if from.x == to.x && above.abs_diff(below) == 1 {
        // One above the other: a line between their edges.
        return if above < below {
            Course { points: vec![(from.x + 24, from.y + HEIGHT), (from.x + 24, to.y)], head: DOWN }
        } else {
            let x = from.x + WIDTH - 24;
            Course { points: vec![(x, from.y), (x, to.y + HEIGHT)], head: UP }
        };
    }
    if from.x == to.x {
        // Around those between them, in the gap.
        let (edge, gap) = (from.x + WIDTH, from.x + WIDTH + GAP / 2);
        let (y1, y2) = (from.y + HEIGHT - 9, to.y + HEIGHT - 9);
        return Course { points: vec![(edge, y1), (gap, y1), (gap, y2), (edge, y2)], head: LEFT };
    }
    // Down into the lane below, along it, and up to the other; in the gap beside it from lane to lane.
    let line = (route.from, route.to);
    let (x1, x2) = (from.x + WIDTH / 2, to.x + WIDTH / 2 + 14);
    let (lane, last) = (grid.lane(route.from, line), grid.lane(route.to, line));
    let gap = if to.x < from.x { to.x + WIDTH + GAP / 2 } else { to.x.saturating_sub(GAP / 2) };
    let mut points = vec![(x1, from.y + HEIGHT), (x1, lane)];
    if lane != last {
        points.extend([(gap, lane), (gap, last)]);
    }
    points.extend([(x2, last), (x2, to.y + HEIGHT)]);
    Course { points, head: UP }
}

fn route(grid: &Grid, route: &Route) -> Markup {
    let Course { points, head } = course(grid, route);
    let Some((x, y)) = points.last().copied() else { return html! {} };
    html! {
        path class="g-edge route" d=(rounded(&points)) {}
        path class="g-head route" d={ "M" (x) " " (y) (head) } {}
    }
}

/// On the longest part of its line, with a ground of its own.
fn route_label(grid: &Grid, route: &Route) -> Markup {
    const CHARACTER: usize = 6;
    let points = course(grid, route).points;
    let length = |((x1, y1), (x2, y2)): &(_, _)| usize::abs_diff(*x1, *x2) + usize::abs_diff(*y1, *y2);
    let parts = points.iter().copied().zip(points.iter().copied().skip(1));
    let Some(((x1, y1), (x2, y2))) = parts.max_by_key(length) else { return html! {} };
    let (x, y) = ((x1 + x2) / 2, (y1 + y2) / 2);
    let width = route.label.len() * CHARACTER + 8;
    // Beside a line that runs down, upon one that runs along.
    let left = if x1 == x2 { x + 4 } else { x.saturating_sub(width / 2) };
    html! {
        rect.g-ground x=(left) y=(y.saturating_sub(8)) width=(width) height="16" rx="3" {}
        text.g-label x=(left + width / 2) y=(y + 4) text-anchor="middle" { (route.label) }
    }
}

/// Straight parts with round corners.
fn rounded(points: &[(usize, usize)]) -> String {
    const RADIUS: usize = 7;
    let towards = |from: usize, to: usize| {
        let part = RADIUS.min(from.abs_diff(to) / 2);
        if to > from { from + part } else { from - part }
    };
    let mut way = String::new();
    for (place, (x, y)) in points.iter().copied().enumerate() {
        let before = place.checked_sub(1).and_then(|one| points.get(one)).copied();
        match (before, points.get(place + 1).copied()) {
            (None, _) => way.push_str(&format!("M{x} {y}")),
            (Some(_), None) => way.push_str(&format!("L{x} {y}")),
            (Some((x0, y0)), Some((x2, y2))) => way.push_str(&format!(
                "L{} {}Q{x} {y} {} {}",
                towards(x, x0),
                towards(y, y0),
                towards(x, x2),
                towards(y, y2)
            )),
        }
    }
    way
}

fn node(node: &Node, place: Corner) -> Markup {
    let class = match node.mark.tone {
        _ if node.is_ghost => "ghost",
        "bad" => "is-bad",
        "warn" => "is-warn",
        "wait" => "is-wait",
        "unk" => "is-unk",
        _ => "",
    };
    html! {
        g class={ "g-node " (class) @if node.is_stack { " stack" } } transform={ "translate(" (place.x) " " (place.y) ")" } {
            a href=(node.href) {
                title { (clipped(&node.name, 200)) ": " (clipped(&node.said, 200)) }
                @if node.is_stack { rect.s x="6" y="-6" width=(WIDTH) height=(HEIGHT) rx="7" {} rect.s x="3" y="-3" width=(WIDTH) height=(HEIGHT) rx="7" {} }
                rect.b width=(WIDTH) height=(HEIGHT) rx="7" {}
                text x="11" y="18" { (name(&node.name)) }
                text.m x="11" y="33" { (clipped(&node.said, 21)) }
                svg class={ "i " (node.mark.tone) } x="108" y="7" width="14" height="14" viewBox="0 0 16 16" { use href={ "#" (node.mark.icon) } {} }
            }
        }
    }
}

/// A name as far as there is room before the icon of its status.
fn name(name: &str) -> String {
    const LENGTH_MAX: usize = 13;
    if name.chars().count() <= LENGTH_MAX { clipped(name, LENGTH_MAX) } else { clipped(name, LENGTH_MAX - 1) }
}
