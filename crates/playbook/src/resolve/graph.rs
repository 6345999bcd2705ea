//! The graph of dependencies and routes between checks, by index.

use std::collections::{BTreeMap, VecDeque};

use escrow_model::{CheckIndex, Routing};

use crate::decode::Draft;

/// The routing block of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Success,
    Fail,
    Finish,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) when: When,
}

pub(super) struct Graph {
    /// What each check follows: its dependencies, including alternatives, and what it comes after; without duplicates.
    pub(super) needs: Vec<Vec<usize>>,
    /// The dependencies in groups; any member satisfies its group.
    pub(super) groups: Vec<Vec<Vec<usize>>>,
    pub(super) dependents: Vec<Vec<usize>>,
    pub(super) routes: Vec<Route>,
    pub(super) routes_from: Vec<Vec<usize>>,
    pub(super) routes_to: Vec<Vec<usize>>,
    /// Whether a route is computed at run time.
    pub(super) dynamic: bool,
}

impl Graph {
    pub(super) fn of(drafts: &[Draft]) -> Graph {
        let count = drafts.len();
        let mut graph = Graph {
            needs: vec![Vec::new(); count],
            groups: vec![Vec::new(); count],
            dependents: vec![Vec::new(); count],
            routes: Vec::new(),
            routes_from: vec![Vec::new(); count],
            routes_to: vec![Vec::new(); count],
            dynamic: false,
        };
        for (index, draft) in drafts.iter().enumerate() {
            let groups: Vec<Vec<usize>> = draft
                .check
                .needs
                .iter()
                .map(|need| need.any_of.iter().map(|index| index.place()).collect())
                .collect();
            // A check that comes `after` another depends on it as well, though not on its success.
            let after = draft.check.after.iter().map(|index| index.place());
            let mut needs: Vec<usize> = groups.iter().flatten().copied().chain(after).collect();
            graph.groups[index] = groups;
            needs.sort_unstable();
            needs.dedup();
            for need in &needs {
                graph.dependents[*need].push(index);
            }
            graph.needs[index] = needs;
            graph.add_routes(index, &draft.check.on_success, When::Success);
            graph.add_routes(index, &draft.check.on_fail, When::Fail);
            graph.add_routes(index, &draft.check.on_finish, When::Finish);
        }
        graph
    }

    fn add_routes(&mut self, from: usize, routing: &Routing, when: When) {
        self.dynamic |= routing.run_js.is_some() || routing.goto_js.is_some();
        for to in routing.targets().map(CheckIndex::place) {
            let route = self.routes.len();
            self.routes.push(Route { from, to, when });
            self.routes_from[from].push(route);
            self.routes_to[to].push(route);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.needs.len()
    }

    pub(super) fn targets(&self, from: usize) -> impl Iterator<Item = usize> + '_ {
        self.routes_from[from].iter().map(|route| self.routes[*route].to)
    }

    pub(super) fn sources(&self, to: usize) -> impl Iterator<Item = Route> + '_ {
        self.routes_to[to].iter().map(|route| self.routes[*route])
    }
}

/// The strongly connected components of a graph, each sorted. A component comes after its successors.
pub(super) fn components(count: usize, successors: impl Fn(usize) -> Vec<usize>) -> Vec<Vec<usize>> {
    // Tarjan's algorithm with an explicit stack: a playbook can be a chain of thousands of checks.
    const UNSEEN: usize = usize::MAX;
    let mut index = vec![UNSEEN; count];
    let mut low = vec![0; count];
    let mut on_stack = vec![false; count];
    let mut stack = Vec::new();
    let mut found = Vec::new();
    let mut next_index = 0;
    for root in 0..count {
        if index[root] != UNSEEN {
            continue;
        }
        let mut frames = vec![(root, successors(root), 0)];
        index[root] = next_index;
        low[root] = next_index;
        next_index += 1;
        stack.push(root);
        on_stack[root] = true;
        while let Some((node, next, at)) = frames.last_mut() {
            let node = *node;
            if let Some(successor) = next.get(*at).copied() {
                *at += 1;
                if index[successor] == UNSEEN {
                    index[successor] = next_index;
                    low[successor] = next_index;
                    next_index += 1;
                    stack.push(successor);
                    on_stack[successor] = true;
                    frames.push((successor, successors(successor), 0));
                } else if on_stack[successor] {
                    low[node] = low[node].min(index[successor]);
                }
                continue;
            }
            frames.pop();
            if let Some((parent, _, _)) = frames.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            if low[node] == index[node] {
                let mut component = Vec::new();
                while let Some(member) = stack.pop() {
                    on_stack[member] = false;
                    component.push(member);
                    if member == node {
                        break;
                    }
                }
                component.sort_unstable();
                found.push(component);
            }
        }
    }
    found
}

/// A shortest cycle through the first member of a component.
pub(super) fn shortest_cycle(component: &[usize], successors: impl Fn(usize) -> Vec<usize>) -> Vec<usize> {
    let start = component[0];
    let mut before: BTreeMap<usize, usize> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(index) = open.pop_front() {
        for next in successors(index) {
            if next == start {
                let mut way = vec![index];
                let mut at = index;
                while let Some(previous) = before.get(&at) {
                    way.push(*previous);
                    at = *previous;
                }
                way.reverse();
                return way;
            }
            if component.binary_search(&next).is_ok() && !before.contains_key(&next) {
                before.insert(next, index);
                open.push_back(next);
            }
        }
    }
    component.to_vec()
}
