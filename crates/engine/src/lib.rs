//! Decides what happens next in a run. Never does it.
//!
//!   Input ──> Run::handle ──> Turn { entries, effects }
//!
//! **Invariant:** no clock, no I/O, no async. Same inputs, same turns: that is what makes replay exact.

mod accounting;
mod admission;
mod ai;
mod apply;
mod apply_error;
mod approval;
mod approved_playbook;
mod artifact_view;
mod attempt;
mod by_scope;
mod concurrency;
mod confirmed_effects;
mod cut_output;
mod decide;
mod demands;
mod effect;
mod effect_key;
mod exchange;
mod explain;
mod filter;
mod finish;
mod gate;
mod graph;
mod halt;
mod handed_env;
mod history;
mod holes;
mod inspect;
mod invalidate;
mod items;
mod ledger;
mod location;
mod messages;
mod outcome;
mod overridden;
mod phase;
pub mod play;
mod pure;
mod reconcile;
mod redacted;
mod redecide;
mod reinspection;
mod report;
mod request;
mod resume;
mod retry;
mod retry_failed;
mod route;
mod run;
mod skips;
mod state;
mod steps;
mod surroundings;
mod tree;
mod turn;
mod verdict;
mod view;
mod wait;
mod withheld;

pub use ai::{HarnessTotals, NESTED_TOTALS};
pub use apply_error::{ApplyError, Counter, PhaseName};
pub use approval::Refusal;
pub use approved_playbook::approved_playbook;
pub use effect::{EffectResolution, SettledAs};
pub use exchange::{Effect, Input, Inspection, NestedLease, Turn};
pub use explain::{
    Account, Cause, Construct, Differ, Evaluation, ExplainError, Link, Moment, MomentKind, Question, Subject,
    explain,
};
pub use history::{CheckChange, history};
pub use ledger::{AwaitedEffect, LedgerNews, OpenEffect};
pub use location::{AttemptKey, Location};
pub use overridden::{NotOverridden, Overridden, Override};
pub use pure::PROVIDERS;
pub use redecide::{Change, Comparison, Difference, Redecided, RunSummary, Unknown, compare, redecide};
pub use report::{CheckReport, ItemReport};
pub use retry_failed::{CannotRetry, INPUTS_KEPT, LASTING_EFFECTS, OPEN_EFFECTS};
pub use run::{OpenWait, ReplayError, Run};
pub use state::RecordedDecision;
pub use steps::{KnownCondition, known_condition};
pub use withheld::Disclosure;
