//! What every parser collects, within limits.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::ending;
use crate::stream::{cut, plain};
use crate::{Denial, ErrorKind, Exit, FINAL_TEXT_BYTES_MAX, HarnessError, Progress, Report};

const NAME_BYTES_MAX: usize = 256;
const SUMMARY_BYTES_MAX: usize = 200;
const REASON_BYTES_MAX: usize = 1000;
const DENIALS_MAX: usize = 1000;
const OPEN_TOOLS_MAX: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Observed {
    pub(crate) session_id: Option<String>,
    pub(crate) model: Option<String>,
    /// At least one line of the harness's own format was read.
    pub(crate) anything: bool,
    pub(crate) tool_calls: u64,
    pub(crate) denials: Vec<Denial>,
    pub(crate) final_text: BoundedText,
    /// How many terminal lines were read. A process has one; a second one is not the program's, or contradicts the first.
    pub(crate) terminal_lines: u32,
    /// How many prompts the program says that it got, where it says so.
    pub(crate) prompts: u32,
    /// Names of the tools that run, by the id of their call.
    open_tools: BTreeMap<String, String>,
}

/// What the terminal line said.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Terminal {
    #[default]
    Missing,
    Clean,
    Failed(HarnessError),
}

/// The figures of one process, as the stream has them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) turns: Option<u64>,
    pub(crate) input_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
}

impl Observed {
    pub(crate) fn session(&mut self, id: &str, progress: &mut Vec<Progress>) {
        let id = cut(id, NAME_BYTES_MAX);
        if !id.is_empty() && self.session_id.as_deref() != Some(id) {
            self.session_id = Some(id.to_owned());
            progress.push(Progress::Session(id.to_owned()));
        }
    }

    pub(crate) fn model(&mut self, name: &str, progress: &mut Vec<Progress>) {
        let name = cut(name, NAME_BYTES_MAX);
        if !name.is_empty() && self.model.as_deref() != Some(name) {
            self.model = Some(name.to_owned());
            progress.push(Progress::Model(name.to_owned()));
        }
    }

    /// Whether every prompt was answered by its terminal line. What is said afterwards is no part of an answer.
    pub(crate) fn has_ended(&self) -> bool {
        self.terminal_lines >= self.prompts.max(1)
    }

    /// Counts a call once, even if its id is announced again.
    pub(crate) fn tool_started(&mut self, id: &str, name: &str, input: &Value, progress: &mut Vec<Progress>) {
        let id = cut(id, NAME_BYTES_MAX);
        if self.open_tools.contains_key(id) {
            return;
        }
        let name = cut(name, NAME_BYTES_MAX).to_owned();
        self.tool_calls += 1;
        if self.open_tools.len() < OPEN_TOOLS_MAX {
            self.open_tools.insert(id.to_owned(), name.clone());
        }
        progress.push(Progress::ToolStarted { name, summary: summary(input) });
    }

    /// The name of the tool that ended, if its start was seen.
    pub(crate) fn tool_ended(
        &mut self,
        id: &str,
        failed: bool,
        progress: &mut Vec<Progress>,
    ) -> Option<String> {
        let name = self.open_tools.remove(cut(id, NAME_BYTES_MAX))?;
        progress.push(Progress::ToolEnded { name: name.clone(), failed });
        Some(name)
    }

    pub(crate) fn denied(&mut self, tool: &str, reason: Option<&str>, progress: &mut Vec<Progress>) {
        let tool = cut(tool, NAME_BYTES_MAX).to_owned();
        if self.denials.len() < DENIALS_MAX {
            let reason = reason.map(|reason| plain(reason, REASON_BYTES_MAX));
            self.denials.push(Denial { tool: tool.clone(), reason });
        }
        progress.push(Progress::Denied { tool });
    }

    /// A count is known if the stream is complete or something was counted.
    pub(crate) fn counted(count: u64, terminal: &Terminal) -> Option<u64> {
        (count > 0 || *terminal != Terminal::Missing).then_some(count)
    }

    /// Denials that were streamed, by the rule of `counted`.
    pub(crate) fn streamed_denials(&mut self, terminal: &Terminal) -> Option<Vec<Denial>> {
        let denials = std::mem::take(&mut self.denials);
        (!denials.is_empty() || *terminal != Terminal::Missing).then_some(denials)
    }

    /// The report. `truncated` explains a missing terminal line, if the harness says why.
    pub(crate) fn report(
        &mut self,
        terminal: Terminal,
        exit: Exit,
        truncated: impl FnOnce() -> HarnessError,
        usage: Usage,
        permission_denials: Option<Vec<Denial>>,
    ) -> Report {
        let tool_calls = Self::counted(self.tool_calls, &terminal);
        let is_repeated = self.terminal_lines > self.prompts.max(1);
        let error = match terminal {
            Terminal::Failed(error) => Some(error),
            Terminal::Clean if is_repeated => {
                let count = self.terminal_lines;
                Some(ending::error(
                    ErrorKind::Other,
                    &format!("the output has {count} terminal lines instead of one"),
                ))
            }
            Terminal::Clean => ending::after_clean_terminal_line(exit),
            Terminal::Missing => Some(truncated()),
        };
        // A failed request is not counted by the programs that print 0 for it, so that 0 is not a measurement. A blocked
        // prompt is different: no request was made.
        let is_measured = error.as_ref().is_none_or(|error| error.kind == ErrorKind::Blocked);
        let tokens = |count: Option<u64>| count.filter(|count| is_measured || *count > 0);
        let (final_text, final_text_is_cut) = std::mem::take(&mut self.final_text).into_parts();
        // Some programs print an error as if the model had written it.
        let is_error_text = |text: &String| error.as_ref().is_some_and(|error| text.trim() == error.message);
        let final_text = final_text.filter(|text| !is_error_text(text));
        Report {
            session_id: self.session_id.take(),
            model: self.model.take(),
            turns: usage.turns,
            input_tokens: tokens(usage.input_tokens),
            output_tokens: tokens(usage.output_tokens),
            cost_usd: usage.cost_usd.filter(|cost| is_measured || *cost > 0.0),
            is_error: error.is_some(),
            completed: error.is_none(),
            error,
            permission_denials,
            tool_calls,
            final_text,
            final_text_is_cut,
            structured: None,
        }
    }
}

/// A text with a limit. What exceeds it is dropped.
#[derive(Debug, Default)]
pub(crate) struct BoundedText {
    text: String,
    is_cut: bool,
}

impl BoundedText {
    pub(crate) fn push(&mut self, text: &str) {
        let kept = cut(text, FINAL_TEXT_BYTES_MAX - self.text.len());
        self.is_cut |= kept.len() < text.len();
        self.text.push_str(kept);
    }

    pub(crate) fn set(&mut self, text: &str) {
        self.clear();
        self.push(text);
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.is_cut = false;
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    fn into_parts(self) -> (Option<String>, bool) {
        (Some(self.text).filter(|text| !text.is_empty()), self.is_cut)
    }
}

/// One line about the input of a tool.
fn summary(input: &Value) -> String {
    let telling =
        ["command", "file_path", "filePath", "path", "pattern", "query", "url", "prompt", "description"];
    let value = telling.iter().find_map(|key| input.get(key)?.as_str());
    let text = match value.or(input.as_str()) {
        Some(text) => plain(text, SUMMARY_BYTES_MAX),
        None if input.is_null() => String::new(),
        None => plain(&input.to_string(), SUMMARY_BYTES_MAX),
    };
    text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::{BoundedText, FINAL_TEXT_BYTES_MAX};

    #[test]
    fn a_final_text_has_a_limit_and_says_that_it_was_cut() {
        let mut text = BoundedText::default();
        let piece = "é".repeat(1 << 20);
        for _ in 0..4 {
            text.push(&piece);
        }
        let (kept, is_cut) = text.into_parts();
        assert_eq!(kept.map(|kept| kept.len()), Some(FINAL_TEXT_BYTES_MAX));
        assert!(is_cut);
    }
}
