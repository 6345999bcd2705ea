//! Loops that nothing ends but their budget.

use escrow_model::{CheckIndex, Routing, Safety};

use super::cycles::written_out;
use super::graph::{Graph, components, way_round};
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};

/// Warns of rings of routes, and of dependencies that routes lead back to, in which every check goes on.
pub(super) fn check(drafts: &[Draft], graph: &Graph, safety: Safety, found: &mut Diagnostics) {
    let leads_to = |place: usize| -> Vec<usize> {
        if is_held_back(&drafts[place]) {
            return Vec::new();
        }
        let routes = always_to(&drafts[place]);
        routes.into_iter().chain(graph.dependents[place].iter().copied()).collect()
    };
    for ring in components(drafts.len(), leads_to) {
        let first = ring[0];
        let is_ring = ring.len() > 1 || leads_to(first).contains(&first);
        if !is_ring {
            continue;
        }
        let ring = way_round(&ring, leads_to);
        let Some(source) = ring.iter().copied().find(|place| !always_to(&drafts[*place]).is_empty()) else {
            continue;
        };

        let block =
            if always(&drafts[source].check.on_success).is_empty() { "on_finish" } else { "on_success" };
        found.push(
            Problem::new("W0204", drafts[source].span_of(block), "a loop without an exit")
                .label(format!("{} and so on, until the loop budget is spent", written_out(&ring, drafts)))
                .help("go on under a condition: `transitions: [{ when: …, to: … }]`")
                .error_if(safety == Safety::Strict),
        );
    }
}

/// Whether a condition or a filter may keep the check from running, and so end the loop.
fn is_held_back(draft: &Draft) -> bool {
    let check = &draft.check;
    check.condition.is_some() || !check.assume.is_empty() || !check.on.is_empty() || check.fail_if.is_some()
}

/// Where a check that succeeds always goes.
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
