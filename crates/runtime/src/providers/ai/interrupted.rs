//! What an attempt had spent when Escrow was ended with it.
//!
//! ```text
//!   Listener ── figures so far ──▶ LABEL.spent ── the resumed attempt ──▶ less budget, and figures of both processes
//! ```
//!
//! The file lies in the spool, beside the private home, where a confined harness cannot write. Only streamed figures are in it:
//! what a harness tells at its end is lost with its end.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use escrow_harness::Report;
use escrow_model::Budget;
use serde::{Deserialize, Serialize};

use super::super::{Attempt, HarnessProgress};
use crate::private_files::create_file;

pub(super) struct Interrupted {
    path: PathBuf,
    /// Of the processes of this attempt that ended with Escrow.
    before: Figures,
}

/// What is not known is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Figures {
    turns: Option<u64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cost_usd: Option<f64>,
}

impl Interrupted {
    pub(super) fn of(attempt: &Attempt) -> Interrupted {
        let path = attempt.spool.join(format!("{}.spent", attempt.label));
        let before = fs::read(&path).ok().and_then(|kept| serde_json::from_slice(&kept).ok());
        Interrupted { path, before: before.unwrap_or_default() }
    }

    pub(super) fn has_spent(&self) -> bool {
        self.before != Figures::default()
    }

    /// What is left for this process.
    pub(super) fn left_of(&self, budget: Budget) -> Budget {
        let Figures { turns, input_tokens, output_tokens, cost_usd } = self.before;
        let tokens = input_tokens.unwrap_or(0).saturating_add(output_tokens.unwrap_or(0));
        Budget {
            usd: budget.usd.map(|usd| usd - cost_usd.unwrap_or(0.0)),
            turns: budget.turns.map(|limit| limit.saturating_sub(turns.unwrap_or(0))),
            tokens: budget.tokens.map(|limit| limit.saturating_sub(tokens)),
        }
    }

    /// Keeps what this process has spent so far.
    pub(super) fn keep(&self, progress: &HarnessProgress) {
        let figures = self.before.and(Figures {
            turns: progress.turns,
            input_tokens: progress.input_tokens,
            output_tokens: progress.output_tokens,
            cost_usd: progress.cost_usd,
        });
        if let Err(error) = self.write(figures) {
            tracing::warn!(%error, "what a harness has spent so far cannot be kept");
        }
    }

    fn write(&self, figures: Figures) -> io::Result<()> {
        let beside = self.path.with_extension("spent-new");
        create_file(&beside)?.write_all(serde_json::to_string(&figures)?.as_bytes())?;
        fs::rename(beside, &self.path)
    }

    /// The figures of the whole attempt. One that this process does not tell stays unknown.
    pub(super) fn added_to(&self, report: Report) -> Report {
        let sum = |count: Option<u64>, before: Option<u64>| {
            count.map(|count| count.saturating_add(before.unwrap_or(0)))
        };
        Report {
            turns: sum(report.turns, self.before.turns),
            input_tokens: sum(report.input_tokens, self.before.input_tokens),
            output_tokens: sum(report.output_tokens, self.before.output_tokens),
            cost_usd: report.cost_usd.map(|usd| usd + self.before.cost_usd.unwrap_or(0.0)),
            ..report
        }
    }

    /// The figures of an attempt for whose second process nothing was left.
    pub(super) fn report(&self) -> Report {
        let Figures { turns, input_tokens, output_tokens, cost_usd } = self.before;
        Report { turns, input_tokens, output_tokens, cost_usd, ..Report::default() }
    }
}

impl Figures {
    /// Sums of what is known.
    fn and(self, now: Figures) -> Figures {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
        };
        Figures {
            turns: sum(self.turns, now.turns),
            input_tokens: sum(self.input_tokens, now.input_tokens),
            output_tokens: sum(self.output_tokens, now.output_tokens),
            cost_usd: match (self.cost_usd, now.cost_usd) {
                (None, None) => None,
                (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_both_processes_counts() {
        let before = Figures { turns: Some(2), cost_usd: Some(0.5), ..Figures::default() };
        let interrupted = Interrupted { path: PathBuf::new(), before };
        let left = interrupted.left_of(Budget { usd: Some(1.0), turns: Some(1), tokens: Some(10) });
        assert_eq!(left, Budget { usd: Some(0.5), turns: Some(0), tokens: Some(10) });
        let report = Report { turns: Some(1), input_tokens: Some(7), ..Report::default() };
        let whole = interrupted.added_to(report);
        assert_eq!((whole.turns, whole.input_tokens, whole.cost_usd), (Some(3), Some(7), None));
    }
}
