//! `manifest list | show | inspect`: who is registered, and what they claim.

use serde::Serialize;

use super::answer::{Failure, pretty};
use super::arguments::Arguments;
use super::world::World;
use crate::manifest::{AdapterEntry, ConformanceLevel, Registry};
use crate::version::{CURRENT, WireVersion};

pub(super) fn run(mut arguments: Arguments, world: &mut dyn World) -> Result<String, Failure> {
    let verb = arguments
        .next_word()
        .ok_or_else(|| Failure::usage("manifest requires a subcommand: list | show | inspect"))?;
    match verb.as_str() {
        "list" => {
            let registry = registry(&mut arguments, world, "list")?;
            pretty(&registry.entries().iter().map(Line::of).collect::<Vec<_>>())
        }
        "show" => {
            let id = arguments
                .next_word()
                .ok_or_else(|| Failure::usage("manifest show requires an <adapter_id>"))?;
            let registry = registry(&mut arguments, world, "show")?;
            pretty(&find(&registry, "show", &id)?.manifest)
        }
        "inspect" => {
            let pinned = arguments
                .next_word()
                .ok_or_else(|| Failure::usage("manifest inspect requires <adapter_id>@<version>"))?;
            let registry = registry(&mut arguments, world, "inspect")?;
            inspect(&registry, &pinned)
        }
        other => Err(Failure::usage(format!(
            "manifest: unknown subcommand `{other}` (expected: list | show | inspect)"
        ))),
    }
}

/// The adapters of the version asked for with `--schema`, and with `--extended` those of the house too.
fn registry(arguments: &mut Arguments, world: &dyn World, verb: &str) -> Result<Registry, Failure> {
    let (mut version, mut extended) = (CURRENT, false);
    while let Some(word) = arguments.next_word() {
        match word.as_str() {
            "--extended" => extended = true,
            "--schema" => {
                let name = arguments.value_of("--schema")?;
                version = WireVersion::parse(&name)
                    .ok_or_else(|| Failure::usage(format!("manifest {verb}: unknown schema `{name}`")))?;
            }
            _ => return Err(Failure::usage(format!("manifest {verb}: unexpected extra argument"))),
        }
    }
    let builtin = Registry::builtin(version).clone();
    Ok(if extended { builtin.extended_with(world.further_adapters(version)) } else { builtin })
}

fn inspect(registry: &Registry, pinned: &str) -> Result<String, Failure> {
    let Some((id, version)) = pinned.split_once('@') else {
        return Err(Failure::usage(format!(
            "manifest inspect: expected <adapter_id>@<version>, got `{pinned}`"
        )));
    };
    let manifest = &find(registry, "inspect", id)?.manifest;
    if manifest.adapter_version != version {
        return Err(Failure::refused(format!(
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
) -> Result<&'registry AdapterEntry, Failure> {
    registry.find(id).ok_or_else(|| Failure::refused(format!("manifest {verb}: unknown adapter_id `{id}`")))
}

#[derive(Serialize)]
struct Line<'entry> {
    adapter_id: &'entry str,
    adapter_version: &'entry str,
    display_name: &'entry str,
    conformance: ConformanceLevel,
}

impl<'entry> Line<'entry> {
    fn of(entry: &'entry AdapterEntry) -> Self {
        Self {
            adapter_id: &entry.manifest.adapter_id,
            adapter_version: &entry.manifest.adapter_version,
            display_name: &entry.manifest.display_name,
            conformance: entry.conformance,
        }
    }
}
