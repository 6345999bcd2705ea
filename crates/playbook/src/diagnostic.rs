//! A problem of a file: its code, its place, what to do about it.

use std::ops::Range;

use serde::Serialize;

/// Past this many, the rest of a hopeless file is not listed.
const DIAGNOSTICS_MAX: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
}

/// One problem, as people and tools see it.
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
    /// Other places that belong to it.
    #[serde(skip)]
    pub also: Vec<Related>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    pub span: Range<usize>,
    pub label: String,
}

/// A problem before its line is known.
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

    /// A warning that `safety: strict` makes an error.
    pub(crate) fn error_if(mut self, strict: bool) -> Problem {
        self.strict = strict;
        self
    }

    fn severity(&self) -> Severity {
        if self.code.starts_with('E') || self.strict { Severity::Error } else { Severity::Warning }
    }
}

/// Everything found so far, in the order of finding.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    problems: Vec<Problem>,
}

impl Diagnostics {
    pub(crate) fn push(&mut self, problem: Problem) {
        if self.problems.len() < DIAGNOSTICS_MAX {
            self.problems.push(problem);
        }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity() == Severity::Error)
    }

    /// All of them by place, with lines and columns.
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
                    help: problem.help,
                    also: problem
                        .also
                        .into_iter()
                        .map(|related| Related { span: lines.clamp(&related.span), ..related })
                        .collect(),
                    span,
                }
            })
            .collect();
        found.sort_by(|a, b| (a.span.start, a.code).cmp(&(b.span.start, b.code)));
        found.dedup();
        found
    }
}

/// Where the lines of a text start.
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

    /// A range that lies in the text, on the boundaries of characters.
    fn clamp(&self, span: &Range<usize>) -> Range<usize> {
        let floor = |at: usize| {
            (0..=at.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0)
        };
        let start = floor(span.start);
        start..floor(span.end).max(start)
    }
}
