//! What follows from what was written: who starts, fans, criticality, and what is unwise.
//!
//!   Draft ──cycles──starts──fans──criticality──▶ Check ──loops, safety, scope──▶ warnings
//!
//! **Invariant:** a plan that leaves here needs no second look: its dependencies have no cycle, every fan is
//! one line, every default is filled in.

mod criticality;
mod cycles;
mod fans;
mod graph;
mod loops;
mod nested;
mod promises;
mod reach;
mod safety;
mod scope;
mod starts;

use escrow_model::{Plan, Safety};

use crate::ReferenceResolver;
use crate::decode::Decoded;
use crate::diagnostic::Diagnostics;
use graph::Graph;

/// The plan, finished. What is wrong or unwise is in `found`.
pub(crate) fn resolve(
    decoded: Decoded,
    text: &str,
    beside: &dyn ReferenceResolver,
    found: &mut Diagnostics,
) -> Plan {
    let Decoded { mut plan, mut drafts, uses } = decoded;
    let graph = Graph::of(&drafts);
    let order = cycles::order(&drafts, &graph, found);
    let alive = starts::resolve(&mut drafts, &graph);
    criticality::resolve(&mut drafts, &graph, beside);
    if let Some(order) = &order {
        fans::resolve(&mut drafts, &graph, order, found);
        starts::check(&drafts, &graph, &alive, found);
        loops::check(&drafts, &graph, plan.safety, found);
    }
    let known = scope::Known { plan: &plan, drafts: &drafts, graph: &graph, fans: order.is_some() };
    scope::check(&known, &uses, text, found);
    safety::check(&drafts, plan.safety, found);
    nested::check(&drafts, beside, plan.safety == Safety::Strict, found);
    promises::resolve(&mut plan.artifacts, &mut drafts, beside, found);
    plan.checks = drafts.into_iter().map(|draft| draft.check).collect();
    plan
}
