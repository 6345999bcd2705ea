//! Keeps redacted text from being used as a value: the `***` that stands for a secret must not reach the world.
//!
//! The engine knows no secrets, but the journal says whether one was replaced. From then on a value with `***` may be such
//! a replacement, and an `external` check that would hand it on fails before its provider.

use escrow_model::{Check, CheckIndex, Criticality, EffectIntent, Message, PlanReads, Request};
use serde_json::Value;

use crate::run::Run;
use crate::surroundings::STARS;

impl Run {
    /// Where a request that reaches the world has stars that may stand for a secret.
    pub(crate) fn stars_in(
        &self,
        check: CheckIndex,
        request: &Request,
        effect: Option<&EffectIntent>,
    ) -> Option<String> {
        let spec = self.state.plan.check(check);
        if !self.may_reach_the_world(check) || !(self.state.redacted || self.renders_a_secret(spec)) {
            return None;
        }
        if effect.is_some_and(|effect| effect.key.contains(STARS)) {
            return Some("`effect_key`".to_owned());
        }
        stars_in_request(request)
    }

    /// As `stars_in`, of the command of `reconcile`: its answer decides about an effect.
    pub(crate) fn stars_in_reconcile(&self, check: CheckIndex, request: &Request) -> Option<String> {
        let has_replaced = self.state.redacted || self.renders_a_secret(self.state.plan.check(check));
        if has_replaced { stars_in_request(request) } else { None }
    }

    pub(crate) fn may_reach_the_world(&self, check: CheckIndex) -> bool {
        let spec = self.state.plan.check(check);
        spec.mutating || spec.criticality == Criticality::External
    }

    /// `{{ env.NAME }}` of a declared secret is rendered as stars.
    fn renders_a_secret(&self, spec: &Check) -> bool {
        let secrets = &self.state.plan.secrets;
        !secrets.is_empty()
            && PlanReads::rendered_by(spec).iter().any(|name| secrets.iter().any(|one| one.name == *name))
    }

    /// A person may have typed a secret, which was replaced before the message was delivered.
    pub(crate) fn note_answer(&mut self, message: &Message) {
        if let Message::Answer { text, .. } = message {
            self.state.redacted |= text.contains(STARS) && !self.state.plan.secrets.is_empty();
        }
    }
}

fn stars_in_request(request: &Request) -> Option<String> {
    let field = request.fields.iter().find(|(_, value)| has_stars(value));
    if let Some((name, _)) = field {
        return Some(format!("a value in `{name}`"));
    }
    let captured = request.environment.iter().flatten();
    let mut variables = request.env.iter().chain(&request.handed_env).chain(captured);
    let variable = variables.find(|(_, value)| value.contains(STARS));
    if let Some((name, _)) = variable {
        return Some(format!("the variable `{name}`"));
    }
    request.item.as_ref().filter(|item| has_stars(item)).map(|_| "the item".to_owned())
}

/// The text of a script has no values: they are beside it.
fn has_stars(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.contains(STARS),
        Value::Array(items) => items.iter().any(has_stars),
        Value::Object(members) => members
            .iter()
            .any(|(name, member)| name.contains(STARS) || (name != "shell" && has_stars(member))),
    }
}
