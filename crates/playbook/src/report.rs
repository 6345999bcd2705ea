//! The report of `escrow check` about a valid playbook: initial checks, criticality, and expected artifacts.

use escrow_model::{CheckIndex, Criticality, CriticalityOrigin, Plan, Source};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub playbook: String,
    /// The checks that start without being routed to, in file order.
    pub starts: Vec<String>,
    pub checks: Vec<CheckReport>,
    /// `None` when no artifact is expected.
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
    /// As written in `depends_on`: `a`, or `a|b`.
    pub depends_on: Vec<String>,
    /// The `forEach` checks whose items it runs for, outermost first.
    pub fan: Vec<String>,
    /// The checks that it can route to, as far as the file states them.
    pub routes_to: Vec<String>,
    pub timeout_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArtifactReport {
    pub required: usize,
    pub optional: usize,
    /// The artifacts in the order of verification.
    pub expected: Vec<ExpectedReport>,
    /// The summary for people.
    pub lines: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectedReport {
    pub id: String,
    /// The path or the pattern.
    pub path: String,
    pub required: bool,
    pub source: Source,
    /// The source of the entry with the same id that it replaced.
    pub replaces: Option<Source>,
    /// The check that delivers it; `None` for the whole run.
    pub check: Option<String>,
    pub description: String,
    /// When it is expected; `None` for always.
    #[serde(rename = "if")]
    pub condition: Option<String>,
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
                provider: check.provider.to_string(),
                starts: check.starts,
                criticality: check.criticality,
                criticality_origin: check.criticality_origin,
                mutating: check.mutating,
                depends_on: check
                    .needs
                    .iter()
                    .map(|need| need.any_of.iter().map(name).collect::<Vec<_>>().join("|"))
                    .chain(check.after.iter().map(name))
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

/// Reading the playbook has validated the contract, so the lines state facts.
fn artifacts(plan: &Plan) -> Option<ArtifactReport> {
    let expected = &plan.artifacts.expected;
    if expected.is_empty() {
        return None;
    }
    let required = expected.iter().filter(|artifact| artifact.required).count();
    let optional = expected.len() - required;
    let mut lines = vec![
        format!("contract resolved ({} expected: {required} required, {optional} optional)", expected.len()),
        "all paths relative-OK".to_owned(),
    ];
    let from = |source| expected.iter().filter(|one| one.source == source).count();
    let collisions: Vec<String> = expected
        .iter()
        .filter_map(|one| Some((one, one.replaces?)))
        .map(|(one, replaced)| {
            format!("`{}` of the {} replaces that of the {}", one.id, one.source.as_str(), replaced.as_str())
        })
        .collect();
    let has_profiles = from(Source::AgentProfile) > 0 || !collisions.is_empty();
    if has_profiles {
        let (playbook, profile) = (from(Source::Playbook), from(Source::AgentProfile));
        lines.insert(1, format!("sources: {playbook} from playbook, {profile} from agent_profile"));
    }
    lines.extend(match (collisions.as_slice(), has_profiles) {
        ([], false) => vec!["no id collisions".to_owned()],
        ([], true) => vec!["no id collisions with agent_profile defaults".to_owned()],
        (_, _) => collisions,
    });
    let expected = expected
        .iter()
        .map(|one| ExpectedReport {
            id: one.id.clone(),
            path: one.location.label().to_owned(),
            required: one.required,
            source: one.source,
            replaces: one.replaces,
            check: one.check.clone(),
            description: one.description.clone(),
            condition: one.condition.as_ref().map(|condition| condition.source().to_owned()),
        })
        .collect();
    Some(ArtifactReport { required, optional, expected, lines })
}
