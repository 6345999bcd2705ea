//! All helps that name what to write, and all words that a playbook can contain, for a test that compares them.

use std::collections::BTreeSet;

use escrow_model::ProviderSpec;

use crate::foreign_keys::FOREIGN;
use crate::keys;
use crate::planned::{self, Part};
use crate::resolve::scope;
use crate::shape::check::FOREIGN_PROVIDERS;
use crate::{DIAGNOSTICS, codes};

/// Each help of the tables, in the words of a version with these providers, and what it is the help of.
pub fn every_help(catalog: &[ProviderSpec]) -> Vec<(String, String)> {
    let keys = FOREIGN.iter().map(|key| (format!("key {}", key.name), key.help(catalog)));
    let providers = FOREIGN_PROVIDERS.iter().map(|(name, part, help)| {
        let help = part.map_or_else(|| (*help).to_owned(), |part| planned::help(part, help, catalog));
        (format!("provider {name}"), help)
    });
    let planned = [Part::Chain].into_iter().filter_map(|part| {
        planned::missing(part, catalog).map(|help| (format!("{part:?}"), help.to_owned()))
    });
    let names = scope::FOREIGN_NAMES.iter().map(|(name, help)| (format!("name {name}"), (*help).to_owned()));
    let codes = DIAGNOSTICS
        .iter()
        .filter_map(|known| codes::help(known.code).map(|help| (known.code.to_owned(), help.to_owned())));
    keys.chain(providers).chain(planned).chain(names).chain(codes).collect()
}

/// The keys, words and names that load: of playbooks, profiles and providers, and what expressions read.
pub fn every_word(catalog: &[ProviderSpec]) -> BTreeSet<String> {
    let mut words: BTreeSet<String> = keys::every_name().map(str::to_owned).collect();
    for provider in catalog {
        words.insert(provider.name.to_owned());
        words.extend(provider.keys.iter().map(|key| key.name.to_owned()));
    }
    words.extend(scope::NAMES.iter().chain(scope::NAMES_AFTER).map(|name| (*name).to_owned()));
    words
}
