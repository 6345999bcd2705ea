//! `status`: the registered adapters, and the state files that hooks wrote.

use std::collections::BTreeMap;
use std::path::PathBuf;

use escrow_protocol::manifest::{ConformanceLevel, Registry};
use escrow_protocol::version::CURRENT;
use serde::{Deserialize, Serialize};

use super::arguments::Arguments;
use super::output::{LifecycleError, LifecycleExit, VerbOutput, pretty};
use super::system::{StateFile, System};

pub(super) fn run(arguments: Arguments, system: &mut dyn System) -> VerbOutput {
    let mut warnings = String::new();
    let answer: VerbOutput = overview(arguments, system, &mut warnings).into();
    VerbOutput { stderr: warnings + &answer.stderr, ..answer }
}

fn overview(
    mut arguments: Arguments,
    system: &mut dyn System,
    warnings: &mut String,
) -> Result<String, LifecycleError> {
    let (mut workspace, mut state_dir) = (PathBuf::from("."), None);
    while let Some(word) = arguments.next_word() {
        match word.as_str() {
            "--path" => workspace = arguments.raw_value_of("--path")?.into(),
            "--state-dir" => state_dir = Some(PathBuf::from(arguments.raw_value_of("--state-dir")?)),
            other => return Err(LifecycleError::usage(format!("status: unknown flag `{other}`"))),
        }
    }
    let state_dir = state_dir.unwrap_or_else(|| system.state_directory(&workspace));

    let host_callback = match system.state_file(&state_dir, StateFile::HostCallback) {
        Ok(None) => None,
        Ok(Some(text)) => match serde_json::from_str::<HostCallbackStatus>(&text) {
            Ok(status) => Some(status),
            Err(error) => {
                warn_ignored(warnings, &state_dir, &error.to_string());
                None
            }
        },
        Err(error) => {
            warn_ignored(warnings, &state_dir, &error.to_string());
            None
        }
    };
    let path = state_dir.join(StateFile::HostContext.name());
    let invalid = |error: &dyn std::fmt::Display| LifecycleError {
        exit: LifecycleExit::Unreadable,
        message: format!("host-context status: invalid status {}: {error}", path.display()),
    };
    let host_context = match system.state_file(&state_dir, StateFile::HostContext) {
        Ok(None) => None,
        Ok(Some(text)) => {
            Some(serde_json::from_str::<HostContextStatus>(&text).map_err(|error| invalid(&error))?)
        }
        Err(error) => return Err(invalid(&error)),
    };
    pretty(&Overview {
        adapters: Adapters::of(Registry::builtin(CURRENT)),
        state_dir: state_dir.display().to_string(),
        host_context,
        host_callback,
    })
}

fn warn_ignored(warnings: &mut String, state_dir: &std::path::Path, error: &str) {
    *warnings += &format!("status: ignoring invalid callback status in {}: {error}\n", state_dir.display());
}

#[derive(Serialize)]
struct Overview<'registry> {
    adapters: Adapters<'registry>,
    state_dir: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_context: Option<HostContextStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_callback: Option<HostCallbackStatus>,
}

#[derive(Serialize)]
struct Adapters<'registry> {
    count: usize,
    by_conformance: BTreeMap<&'static str, usize>,
    adapters: Vec<Adapter<'registry>>,
}

#[derive(Serialize)]
struct Adapter<'registry> {
    adapter_id: &'registry str,
    display_name: &'registry str,
    adapter_version: &'registry str,
    conformance: ConformanceLevel,
}

impl<'registry> Adapters<'registry> {
    fn of(registry: &'registry Registry) -> Self {
        let mut by_conformance = BTreeMap::new();
        for entry in registry.entries() {
            *by_conformance.entry(entry.conformance.as_str()).or_default() += 1;
        }
        let adapters = registry.entries().iter().map(|entry| Adapter {
            adapter_id: &entry.manifest.adapter_id,
            display_name: &entry.manifest.display_name,
            adapter_version: &entry.manifest.adapter_version,
            conformance: entry.conformance,
        });
        Self { count: registry.entries().len(), by_conformance, adapters: adapters.collect() }
    }
}

/// Whether the session's context was compacted, according to the last hook.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostContextStatus {
    schema_version: String,
    host: String,
    session_id: String,
    compacted: bool,
    observed_at_epoch_s: u64,
}

/// How the last callback of a hook ended.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostCallbackStatus {
    schema_version: String,
    host: String,
    hook: String,
    client: String,
    outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    observed_at_epoch_s: u64,
}
