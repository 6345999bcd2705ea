//! Derives which checks start without being routed to.
//!
//! A check that others route to waits for a route, unless one of them depends on it or it routes to itself. A cycle
//! that would never start begins at its first check in the file that no `on_fail` leads to. `start` overrides this.

use super::graph::{Graph, When, components};
use super::reachability::Reachability;
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};

/// Sets `starts` of every check. Returns which checks are reachable from the initial ones.
pub(super) fn resolve(drafts: &mut [Draft], graph: &Graph) -> Vec<bool> {
    let after = Reachability::of(graph.count(), |index| graph.dependents[index].clone());
    let mut starts: Vec<bool> = drafts
        .iter()
        .enumerate()
        .map(|(index, draft)| draft.start.unwrap_or_else(|| starts_by_default(index, graph, &after)))
        .collect();
    let overridden: Vec<bool> = drafts.iter().map(|draft| draft.start.is_some()).collect();
    let reachable = start_idle_cycles(&mut starts, &overridden, graph);
    for (index, draft) in drafts.iter_mut().enumerate() {
        draft.check.starts = starts[index];
    }
    reachable
}

/// Warns about unreachable checks.
pub(super) fn check(drafts: &[Draft], graph: &Graph, reachable: &[bool], found: &mut Diagnostics) {
    // A route computed at run time can lead anywhere.
    if graph.dynamic {
        return;
    }
    for (index, _) in reachable.iter().enumerate().filter(|(_, reachable)| !**reachable) {
        report_unreachable(index, drafts, graph, found);
    }
}

fn starts_by_default(index: usize, graph: &Graph, after: &Reachability) -> bool {
    let mut sources = graph.sources(index).peekable();
    if sources.peek().is_none() {
        return true;
    }
    sources.any(|route| route.from == index || after.reaches(index, route.from))
}

/// Starts one check of every cycle that nothing else leads into. Returns which checks are then reachable.
fn start_idle_cycles(starts: &mut [bool], overridden: &[bool], graph: &Graph) -> Vec<bool> {
    loop {
        let reachable = reachable_from(starts, graph);
        let firsts = idle_cycle_entries(starts, overridden, &reachable, graph);
        if firsts.is_empty() {
            return reachable;
        }
        for first in firsts {
            starts[first] = true;
        }
    }
}

/// A check is reachable when it starts or a reachable check routes to it, and its dependencies are reachable.
fn reachable_from(starts: &[bool], graph: &Graph) -> Vec<bool> {
    let mut reachable = vec![false; graph.count()];
    let mut open: Vec<usize> = (0..graph.count()).collect();
    while let Some(index) = open.pop() {
        if reachable[index] {
            continue;
        }
        let called = starts[index] || graph.sources(index).any(|route| reachable[route.from]);
        // A route from a dependency satisfies the dependency, and its source is then already reachable.
        if called && graph.groups[index].iter().all(|group| group.iter().any(|need| reachable[*need])) {
            reachable[index] = true;
            open.extend(graph.targets(index));
            open.extend(graph.dependents[index].iter().copied());
        }
    }
    reachable
}

/// The first eligible check of every unreachable cycle that nothing else leads into.
fn idle_cycle_entries(starts: &[bool], overridden: &[bool], reachable: &[bool], graph: &Graph) -> Vec<usize> {
    let leads_to = |index: usize| -> Vec<usize> {
        if reachable[index] {
            return Vec::new();
        }
        graph
            .targets(index)
            .chain(graph.dependents[index].iter().copied())
            .filter(|next| !reachable[*next])
            .collect()
    };
    let cycles = components(graph.count(), leads_to);
    let mut cycle_of = vec![0; graph.count()];
    for (number, cycle) in cycles.iter().enumerate() {
        for index in cycle {
            cycle_of[*index] = number;
        }
    }
    let mut entered = vec![false; cycles.len()];
    for index in 0..graph.count() {
        for next in leads_to(index) {
            entered[cycle_of[next]] |= cycle_of[next] != cycle_of[index];
        }
    }
    cycles
        .iter()
        .enumerate()
        .filter(|(number, cycle)| cycle.len() > 1 && !entered[*number])
        .filter_map(|(_, cycle)| {
            cycle.iter().copied().find(|index| {
                let waits = !reachable[*index] && !starts[*index] && !overridden[*index];
                waits && graph.sources(*index).all(|route| route.when != When::Fail)
            })
        })
        .collect()
}

fn report_unreachable(index: usize, drafts: &[Draft], graph: &Graph, found: &mut Diagnostics) {
    let starts = |index: usize| drafts[index].check.starts;
    let draft = &drafts[index];
    let label = if draft.start == Some(false) && graph.routes_to[index].is_empty() {
        "`start: false`, and no check routes to it".to_owned()
    } else if let Some(need) =
        graph.needs[index].iter().find(|need| !starts(**need)).filter(|_| starts(index))
    {
        format!("it depends on `{}`, which runs only when routed to", drafts[*need].check.name)
    } else {
        "the checks that lead to it never start".to_owned()
    };
    found.push(
        Problem::new("W0206", draft.entry.key_span.clone(), format!("`{}` is unreachable", draft.check.name))
            .label(label)
            .help("add `start: true` to the first check"),
    );
}
