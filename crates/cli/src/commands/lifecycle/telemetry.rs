//! `telemetry snapshot`: how full a harness's context is, from the logs it writes.

use std::path::PathBuf;

use escrow_protocol::telemetry::{TelemetryHost, observe};

use super::arguments::Arguments;
use super::output::{LifecycleError, pretty};
use super::system::System;

pub(super) fn run(mut arguments: Arguments, system: &mut dyn System) -> Result<String, LifecycleError> {
    match arguments.next_word().as_deref() {
        None => return Err(LifecycleError::usage("telemetry requires a subcommand: snapshot")),
        Some("snapshot") => {}
        Some(other) => {
            return Err(LifecycleError::usage(format!(
                "telemetry: unknown subcommand `{other}` (expected: snapshot)"
            )));
        }
    }
    let (mut host, mut repository) = (None, None);
    while let Some(word) = arguments.next_word() {
        match word.as_str() {
            "--host" => host = Some(arguments.value_of("--host")?),
            "--repo-root" => repository = Some(PathBuf::from(arguments.raw_value_of("--repo-root")?)),
            other => {
                return Err(LifecycleError::usage(format!("telemetry snapshot: unknown flag `{other}`")));
            }
        }
    }
    let name = host.ok_or_else(|| LifecycleError::usage("telemetry snapshot: --host <id> is required"))?;
    let host = TelemetryHost::parse(&name).ok_or_else(|| {
        LifecycleError::refused(format!(
            "telemetry snapshot: no telemetry reader for host `{name}` (have: claude, codex, gemini)"
        ))
    })?;
    let log = system.telemetry_log(host, repository.as_deref());
    match log.and_then(|log| observe(host, &log)) {
        Some(observation) => pretty(&observation),
        None => Err(LifecycleError::refused(format!(
            "telemetry snapshot: no observation available for host `{name}` (source missing or empty)"
        ))),
    }
}
