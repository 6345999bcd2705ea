//! Scans a script as a shell would, to know the quoting around each value.
//!
//! The scanner understands only what determines quoting: quotes, expansions, here-documents, comments, and enough of
//! the command grammar to know where words and subshells end.

mod command;
mod counts;
mod heredoc;
mod quoting;

use std::ops::Range;

pub(super) use counts::COUNTING;

use super::error::{ShellError, ShellErrorKind};
use super::rules::SUBSTITUTION;
use super::split::Piece;
use super::variable;
use super::word::{Command, Computed, Flow, UNKNOWN, Word, is_name};

/// How deeply `$(…)`, `${…}` and subshells may nest.
const DEPTH_MAX: usize = 40;

pub(super) struct Scanned {
    pub(super) script: String,
    /// The values that the script refers to, in the order of their variables.
    pub(super) used: Vec<usize>,
    pub(super) commands: Vec<Command>,
    /// Every variable that was expanded so far, in order.
    pub(super) names: Vec<String>,
    pub(super) flows: Vec<Flow>,
    pub(super) computed: Vec<Computed>,
    pub(super) functions: Vec<String>,
    /// Commands may read input that the script gives them: a group or a function in a pipeline, a redirected group.
    pub(super) feeds: bool,
    /// The here-documents and here-strings. A value in them is a blank.
    pub(super) fed: Vec<String>,
    /// The `|` of each pipeline, with the index of the command on its left.
    pub(super) pipes: Vec<(usize, usize)>,
    pub(super) errors: Vec<ShellError>,
    /// The span of each value in the source.
    pub(super) value_spans: Vec<Range<usize>>,
}

impl Scanned {
    /// What is needed to follow values through variables, and no more.
    pub(super) fn for_taint(&self) -> Scanned {
        Scanned {
            script: String::new(),
            used: Vec::new(),
            commands: self.commands.clone(),
            names: self.names.clone(),
            flows: self.flows.clone(),
            computed: self.computed.clone(),
            functions: self.functions.clone(),
            feeds: self.feeds,
            fed: Vec::new(),
            pipes: Vec::new(),
            errors: Vec::new(),
            value_spans: self.value_spans.clone(),
        }
    }
}

/// Scans a script without values that is part of another: the content of backticks, or the argument of `sh -c`.
pub(super) fn scan_text(text: &str, depth: usize) -> Scanned {
    scan_from(text, &[Piece::Text(0..text.len())], depth)
}

pub(super) fn scan(source: &str, pieces: &[Piece]) -> Scanned {
    scan_from(source, pieces, 0)
}

fn scan_from(source: &str, pieces: &[Piece], depth: usize) -> Scanned {
    let mut symbols = Vec::new();
    let mut value_spans = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(range) => {
                let text = &source[range.clone()];
                symbols.extend(text.char_indices().map(|(at, c)| (Symbol::Char(c), range.start + at)));
            }
            Piece::Value { outer, .. } => {
                symbols.push((Symbol::Value(value_spans.len()), outer.start));
                value_spans.push(outer.clone());
            }
        }
    }
    let mut scanner = Scanner {
        symbols,
        at: 0,
        depth,
        forbidden: Vec::new(),
        heredocs: Vec::new(),
        found: Scanned {
            script: String::new(),
            used: Vec::new(),
            commands: Vec::new(),
            names: Vec::new(),
            flows: Vec::new(),
            computed: Vec::new(),
            functions: Vec::new(),
            feeds: false,
            fed: Vec::new(),
            pipes: Vec::new(),
            errors: Vec::new(),
            value_spans,
        },
    };
    scanner.commands(End::Script);
    if let Some(at) = scanner.first_unread_heredoc() {
        scanner.error_at(ShellErrorKind::Unfinished, at);
    }
    scanner.found
}

#[derive(Clone, Copy)]
enum Symbol {
    Char(char),
    Value(usize),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Script,
    Parenthesis,
}

/// The quotes around an expansion.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    Bare,
    Double,
}

struct Heredoc {
    delimiter: String,
    quoted: bool,
    strip_tabs: bool,
    /// Its command reads a pipe, and so do the substitutions in it.
    is_fed: bool,
    at: usize,
}

struct Scanner {
    symbols: Vec<(Symbol, usize)>,
    at: usize,
    depth: usize,
    /// Why no value is allowed here, innermost last.
    forbidden: Vec<ShellErrorKind>,
    heredocs: Vec<Heredoc>,
    found: Scanned,
}

impl Scanner {
    fn peek(&self) -> Option<Symbol> {
        self.symbols.get(self.at).map(|(symbol, _)| *symbol)
    }

    fn char_at(&self, ahead: usize) -> Option<char> {
        match self.symbols.get(self.at + ahead) {
            Some((Symbol::Char(c), _)) => Some(*c),
            _ => None,
        }
    }

    fn sees(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.char_at(ahead) == Some(c))
    }

    /// Copies one character into the script.
    fn take(&mut self) -> Option<char> {
        let c = self.char_at(0)?;
        self.found.script.push(c);
        self.at += 1;
        Some(c)
    }

    fn take_many(&mut self, count: usize) {
        for _ in 0..count {
            self.take();
        }
    }

    fn offset(&self) -> usize {
        self.symbols.get(self.at).or(self.symbols.last()).map_or(0, |(_, offset)| *offset)
    }

    fn error_at(&mut self, kind: ShellErrorKind, offset: usize) {
        let span = self.span_at(offset);
        self.found.errors.push(ShellError::new(kind, span));
    }

    /// The span of the character or value that begins at `offset`.
    fn span_at(&self, offset: usize) -> Range<usize> {
        match self.symbols.binary_search_by_key(&offset, |(_, start)| *start).map(|at| self.symbols[at].0) {
            Ok(Symbol::Char(c)) => offset..offset + c.len_utf8(),
            Ok(Symbol::Value(value)) => self.found.value_spans[value].clone(),
            Err(_) => offset..offset,
        }
    }

    fn refuse(&mut self, kind: ShellErrorKind, value: usize) {
        let span = self.found.value_spans[value].clone();
        self.found.errors.push(ShellError::new(kind, span));
    }

    /// Writes a reference to the next value, or refuses the value where none is allowed.
    fn value(&mut self, value: usize, before: &str, after: &str) {
        self.at += 1;
        if let Some(kind) = self.forbidden.last() {
            self.refuse(*kind, value);
            return;
        }
        let reference = format!("{before}${{{}}}{after}", variable(self.found.used.len()));
        self.found.script.push_str(&reference);
        self.found.used.push(value);
    }

    /// The characters from a position to the current one. A value is a blank.
    fn text_since(&self, start: usize) -> String {
        let symbols = &self.symbols[start.min(self.at)..self.at];
        symbols.iter().map(|(symbol, _)| if let Symbol::Char(c) = symbol { *c } else { ' ' }).collect()
    }

    /// Some shell computes the text since a position. Variables need no `$` there.
    fn computes(&mut self, start: usize, names_before: usize) {
        let text = self.text_since(start);
        self.computes_text(&text, start, names_before);
    }

    /// The same for a part of the text since a position.
    fn computes_text(&mut self, text: &str, start: usize, names_before: usize) {
        let text = without_lengths(text);
        let mut names = identifiers(&text);
        names.extend_from_slice(&self.found.names[names_before..]);
        let from = self.symbols.get(start).map_or(0, |(_, offset)| *offset);
        let assigns = arithmetic_assignments(&text);
        self.found.computed.push(Computed { span: from..self.offset().max(from), names, assigns });
    }

    /// Some shell computes these parts of a word.
    fn computes_word(&mut self, text: &str, word: &Word) {
        let mut names = identifiers(text);
        if text.contains(UNKNOWN) {
            names.extend_from_slice(&word.names);
            if word.substitutes {
                names.push(SUBSTITUTION.to_owned());
            }
        }
        self.found.computed.push(Computed { span: word.span.clone(), names, assigns: Vec::new() });
    }

    /// Refuses a value directly after a `\` or a `$`.
    fn adjacent(&mut self) -> bool {
        match self.peek() {
            Some(Symbol::Value(value)) => {
                self.at += 1;
                self.refuse(ShellErrorKind::Adjacent, value);
                true
            }
            _ => false,
        }
    }

    fn within(&mut self, kind: ShellErrorKind, scan: impl FnOnce(&mut Scanner)) {
        self.forbidden.push(kind);
        scan(self);
        self.forbidden.pop();
    }

    fn deeper(&mut self, scan: impl FnOnce(&mut Scanner)) {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let span = self.span_at(self.offset());
            self.found.errors.push(
                ShellError::new(ShellErrorKind::Unfinished, span).saying("the script nests too deeply"),
            );
            self.at = self.symbols.len();
        } else {
            scan(self);
        }
        self.depth -= 1;
    }
}

/// The text without `${#…}`, which is always a number.
fn without_lengths(text: &str) -> String {
    let mut parts = text.split("${#");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (length, rest) = part.split_once('}').unwrap_or((part, ""));
        let name = length.trim_end_matches("[@]").trim_end_matches("[*]");
        if !is_name(name) && !matches!(name, "@" | "*") {
            kept.push_str(length);
        }
        kept.push(' ');
        kept.push_str(rest);
    }
    kept
}

/// The variables that an arithmetic expression assigns: `i = 1`, `i += 2`, `i++`, `--i`.
fn arithmetic_assignments(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = text;
    let mut before = String::new();
    while let Some(begin) = rest.find(is_part) {
        before.push_str(&rest[..begin]);
        let length = rest[begin..].find(|c| !is_part(c)).unwrap_or(rest.len() - begin);
        let (name, after) = rest[begin..].split_at(length);
        let operator = after.trim_start();
        let bare = operator.trim_start_matches(['+', '-', '*', '/', '%', '&', '|', '^', '<', '>']);
        let is_comparison =
            operator.starts_with("<=") || operator.starts_with(">=") || bare.starts_with("==");
        let assigns = bare.starts_with('=') && !is_comparison;
        let steps = operator.starts_with("++") || operator.starts_with("--");
        let stepped = before.trim_end().ends_with("++") || before.trim_end().ends_with("--");
        if is_name(name) && (assigns || steps || stepped) {
            found.push(name.to_owned());
        }
        before.clear();
        rest = after;
    }
    found
}

/// Everything in a text that may be the name of a variable.
pub(super) fn identifiers(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    parts.filter(|part| is_name(part)).map(str::to_owned).collect()
}
