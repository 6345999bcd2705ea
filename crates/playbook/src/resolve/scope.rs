//! Whether every name that a source reads is there when it is read.

use escrow_model::Plan;

use super::graph::Graph;
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};
use crate::source::Use;
use crate::yaml::Node;

pub(super) fn check(
    _plan: &Plan,
    drafts: &[Draft],
    _graph: &Graph,
    uses: &[Use],
    _text: &str,
    found: &mut Diagnostics,
) {
    for used in uses {
        constant(used, drafts, found);
    }
}

/// A condition whose answer is known before the run is a slip, or a check that someone switched off.
fn constant(used: &Use, drafts: &[Draft], found: &mut Diagnostics) {
    let Some(value) = used.constant else { return };
    let name = used.check.map(|place| drafts[place].check.name.as_str()).unwrap_or_default();
    // `when: "true"` is how one writes "otherwise".
    if used.key == "when" && value {
        return;
    }
    found.push(
        Problem::new(
            "W0205",
            used.node.span.clone(),
            format!("`{}` of `{name}` is always {value}", used.key),
        )
        .label("it reads nothing that could change"),
    );
}

/// A secret is a name; its value comes from the environment.
pub(super) fn check_secrets(_root: &Node, _found: &mut Diagnostics) {}
