//! Parts that this version does not have yet, with what serves in their place.
//!
//! Every help that leads to one of them goes through [`help`], so that no help names what does not load. A row is deleted
//! when its part arrives; a provider is also recognised by its entry in the catalog.

use escrow_model::ProviderSpec;

/// A part of Escrow that helps lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Chain,
}

struct Planned {
    part: Part,
    /// The provider, or the name of the part.
    name: &'static str,
    instead: &'static str,
}

const PLANNED: &[Planned] = &[Planned {
    part: Part::Chain,
    name: "chain",
    instead: "this version has no chains; start the playbook from cron or CI with `escrow run`, and name the event with `--event`",
}];

/// A help that leads to a part: itself where this version has the part, and what serves instead where it has not.
pub(crate) fn help(part: Part, help: &str, catalog: &[ProviderSpec]) -> String {
    match missing(part, catalog) {
        None => help.to_owned(),
        Some(instead) => instead.to_owned(),
    }
}

/// What serves in place of a part that this version does not have.
pub(crate) fn missing(part: Part, catalog: &[ProviderSpec]) -> Option<&'static str> {
    let planned = PLANNED.iter().find(|planned| planned.part == part)?;
    let is_there = catalog.iter().any(|provider| provider.name == planned.name);
    (!is_there).then_some(planned.instead)
}

/// What to write instead of a provider that is planned.
pub(crate) fn instead_of(provider: &str, catalog: &[ProviderSpec]) -> Option<&'static str> {
    let planned = PLANNED.iter().find(|planned| planned.name == provider)?;
    missing(planned.part, catalog)
}
