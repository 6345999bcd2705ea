//! The catalog of all providers, pure and effectful, that playbooks are checked against.

use escrow_model::ProviderSpec;

pub fn catalog() -> Vec<ProviderSpec> {
    let effect_runner = crate::providers::PROVIDERS.iter().map(|provider| *provider.spec());
    let compiled = [crate::host::PLAYBOOK, escrow_playbook::AGENT_PROVIDER];
    effect_runner.chain(compiled).chain(escrow_engine::PROVIDERS.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use escrow_model::KeyKind;

    #[test]
    fn conditional_keys_name_words_and_keys_of_their_provider() {
        for spec in catalog() {
            for condition in spec.conditional_keys {
                let key = spec.keys.iter().find(|key| key.name == condition.key);
                let is_word = |kind| matches!(kind, KeyKind::Word(words) if words.contains(&condition.word));
                assert!(key.is_some_and(|key| is_word(key.kind)), "{}: {condition:?}", spec.name);
                let is_key = |name: &&str| spec.keys.iter().any(|key| key.name == *name);
                assert!(condition.needs.iter().all(is_key), "{}: {condition:?}", spec.name);
            }
        }
    }

    /// The playbook reader cannot depend on the harnesses, so it has their names.
    #[test]
    fn a_playbook_can_name_every_harness() {
        let names: Vec<_> = escrow_harness::HARNESSES.iter().map(|harness| harness.spec().name).collect();
        assert_eq!(escrow_playbook::HARNESS_NAMES, names);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = catalog().iter().map(|spec| spec.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
