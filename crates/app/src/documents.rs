//! The JSON documents that `--output json`, the API and pages show.
//!
//!   Run, rows of the store ──▶ documents ──▶ JSON
//!
//! **Invariant:** outside tools match on these shapes. Decisions, exit codes and nested runs use the typed values that the
//! documents are made of. Tables of shows and of the steps of chains still read their documents, for display.

mod attention;
mod chain;
mod effect;
mod error;
mod history;
mod invocation;
mod journal;
mod loss;
mod outcome;
mod run;
mod wait;

pub use attention::{attention, attention_item, next_command, settles};
pub use chain::{chain, chain_plan, chain_run, chain_runs, chain_with_runs, chains, status as chain_status};
pub use effect::{effect, effects};
pub use error::error;
pub use history::{Change, ChangeReason, changes_of_run, history_change};
pub use invocation::{invocation, invocation_with};
pub use journal::{journal, journal_entry};
pub use loss::loss;
pub use outcome::{added_outcome, outcome, run_outcomes};
pub use run::{resume_failure, run, run_row, run_summary, run_with_outcomes};
pub use wait::{approval, approvals, assumed_done, attempted, next_command as next_of_wait};

use escrow_playbook::{Diagnostic, Preview, Report};
use serde_json::{Value, json};

/// `escrow plan`: what a playbook can do to the world.
pub fn plan(preview: &Preview) -> Value {
    json!({ "plan": preview })
}

/// `escrow check`: what a playbook says, and what is doubtful about it.
pub fn check(report: &Report, warnings: &[Diagnostic]) -> Value {
    json!({ "report": report, "diagnostics": warnings })
}
