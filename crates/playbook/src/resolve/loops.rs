//! Loops that nothing ends but their budget.

use escrow_model::{CheckIndex, Routing, Safety};

use super::graph::components;
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};

/// Warns of routing rings in which every check always goes on.
pub(super) fn check(drafts: &[Draft], safety: Safety, found: &mut Diagnostics) {
    let leads_to = |place: usize| unconditional(&drafts[place]);
    for ring in components(drafts.len(), leads_to) {
        let first = ring[0];
        let is_ring = ring.len() > 1 || leads_to(first).contains(&first);
        if !is_ring {
            continue;
        }
        let names: Vec<String> =
            ring.iter().chain([&first]).map(|place| format!("`{}`", drafts[*place].check.name)).collect();
        let block =
            if drafts[first].check.on_success.goto.is_some() || !drafts[first].check.on_success.is_empty() {
                "on_success"
            } else {
                "on_finish"
            };
        found.push(
            Problem::new("W0204", drafts[first].span_of(block), "a loop without an exit")
                .label(format!("{} and so on, until the loop budget is spent", names.join(" → ")))
                .help("go on under a condition: `transitions: [{ when: …, to: … }]`")
                .error_if(safety == Safety::Strict),
        );
    }
}

/// Where a check that succeeds always goes: what no condition, filter or contract can hold back.
fn unconditional(draft: &Draft) -> Vec<usize> {
    let check = &draft.check;
    let held_back = check.condition.is_some()
        || !check.assume.is_empty()
        || !check.on.is_empty()
        || !check.guarantee.is_empty()
        || check.fail_if.is_some();
    if held_back {
        return Vec::new();
    }
    [&check.on_success, &check.on_finish].into_iter().flat_map(always).map(CheckIndex::place).collect()
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
