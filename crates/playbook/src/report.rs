//! What `escrow check` says about a good playbook: who starts, what each check risks, what is promised.

use escrow_model::{CheckIndex, Criticality, CriticalityOrigin, Plan};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub playbook: String,
    /// The checks that start by themselves, in the order of the file.
    pub starts: Vec<String>,
    pub checks: Vec<CheckReport>,
    /// None when nothing is promised.
    pub artifacts: Option<ArtifactReport>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    pub name: String,
    #[serde(rename = "type")]
    pub provider: String,
    pub starts: bool,
    pub criticality: Criticality,
    pub criticality_origin: CriticalityOrigin,
    pub mutating: bool,
    /// As `depends_on` has it: `a`, or `a|b`.
    pub depends_on: Vec<String>,
    /// The `forEach` checks whose items it runs for, outermost first.
    pub fan: Vec<String>,
    /// Where it may send the run, as far as that is known before.
    pub routes_to: Vec<String>,
    pub timeout_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArtifactReport {
    pub required: usize,
    pub optional: usize,
    /// The lines that a person reads.
    pub lines: Vec<String>,
}

pub fn report(plan: &Plan) -> Report {
    let name = |index: &CheckIndex| plan.check(*index).name.clone();
    let checks = plan
        .checks
        .iter()
        .map(|check| {
            let mut routes_to: Vec<String> = Vec::new();
            for target in check.routings().flat_map(|routing| routing.targets()) {
                let target = name(&target);
                if !routes_to.contains(&target) {
                    routes_to.push(target);
                }
            }
            CheckReport {
                name: check.name.clone(),
                provider: check.provider.clone(),
                starts: check.starts,
                criticality: check.criticality,
                criticality_origin: check.criticality_origin,
                mutating: check.mutating,
                depends_on: check
                    .needs
                    .iter()
                    .map(|need| need.any_of.iter().map(name).collect::<Vec<_>>().join("|"))
                    .collect(),
                fan: check.fan.iter().map(name).collect(),
                routes_to,
                timeout_ms: check.timeout_ms,
            }
        })
        .collect();
    Report {
        playbook: plan.name.clone(),
        starts: plan.checks.iter().filter(|check| check.starts).map(|check| check.name.clone()).collect(),
        checks,
        artifacts: artifacts(plan),
    }
}

/// A plan's contract was validated when it was read, so each line states what holds.
fn artifacts(plan: &Plan) -> Option<ArtifactReport> {
    let expected = &plan.artifacts.expected;
    if expected.is_empty() {
        return None;
    }
    let required = expected.iter().filter(|artifact| artifact.required).count();
    let optional = expected.len() - required;
    let lines = vec![
        format!("contract resolved ({} expected: {required} required, {optional} optional)", expected.len()),
        "all paths relative-OK".to_owned(),
        "no id collisions".to_owned(),
    ];
    Some(ArtifactReport { required, optional, lines })
}
