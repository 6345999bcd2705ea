//! Output that was longer than what is kept.
//!
//! **Invariant:** no contract and no condition takes the end of an output for the whole: what was cut off may be what it
//! looks for. A contract that names `result.truncated` has said what a cut output means to it, and reads the end.

use escrow_expr::{Object, ScopeValue};
use escrow_model::{Answer, CheckIndex, ScopePath};
use serde_json::{Map, Value};

use crate::run::Run;
use crate::state::RecordedAnswer;

/// Why reading such an output is an error.
pub(crate) const WHY: &str =
    "the output is too long to be kept whole (the limit is 16 MiB): print less, or write an artifact";

/// Which output of a command was cut.
#[derive(Clone, Copy)]
pub(crate) struct CutOutput {
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
}

impl CutOutput {
    pub(crate) fn of(answer: &Answer) -> CutOutput {
        let is_set = |name: &str| answer.record.get(name) == Some(&Value::Bool(true));
        CutOutput { stdout: is_set("truncated"), stderr: is_set("stderr_truncated") }
    }
}

/// Members of the record that do not depend on what was printed.
const FIGURES: [&str; 12] = [
    "exitCode",
    "exit_code",
    "signal",
    "timed_out",
    "duration_ms",
    "truncated",
    "stderr_truncated",
    "stdout_bytes",
    "stderr_bytes",
    "stdout_file",
    "stderr_file",
    "unended_processes",
];

/// Members of the record beside the figures, of commands and of requests.
const BESIDE_FIGURES: [&str; 6] = ["stderr", "stdout", "status", "headers", "bytes", "redirects"];

/// Whether a member that an output lacks is one of the record.
pub(crate) fn is_of_record(member: &str) -> bool {
    FIGURES.contains(&member) || BESIDE_FIGURES.contains(&member)
}

/// Whether a member of the record is whole although the standard output was cut.
pub(crate) fn is_kept_whole(member: &str) -> bool {
    FIGURES.contains(&member) || member == "stderr"
}

/// `output` when it was cut: figures can be read, what was printed cannot.
pub(crate) struct FiguresOnly<'a>(pub(crate) &'a Map<String, Value>);

impl Object for FiguresOnly<'_> {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        match self.0.get(name).filter(|_| is_kept_whole(name)) {
            Some(figure) => Some(ScopeValue::Json(figure)),
            None => Some(ScopeValue::Unreadable(WHY)),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).filter(|name| is_kept_whole(name)).collect()
    }
}

impl Run {
    /// Whether an output of this check was longer than what is kept.
    pub fn has_cut_output(&self, check: CheckIndex) -> bool {
        self.is_output_cut(check, &ScopePath::root())
    }

    /// Whether an output of a check at this scope or inside it was cut.
    pub(crate) fn is_output_cut(&self, check: CheckIndex, scope: &ScopePath) -> bool {
        self.state.checks[check.place()].has_cut_output
            && self
                .nodes_below(check, scope)
                .filter_map(|(_, node)| node.cell()?.answer.as_deref())
                .any(|answer| CutOutput::of(answer).stdout)
    }
}

pub(crate) fn is_any_cut(history: &[RecordedAnswer]) -> bool {
    history.iter().any(|recorded| CutOutput::of(&recorded.answer).stdout)
}
