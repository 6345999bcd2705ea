//! Checks that wait for one another for ever.

use super::graph::{Graph, components};
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};

/// The checks so that each stands behind what it depends on, or `None` and a problem for every cycle.
pub(super) fn order(drafts: &[Draft], graph: &Graph, found: &mut Diagnostics) -> Option<Vec<usize>> {
    let mut good = true;
    let mut order = Vec::with_capacity(drafts.len());
    // Components come out behind the ones they lead to, so following `needs` gives an order of work.
    for component in components(graph.count(), |place| graph.needs[place].clone()) {
        let first = component[0];
        if component.len() == 1 && !graph.needs[first].contains(&first) {
            order.push(first);
            continue;
        }
        good = false;
        report(&component, drafts, graph, found);
    }
    good.then_some(order)
}

fn report(component: &[usize], drafts: &[Draft], graph: &Graph, found: &mut Diagnostics) {
    let cycle = shortest_cycle(component, graph);
    let names: Vec<&str> = cycle.iter().map(|place| drafts[*place].check.name.as_str()).collect();
    let first = cycle[0];
    let path =
        names.iter().chain(names.first()).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" → ");
    let message = if cycle.len() == 1 {
        format!("`{}` depends on itself", names[0])
    } else {
        "checks depend on each other in a circle".to_owned()
    };
    let mut problem = Problem::new("E0112", drafts[first].span_of("depends_on"), message).label(path).help(
        "none of them can start; remove one of the dependencies, or go back with `on_fail: { goto: … }`",
    );
    for place in &cycle[1..] {
        problem =
            problem.also(drafts[*place].span_of("depends_on"), format!("`{}`", drafts[*place].check.name));
    }
    found.push(problem);
}

/// A shortest way from the first check of a component back to it.
fn shortest_cycle(component: &[usize], graph: &Graph) -> Vec<usize> {
    let start = component[0];
    let mut before = vec![None; graph.count()];
    let mut open = std::collections::VecDeque::from([start]);
    while let Some(place) = open.pop_front() {
        for next in &graph.needs[place] {
            if *next == start {
                let mut cycle = vec![place];
                let mut at = place;
                while let Some(previous) = before[at] {
                    cycle.push(previous);
                    at = previous;
                }
                cycle.reverse();
                return cycle;
            }
            if component.binary_search(next).is_ok() && before[*next].is_none() {
                before[*next] = Some(place);
                open.push_back(*next);
            }
        }
    }
    component.to_vec()
}
