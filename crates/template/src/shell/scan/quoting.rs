//! Words: quotes, expansions, and the form of a reference in each of them.

use super::{Quoting, Scanner, Symbol};
use crate::shell::error::ShellErrorKind;
use crate::shell::word::{UNKNOWN, Word};

impl Scanner {
    pub(super) fn word(&mut self) -> Word {
        let mut word = Word::default();
        let before = self.found.used.len();
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
                    word.push(c);
                }
            }
        }
        word.all_values = self.found.used[before..].to_vec();
        word
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
        if self.sees("((") {
            self.within(ShellErrorKind::Arithmetic, |scanner| scanner.balanced(offset));
        } else if self.sees("(") {
            self.parenthesis();
        } else if self.sees("{") {
            self.within(ShellErrorKind::Parameter, |scanner| {
                scanner.deeper(|scanner| scanner.parameter(offset, quoting));
            });
        } else if self.sees("[") {
            // Arithmetic in some shells, text in others.
            self.error_at(ShellErrorKind::Ambiguous, offset);
        } else if self.sees("'") && quoting == Quoting::Bare {
            self.within(ShellErrorKind::AnsiQuotes, |scanner| scanner.ansi_quotes(offset));
        } else if matches!(self.char_at(0), Some('$' | '!' | '?' | '#' | '*' | '@' | '-')) {
            // A parameter of one character: `$$` is not the beginning of another `$`, nor `$#` a comment.
            self.take();
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
    pub(super) fn parameter(&mut self, offset: usize, quoting: Quoting) {
        self.take();
        let mut ignored = Word::default();
        loop {
            match self.peek() {
                None => return self.error_at(ShellErrorKind::Unfinished, offset),
                Some(Symbol::Value(value)) => self.value(value, "", ""),
                Some(Symbol::Char('}')) => {
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
                Some(Symbol::Char('\'')) => self.single_quotes(&mut ignored),
                Some(Symbol::Char('"')) => self.double_quotes(&mut ignored),
                Some(Symbol::Char('$')) => self.dollar(&mut ignored, quoting),
                Some(Symbol::Char('`')) => self.backticks(&mut ignored),
                Some(Symbol::Char(_)) => {
                    self.take();
                }
            }
        }
    }

    /// `` `…` ``, which ends at the first backtick without a backslash.
    pub(super) fn backticks(&mut self, word: &mut Word) {
        let offset = self.offset();
        self.take();
        word.push(UNKNOWN);
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
    }

    /// `((…))`. Two parentheses that do not close together are a subshell in a subshell, which shells
    /// find out in different ways.
    pub(super) fn balanced(&mut self, offset: usize) {
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
