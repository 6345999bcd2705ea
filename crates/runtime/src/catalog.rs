//! Every provider there is, wherever it lives: what playbooks are checked against.

use escrow_model::ProviderSpec;

pub fn catalog() -> Vec<ProviderSpec> {
    let effect_runner = crate::providers::PROVIDERS.iter().map(|provider| *provider.spec());
    let compiled = [crate::host::PLAYBOOK, escrow_playbook::AGENT_PROVIDER];
    effect_runner.chain(compiled).chain(escrow_engine::PROVIDERS.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = catalog().iter().map(|spec| spec.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
