//! Follows the output of a harness line by line, and ends the program when a limit is exceeded.

use escrow_contract::read_json;
use escrow_harness::{LINE_BYTES_MAX, Progress, StreamParser};
use escrow_model::Budget;

use super::super::{Attempt, HarnessProgress, ProgressSink};
use super::home::PrivateHome;
use super::interrupted::Interrupted;
use super::task::Task;
use crate::cancellation::Canceller;
use crate::process::{Stream, Watcher};

/// More output than this is not that of an agent at work.
const TOTAL_BYTES_MAX: u64 = 1 << 30;

/// How much of the last line is kept while it runs.
const LAST_WORDS_MAX: usize = 200;

pub(super) struct Listener<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) home: &'a PrivateHome,
    pub(super) interrupted: &'a Interrupted,
    pub(super) parser: Box<dyn StreamParser>,
    /// The beginning of a line that is not complete.
    line: Vec<u8>,
    /// The line is longer than any that is read: the rest of it is dropped.
    is_skipping: bool,
    /// What a line said is not known: it may have been a tool call.
    pub(super) has_unread_lines: bool,
    total_bytes: u64,
    pub(super) exceeded: Option<Exceeded>,
    canceller: Canceller,
    live: Option<Watcher<'a>>,
    progress: HarnessProgress,
    sink: Option<&'a ProgressSink>,
}

/// The limit for which the program was ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Exceeded {
    Budget(String),
    Output,
}

impl<'a> Listener<'a> {
    pub(super) fn new(
        task: &'a Task<'a>,
        (home, interrupted): (&'a PrivateHome, &'a Interrupted),
        canceller: Canceller,
        attempt: &'a Attempt,
    ) -> Listener<'a> {
        Listener {
            parser: task.harness.parser(),
            task,
            home,
            interrupted,
            line: Vec::new(),
            is_skipping: false,
            has_unread_lines: false,
            total_bytes: 0,
            exceeded: None,
            canceller,
            live: attempt.live.as_deref(),
            progress: HarnessProgress { harness: task.harness.spec().name, ..HarnessProgress::default() },
            sink: attempt.progress.as_ref(),
        }
    }

    /// The figures so far.
    pub(super) fn progress(&self) -> HarnessProgress {
        self.progress.clone()
    }

    /// A piece of standard output.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        if self.total_bytes > TOTAL_BYTES_MAX {
            self.exceed(Exceeded::Output);
            return;
        }
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.extend(&rest[..end]);
            self.end_line();
            rest = &rest[end + 1..];
        }
        self.extend(rest);
    }

    /// The last line may have no end.
    pub(super) fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_skipping) || line.is_empty() {
            return;
        }
        // Which of two members counts, another reader may see differently. Such a line tells nothing.
        if read_json(&line).is_ok_and(|parsed| parsed.repeated_key.is_some()) {
            self.has_unread_lines = true;
            return;
        }
        for progress in self.parser.line(&String::from_utf8_lossy(&line)) {
            self.note(&progress);
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.is_skipping {
            return;
        }
        if self.line.len() + bytes.len() > LINE_BYTES_MAX {
            self.is_skipping = true;
            self.has_unread_lines = true;
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn note(&mut self, progress: &Progress) {
        let Budget { usd, turns, tokens } = self.task.budget;
        let exceeded = match progress {
            Progress::Turn(count) => over("turns", *count, turns),
            Progress::Tokens { input, output } => {
                let (before_in, before_out) = self.tokens_before();
                let spent = input.saturating_sub(before_in).saturating_add(output.saturating_sub(before_out));
                over("tokens", spent, tokens)
            }
            Progress::Cost(cost) => over_usd(*cost, usd),
            Progress::Text(_)
            | Progress::Session(_)
            | Progress::Model(_)
            | Progress::ToolStarted { .. }
            | Progress::ToolEnded { .. }
            | Progress::Retrying { .. }
            | Progress::Denied { .. } => None,
        };
        if let Some(message) = exceeded {
            self.exceed(Exceeded::Budget(message));
        }
        let is_new = self.update(progress);
        if matches!(progress, Progress::Turn(_) | Progress::Tokens { .. } | Progress::Cost(_)) {
            self.interrupted.keep(&self.progress);
        }
        if let (Some(sink), true) = (self.sink, is_new) {
            sink(&self.progress);
        }
        if let (Some(live), Some(words)) = (self.live, words(progress)) {
            live(Stream::Stdout, format!("{}\n", words.trim_end()).as_bytes());
        }
    }

    /// Whether something that people see has changed.
    fn update(&mut self, progress: &Progress) -> bool {
        let (before_in, before_out) = self.tokens_before();
        let now = &mut self.progress;
        match progress {
            Progress::Model(model) => now.model = Some(model.clone()),
            Progress::Turn(count) => now.turns = Some(*count),
            Progress::Tokens { input, output } => {
                now.input_tokens = Some(input.saturating_sub(before_in));
                now.output_tokens = Some(output.saturating_sub(before_out));
            }
            Progress::Cost(cost) => now.cost_usd = Some(*cost),
            Progress::ToolStarted { name, summary } if summary.is_empty() => now.tool = Some(name.clone()),
            Progress::ToolStarted { name, summary } => now.tool = Some(format!("{name}: {summary}")),
            Progress::ToolEnded { .. } => now.tool = None,
            Progress::Text(text) => {
                let last = text.lines().rfind(|line| !line.trim().is_empty());
                now.last_words = last.map(|line| line.trim().chars().take(LAST_WORDS_MAX).collect());
            }
            Progress::Session(_) | Progress::Retrying { .. } | Progress::Denied { .. } => return false,
        }
        true
    }

    /// What the harness had added up before, where it adds up per conversation.
    pub(super) fn tokens_before(&self) -> (u64, u64) {
        if self.task.harness.spec().usage_is_cumulative { self.home.tokens_before() } else { (0, 0) }
    }

    fn exceed(&mut self, exceeded: Exceeded) {
        self.exceeded.get_or_insert(exceeded);
        self.canceller.cancel();
    }
}

/// Says that a count is above its limit.
pub(super) fn over(key: &str, count: u64, limit: Option<u64>) -> Option<String> {
    let limit = limit.filter(|limit| count > *limit)?;
    Some(format!("it spent {count} {key}, and {limit} were left of its budget"))
}

pub(super) fn over_usd(cost: f64, limit: Option<f64>) -> Option<String> {
    let limit = limit.filter(|limit| cost > *limit)?;
    // What is left is a difference of binary fractions: `0.04999999999999999`.
    let rounded = |usd: f64| (usd * 1e6).round() / 1e6;
    let (cost, left) = (rounded(cost), rounded(limit));
    Some(format!("it spent {cost} US dollars, and {left} were left of its budget"))
}

/// What people who follow the run see of it.
fn words(progress: &Progress) -> Option<String> {
    match progress {
        Progress::Text(text) => Some(text.clone()),
        Progress::ToolStarted { name, summary } if summary.is_empty() => Some(format!("[{name}]")),
        Progress::ToolStarted { name, summary } => Some(format!("[{name}] {summary}")),
        Progress::ToolEnded { name, failed: true } => Some(format!("[{name}] failed")),
        Progress::Denied { tool } => Some(format!("[{tool}] denied")),
        Progress::Retrying { message, .. } => Some(format!("[retrying] {message}")),
        Progress::ToolEnded { failed: false, .. }
        | Progress::Session(_)
        | Progress::Model(_)
        | Progress::Turn(_)
        | Progress::Tokens { .. }
        | Progress::Cost(_) => None,
    }
}
