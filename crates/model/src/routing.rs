//! Routing: which checks run after a verdict, and retries.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Block, Check, CheckIndex, Expression};

/// One of `on_success`, `on_fail`, `on_finish`. Order: `run`, `run_js`, retry, transitions, `goto_js`, `goto`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Routing {
    pub run: Vec<CheckIndex>,
    pub run_js: Option<Block>,
    pub transitions: Vec<Transition>,
    pub goto_js: Option<Block>,
    pub goto: Option<CheckIndex>,
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

/// Which routing block of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RoutingBlock {
    #[serde(rename = "on_success")]
    Success,
    #[serde(rename = "on_fail")]
    Fail,
    #[serde(rename = "on_finish")]
    Finish,
}

impl RoutingBlock {
    pub const ALL: [RoutingBlock; 3] = [RoutingBlock::Success, RoutingBlock::Fail, RoutingBlock::Finish];

    pub fn as_str(self) -> &'static str {
        match self {
            RoutingBlock::Success => "on_success",
            RoutingBlock::Fail => "on_fail",
            RoutingBlock::Finish => "on_finish",
        }
    }

    pub fn of(self, check: &Check) -> &Routing {
        match self {
            RoutingBlock::Success => &check.on_success,
            RoutingBlock::Fail => &check.on_fail,
            RoutingBlock::Finish => &check.on_finish,
        }
    }
}

impl fmt::Display for RoutingBlock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The key of a routing block that named the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoutedBy {
    Run,
    RunJs,
    Transition,
    GotoJs,
    Goto,
}

impl RoutedBy {
    pub fn as_str(self) -> &'static str {
        match self {
            RoutedBy::Run => "run",
            RoutedBy::RunJs => "run_js",
            RoutedBy::Transition => "transition",
            RoutedBy::GotoJs => "goto_js",
            RoutedBy::Goto => "goto",
        }
    }
}

impl fmt::Display for RoutedBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Why an attempt follows another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryKind {
    /// `on_fail.retry`: the same is tried again.
    #[default]
    Retry,
    /// `repair`: the conversation continues with what is missing.
    Repair,
}

impl RetryKind {
    pub fn as_str(self) -> &'static str {
        match self {
            RetryKind::Retry => "retry",
            RetryKind::Repair => "repair",
        }
    }
}

/// How a run recovers from a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    Retry,
    Repair,
    Route { by: RoutedBy, to: String },
}

impl fmt::Display for Recovery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Recovery::Retry => formatter.write_str("retry"),
            Recovery::Repair => formatter.write_str("repair"),
            Recovery::Route { by, to } => write!(formatter, "{by} {to}"),
        }
    }
}

/// The first whose `when` holds is taken; `to: null` stops.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    pub when: Expression,
    pub to: Option<CheckIndex>,
    pub goto_event: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Retries after the first attempt.
    pub max: u32,
    pub backoff: Backoff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
