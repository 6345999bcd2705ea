//! Completes the artifact contract with the artifacts of nested playbooks and agents, each in the folder of its
//! check, and resolves `artifacts` of checks.

use escrow_model::{ArtifactContract, ExpectedArtifact, folder_of};

use super::nested;
use crate::ReferenceResolver;
use crate::decode::{AGENT_PROVIDER, Draft};
use crate::diagnostic::{Diagnostics, Problem};
use crate::suggest::did_you_mean;

pub(super) fn resolve(
    contract: &mut ArtifactContract,
    drafts: &mut [Draft],
    references: &dyn ReferenceResolver,
    found: &mut Diagnostics,
) {
    for draft in drafts.iter() {
        for artifact in inherited(draft, references) {
            merge(contract, draft, &artifact, found);
        }
    }
    for draft in drafts.iter_mut() {
        resolve_ids(contract, draft, found);
    }
}

/// The artifacts that a check inherits from its agent or nested playbook.
fn inherited(draft: &Draft, references: &dyn ReferenceResolver) -> Vec<ExpectedArtifact> {
    match nested::file_of(draft) {
        Some(file) => references.nested_artifacts(file),
        None => draft.profile_artifacts.clone(),
    }
}

/// Adds an inherited artifact, unless the file itself has an entry with its id.
fn merge(
    contract: &mut ArtifactContract,
    draft: &Draft,
    artifact: &ExpectedArtifact,
    found: &mut Diagnostics,
) {
    match artifact.namespaced(&draft.check.name) {
        Ok(inherited) => match contract.expected.iter_mut().find(|one| one.id == inherited.id) {
            Some(own) => {
                own.replaces = Some(inherited.source);
                // An artifact in the folder of the check is still delivered by the check.
                let folder = format!("{}/", folder_of(&draft.check.name));
                if own.location.label().starts_with(&folder) {
                    own.check = inherited.check;
                }
            }
            None => contract.expected.push(inherited),
        },
        Err(error) => found.push(
            Problem::new(
                "E0126",
                draft.entry.key_span.clone(),
                format!("invalid path of artifact `{}`", artifact.id),
            )
            .label(format!("in the folder of this check: {error}")),
        ),
    }
}

/// Resolves the ids in `artifacts` of a check. Inherited artifacts can be named without the prefix of the check.
fn resolve_ids(contract: &ArtifactContract, draft: &mut Draft, found: &mut Diagnostics) {
    // The agent was not found, so its artifacts are unknown.
    if AGENT_PROVIDER.is(&draft.check.provider) {
        return;
    }
    let folder = folder_of(&draft.check.name);
    let known = |id: &str| contract.expected.iter().any(|one| one.id == id);
    let mut ids = Vec::new();
    for id in std::mem::take(&mut draft.check.artifacts) {
        let own = format!("{folder}__{id}");
        if known(&own) {
            ids.push(own);
        } else if known(&id) {
            ids.push(id);
        } else {
            let ids = contract.expected.iter().map(|one| one.id.as_str());
            let help = did_you_mean(&id, ids.clone()).unwrap_or_else(|| {
                let all: Vec<String> = ids.take(8).map(|id| format!("`{id}`")).collect();
                match all.as_slice() {
                    [] => format!("declare it at the top level of the file: `artifacts: {{ expected: [{{ id: {id}, path: … }}] }}`"),
                    all => format!("the artifacts are {}", all.join(", ")),
                }
            });
            found.push(
                Problem::new("E0166", draft.span_of("artifacts"), format!("unknown artifact `{id}`"))
                    .label("not in `artifacts.expected`")
                    .help(help),
            );
        }
    }
    draft.check.artifacts = ids;
}
