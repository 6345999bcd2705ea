//! Effects: what external attempts do to the world, and what the ledger of a state knows about them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{RunId, ScopeStep};

/// Where an effect stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectState {
    /// The intent is committed, and no answer is.
    Intended,
    Confirmed,
    /// It did not happen.
    Failed,
    /// It may have happened.
    Unknown,
}

impl EffectState {
    pub const ALL: [EffectState; 4] =
        [EffectState::Intended, EffectState::Confirmed, EffectState::Failed, EffectState::Unknown];

    pub fn as_str(self) -> &'static str {
        match self {
            EffectState::Intended => "intended",
            EffectState::Confirmed => "confirmed",
            EffectState::Failed => "failed",
            EffectState::Unknown => "unknown",
        }
    }
}

/// The effect that an attempt belongs to, committed with its intent.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectIntent {
    pub key: String,
    /// Counts the routes that led to the check again. `None` under an `effect_key`, which has no generations.
    pub generation: Option<u32>,
    /// SHA-256 of what is asked of the provider.
    pub digest: String,
    /// The items that the check runs for, outermost first.
    pub scope: Vec<ScopeStep>,
    /// The intent may take the key from another run, whose effect is unknown there.
    pub takes_over: bool,
}

/// An effect as the ledger has it.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerEffect {
    pub run: RunId,
    /// `Intended` means that a live process is at work on it.
    pub state: EffectState,
    pub digest: String,
    /// `None` when it is confirmed without one.
    pub output: Option<Value>,
}

/// Where the keys of a nested run begin.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectOrigin {
    /// Stands for the outermost run, the path of checks with their items, and their generations.
    pub key: String,
    /// An earlier nested run of the same origin may have had effects, so the ledger is asked before each.
    pub successor: bool,
}
