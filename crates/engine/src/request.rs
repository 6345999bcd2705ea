//! Renders requests: exactly what a provider is asked to do.

use std::collections::BTreeMap;

use escrow_model::{
    CheckIndex, EffectIntent, FILE_DIGEST, Field, ProviderName, Request, ScopePath, Tree, hex,
    secret_reference,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::effect_key;
use crate::location::Location;
use crate::run::Run;
use crate::view::View;

impl Run {
    /// The request, exactly as it would be performed, and the effect that it would have; or why it cannot be rendered.
    pub(crate) fn render(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
    ) -> Result<(Request, Option<EffectIntent>), String> {
        let plan = &self.state.plan;
        let spec = plan.check(check);
        let view = View::before(self, check, scope);
        let mut fields = Map::new();
        for (name, field) in &spec.fields {
            let value = render_field(field, &view, &spec.secrets)
                .map_err(|fault| format!("`{name}`: {}", self.surroundings.in_words(&fault)))?;
            fields.insert(name.clone(), value);
        }
        if spec.provider == ProviderName::AI {
            self.complete_ai_request(check, scope, &mut fields);
        }
        if spec.provider == ProviderName::HTTP {
            self.bind_file(check, scope, &mut fields)?;
        }
        let key = if self.has_effect(check) { Some(self.effect_key(check, scope, &view)?) } else { None };
        let request = Request {
            provider: spec.provider.clone(),
            fields,
            env: self.render_env(check, &view)?,
            environment: self.captured_environment(check),
            handed_env: self.handed_env(check),
            timeout_ms: spec.timeout_ms,
            idempotency_key: match &key {
                Some((key, _)) => effect_key::idempotency_key(key),
                None => self.idempotency_key(check, scope, self.next_attempt(check, scope)),
            },
            item: self.item(check, scope).cloned(),
        };
        let intent = key.and_then(|key| self.intent(check, scope, key, &request));
        Ok((request, intent))
    }

    /// Names the content of `file`, where a check before has verified it as an artifact: then the provider sends nothing
    /// else. An approval would not cover any other file.
    fn bind_file(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        fields: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let Some(path) = fields.get("file").and_then(Value::as_str) else { return Ok(()) };
        let verified = self.verified_files(&Location::new(check, scope.clone()));
        let directory = format!("{}/", self.state.options.artifacts);
        let named = path.strip_prefix(&directory).unwrap_or(path);
        match verified.iter().find(|(_, file)| file.path == named) {
            Some((_, file)) => {
                fields.insert(FILE_DIGEST.into(), json!(file.sha256));
                Ok(())
            }
            None if self.state.plan.check(check).requires_approval.is_some() => Err(format!(
                "`file`: an approval covers `{path}` only if a check before this one has verified it: expect it as an \
                 artifact, and list its id in `artifacts` of that check"
            )),
            None => Ok(()),
        }
    }

    /// `env:` of the playbook, and its own.
    pub(crate) fn render_env(
        &self,
        check: CheckIndex,
        view: &View<'_>,
    ) -> Result<BTreeMap<String, String>, String> {
        let mut env = BTreeMap::new();
        for (name, value) in &self.state.env {
            env.insert(name.clone(), value.as_str().unwrap_or_default().to_owned());
        }
        for (name, text) in &self.state.plan.check(check).env {
            let value = text
                .render(view)
                .map_err(|fault| format!("`env.{name}`: {}", self.surroundings.in_words(&fault)))?;
            env.insert(name.clone(), value);
        }
        Ok(env)
    }

    /// For a check without an effect: the same for every retry of one decision.
    fn idempotency_key(&self, check: CheckIndex, scope: &ScopePath, attempt: u32) -> String {
        let repeats = self.cell(check, scope).map_or(0, |cell| cell.retries + cell.repairs + cell.repeats);
        let decision = attempt.saturating_sub(repeats);
        let name = &self.state.plan.check(check).name;
        let text = format!("{}\0{name}\0{scope}\0{decision}", self.state.options.run);
        hex(&Sha256::digest(text.as_bytes())[..16])
    }
}

/// What an approval is bound to.
pub(crate) fn digest_of(request: &Request) -> String {
    let text = serde_json::to_string(request).unwrap_or_default();
    hex(&Sha256::digest(text.as_bytes()))
}

/// The value of a field. `granted` are the secrets that a message may name.
pub(crate) fn render_field(field: &Field, view: &View<'_>, granted: &[String]) -> Result<Value, String> {
    let text = |text: &escrow_model::Text| text.render(view).map_err(|fault| fault.to_string());
    Ok(match field {
        Field::Text(template) => Value::String(text(template)?),
        Field::Texts(templates) | Field::Argv(templates) => {
            let rendered: Result<Vec<Value>, String> =
                templates.iter().map(|template| text(template).map(Value::String)).collect();
            match field {
                Field::Argv(_) => json!({ "argv": rendered? }),
                _ => Value::Array(rendered?),
            }
        }
        Field::Tree(tree) => render_tree(tree, view)?,
        Field::Shell(shell) => {
            let values = shell.render(view).map_err(|fault| fault.to_string())?;
            let values: Map<String, Value> =
                values.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
            json!({ "shell": shell.script(), "values": values })
        }
        Field::Block(block) => Value::String(block.source().to_owned()),
        Field::Plain(value) => value.clone(),
        Field::Url(template) => {
            let parts = template.url(view).map_err(|fault| fault.to_string())?;
            Value::String(secret_reference::written(&parts, granted))
        }
        Field::Message(tree) => render_message(tree, view, granted)?,
    })
}

/// The same as a tree, but a `$NAME` in a value is escaped: only the author names secrets.
fn render_message(tree: &Tree, view: &View<'_>, granted: &[String]) -> Result<Value, String> {
    Ok(match tree {
        Tree::Leaf(value) => value.clone(),
        Tree::Text(template) if template.is_expression() => {
            let mut value = template.value(view).map_err(|fault| fault.to_string())?;
            secret_reference::escape_value(&mut value, granted);
            value
        }
        Tree::Text(template) => {
            let parts = template.parts(view).map_err(|fault| fault.to_string())?;
            Value::String(secret_reference::written(&parts, granted))
        }
        Tree::List(items) => Value::Array(
            items.iter().map(|item| render_message(item, view, granted)).collect::<Result<_, _>>()?,
        ),
        Tree::Map(members) => {
            let mut object = Map::new();
            for (name, member) in members {
                object.insert(name.clone(), render_message(member, view, granted)?);
            }
            Value::Object(object)
        }
    })
}

fn render_tree(tree: &Tree, view: &View<'_>) -> Result<Value, String> {
    Ok(match tree {
        Tree::Leaf(value) => value.clone(),
        Tree::Text(template) => template.value(view).map_err(|fault| fault.to_string())?,
        Tree::List(items) => {
            Value::Array(items.iter().map(|item| render_tree(item, view)).collect::<Result<_, _>>()?)
        }
        Tree::Map(members) => {
            let mut object = Map::new();
            for (name, member) in members {
                object.insert(name.clone(), render_tree(member, view)?);
            }
            Value::Object(object)
        }
    })
}
