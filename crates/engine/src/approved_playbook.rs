//! The nested playbook that an approval is for: its digest, and what it can do outside.
//!
//! **Invariant:** the digest covers every playbook that the nested run can reach. The nested run begins from the same
//! table, so what was shown is what runs.

use escrow_model::{
    ApprovedEffect, ApprovedPlaybook, Check, Criticality, NestedPlaybook, Plan, ProviderName,
};

use crate::approval::{sha256, source_of};

/// None for a check that nests nothing, and in a run whose plan has no table of nested playbooks: there the check fails
/// when it starts.
pub(crate) fn approved_playbook(plan: &Plan, check: &Check) -> Option<ApprovedPlaybook> {
    let file = plan.nested.names.get(check.nested_name()?)?;
    let nested = plan.nested.files.get(file)?;
    let mut reachable = plan.nested.reachable(file);
    // The playbook itself first.
    reachable.sort_by_key(|(other, _)| other != file);
    let digests: Vec<(&str, &str)> =
        reachable.iter().map(|(file, nested)| (*file, nested.sha256.as_str())).collect();
    Some(ApprovedPlaybook {
        name: nested.plan.name.clone(),
        file: file.clone(),
        sha256: sha256(&serde_json::to_string(&digests).expect("texts are JSON")),
        external: reachable.iter().flat_map(|(_, nested)| effects(nested)).collect(),
    })
}

/// The effects of a nested run are those of its own checks, so checks that nest are left out.
fn effects(nested: &NestedPlaybook) -> impl Iterator<Item = ApprovedEffect> {
    let external =
        |check: &&Check| check.criticality == Criticality::External && check.provider != ProviderName::NESTED;
    nested.plan.checks.iter().filter(external).map(|check| ApprovedEffect {
        playbook: nested.plan.name.clone(),
        check: check.name.clone(),
        provider: check.provider.clone(),
        command: check.fields.get("exec").map(source_of),
    })
}
