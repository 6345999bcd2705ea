//! Words: quotes, expansions, and the form of a reference in each of them.

use super::counts::{counts, located};
use super::{DEPTH_MAX, Quoting, Scanned, Scanner, Symbol, scan_text};
use crate::shell::error::ShellErrorKind;
use crate::shell::rules::SUBSTITUTION;
use crate::shell::word::{Computed, Flow, UNKNOWN, Word, is_name};

impl Scanner {
    pub(super) fn word(&mut self) -> Word {
        let mut word = Word::default();
        let start = self.offset();
        let (before, names_before) = (self.found.used.len(), self.found.names.len());
        while let Some(symbol) = self.peek() {
            match symbol {
                Symbol::Value(value) => {
                    word.push_value(value);
                    self.value(value, "\"", "\"");
                }
                Symbol::Char('<' | '>') if self.char_at(1) == Some('(') => {
                    self.take();
                    self.parenthesis();
                    word.push(UNKNOWN);
                    word.substitutes = true;
                    word.reads_process = true;
                    word.transforms = true;
                }
                Symbol::Char(' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>') => break,
                Symbol::Char('\\') => {
                    self.take();
                    if !self.adjacent() {
                        word.quoted = true;
                        match self.take() {
                            Some('\n') | None => {}
                            Some(c) => word.push(c),
                        }
                    }
                }
                Symbol::Char('\'') => self.single_quotes(&mut word),
                Symbol::Char('"') => self.double_quotes(&mut word),
                Symbol::Char('$') => self.dollar(&mut word, Quoting::Bare),
                Symbol::Char('`') => self.backticks(&mut word),
                Symbol::Char(c) => {
                    self.take();
                    word.has_pattern |= matches!(c, '*' | '?' | '[');
                    word.has_brace |= c == '{';
                    word.push(c);
                }
            }
        }
        word.all_values = self.found.used[before..].to_vec();
        word.names = self.found.names[names_before..].to_vec();
        word.span = start..if self.at < self.symbols.len() { self.offset() } else { self.end() };
        word
    }

    /// The end of the source.
    fn end(&self) -> usize {
        self.symbols.last().map_or(0, |(_, offset)| self.span_at(*offset).end)
    }

    pub(super) fn single_quotes(&mut self, word: &mut Word) {
        let offset = self.offset();
        self.take();
        word.quoted = true;
        loop {
            match self.peek() {
                None => return self.error_at(ShellErrorKind::Unfinished, offset),
                Some(Symbol::Value(value)) => {
                    word.push_value(value);
                    self.value(value, "'\"", "\"'");
                }
                Some(Symbol::Char(c)) => {
                    self.take();
                    if c == '\'' {
                        return;
                    }
                    word.push(c);
                }
            }
        }
    }

    pub(super) fn double_quotes(&mut self, word: &mut Word) {
        let offset = self.offset();
        self.take();
        word.quoted = true;
        loop {
            match self.peek() {
                None => return self.error_at(ShellErrorKind::Unfinished, offset),
                Some(Symbol::Value(value)) => {
                    word.push_value(value);
                    self.value(value, "", "");
                }
                Some(Symbol::Char('"')) => {
                    self.take();
                    return;
                }
                Some(Symbol::Char('\\')) => {
                    self.take();
                    if !self.adjacent()
                        && let Some(c) = self.take()
                    {
                        word.push(c);
                    }
                }
                Some(Symbol::Char('$')) => self.dollar(word, Quoting::Double),
                Some(Symbol::Char('`')) => self.backticks(word),
                Some(Symbol::Char(c)) => {
                    self.take();
                    word.push(c);
                }
            }
        }
    }

    pub(super) fn dollar(&mut self, word: &mut Word, quoting: Quoting) {
        let offset = self.offset();
        self.take();
        word.push(UNKNOWN);
        if self.adjacent() {
            return;
        }
        word.may_vanish |= quoting == Quoting::Bare;
        if self.sees("((") {
            let names_before = self.found.names.len();
            self.within(ShellErrorKind::Arithmetic, |scanner| scanner.balanced(offset));
            // The result is a number, whatever it was computed from.
            self.found.names.truncate(names_before);
        } else if self.sees("(") {
            word.substitutes = true;
            word.transforms = true;
            let before = self.found.commands.len();
            self.parenthesis();
            word.counts = counts(&self.found.commands[before..]);
            word.located = located(&self.found.commands[before..]);
        } else if self.sees("{") {
            let start = self.at + 1;
            let mut inner = Word::default();
            self.within(ShellErrorKind::Parameter, |scanner| {
                scanner.deeper(|scanner| scanner.parameter(offset, quoting, &mut inner));
            });
            // `${x:-$(…)}` may be what the command printed.
            word.substitutes |= inner.substitutes;
            word.may_vanish |= self.found.names.last().is_some_and(|name| name == "@");
            let content = self.text_since(start);
            let name = content.trim_end_matches('}').trim_start_matches('#');
            word.transforms |= !is_name(name) && !name.chars().all(|c| c.is_ascii_digit());
            word.fallback = fallback(name);
        } else if self.char_at(0).is_some_and(|c| c.is_ascii_digit()) {
            let digit = self.take().unwrap_or('0');
            self.found.names.push(digit.to_string());
        } else if self.char_at(0).is_some_and(|c| c.is_ascii_alphabetic() || c == '_') {
            let start = self.at;
            while self.char_at(0).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                self.take();
            }
            let name = self.text_since(start);
            self.found.names.push(name);
        } else if self.sees("[") {
            // Arithmetic in some shells, text in others.
            self.error_at(ShellErrorKind::Ambiguous, offset);
        } else if self.sees("'") && quoting == Quoting::Bare {
            word.transforms = true;
            self.within(ShellErrorKind::AnsiQuotes, |scanner| scanner.ansi_quotes(offset));
        } else if matches!(self.char_at(0), Some('$' | '!' | '?' | '#' | '*' | '@' | '-')) {
            // A parameter of one character: `$$` is not the beginning of another `$`, nor `$#` a comment.
            let name = self.take().unwrap_or('$');
            word.may_vanish |= name == '@';
            self.found.names.push(name.to_string());
        }
    }

    /// `$'…'`: text with escapes in some shells, a `$` and single quotes in others. They agree on where
    /// it ends as long as no quote is escaped.
    pub(super) fn ansi_quotes(&mut self, offset: usize) {
        self.take();
        loop {
            match self.peek() {
                None => return self.error_at(ShellErrorKind::Unfinished, offset),
                Some(Symbol::Value(value)) => self.value(value, "", ""),
                Some(Symbol::Char('\\')) => {
                    self.take();
                    if self.char_at(0) == Some('\'') {
                        return self.error_at(ShellErrorKind::Ambiguous, offset);
                    }
                    self.take();
                }
                Some(Symbol::Char(c)) => {
                    self.take();
                    if c == '\'' {
                        return;
                    }
                }
            }
        }
    }

    /// `${…}`.
    pub(super) fn parameter(&mut self, offset: usize, quoting: Quoting, inner: &mut Word) {
        self.take();
        let (start, names_before) = (self.at, self.found.names.len());
        loop {
            match self.peek() {
                None => return self.error_at(ShellErrorKind::Unfinished, offset),
                Some(Symbol::Value(value)) => self.value(value, "", ""),
                Some(Symbol::Char('}')) => {
                    self.parameter_content(start, names_before, inner.substitutes);
                    self.take();
                    return;
                }
                Some(Symbol::Char('\\')) => {
                    self.take();
                    if !self.adjacent() {
                        self.take();
                    }
                }
                // Quoting double quotes, whether this is a quote depends on the operator and the shell.
                Some(Symbol::Char('\'')) if quoting == Quoting::Double => {
                    self.error_at(ShellErrorKind::Ambiguous, offset);
                    self.take();
                }
                Some(Symbol::Char('\'')) => self.single_quotes(inner),
                Some(Symbol::Char('"')) => self.double_quotes(inner),
                Some(Symbol::Char('$')) => self.dollar(inner, quoting),
                Some(Symbol::Char('`')) => self.backticks(inner),
                Some(Symbol::Char(_)) => {
                    self.take();
                }
            }
        }
    }

    /// What a `${…}` reads, assigns and computes.
    fn parameter_content(&mut self, start: usize, names_before: usize, substitutes: bool) {
        let content = self.text_since(start);
        let operand = content.trim_start_matches(['#', '!']);
        let length = operand.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(operand.len());
        // The name of a special parameter is one character: `${@:1}`.
        let length = if length == 0 { operand.chars().next().map_or(0, char::len_utf8) } else { length };
        let (name, rest) = operand.split_at(length);
        let name = name.to_owned();
        let (subscript, rest) =
            match rest.strip_prefix('[').and_then(|rest| rest.split_at_checked(closing(rest))) {
                Some((subscript, rest)) => (subscript, rest.trim_start_matches(']')),
                None => ("", rest),
            };
        if rest.starts_with(":=") || rest.starts_with('=') {
            let mut from = self.found.names[names_before..].to_vec();
            if substitutes {
                from.push(SUBSTITUTION.to_owned());
            }
            let text = Word { text: rest.trim_start_matches([':', '=']).to_owned(), ..Word::default() };
            let begin = self.symbols.get(start).map_or(0, |(_, offset)| *offset);
            let span = begin..self.offset().max(begin);
            let text = (!substitutes).then_some(text);
            self.found.flows.push(Flow { to: name.clone(), span, has_value: false, from, text });
        }
        let is_whole = matches!(subscript, "@" | "*");
        let is_slice = rest.strip_prefix(':').is_some_and(|rest| !rest.starts_with(['-', '=', '?', '+']));
        let lists_keys = content.starts_with('!') && is_whole && rest.is_empty();
        if content.starts_with('!') && !lists_keys || rest.starts_with("@P") {
            self.computes(start, names_before);
            // The name of a parameter is not an identifier.
            if let Some(computed) = self.found.computed.last_mut() {
                computed.names.push(name.clone());
            }
        } else if is_slice || !subscript.is_empty() && !is_whole {
            // An offset or an index is arithmetic.
            let text = format!("{subscript} {}", if is_slice { rest } else { "" });
            self.computes_text(&text, start, names_before);
        }
        // A length is a number, whatever the variable has.
        let is_length = content.len() > 1 && content.starts_with('#') && rest.is_empty();
        self.found.names.push(if is_length { "#".to_owned() } else { name });
    }

    /// `` `…` ``, which ends at the first backtick without a backslash.
    pub(super) fn backticks(&mut self, word: &mut Word) {
        let offset = self.offset();
        self.take();
        word.push(UNKNOWN);
        word.substitutes = true;
        word.transforms = true;
        word.may_vanish = true;
        let start = self.at;
        self.forbidden.push(ShellErrorKind::Backticks);
        loop {
            match self.peek() {
                None => {
                    self.error_at(ShellErrorKind::Unfinished, offset);
                    break;
                }
                Some(Symbol::Value(value)) => self.value(value, "", ""),
                Some(Symbol::Char('\\')) => {
                    self.take();
                    if !self.adjacent() {
                        self.take();
                    }
                }
                Some(Symbol::Char(c)) => {
                    self.take();
                    if c == '`' {
                        break;
                    }
                }
            }
        }
        self.forbidden.pop();
        self.scan_backticks(start, offset);
    }

    /// Scans the content of backticks as the script that it is.
    fn scan_backticks(&mut self, start: usize, offset: usize) {
        let content = self.text_since(start);
        let content = content.strip_suffix('`').unwrap_or(&content);
        let mut script = String::with_capacity(content.len());
        let mut characters = content.chars().peekable();
        while let Some(c) = characters.next() {
            match characters.peek() {
                Some('`' | '\\' | '$') if c == '\\' => script.extend(characters.next()),
                _ => script.push(c),
            }
        }
        if self.depth >= DEPTH_MAX {
            return self.error_at(ShellErrorKind::Unfinished, offset);
        }
        let inner = scan_text(&script, self.depth + 1);
        if !inner.errors.is_empty() {
            self.error_at(ShellErrorKind::Ambiguous, offset);
        }
        self.adopt(inner, offset);
    }

    /// Takes over what a script within this one does, all of it at one place.
    fn adopt(&mut self, inner: Scanned, offset: usize) {
        let span = self.span_at(offset);
        for mut command in inner.commands {
            for word in command.words.iter_mut().chain(&mut command.assignments).chain(&mut command.writes) {
                word.span = span.clone();
            }
            self.found.commands.push(command);
        }
        self.found.names.extend(inner.names);
        self.found.flows.extend(inner.flows.into_iter().map(|flow| Flow { span: span.clone(), ..flow }));
        self.found.functions.extend(inner.functions);
        self.found.feeds |= inner.feeds;
        self.found
            .computed
            .extend(inner.computed.into_iter().map(|computed| Computed { span: span.clone(), ..computed }));
    }

    /// `((…))`. Two parentheses that do not close together are a subshell in a subshell, which shells
    /// find out in different ways.
    pub(super) fn balanced(&mut self, offset: usize) {
        let (start, names_before) = (self.at, self.found.names.len());
        let mut ignored = Word::default();
        let mut open = 0_usize;
        let mut closed_at = None;
        loop {
            match self.peek() {
                None => return self.error_at(ShellErrorKind::Unfinished, offset),
                Some(Symbol::Value(value)) => self.value(value, "", ""),
                Some(Symbol::Char('(')) => {
                    self.take();
                    open += 1;
                }
                Some(Symbol::Char(')')) => {
                    self.take();
                    open -= 1;
                    if open == 1 {
                        closed_at = Some(self.at);
                    }
                    if open == 0 {
                        if closed_at != Some(self.at - 1) {
                            self.error_at(ShellErrorKind::Ambiguous, offset);
                        }
                        self.computes(start, names_before);
                        return;
                    }
                }
                Some(Symbol::Char('\\')) => {
                    self.take();
                    if !self.adjacent() {
                        self.take();
                    }
                }
                Some(Symbol::Char('\'')) => self.single_quotes(&mut ignored),
                Some(Symbol::Char('"')) => self.double_quotes(&mut ignored),
                Some(Symbol::Char('$')) => {
                    self.deeper(|scanner| scanner.dollar(&mut Word::default(), Quoting::Bare))
                }
                Some(Symbol::Char('`')) => self.backticks(&mut ignored),
                Some(Symbol::Char(_)) => {
                    self.take();
                }
            }
        }
    }
}

/// The text in `NAME:-text` and `NAME-text`, where it is literal.
fn fallback(content: &str) -> Option<String> {
    let (name, text) = content.split_once('-')?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '+');
    (is_name(name.strip_suffix(':').unwrap_or(name)) && text.chars().all(is_plain)).then(|| text.to_owned())
}

/// Where the `]` of a subscript is.
fn closing(text: &str) -> usize {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' => open += 1,
            ']' if open == 0 => return at,
            ']' => open -= 1,
            _ => {}
        }
    }
    text.len()
}
