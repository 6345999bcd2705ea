//! Reports contracts that a fault passes unjudged on the way to an effect. Under `safety: strict` these are errors.

use std::collections::BTreeSet;

use escrow_model::{Check, Criticality};

use super::graph::Graph;
use super::safety::constrains_output;
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};

pub(super) fn check(drafts: &[Draft], graph: &Graph, strict: bool, found: &mut Diagnostics) {
    for (index, draft) in drafts.iter().enumerate() {
        let check = &draft.check;
        let contracts = unjudged_on_fault(check);
        // `fail_if` is judged on a fault, too.
        if !check.continue_on_failure || contracts.is_empty() || check.fail_if.is_some() {
            continue;
        }
        let Some(effect) = effect_behind(index, drafts, graph) else { continue };
        let (name, contracts) = (&check.name, contracts.join(", "));
        let message = format!("a fault of `{name}` lets `{effect}` start, with {contracts} not judged");
        let problem = Problem::new("W0254", draft.span_of("continue_on_failure"), message);
        found.push(problem.label("its dependents start after a fault, effects too").error_if(strict));
    }
}

/// The contracts that are judged only when the provider ends well.
fn unjudged_on_fault(check: &Check) -> Vec<&'static str> {
    let contracts = [
        ("`schema`", check.schema.as_ref().is_some_and(constrains_output)),
        ("`rules`", check.rules.iter().any(|rule| rule.enabled)),
        ("`guarantee`", !check.guarantee.is_empty()),
        ("`outcome`", check.outcome.is_some()),
        ("`artifacts`", !check.artifacts.is_empty()),
    ];
    contracts.into_iter().filter(|(_, declared)| *declared).map(|(name, _)| name).collect()
}

/// The first external check that depends on a check, directly or not.
fn effect_behind<'d>(index: usize, drafts: &'d [Draft], graph: &Graph) -> Option<&'d str> {
    let mut seen = BTreeSet::from([index]);
    let mut open = vec![index];
    while let Some(at) = open.pop() {
        for dependent in &graph.dependents[at] {
            if seen.insert(*dependent) {
                open.push(*dependent);
            }
        }
    }
    let behind = seen.iter().filter(|one| **one != index).map(|one| &drafts[*one].check);
    let mut effects = behind.filter(|check| check.criticality == Criticality::External);
    effects.next().map(|check| check.name.as_str())
}
