//! Orders checks by their dependencies and reports cycles.

use super::graph::{Graph, components, shortest_cycle};
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};

/// How many checks of a cycle a message shows.
const SHOWN_MAX: usize = 8;

/// The checks in dependency order, or `None` after reporting every cycle.
pub(super) fn order(drafts: &[Draft], graph: &Graph, found: &mut Diagnostics) -> Option<Vec<usize>> {
    let mut is_acyclic = true;
    let mut order = Vec::with_capacity(drafts.len());
    // A component comes after its successors, so following `needs` yields the dependency order.
    for component in components(graph.count(), |index| graph.needs[index].clone()) {
        let first = component[0];
        if component.len() == 1 && !graph.needs[first].contains(&first) {
            order.push(first);
            continue;
        }
        is_acyclic = false;
        report(&component, drafts, graph, found);
    }
    is_acyclic.then_some(order)
}

fn report(component: &[usize], drafts: &[Draft], graph: &Graph, found: &mut Diagnostics) {
    let cycle = shortest_cycle(component, |index| graph.needs[index].clone());
    let first = cycle[0];
    let path = cycle_text(&cycle, drafts);
    let message = if cycle.len() == 1 {
        format!("`{}` depends on itself", drafts[first].check.name)
    } else {
        "checks depend on each other in a cycle".to_owned()
    };
    let mut problem = Problem::new("E0112", drafts[first].span_of("depends_on"), message).label(path).help(
        if cycle.len() == 1 {
            "remove it from its own `depends_on`"
        } else {
            "remove one of the dependencies, or go back with `on_fail: { goto: … }`"
        },
    );
    for index in cycle.iter().skip(1).take(SHOWN_MAX) {
        problem =
            problem.also(drafts[*index].span_of("depends_on"), format!("`{}`", drafts[*index].check.name));
    }
    found.push(problem);
}

/// The cycle as text: `a` → `b` → `a`.
pub(super) fn cycle_text(cycle: &[usize], drafts: &[Draft]) -> String {
    let name = |index: &usize| format!("`{}`", drafts[*index].check.name);
    let mut names: Vec<String> = cycle.iter().take(SHOWN_MAX).map(name).collect();
    if cycle.len() > SHOWN_MAX {
        names.push(format!("… ({} more)", cycle.len() - SHOWN_MAX));
    }
    names.extend(cycle.first().map(name));
    names.join(" → ")
}
