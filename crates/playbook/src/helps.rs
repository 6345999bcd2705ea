//! All helps that name what to write, and all words that a playbook can contain, for a test that compares them.

use std::collections::BTreeSet;

use escrow_model::{EXPRESSION_NAMES, EXPRESSION_NAMES_AFTER, ProviderSpec};

use crate::foreign_keys::FOREIGN;
use crate::keys;
use crate::resolve::scope;
use crate::shape::check::FOREIGN_PROVIDERS;
use crate::{DIAGNOSTICS, codes};

/// Each help of the tables, and what it is the help of.
pub fn every_help() -> Vec<(String, String)> {
    let keys = FOREIGN.iter().map(|key| (format!("key {}", key.name), key.help.to_owned()));
    let providers =
        FOREIGN_PROVIDERS.iter().map(|(name, help)| (format!("provider {name}"), (*help).to_owned()));
    let names = scope::FOREIGN_NAMES.iter().map(|(name, help)| (format!("name {name}"), (*help).to_owned()));
    let codes = DIAGNOSTICS
        .iter()
        .filter_map(|known| codes::help(known.code).map(|help| (known.code.to_owned(), help.to_owned())));
    keys.chain(providers).chain(names).chain(codes).collect()
}

/// The keys, words and names that load: of playbooks, profiles and providers, and what expressions read.
pub fn every_word(catalog: &[ProviderSpec]) -> BTreeSet<String> {
    let mut words: BTreeSet<String> = keys::every_name().map(str::to_owned).collect();
    for provider in catalog {
        words.insert(provider.name.to_owned());
        words.extend(provider.keys.iter().map(|key| key.name.to_owned()));
    }
    words.extend(
        EXPRESSION_NAMES
            .iter()
            .chain(EXPRESSION_NAMES_AFTER)
            .chain(scope::NAMES_OF_CHAINS)
            .map(|name| (*name).to_owned()),
    );
    words
}
