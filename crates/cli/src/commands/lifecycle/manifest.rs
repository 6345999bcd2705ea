//! `manifest list | show | inspect`: the registered adapters and what they claim.

use escrow_protocol::manifest::{AdapterEntry, ConformanceLevel, Registry};
use escrow_protocol::version::{CURRENT, WireVersion};
use serde::Serialize;

use super::arguments::Arguments;
use super::output::{LifecycleError, pretty};
use super::system::System;

pub(super) fn run(mut arguments: Arguments, system: &mut dyn System) -> Result<String, LifecycleError> {
    let verb = arguments
        .next_word()
        .ok_or_else(|| LifecycleError::usage("manifest requires a subcommand: list | show | inspect"))?;
    match verb.as_str() {
        "list" => {
            let registry = registry(&mut arguments, system, "list")?;
            pretty(&registry.entries().iter().map(ListedAdapter::of).collect::<Vec<_>>())
        }
        "show" => {
            let id = arguments
                .next_word()
                .ok_or_else(|| LifecycleError::usage("manifest show requires an <adapter_id>"))?;
            let registry = registry(&mut arguments, system, "show")?;
            pretty(&find(&registry, "show", &id)?.manifest)
        }
        "inspect" => {
            let pinned = arguments
                .next_word()
                .ok_or_else(|| LifecycleError::usage("manifest inspect requires <adapter_id>@<version>"))?;
            let registry = registry(&mut arguments, system, "inspect")?;
            inspect(&registry, &pinned)
        }
        other => Err(LifecycleError::usage(format!(
            "manifest: unknown subcommand `{other}` (expected: list | show | inspect)"
        ))),
    }
}

/// The adapters of the version named by `--schema`; `--extended` adds Escrow's own.
fn registry(arguments: &mut Arguments, system: &dyn System, verb: &str) -> Result<Registry, LifecycleError> {
    let (mut version, mut extended) = (CURRENT, false);
    while let Some(word) = arguments.next_word() {
        match word.as_str() {
            "--extended" => extended = true,
            "--schema" => {
                let name = arguments.value_of("--schema")?;
                version = WireVersion::parse(&name).ok_or_else(|| {
                    LifecycleError::usage(format!("manifest {verb}: unknown schema `{name}`"))
                })?;
            }
            _ => return Err(LifecycleError::usage(format!("manifest {verb}: unexpected extra argument"))),
        }
    }
    let builtin = Registry::builtin(version).clone();
    Ok(if extended { builtin.extended_with(system.further_adapters(version)) } else { builtin })
}

fn inspect(registry: &Registry, pinned: &str) -> Result<String, LifecycleError> {
    let Some((id, version)) = pinned.split_once('@') else {
        return Err(LifecycleError::usage(format!(
            "manifest inspect: expected <adapter_id>@<version>, got `{pinned}`"
        )));
    };
    let manifest = &find(registry, "inspect", id)?.manifest;
    if manifest.adapter_version != version {
        return Err(LifecycleError::refused(format!(
            "manifest inspect: adapter `{id}` is registered at version `{}`, not `{version}`",
            manifest.adapter_version
        )));
    }
    pretty(manifest)
}

fn find<'registry>(
    registry: &'registry Registry,
    verb: &str,
    id: &str,
) -> Result<&'registry AdapterEntry, LifecycleError> {
    registry
        .find(id)
        .ok_or_else(|| LifecycleError::refused(format!("manifest {verb}: unknown adapter_id `{id}`")))
}

#[derive(Serialize)]
struct ListedAdapter<'entry> {
    adapter_id: &'entry str,
    adapter_version: &'entry str,
    display_name: &'entry str,
    conformance: ConformanceLevel,
}

impl<'entry> ListedAdapter<'entry> {
    fn of(entry: &'entry AdapterEntry) -> Self {
        Self {
            adapter_id: &entry.manifest.adapter_id,
            adapter_version: &entry.manifest.adapter_version,
            display_name: &entry.manifest.display_name,
            conformance: entry.conformance,
        }
    }
}
