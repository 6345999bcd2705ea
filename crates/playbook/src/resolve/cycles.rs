//! Checks that wait for one another for ever.

use super::graph::{Graph, components, way_round};
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};

/// How many checks of a circle a message shows.
const SHOWN_MAX: usize = 8;

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
    let cycle = way_round(component, |place| graph.needs[place].clone());
    let first = cycle[0];
    let path = written_out(&cycle, drafts);
    let message = if cycle.len() == 1 {
        format!("`{}` depends on itself", drafts[first].check.name)
    } else {
        "checks depend on each other in a circle".to_owned()
    };
    let mut problem = Problem::new("E0112", drafts[first].span_of("depends_on"), message).label(path).help(
        if cycle.len() == 1 {
            "it would wait for itself for ever; remove it from its own `depends_on`"
        } else {
            "none of them can start; remove one of the dependencies, or go back with `on_fail: { goto: … }`"
        },
    );
    for place in cycle.iter().skip(1).take(SHOWN_MAX) {
        problem =
            problem.also(drafts[*place].span_of("depends_on"), format!("`{}`", drafts[*place].check.name));
    }
    found.push(problem);
}

/// The way round, as a person reads it: `a` → `b` → `a`.
pub(super) fn written_out(cycle: &[usize], drafts: &[Draft]) -> String {
    let name = |place: &usize| format!("`{}`", drafts[*place].check.name);
    let mut names: Vec<String> = cycle.iter().take(SHOWN_MAX).map(name).collect();
    if cycle.len() > SHOWN_MAX {
        names.push(format!("… ({} more)", cycle.len() - SHOWN_MAX));
    }
    names.extend(cycle.first().map(name));
    names.join(" → ")
}
