//! `status`: what is registered, and what hooks have left behind.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::answer::{Answer, ExitCode, Failure, pretty};
use super::arguments::Arguments;
use super::world::{StateFile, World};
use crate::manifest::{ConformanceLevel, Registry};
use crate::version::CURRENT;

pub(super) fn run(arguments: Arguments, world: &mut dyn World) -> Answer {
    let mut remarks = String::new();
    let answer: Answer = overview(arguments, world, &mut remarks).into();
    Answer { stderr: remarks + &answer.stderr, ..answer }
}

fn overview(
    mut arguments: Arguments,
    world: &mut dyn World,
    remarks: &mut String,
) -> Result<String, Failure> {
    let (mut workspace, mut state_dir) = (PathBuf::from("."), None);
    while let Some(word) = arguments.next_word() {
        match word.as_str() {
            "--path" => workspace = arguments.raw_value_of("--path")?.into(),
            "--state-dir" => state_dir = Some(PathBuf::from(arguments.raw_value_of("--state-dir")?)),
            other => return Err(Failure::usage(format!("status: unknown flag `{other}`"))),
        }
    }
    let state_dir = state_dir.unwrap_or_else(|| world.state_directory(&workspace));

    let host_callback = match world.state_file(&state_dir, StateFile::HostCallback) {
        Ok(None) => None,
        Ok(Some(text)) => match serde_json::from_str::<HostCallbackStatus>(&text) {
            Ok(status) => Some(status),
            Err(error) => {
                remark_ignored(remarks, &state_dir, &error.to_string());
                None
            }
        },
        Err(error) => {
            remark_ignored(remarks, &state_dir, &error.to_string());
            None
        }
    };
    let path = state_dir.join(StateFile::HostContext.name());
    let invalid = |error: &dyn std::fmt::Display| Failure {
        exit_code: ExitCode::Unreadable,
        message: format!("host-context status: invalid status {}: {error}", path.display()),
    };
    let host_context = match world.state_file(&state_dir, StateFile::HostContext) {
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

fn remark_ignored(remarks: &mut String, state_dir: &std::path::Path, error: &str) {
    *remarks += &format!("status: ignoring invalid callback status in {}: {error}\n", state_dir.display());
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

/// Whether the session's context has been compacted, as the last hook saw it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostContextStatus {
    schema_version: String,
    host: String,
    session_id: String,
    compacted: bool,
    observed_at_epoch_s: u64,
}

/// How the last callback of a hook went.
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
