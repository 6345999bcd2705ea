//! Status is an icon and a word. Each status has a shape of its own; its colour only repeats the word.

use escrow_model::{CheckStatus, EffectState, RunStatus};
use maud::{Markup, html};

/// The looks of a status: its icon, its colour, its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) icon: &'static str,
    pub(crate) tone: &'static str,
    pub(crate) word: &'static str,
}

impl Mark {
    const fn new(icon: &'static str, tone: &'static str, word: &'static str) -> Mark {
        Mark { icon, tone, word }
    }

    pub(crate) const INTERRUPTED: Mark = Mark::new("gone", "unk", "Interrupted");
    /// A check that was under way when the process of its run went away.
    pub(crate) const CUT_OFF: Mark = Mark::new("gone", "unk", "interrupted");
    pub(crate) const PASSED: Mark = Mark::new("ok", "ok", "Passed");
    pub(crate) const NOT_PASSED: Mark = Mark::new("bad", "bad", "Failed");
    pub(crate) const NO_VERDICT: Mark = Mark::new("pend", "skip", "No verdict");

    pub(crate) fn of_run(status: RunStatus, is_driven: bool) -> Mark {
        match status {
            RunStatus::Running if !is_driven => Mark::INTERRUPTED,
            RunStatus::Running => Mark::new("run", "run", "Running"),
            RunStatus::Waiting => Mark::new("wait", "wait", "Waiting"),
            RunStatus::Completed => Mark::new("ok", "ok", "Completed"),
            RunStatus::Failed => Mark::new("bad", "bad", "Failed"),
            RunStatus::TimedOut => Mark::new("clock", "bad", "Timed out"),
            RunStatus::Aborted => Mark::new("block", "bad", "Aborted"),
            RunStatus::Cancelled => Mark::new("block", "skip", "Cancelled"),
        }
    }

    /// `is_allowed`: the playbook lets the run complete although the check failed.
    pub(crate) fn of_check(status: CheckStatus, is_allowed: bool) -> Mark {
        match status {
            CheckStatus::Pending => Mark::new("pend", "skip", "pending"),
            CheckStatus::Running => Mark::new("run", "run", "running"),
            CheckStatus::Waiting => Mark::new("wait", "wait", "waiting"),
            CheckStatus::Succeeded => Mark::new("ok", "ok", "succeeded"),
            CheckStatus::Failed if is_allowed => Mark::new("warn", "warn", "failed, allowed"),
            CheckStatus::Failed => Mark::new("bad", "bad", "failed"),
            CheckStatus::Skipped => Mark::new("skip", "skip", "skipped"),
            CheckStatus::Unknown => Mark::new("unk", "unk", "unknown"),
        }
    }

    pub(crate) fn of_effect(state: EffectState) -> Mark {
        match state {
            EffectState::Intended => Mark::new("run", "run", "intended"),
            EffectState::Confirmed => Mark::new("ok", "ok", "confirmed"),
            EffectState::Failed => Mark::new("bad", "bad", "failed"),
            EffectState::Unknown => Mark::new("unk", "unk", "unknown"),
        }
    }

    pub(crate) fn of_outcome(passed: Option<bool>) -> Mark {
        match passed {
            Some(true) => Mark::PASSED,
            Some(false) => Mark::NOT_PASSED,
            None => Mark::NO_VERDICT,
        }
    }

    /// Icon and word.
    pub(crate) fn shown(self) -> Markup {
        status(self.icon, self.tone, self.word)
    }

    /// The icon in its colour, for places where the word stands beside it.
    pub(crate) fn icon(self) -> Markup {
        icon(self.icon, self.tone)
    }
}

/// An icon of the sprite, in the colour of a status or of the text around it.
pub(crate) fn icon(name: &str, tone: &str) -> Markup {
    html! { svg class={ "i " (tone) } aria-hidden="true" { use href={ "#" (name) } {} } }
}

pub(crate) fn icon_small(name: &str, tone: &str) -> Markup {
    html! { svg class={ "i i-sm " (tone) } aria-hidden="true" { use href={ "#" (name) } {} } }
}

/// An icon with its word.
pub(crate) fn status(icon_name: &str, tone: &str, word: &str) -> Markup {
    html! { span class={ "st " (tone) } { (icon(icon_name, "")) (word) } }
}
