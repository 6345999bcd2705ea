//! The identity of an effect: its key, and the digest of what is asked of the provider under that key.
//!
//! **Invariant:** the same work has the same key, in a retry, after a crash and in a reopened run. Without `effect_key`
//! the key follows from the run, the check, the values of its items and a generation, which a route begins anew.

use escrow_model::{CheckIndex, Criticality, EffectIntent, ProviderName, Request, ScopePath, ScopeStep, hex};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::run::Run;
use crate::view::View;

impl Run {
    /// Whether the attempts of a check are tracked as effects. A nested run has effects of its own, whose keys begin
    /// with that of the check around it.
    pub(crate) fn has_effect(&self, check: CheckIndex) -> bool {
        let spec = self.state.plan.check(check);
        spec.criticality == Criticality::External || spec.provider == ProviderName::NESTED
    }

    /// The key of the effect that the next attempt belongs to, and its generation.
    pub(crate) fn effect_key(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        view: &View<'_>,
    ) -> Result<(String, Option<u32>), String> {
        let spec = self.state.plan.check(check);
        let Some(template) = &spec.effect_key else {
            let generation = self.next_generation(check, scope);
            return Ok((self.derived_key(check, scope, generation), Some(generation)));
        };
        let rendered = template
            .render(view)
            .map_err(|fault| format!("`effect_key`: {}", self.surroundings.in_words(&fault)))?;
        let key = rendered.trim();
        if key.is_empty() {
            return Err("`effect_key` is empty".into());
        }
        let is_again = self.state.options.again.contains(&spec.name);
        Ok((if is_again { format!("{key}@{}", self.state.options.run) } else { key.to_owned() }, None))
    }

    fn derived_key(&self, check: CheckIndex, scope: &ScopePath, generation: u32) -> String {
        let options = &self.state.options;
        let origin = options.effect_origin.as_ref().map_or(options.run.as_str(), |origin| &origin.key);
        let name = &self.state.plan.check(check).name;
        let items = self.items(check, scope).identity();
        let text = format!("{origin}\0{name}\0{items}\0{generation}");
        format!("e_{}", hex(&Sha256::digest(text.as_bytes())[..12]))
    }

    /// What a commit of the next attempt tells the ledger. A nested run tells it itself, unless the check around it
    /// has an `effect_key`.
    pub(crate) fn intent(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        (key, generation): (String, Option<u32>),
        request: &Request,
    ) -> Option<EffectIntent> {
        let spec = self.state.plan.check(check);
        let tells = spec.criticality == Criticality::External
            && (spec.provider != ProviderName::NESTED || spec.effect_key.is_some());
        tells.then(|| EffectIntent {
            key,
            generation,
            digest: digest(request, &self.nested_digests(check)),
            scope: self.scope_steps(check, scope),
            takes_over: None,
        })
    }

    /// The playbooks that a nested run can reach. They are part of what the check does: under the same key, edited ones
    /// are another request.
    fn nested_digests(&self, check: CheckIndex) -> Vec<&str> {
        let plan = &self.state.plan;
        let file = plan.check(check).nested_name().and_then(|name| plan.nested.names.get(name));
        let reachable = file.map(|file| plan.nested.reachable(file)).unwrap_or_default();
        reachable.into_iter().map(|(_, nested)| nested.sha256.as_str()).collect()
    }

    fn scope_steps(&self, check: CheckIndex, scope: &ScopePath) -> Vec<ScopeStep> {
        let plan = &self.state.plan;
        let fan = plan.check(check).fan.iter().zip(scope.indices());
        fan.map(|(parent, index)| ScopeStep { check: plan.check(*parent).name.clone(), index: *index })
            .collect()
    }

    pub(crate) fn next_generation(&self, check: CheckIndex, scope: &ScopePath) -> u32 {
        let id = self.items(check, scope).identity();
        let record = self.state.checks[check.place()].effects.get(&id);
        record.map_or(1, |record| record.generation + u32::from(record.superseded))
    }
}

/// The key that a receiver can recognise a repeat by.
pub(crate) fn idempotency_key(effect_key: &str) -> String {
    hex(&Sha256::digest(format!("effect\0{effect_key}").as_bytes())[..16])
}

/// What is asked of the provider, without what may differ from one run to the next: the directory, and the variables
/// that a process inherits. Variables that earlier checks handed over are part of it.
fn digest(request: &Request, nested: &[&str]) -> String {
    let Request { provider, fields, env, handed_env, item, .. } = request;
    let mut parts = json!([provider, fields, env, handed_env, item]);
    if let (Value::Array(parts), false) = (&mut parts, nested.is_empty()) {
        parts.push(json!(nested));
    }
    hex(&Sha256::digest(parts.to_string().as_bytes()))
}
