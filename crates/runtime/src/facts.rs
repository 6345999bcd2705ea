//! Gathers the facts of a run once, before it starts: the environment variables, git facts and files that the plan
//! names, and no others.

use std::path::Path;

use escrow_model::{Facts, Plan, PlanReads, RunOptions};

use crate::git::{Comparison, git_facts};
use crate::http_client::PROXY_VARIABLES;
use crate::inspection::{Depth, inspect};
use crate::providers::{self, Environment};
use crate::redaction::REDACTED;
use crate::secrets::Secrets;

/// The operator's settings that decide where a request goes.
const REQUEST_SETTINGS: [&[&str]; 2] = [PROXY_VARIABLES, &["GITHUB_API_URL"]];

/// A declared secret reads as `"***"`, or is undefined when it has no value.
pub async fn gather(plan: &Plan, options: &RunOptions, secrets: &Secrets) -> Facts {
    let (directory, artifacts) = (Path::new(&options.directory), Path::new(&options.artifacts));
    let environment = match &options.environment {
        Some(variables) => Environment::Captured { variables: variables.clone() },
        None => Environment::Inherit { secrets: secrets.withheld().map(str::to_owned).collect() },
    };
    let reads = PlanReads::of(plan);
    let env = reads
        .env
        .iter()
        .filter_map(|name| {
            if secrets.is_withheld(name) {
                let is_there = secrets.has(name) || std::env::var_os(name).is_some();
                return is_there.then(|| (name.clone(), REDACTED.to_owned()));
            }
            Some((name.clone(), environment.value(name)?.into_string().ok()?))
        })
        .collect();
    let git = if reads.wants_git() {
        Some(git_facts(directory, &Comparison::of(&options.payload)).await)
    } else {
        None
    };
    let before = inspect(artifacts, &plan.artifacts_before(), Depth::Identity);
    let asking = plan.checks.iter().filter(|check| check.requires_approval.is_some());
    let captured = asking.map(|check| {
        let mut named = PlanReads::environment_of(check);
        if providers::find(check.provider.as_str()).is_some_and(|provider| provider.spec().sends_requests) {
            named.extend(REQUEST_SETTINGS.iter().copied().flatten().map(|name| (*name).to_owned()));
        }
        (check.name.clone(), environment.capture(named.iter().map(String::as_str)))
    });
    let mut facts = Facts { env, captured: captured.collect(), git, before, redacted: false };
    secrets.redactor().facts(&mut facts);
    facts
}
