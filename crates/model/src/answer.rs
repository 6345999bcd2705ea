//! The answer of a provider to a request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{EffectState, FaultCode, ProviderFault};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub ending: Ending,
    /// What expressions see as `output`.
    pub output: Value,
    /// The whole record of the attempt: `result` in expressions.
    pub record: Map<String, Value>,
    /// Lines written to `$ESCROW_ENV`: they join `env` for later checks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Why no effect may stand on what a nested run has done, whatever its own verdict is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaw: Option<NestedFlaw>,
}

/// What an external check must not act on, inside of a nested run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NestedFlaw {
    pub kind: FlawKind,
    /// Names the check inside of the nested run.
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlawKind {
    /// A contract was broken, and no later attempt kept it.
    BrokenContract,
    /// An item that was wanted is missing from a list.
    MissingItem,
    /// A run further inside was cancelled by hand.
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Done,
    Fault(ProviderFault),
}

impl Answer {
    /// The member of the record that says that a secret was replaced in the answer.
    pub const REDACTED: &str = "redacted";

    /// The member of the record that says that `reconcile` gave the output, after the attempt. Nothing else of the
    /// attempt is known.
    pub const CONFIRMED_LATER: &str = "confirmed_later";

    /// What is known of an attempt whose effect was found done later.
    pub fn confirmed_later(output: Value) -> Answer {
        let mut answer = Answer::done(output);
        answer.record.insert(Answer::CONFIRMED_LATER.to_owned(), Value::Bool(true));
        answer
    }

    pub fn is_confirmed_later(&self) -> bool {
        self.record.get(Answer::CONFIRMED_LATER) == Some(&Value::Bool(true))
    }

    /// What the answer says about the effect of its attempt.
    pub fn effect_state(&self) -> EffectState {
        match &self.ending {
            Ending::Done => EffectState::Confirmed,
            Ending::Fault(fault) if fault.has_happened() => EffectState::Confirmed,
            Ending::Fault(fault) if fault.effect_unknown => EffectState::Unknown,
            Ending::Fault(_) => EffectState::Failed,
        }
    }

    /// Whether it still counts once someone says that the effect happened. What a failed attempt printed does not; why a
    /// nested run did not complete does.
    pub fn outlasts_doubt(&self) -> bool {
        let is_nested = match &self.ending {
            Ending::Fault(fault) => matches!(fault.code, FaultCode::Nested(_)),
            Ending::Done => false,
        };
        self.effect_state() == EffectState::Confirmed || is_nested || self.nested_run().is_some()
    }

    pub fn mark_redacted(&mut self) {
        self.record.insert(Answer::REDACTED.to_owned(), Value::Bool(true));
    }

    pub fn is_redacted(&self) -> bool {
        self.record.get(Answer::REDACTED) == Some(&Value::Bool(true))
    }

    /// The nested run that gave the answer.
    pub fn nested_run(&self) -> Option<&str> {
        self.record.get("run_id").and_then(Value::as_str)
    }

    /// How long the provider says that it worked.
    pub fn duration_ms(&self) -> Option<u64> {
        self.record.get("duration_ms").and_then(Value::as_u64)
    }

    /// What the newest outcome of this kind contains, among those of the nested run.
    pub fn outcome_of_kind(&self, kind: &str) -> Option<&Value> {
        self.nested_run()?;
        let outcomes = self.output.get("outcomes")?.as_array()?;
        outcomes
            .iter()
            .find(|outcome| outcome.get("kind").and_then(Value::as_str) == Some(kind))?
            .get("content")
    }

    /// The outcome that a nested run is known by: its newest, if the run ended well.
    pub fn primary_outcome(&self) -> Option<&Value> {
        self.nested_run()?;
        match self.ending {
            Ending::Done => self.output.get("outcomes")?.get(0)?.get("content"),
            Ending::Fault(_) => None,
        }
    }

    pub fn done(output: Value) -> Answer {
        Answer { ending: Ending::Done, output, record: Map::new(), env: BTreeMap::new(), flaw: None }
    }

    pub fn fault(fault: ProviderFault) -> Answer {
        Answer {
            ending: Ending::Fault(fault),
            output: Value::Null,
            record: Map::new(),
            env: BTreeMap::new(),
            flaw: None,
        }
    }
}
