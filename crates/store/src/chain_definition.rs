//! Defined chains and their runs, as lists show them.

use escrow_model::{ChainConcurrency, ChainId, ChainRules, ChainStatus, Millis, RunId, RunStatus};
use serde_json::Value;

/// A chain that `chain define` has activated.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainRow {
    pub id: ChainId,
    pub name: String,
    /// The YAML parsed to JSON.
    pub definition: Value,
    /// The YAML itself, from which every fire compiles its plan.
    pub text: String,
    /// Of the text.
    pub sha256: String,
    /// How often its text has changed, from 1.
    pub version: u64,
    /// The file that it was read from, absolute. Playbooks are searched beside it.
    pub file: String,
    /// Where its runs work.
    pub directory: String,
    pub status: ChainStatus,
    pub defined_by: Option<String>,
    pub created_at: Millis,
    pub updated_at: Millis,
}

impl ChainRow {
    pub fn description(&self) -> Option<&str> {
        self.definition.get("description").and_then(Value::as_str)
    }

    /// What fires it, as the file has it; `None` when only people do.
    pub fn trigger(&self) -> Option<&Value> {
        self.definition.get("trigger").filter(|trigger| !trigger.is_null())
    }

    pub fn concurrency(&self) -> ChainConcurrency {
        let written = self.definition.get("concurrency").and_then(Value::as_str);
        written.and_then(ChainConcurrency::parse).unwrap_or_default()
    }

    /// How many chains may fire one another.
    pub fn max_depth(&self) -> u32 {
        let written = self.definition.get("max_depth").and_then(Value::as_u64);
        written.and_then(|depth| u32::try_from(depth).ok()).unwrap_or(ChainRules::MAX_DEPTH)
    }
}

/// A definition to be activated.
#[derive(Clone, Debug)]
pub struct DefineChain {
    pub name: String,
    pub definition: Value,
    pub text: String,
    pub sha256: String,
    pub file: String,
    pub directory: String,
    pub by: Option<String>,
    pub at: Millis,
}

/// What activating a definition changed.
#[derive(Clone, Debug, PartialEq)]
pub enum ChainDefined {
    New(ChainRow),
    Changed(ChainRow),
    /// The text was active already.
    Unchanged(ChainRow),
}

impl ChainDefined {
    pub fn row(&self) -> &ChainRow {
        match self {
            ChainDefined::New(row) | ChainDefined::Changed(row) | ChainDefined::Unchanged(row) => row,
        }
    }
}

/// A run of a chain. Its journal has the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainRunRow {
    /// The id of its run.
    pub id: RunId,
    pub chain_id: ChainId,
    /// The name of the chain.
    pub chain: String,
    pub fire_key: String,
    pub trigger_event: Value,
    pub invocation_id: Option<String>,
    pub status: RunStatus,
    /// The last step that was reached.
    pub current_step: u64,
    /// The outcome of each step, null where there is none.
    pub step_outcomes: Vec<Value>,
    pub created_at: Millis,
    pub updated_at: Millis,
}

impl ChainRunRow {
    /// The name of the event that fired it.
    pub fn event_name(&self) -> &str {
        self.trigger_event.get("name").and_then(Value::as_str).unwrap_or_default()
    }
}

/// Which runs of chains to list; the default lists all.
#[derive(Clone, Debug, Default)]
pub struct ChainRunFilter {
    /// The name of a chain.
    pub chain: Option<String>,
    pub limit: Option<usize>,
}
