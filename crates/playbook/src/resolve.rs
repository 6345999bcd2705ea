//! Derives what the file implies: initial checks, fan-outs, criticality and artifacts. Reports risky constructs.
//!
//!   Draft ──cycles──starts──fans──criticality──▶ Check ──loops, safety, scope──▶ warnings
//!
//! **Invariant:** a plan without errors needs no further checks: its dependencies have no cycle, every fan is a
//! single chain, and every default is filled in.

mod ai;
mod artifact_reads;
mod artifacts;
mod criticality;
mod cycles;
mod effects;
mod fans;
mod graph;
mod loops;
mod nested;
mod reachability;
mod safety;
pub(crate) mod scope;
mod starts;
mod unjudged;

use escrow_model::{Plan, PlanKind, Safety};

use crate::ReferenceResolver;
use crate::decode::Decoded;
use crate::diagnostic::Diagnostics;
use graph::Graph;

/// Completes the plan. Errors and warnings go to `found`.
pub(crate) fn resolve(
    decoded: Decoded,
    text: &str,
    references: &dyn ReferenceResolver,
    found: &mut Diagnostics,
) -> Plan {
    let Decoded { mut plan, mut drafts, uses } = decoded;
    let graph = Graph::of(&drafts);
    let order = cycles::order(&drafts, &graph, found);
    let reachable = starts::resolve(&mut drafts, &graph);
    criticality::resolve(&mut drafts, &graph, references, plan.safety);
    if let Some(order) = &order {
        fans::resolve(&mut drafts, &graph, order, found);
        starts::check(&drafts, &graph, &reachable, found);
        loops::check(&drafts, &graph, plan.safety, found);
    }
    let known = scope::Known { plan: &plan, drafts: &drafts, graph: &graph, fans: order.is_some() };
    scope::check(&known, &uses, text, found);
    if plan.kind == PlanKind::Playbook {
        safety::check(&drafts, plan.safety, found);
        unjudged::check(&drafts, &graph, plan.safety == Safety::Strict, found);
    } else {
        drafts.iter().for_each(|draft| effects::check(draft, plan.safety == Safety::Strict, found));
    }
    nested::check(&drafts, references, plan.safety == Safety::Strict, found);
    // The run of a step delivers under its own contract, and a step may be skipped.
    if plan.kind == PlanKind::Playbook {
        artifacts::resolve(&mut plan.artifacts, &mut drafts, references, found);
    }
    ai::resolve(&plan.artifacts, &mut drafts, &graph, references, found);
    artifact_reads::check(&mut plan.artifacts, &drafts, &graph, &uses, text, found);
    plan.checks = drafts.into_iter().map(|draft| draft.check).collect();
    plan
}
