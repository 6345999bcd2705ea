//! Where the nodes of a drawing stand, and which ways its lines take. Nodes stand in a grid of columns and rows.
//!
//! **Invariant:** no line runs behind a node. Between columns there is a gap, below each row there are lanes; a line that crosses
//! a column does so in a row that is empty there, or in a lane.

use std::collections::{BTreeMap, BTreeSet};

pub(super) const WIDTH: usize = 130;
pub(super) const HEIGHT: usize = 42;
/// Between two columns.
pub(super) const GAP: usize = 33;

const LEFT: usize = 6;
const TOP: usize = 14;
/// Between two rows, with at most one lane.
const BETWEEN: usize = 24;
/// For each further lane below a row.
const FURTHER: usize = 16;
/// Lines that would need more lanes share one.
const LANES_MAX: usize = 5;

/// A line from one node to another, by their places.
pub(super) type Line = (usize, usize);

/// The upper left corner of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Corner {
    pub(super) x: usize,
    pub(super) y: usize,
}

pub(super) struct Grid {
    columns: Vec<usize>,
    rows: Vec<usize>,
    taken: BTreeSet<(usize, usize)>,
    /// For each row, the lanes below it, by the line that each is for.
    lanes: Vec<BTreeMap<Line, usize>>,
}

impl Grid {
    /// `columns` has the column of each node. `edges` lead to the right; `routes` lead anywhere.
    pub(super) fn new(columns: &[usize], edges: &[Line], routes: &[Line]) -> Grid {
        let rows = rows(columns, edges, routes);
        let taken = columns.iter().copied().zip(rows.iter().copied()).collect();
        let height = rows.iter().max().map_or(0, |last| last + 1);
        let mut grid = Grid { columns: columns.to_vec(), rows, taken, lanes: vec![BTreeMap::new(); height] };
        for edge in edges.iter().filter(|edge| grid.crosses(**edge)).copied().collect::<Vec<Line>>() {
            if grid.empty_row(edge).is_none() {
                grid.reserve(edge.0, shared(edge));
            }
        }
        for route in routes.iter().filter(|(from, to)| columns[*from] != columns[*to]) {
            grid.reserve(route.0, *route);
            grid.reserve(route.1, *route);
        }
        grid
    }

    fn reserve(&mut self, below: usize, line: Line) {
        let lanes = &mut self.lanes[self.rows[below]];
        let next = lanes.len() % LANES_MAX;
        lanes.entry(line).or_insert(next);
    }

    pub(super) fn corner(&self, node: usize) -> Corner {
        Corner { x: LEFT + self.columns[node] * (WIDTH + GAP), y: self.top(self.rows[node]) }
    }

    pub(super) fn row(&self, node: usize) -> usize {
        self.rows[node]
    }

    pub(super) fn width(&self) -> usize {
        // A stack is drawn a little beyond its node.
        LEFT + self.columns.iter().max().map_or(0, |last| last * (WIDTH + GAP) + WIDTH) + 9
    }

    pub(super) fn height(&self) -> usize {
        self.top(self.lanes.len())
    }

    fn top(&self, row: usize) -> usize {
        let room = |lanes: &BTreeMap<Line, usize>| {
            let last = lanes.values().max().copied().unwrap_or(0);
            HEIGHT + BETWEEN + last * FURTHER
        };
        TOP + self.lanes.iter().take(row).map(room).sum::<usize>()
    }

    /// Whether there are columns between its ends.
    pub(super) fn crosses(&self, (from, to): Line) -> bool {
        self.columns[to] > self.columns[from] + 1
    }

    /// The height at which an edge crosses the columns between its ends.
    pub(super) fn crossing(&self, edge: Line) -> usize {
        match self.empty_row(edge) {
            Some(row) => self.top(row) + HEIGHT / 2,
            None => self.lane(edge.0, shared(edge)),
        }
    }

    /// The height of the lane of a line below a node.
    pub(super) fn lane(&self, below: usize, line: Line) -> usize {
        let row = self.rows[below];
        let lane = self.lanes[row].get(&line).copied().unwrap_or(0);
        self.top(row) + HEIGHT + BETWEEN / 2 + lane * FURTHER
    }

    /// The row of one of the ends, if it is empty in each column between them.
    fn empty_row(&self, (from, to): Line) -> Option<usize> {
        let is_empty = |row: &usize| {
            (self.columns[from] + 1..self.columns[to]).all(|column| !self.taken.contains(&(column, *row)))
        };
        [self.rows[to], self.rows[from]].into_iter().find(is_empty)
    }
}

/// Edges that leave one node share a lane.
fn shared((from, _): Line) -> Line {
    (from, from)
}

/// The row of each node: beside those that it depends on, so that lines are short. A node that only a route reaches stands below
/// the one that led there.
fn rows(columns: &[usize], edges: &[Line], routes: &[Line]) -> Vec<usize> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); columns.len()];
    for (from, to) in edges.iter().filter(|(from, to)| columns[*from] < columns[*to]) {
        before[*to].push(*from);
    }
    let mut below: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut is_below = vec![false; columns.len()];
    for (from, to) in routes.iter().filter(|(from, to)| from != to && columns[*from] == columns[*to]) {
        let is_root = below.contains_key(to) || !before[*to].is_empty();
        if !is_root && !is_below[*to] && !is_below[*from] {
            below.entry(*from).or_default().push(*to);
            is_below[*to] = true;
        }
    }
    let mut rows = vec![0; columns.len()];
    for column in 0..=columns.iter().max().copied().unwrap_or(0) {
        let here = (0..columns.len()).filter(|node| columns[*node] == column && !is_below[*node]);
        let wanted = |node: usize| match before[node].len() {
            0 => 0,
            number => before[node].iter().map(|one| rows[*one]).sum::<usize>() / number,
        };
        let mut here: Vec<(usize, usize)> = here.map(|node| (wanted(node), node)).collect();
        here.sort_unstable();
        let mut next = 0;
        for (wanted, node) in here {
            let row = next.max(wanted);
            rows[node] = row;
            next = row + 1;
            for routed in below.get(&node).into_iter().flatten() {
                rows[*routed] = next;
                next += 1;
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns and rows of the nodes of a grid.
    fn placed(columns: &[usize], edges: &[Line], routes: &[Line]) -> Vec<(usize, usize)> {
        let grid = Grid::new(columns, edges, routes);
        columns.iter().copied().zip(grid.rows).collect()
    }

    #[test]
    fn a_row_of_nodes_is_a_straight_line() {
        // Two begin; what depends on the second stands beside it.
        let columns = [0, 0, 1, 2];
        assert_eq!(placed(&columns, &[(1, 2), (2, 3)], &[]), [(0, 0), (0, 1), (1, 1), (2, 1)]);
    }

    #[test]
    fn a_node_that_a_route_leads_to_stands_below_the_one_that_led_there() {
        let columns = [0, 0, 0];
        assert_eq!(placed(&columns, &[], &[(0, 2)]), [(0, 0), (0, 2), (0, 1)]);
    }

    #[test]
    fn no_edge_runs_behind_a_node() {
        // 0 ─▶ 1 ─▶ 2 and 0 ─▶ 2: the row of both ends is taken by 1 in between, so that the lane is left.
        let grid = Grid::new(&[0, 1, 2], &[(0, 1), (1, 2), (0, 2)], &[]);
        assert_eq!(grid.empty_row((0, 2)), None);
        let (node, crossing) = (grid.corner(1), grid.crossing((0, 2)));
        assert!(crossing > node.y + HEIGHT && crossing < grid.height(), "{crossing}");
        // With a free row it takes that.
        let grid = Grid::new(&[0, 0, 1, 2], &[(0, 2), (2, 3), (1, 3)], &[]);
        assert_eq!(grid.empty_row((1, 3)), Some(1));
    }

    #[test]
    fn lines_in_one_lane_make_room_for_each_other() {
        let routes = [(1, 0), (2, 0)];
        let grid = Grid::new(&[0, 1, 2], &[(0, 1), (1, 2)], &routes);
        let lanes = routes.map(|route| grid.lane(0, route));
        assert_ne!(lanes[0], lanes[1]);
        assert!(lanes.iter().all(|lane| *lane > grid.corner(0).y + HEIGHT && *lane < grid.height()));
    }
}
