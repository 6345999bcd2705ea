//! Looks at the world once, before a run starts: only at what the plan names.

use std::path::Path;

use escrow_model::{Facts, Plan, PlanReads};

use crate::git::git_facts;
use crate::inspection::{Depth, inspect};

/// Declared secrets read as `"***"`.
const REDACTED: &str = "***";

pub fn gather(plan: &Plan, directory: &Path, artifacts: &Path) -> Facts {
    let reads = PlanReads::of(plan);
    let env = reads
        .env
        .iter()
        .filter_map(|name| {
            let value = std::env::var(name).ok()?;
            let secret = plan.secrets.contains(name);
            Some((name.clone(), if secret { REDACTED.to_owned() } else { value }))
        })
        .collect();
    let git = reads.wants_git().then(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("git could not be asked: {error}"))?;
        runtime.block_on(git_facts(directory))
    });
    Facts { env, git, before: inspect(artifacts, &plan.artifacts.expected, Depth::Identity) }
}
