//! Where a check sends the run once it has settled.

use serde::{Deserialize, Serialize};

use crate::{Block, CheckIndex, Expression};

/// One of `on_success`, `on_fail`, `on_finish`. Order: `run`, `run_js`, retry, transitions, `goto_js`, `goto`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Routing {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run: Vec<CheckIndex>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_js: Option<Block>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<Transition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goto_js: Option<Block>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goto: Option<CheckIndex>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goto_event: Option<String>,
}

impl Routing {
    /// Every target that is known before the run.
    pub fn targets(&self) -> impl Iterator<Item = CheckIndex> + '_ {
        let transitions = self.transitions.iter().filter_map(|transition| transition.to);
        self.run.iter().copied().chain(transitions).chain(self.goto)
    }

    pub fn is_empty(&self) -> bool {
        self.run.is_empty()
            && self.run_js.is_none()
            && self.transitions.is_empty()
            && self.goto_js.is_none()
            && self.goto.is_none()
    }
}

/// The first whose `when` holds is taken; `to: null` stops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transition {
    pub when: Expression,
    pub to: Option<CheckIndex>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goto_event: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// Retries after the first attempt.
    pub max: u32,
    pub backoff: Backoff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backoff {
    pub mode: BackoffMode,
    pub delay_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackoffMode {
    Fixed,
    Exponential,
}
