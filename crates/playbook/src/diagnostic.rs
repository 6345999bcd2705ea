//! Diagnostics: a code, a span, a message, and what to do about it.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use crate::codes;

/// How many diagnostics of one file are listed.
const DIAGNOSTICS_MAX: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
}

/// One problem with its position, for people and for tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Stable: `E01xx` is an error, `W02xx` a warning (an error under `safety: strict`).
    pub code: &'static str,
    pub severity: Severity,
    pub message: String,
    pub file: String,
    /// Byte range in the text.
    #[serde(skip)]
    pub span: Range<usize>,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    pub label: String,
    pub help: Option<String>,
    /// Other spans that explain it.
    #[serde(skip)]
    pub also: Vec<Related>,
    /// The text of the file that the spans refer to, when it is not the playbook.
    #[serde(skip)]
    pub text: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    pub span: Range<usize>,
    pub label: String,
}

/// A diagnostic before its line and column are computed.
#[derive(Debug)]
pub(crate) struct Problem {
    code: &'static str,
    span: Range<usize>,
    message: String,
    label: String,
    help: Option<String>,
    also: Vec<Related>,
    strict: bool,
}

impl Problem {
    pub(crate) fn new(code: &'static str, span: Range<usize>, message: impl Into<String>) -> Problem {
        Problem {
            code,
            span,
            message: message.into(),
            label: String::new(),
            help: None,
            also: Vec::new(),
            strict: false,
        }
    }

    pub(crate) fn label(mut self, label: impl Into<String>) -> Problem {
        self.label = label.into();
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn maybe_help(mut self, help: Option<String>) -> Problem {
        self.help = help.or(self.help);
        self
    }

    pub(crate) fn also(mut self, span: Range<usize>, label: impl Into<String>) -> Problem {
        self.also.push(Related { span, label: label.into() });
        self
    }

    /// Turns a warning into an error under `safety: strict`.
    pub(crate) fn error_if(mut self, strict: bool) -> Problem {
        self.strict = strict;
        self
    }

    fn severity(&self) -> Severity {
        if self.code.starts_with('E') || self.strict { Severity::Error } else { Severity::Warning }
    }
}

/// Collects problems, with a limit on how many are kept.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    problems: Vec<Problem>,
    errors: usize,
    /// Diagnostics of other files that the playbook refers to.
    other_files: Vec<Diagnostic>,
}

impl Diagnostics {
    pub(crate) fn push(&mut self, problem: Problem) {
        let is_error = problem.severity() == Severity::Error;
        self.errors += usize::from(is_error);
        // Warnings never displace the errors that prevent the playbook from running.
        let room = if is_error { self.errors <= DIAGNOSTICS_MAX } else { !self.is_full_of_warnings() };
        if room {
            self.problems.push(problem);
        }
    }

    /// Adds the diagnostics of another file, without duplicates.
    pub(crate) fn add_from_other_file(&mut self, diagnostics: &[Diagnostic]) {
        for one in diagnostics {
            if !self.other_files.contains(one) && self.other_files.len() < DIAGNOSTICS_MAX {
                self.errors += usize::from(one.severity == Severity::Error);
                self.other_files.push(one.clone());
            }
        }
    }

    /// Whether further errors are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.errors >= DIAGNOSTICS_MAX
    }

    /// Whether further warnings are dropped.
    pub(crate) fn is_full_of_warnings(&self) -> bool {
        self.problems.len() >= DIAGNOSTICS_MAX
    }

    /// How many errors were counted and not kept.
    pub(crate) fn omitted_errors(&self) -> usize {
        self.errors.saturating_sub(DIAGNOSTICS_MAX)
    }

    /// Whether an unresolved alias was reported at this position. Its missing value needs no second report.
    pub(crate) fn has_unresolved_alias_at(&self, span: &Range<usize>) -> bool {
        self.problems.iter().any(|problem| problem.code == "E0135" && problem.span.start == span.start)
    }

    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// All diagnostics, sorted by position, with lines and columns.
    pub(crate) fn finish(self, text: &str, file: &str) -> Vec<Diagnostic> {
        let lines = Lines::new(text);
        let mut found: Vec<Diagnostic> = self
            .problems
            .into_iter()
            .map(|problem| {
                let severity = problem.severity();
                let span = lines.clamp(&problem.span);
                let (line, column) = lines.at(span.start);
                Diagnostic {
                    code: problem.code,
                    severity,
                    message: problem.message,
                    file: file.to_owned(),
                    line,
                    column,
                    label: problem.label,
                    help: problem.help.or_else(|| codes::help(problem.code).map(str::to_owned)),
                    also: problem
                        .also
                        .into_iter()
                        .map(|related| Related { span: lines.clamp(&related.span), ..related })
                        .collect(),
                    span,
                    text: None,
                }
            })
            .collect();
        found.sort_by(|a, b| (a.span.start, a.code).cmp(&(b.span.start, b.code)));
        found.dedup();
        // An unresolved alias also has no value; the alias is the only problem worth reporting.
        let unresolved: Vec<usize> =
            found.iter().filter(|one| one.code == "E0135").map(|one| one.span.start).collect();
        found.retain(|one| one.code != "E0105" || !unresolved.contains(&one.span.start));
        // Unquoted `{{ … }}` parses as nested maps; the wrong type follows from the missing quotes.
        let braces: Vec<Range<usize>> =
            found.iter().filter(|one| one.code == "E0142").map(|one| one.span.clone()).collect();
        found.retain(|one| {
            let holds = |inner: &Range<usize>| one.span.start <= inner.start && inner.end <= one.span.end;
            one.code != "E0105" || !braces.iter().any(holds)
        });
        found.extend(self.other_files);
        found.truncate(DIAGNOSTICS_MAX);
        found
    }
}

/// Maps byte offsets to lines and columns.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Lines<'t> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Lines { text, starts }
    }

    fn at(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or("");
        (line, before.trim_start_matches('\u{feff}').chars().count() + 1)
    }

    /// The range limited to the text and aligned to character boundaries.
    fn clamp(&self, span: &Range<usize>) -> Range<usize> {
        let floor = |at: usize| {
            (0..=at.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0)
        };
        let start = floor(span.start);
        start..floor(span.end).max(start)
    }
}
