//! Reports loops that only the loop budget ends.

use escrow_model::{CheckIndex, Routing, Safety};

use super::cycles::cycle_text;
use super::graph::{Graph, components, shortest_cycle};
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};

/// Warns about cycles of routes and dependents in which every check always continues.
pub(super) fn check(drafts: &[Draft], graph: &Graph, safety: Safety, found: &mut Diagnostics) {
    let leads_to = |index: usize| -> Vec<usize> {
        if can_end_loop(&drafts[index]) {
            return Vec::new();
        }
        let routes = always_to(&drafts[index]);
        routes.into_iter().chain(graph.dependents[index].iter().copied()).collect()
    };
    for cycle in components(drafts.len(), leads_to) {
        let first = cycle[0];
        let is_cycle = cycle.len() > 1 || leads_to(first).contains(&first);
        if !is_cycle {
            continue;
        }
        let cycle = shortest_cycle(&cycle, leads_to);
        let Some(source) = cycle.iter().copied().find(|index| !always_to(&drafts[*index]).is_empty()) else {
            continue;
        };

        let block =
            if always(&drafts[source].check.on_success).is_empty() { "on_finish" } else { "on_success" };
        found.push(
            Problem::new("W0204", drafts[source].span_of(block), "loop without an exit")
                .label(format!("{}, until the loop budget is exhausted", cycle_text(&cycle, drafts)))
                .help("make the route conditional: `transitions: [{ when: …, to: … }]`")
                .error_if(safety == Safety::Strict),
        );
    }
}

/// Whether a condition or filter can stop the check and so end the loop.
fn can_end_loop(draft: &Draft) -> bool {
    let check = &draft.check;
    check.condition.is_some() || !check.assume.is_empty() || !check.on.is_empty() || check.fail_if.is_some()
}

/// The checks that follow every success of a check.
fn always_to(draft: &Draft) -> Vec<usize> {
    let routings = [&draft.check.on_success, &draft.check.on_finish];
    routings.into_iter().flat_map(always).map(CheckIndex::place).collect()
}

fn always(routing: &Routing) -> Vec<CheckIndex> {
    let mut targets = routing.run.clone();
    match routing.transitions.first() {
        Some(first) if first.when.source().trim() == "true" => targets.extend(first.to),
        Some(_) => {}
        None if routing.goto_js.is_some() => {}
        None => targets.extend(routing.goto),
    }
    targets
}
