//! What the whole run promises: the file's own artifacts, and those of every nested run and agent in it, each in
//! a folder of its own. Folded in here, once, before anything runs.

use escrow_model::{ArtifactContract, ExpectedArtifact, folder_of};

use super::nested;
use crate::ReferenceResolver;
use crate::decode::{AGENT, Draft};
use crate::diagnostic::{Diagnostics, Problem};
use crate::suggest::did_you_mean;

pub(super) fn resolve(
    contract: &mut ArtifactContract,
    drafts: &mut [Draft],
    beside: &dyn ReferenceResolver,
    found: &mut Diagnostics,
) {
    for draft in drafts.iter() {
        for promise in promises(draft, beside) {
            fold(contract, draft, &promise, found);
        }
    }
    for draft in drafts.iter_mut() {
        named(contract, draft, found);
    }
}

/// What a check promises beyond the file: what its agent delivers, or the playbook that it nests.
fn promises(draft: &Draft, beside: &dyn ReferenceResolver) -> Vec<ExpectedArtifact> {
    match nested::file_of(draft) {
        Some(file) => beside.promises(file),
        None => draft.promises.clone(),
    }
}

/// The file has the last word on an id, also on one that a part of the run brings along.
fn fold(contract: &mut ArtifactContract, draft: &Draft, promise: &ExpectedArtifact, found: &mut Diagnostics) {
    match promise.namespaced(&draft.check.name) {
        Ok(promise) => match contract.expected.iter_mut().find(|one| one.id == promise.id) {
            Some(own) => {
                own.replaces = Some(promise.source);
                // In the folder of the check it is still the check that delivers it.
                let folder = format!("{}/", folder_of(&draft.check.name));
                if own.location.label().starts_with(&folder) {
                    own.check = promise.check;
                }
            }
            None => contract.expected.push(promise),
        },
        Err(error) => found.push(
            Problem::new("E0126", draft.entry.key_span.clone(), "an artifact cannot be there")
                .label(format!("`{}` in the folder of this check: {error}", promise.id)),
        ),
    }
}

/// `artifacts` of a check names ids of the contract; its own part's by their short name too.
fn named(contract: &ArtifactContract, draft: &mut Draft, found: &mut Diagnostics) {
    // Whose agent could not be found, nobody knows what it promises.
    if AGENT.is(&draft.check.provider) {
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
                    [] => format!("expect it at the top of the file: `artifacts: {{ expected: [{{ id: {id}, path: … }}] }}`"),
                    all => format!("expected are {}", all.join(", ")),
                }
            });
            found.push(
                Problem::new("E0166", draft.span_of("artifacts"), format!("no artifact is called `{id}`"))
                    .label("it is not expected")
                    .help(help),
            );
        }
    }
    draft.check.artifacts = ids;
}
