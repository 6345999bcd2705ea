//! Effects: what external attempts do to the world, and what the ledger of a state knows about them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Answer, Assumption, RunId, ScopePath, ScopeStep};

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

/// What `reconcile` or a person found means for an effect.
impl From<Assumption> for EffectState {
    fn from(assumption: Assumption) -> EffectState {
        match assumption {
            Assumption::Done => EffectState::Confirmed,
            Assumption::Failed | Assumption::Retry => EffectState::Failed,
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
    /// The intent takes the key over from another check or run. Counts the attempts that the effect had when that
    /// was decided: after a further one, the intent is refused.
    pub takes_over: Option<u32>,
}

/// An effect as the ledger has it.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerEffect {
    pub run: RunId,
    /// The check that attempted it last, and its items.
    pub check: String,
    pub scope: ScopePath,
    /// How often it was attempted, by all checks and runs.
    pub attempts: u32,
    /// `Intended` means that a live process is at work on it.
    pub state: EffectState,
    pub digest: String,
    /// What the contracts of a run that finds the effect done are judged on: the answer of the attempt, as far as it
    /// [outlasts doubt](Answer::outlasts_doubt), or what `reconcile` gave. `None` when nothing was recorded.
    pub answer: Option<Arc<Answer>>,
}

/// The effect that `reconcile` or a person was asked about.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectInQuestion {
    pub key: String,
    /// How often it had been attempted by then, when its last attempt was that of another check or run.
    pub attempts_elsewhere: Option<u32>,
    /// It was confirmed by then, and broke a contract.
    pub confirmed: bool,
}

/// Where the keys of a nested run begin.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectOrigin {
    /// Stands for the outermost run, the path of checks with their items, and their generations.
    pub key: String,
    /// Another nested run of the same origin may have had effects, so the ledger is asked before each.
    pub shared: bool,
}
