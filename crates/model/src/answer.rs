//! What a provider says when its work is over.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::FaultClass;

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
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Done,
    Fault(ProviderFault),
}

/// The provider did not do its work, or cannot say whether it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderFault {
    /// `exit_nonzero`, `signal`, `timeout`, `spawn`, `cancelled`, …: the tail of the rule id.
    pub code: String,
    pub message: String,
    pub class: FaultClass,
    /// No definite answer came back, so an effect may have happened.
    pub effect_unknown: bool,
}

impl Answer {
    pub fn done(output: Value) -> Answer {
        Answer { ending: Ending::Done, output, record: Map::new(), env: BTreeMap::new() }
    }

    pub fn fault(fault: ProviderFault) -> Answer {
        Answer { ending: Ending::Fault(fault), output: Value::Null, record: Map::new(), env: BTreeMap::new() }
    }
}

impl ProviderFault {
    pub fn transient(code: &str, message: impl Into<String>) -> ProviderFault {
        ProviderFault {
            code: code.into(),
            message: message.into(),
            class: FaultClass::Transient,
            effect_unknown: false,
        }
    }

    pub fn logical(code: &str, message: impl Into<String>) -> ProviderFault {
        ProviderFault {
            code: code.into(),
            message: message.into(),
            class: FaultClass::Logical,
            effect_unknown: false,
        }
    }

    /// The same fault, with an effect that may have happened.
    pub fn with_unknown_effect(mut self) -> ProviderFault {
        self.effect_unknown = true;
        self
    }
}
