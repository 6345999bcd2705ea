//! The ledger of effects: what external attempts of all runs did to the world, by key.

use escrow_model::{EffectState, Millis, RunId, ScopePath, ScopeStep};
use serde_json::Value;

/// An effect, as the run that attempted it last left it.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectRow {
    pub key: String,
    pub run: RunId,
    pub check: String,
    pub scope: ScopePath,
    /// The items of the scope, with the checks that gave them.
    pub steps: Vec<ScopeStep>,
    /// `None` under an `effect_key`.
    pub generation: Option<u32>,
    pub state: EffectState,
    /// Attempts over all runs.
    pub attempts: u32,
    pub intended_at: Millis,
    pub answered_at: Option<Millis>,
    pub request_digest: String,
    /// Of a confirmed effect; `None` when it was confirmed without one.
    pub output: Option<Value>,
}

/// Which effects are asked for; all when empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectFilter {
    /// Effects of these runs. Empty: of every run.
    pub runs: Vec<RunId>,
    pub key: Option<String>,
}

/// Why a commit with an intent was refused: another run has the key.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenEffect {
    /// The check and the scope of the refused intent.
    pub check: String,
    pub scope: ScopePath,
    pub effect: EffectRow,
}
