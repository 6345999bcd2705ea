//! Looks at the world once, before a run starts: only at what the plan names.

use std::path::Path;

use escrow_model::{Facts, Plan, PlanReads};

use crate::git::git_facts;
use crate::inspection::{Depth, inspect};
use crate::redaction::REDACTED;
use crate::secrets::Secrets;

/// A declared secret reads as `"***"`, or is undefined when there is none.
pub fn gather(plan: &Plan, directory: &Path, artifacts: &Path, secrets: &Secrets) -> Facts {
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
    let git = reads.wants_git().then(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("git could not be asked: {error}"))?;
        runtime.block_on(git_facts(directory))
    });
    let before = inspect(artifacts, &plan.artifacts_before(), Depth::Identity);
    let mut facts = Facts { env, git, before };
    secrets.redactor().facts(&mut facts);
    facts
}
