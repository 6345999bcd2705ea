//! Gathers the facts of a run once, before it starts: the environment variables, git facts and files that the plan
//! names, and no others.

use std::path::Path;

use escrow_model::{Facts, Plan, PlanReads};

use crate::git::git_facts;
use crate::inspection::{Depth, inspect};
use crate::redaction::REDACTED;
use crate::secrets::Secrets;

/// A declared secret reads as `"***"`, or is undefined when it has no value.
pub async fn gather(plan: &Plan, directory: &Path, artifacts: &Path, secrets: &Secrets) -> Facts {
    let reads = PlanReads::of(plan);
    let env = reads
        .env
        .iter()
        .filter_map(|name| {
            if secrets.is_withheld(name) {
                let is_there = secrets.has(name) || std::env::var_os(name).is_some();
                return is_there.then(|| (name.clone(), REDACTED.to_owned()));
            }
            Some((name.clone(), std::env::var(name).ok()?))
        })
        .collect();
    let git = if reads.wants_git() { Some(git_facts(directory).await) } else { None };
    let before = inspect(artifacts, &plan.artifacts_before(), Depth::Identity);
    let mut facts = Facts { env, git, before };
    secrets.redactor().facts(&mut facts);
    facts
}
