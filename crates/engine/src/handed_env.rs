//! What a command may hand to later checks through `$ESCROW_ENV`.
//!
//! **Invariant:** a handed variable never replaces one of the operator or of the playbook, never steers a program, and
//! reaches an external check only if that check names it. Otherwise an agent could turn off a dry run, or choose the
//! program that gets the next check's secret.

use std::collections::BTreeMap;

use escrow_model::{Answer, CheckIndex, Criticality, Event, Warning, steered_by};
use serde_json::Value;

use crate::run::Run;
use crate::turn::Deciding;

/// The longest variable: Linux starts no program with a `NAME=value` of more than 128 KiB.
const VARIABLE_BYTES_MAX: usize = 120 << 10;

/// All variables that are handed on in a run. A command needs room for its arguments and other variables beside them.
const VARIABLES_BYTES_MAX: usize = 256 << 10;

/// Refusals beyond this are not listed one by one.
const WARNINGS_MAX: usize = 20;

impl Deciding<'_> {
    /// Leaves in the answer what may be handed on, and warns of the rest.
    pub(crate) fn admit_env(&mut self, check: CheckIndex, answer: &mut Answer) {
        let mut refusals = Vec::new();
        let taken = self.state.handed_env.iter().filter(|(name, _)| !answer.env.contains_key(*name));
        let mut bytes: usize =
            taken.map(|(name, value)| name.len() + value.as_str().unwrap_or_default().len()).sum();
        answer.env.retain(|name, value| {
            match self.env_refusal(name).or_else(|| too_long(name, value, bytes)) {
                None => {
                    bytes += name.len() + value.len();
                    true
                }
                Some(why) => {
                    refusals.push(format!("`{name}` was not handed on: {why}"));
                    false
                }
            }
        });
        // What the provider refused: malformed lines, and variables that the operator has set.
        let reported = answer.record.get("env_problems").and_then(Value::as_array).into_iter().flatten();
        refusals.extend(reported.filter_map(Value::as_str).map(|problem| format!("$ESCROW_ENV: {problem}")));
        let name = self.plan().check(check).name.clone();
        for refusal in refusals.into_iter().take(WARNINGS_MAX) {
            let warning = Warning {
                code: "env_refused".into(),
                message: format!("`{name}`: {refusal}"),
                check: Some(name.clone()),
            };
            self.warn_once(warning);
        }
    }

    /// Raises a warning, unless an earlier attempt has raised the same one.
    pub(crate) fn warn_once(&mut self, warning: Warning) {
        if !self.state.warnings.contains(&warning) {
            self.record(Event::WarningRaised { warning });
        }
    }
}

fn too_long(name: &str, value: &str, taken: usize) -> Option<String> {
    let length = name.len() + value.len();
    if length > VARIABLE_BYTES_MAX {
        return Some(format!(
            "it has {length} bytes, and no program can be started with more than 120 KiB in one variable"
        ));
    }
    (taken + length > VARIABLES_BYTES_MAX)
        .then(|| "the variables that are handed on in a run may have 256 KiB together".to_owned())
}

impl Run {
    fn env_refusal(&self, name: &str) -> Option<String> {
        let plan = &self.state.plan;
        if let Some(steered) = steered_by(name) {
            return Some(format!("it steers {steered}"));
        }
        if plan.env.contains_key(name) || plan.checks.iter().any(|check| check.env.contains_key(name)) {
            return Some("the playbook sets it".into());
        }
        if plan.secrets.iter().any(|secret| secret.name == name) {
            return Some("it is a declared secret".into());
        }
        self.surroundings.environment.get(name).map(|_| "the environment of the run has it".into())
    }

    /// The handed variables that a check gets: all of them, or on an external check those that it names.
    pub(crate) fn handed_env(&self, check: CheckIndex) -> BTreeMap<String, String> {
        let is_external = self.state.plan.check(check).criticality == Criticality::External;
        let named = || self.graph.named_env(check);
        let handed = self.state.handed_env.iter();
        handed
            .filter(|(name, _)| !is_external || named().contains(*name))
            .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect()
    }
}
