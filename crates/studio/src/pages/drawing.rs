//! A drawing of nodes in columns, of the edges between them, and of the routes that were taken.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::layout::{Mark, clipped};

const WIDTH: usize = 130;
const HEIGHT: usize = 42;
const COLUMN: usize = 163;
const ROW: usize = 66;

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

/// Where a node stands.
#[derive(Clone, Copy)]
struct Position {
    x: usize,
    y: usize,
}

pub(super) fn drawing(nodes: &[Node], edges: &[Edge], routes: &[Route], label: &str) -> Markup {
    let places = places(nodes);
    let width = places.iter().map(|place| place.x + WIDTH + 9).max().unwrap_or(0).max(960);
    let height = places.iter().map(|place| place.y + HEIGHT + 14).max().unwrap_or(0)
        + if routes.is_empty() { 0 } else { 24 };
    html! {
        svg viewBox={ "0 0 " (width) " " (height) } role="group" aria-label=(label) {
            @for one in edges { (edge(places[one.from], places[one.to], one.class)) }
            @for one in routes { (route(places[one.from], places[one.to], one.label)) }
            @for (one, place) in nodes.iter().zip(&places) { (node(one, *place)) }
        }
    }
}

fn places(nodes: &[Node]) -> Vec<Position> {
    let mut rows: BTreeMap<usize, usize> = BTreeMap::new();
    let placed = nodes.iter().map(|node| {
        let row = rows.entry(node.column).or_insert(0);
        let place = Position { x: 6 + node.column * COLUMN, y: 14 + *row * ROW };
        *row += 1;
        place
    });
    placed.collect()
}

fn edge(from: Position, to: Position, class: &str) -> Markup {
    let (x1, y1, x2, y2) = (from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2);
    let middle = (x1 + x2) / 2;
    html! {
        path class={ "g-edge " (class) } d={ "M" (x1) " " (y1) "C" (middle) " " (y1) " " (middle) " " (y2) " " (x2.saturating_sub(6)) " " (y2) } {}
        path class={ "g-head " (class) } d={ "M" (x2) " " (y2) "l-7 -3.6v7.2z" } {}
    }
}

/// From the bottom of one node to the bottom of another, below both.
fn route(from: Position, to: Position, label: &str) -> Markup {
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
            text class="g-label" x=(x + 6) y=((y1 + y2) / 2 + 4) { (label) }
        };
    }
    let (x1, x2) = (from.x + WIDTH / 2, to.x + WIDTH / 2 + 14);
    let (y1, y2) = (from.y + HEIGHT, to.y + HEIGHT);
    let low = y1.max(y2) + 22;
    html! {
        path class="g-edge route" d={ "M" (x1) " " (y1) "C" (x1) " " (low) " " (x2) " " (low) " " (x2) " " (y2 + 7) } {}
        path class="g-head route" d={ "M" (x2) " " (y2) "l-3.8 7h7.6z" } {}
        text class="g-label" x=((x1 + x2) / 2) y=(low.saturating_sub(6)) text-anchor="middle" { (label) }
    }
}

fn node(node: &Node, place: Position) -> Markup {
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

/// The column of each node: the longest way to it from a node that depends on nothing. `needs` has the nodes that each
/// depends on; they form no cycle.
pub(super) fn columns(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut columns = vec![0usize; needs.len()];
    // This settles after as many rounds as the longest way has steps; two, where nodes stand in their order.
    for _ in 0..needs.len() {
        let mut has_changed = false;
        for (place, before) in needs.iter().enumerate() {
            let column = before.iter().map(|one| columns[*one] + 1).max().unwrap_or(0);
            if column > columns[place] {
                columns[place] = column;
                has_changed = true;
            }
        }
        if !has_changed {
            break;
        }
    }
    columns
}

/// Which group each node belongs to, so that there are at most `groups_max`. Nodes that stand between the same others are
/// one group; if those are too many, the nodes of a column; then those of neighbouring columns. Nodes to be `kept` stay
/// alone.
pub(super) fn folded(needs: &[Vec<usize>], kept: &[bool], groups_max: usize) -> Vec<usize> {
    let columns = columns(needs);
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
    for (place, before) in needs.iter().enumerate() {
        for one in before {
            dependents[*one].push(place);
        }
    }
    let widest = columns.iter().max().map_or(1, |last| last + 1);
    let alone = |place: usize| kept.get(place) == Some(&true);
    let between: Vec<_> = (0..needs.len())
        .map(|place| {
            (alone(place).then_some(place), columns[place], needs[place].clone(), dependents[place].clone())
        })
        .collect();
    let by_column: Vec<_> =
        (0..needs.len()).map(|place| (alone(place).then_some(place), columns[place])).collect();
    let room = groups_max.saturating_sub(kept.iter().filter(|kept| **kept).count()).max(1);
    let by_span: Vec<_> = (0..needs.len())
        .map(|place| (alone(place).then_some(place), columns[place] * room / widest.max(room)))
        .collect();
    let folded = numbered(&between);
    if count(&folded) <= groups_max {
        return folded;
    }
    let folded = numbered(&by_column);
    if count(&folded) <= groups_max { folded } else { numbered(&by_span) }
}

fn count(groups: &[usize]) -> usize {
    groups.iter().max().map_or(0, |last| last + 1)
}

/// The number of each key, in the order in which keys first come.
fn numbered<K: Ord + Clone>(keys: &[K]) -> Vec<usize> {
    let mut numbers: BTreeMap<K, usize> = BTreeMap::new();
    keys.iter()
        .map(|key| {
            let next = numbers.len();
            *numbers.entry(key.clone()).or_insert(next)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fan_out_folds_into_one_group_and_keeps_what_failed() {
        // 0 ─▶ 1..=300 ─▶ 301, where 7 failed.
        let mut needs: Vec<Vec<usize>> = vec![Vec::new()];
        needs.extend((1..=300).map(|_| vec![0]));
        needs.push((1..=300).collect());
        let mut kept = vec![false; needs.len()];
        kept[7] = true;
        let groups = folded(&needs, &kept, 150);
        assert_eq!(count(&groups), 4);
        assert_eq!((groups[1], groups[300]), (1, 1));
        assert_ne!(groups[7], groups[1]);
    }

    #[test]
    fn however_long_a_row_is_there_are_few_groups() {
        for number in [151, 1_000, 2_000] {
            let needs: Vec<Vec<usize>> =
                (0..number).map(|place: usize| place.checked_sub(1).into_iter().collect()).collect();
            let groups = folded(&needs, &vec![false; number], 150);
            assert!(count(&groups) <= 150, "{number}: {}", count(&groups));
        }
    }
}
