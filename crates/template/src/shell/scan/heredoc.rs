//! Here-documents, whose bodies begin after the line that contains `<<`.

use super::{Heredoc, Quoting, Scanner, Symbol};
use crate::shell::error::ShellErrorKind;
use crate::shell::word::Word;

impl Scanner {
    pub(super) fn first_unread_heredoc(&self) -> Option<usize> {
        self.heredocs.first().map(|heredoc| heredoc.at)
    }

    pub(super) fn heredoc_bodies(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            if heredoc.quoted {
                self.within(ShellErrorKind::QuotedHeredoc, |scanner| scanner.heredoc_body(&heredoc));
            } else {
                self.heredoc_body(&heredoc);
            }
        }
    }

    pub(super) fn heredoc_body(&mut self, heredoc: &Heredoc) {
        let mut ignored = Word::default();
        let mut line_start = true;
        let start = self.at;
        loop {
            if std::mem::take(&mut line_start)
                && let Some(length) = self.delimiter_line(heredoc)
            {
                self.found.feeds |= heredoc.is_fed && ignored.substitutes;
                let body = self.text_since(start);
                self.found.fed.push(body);
                return self.take_many(length);
            }
            match self.peek() {
                None => return self.error_at(ShellErrorKind::Unfinished, heredoc.at),
                Some(Symbol::Value(value)) => self.value(value, "", ""),
                Some(Symbol::Char('\n')) => {
                    self.take();
                    line_start = true;
                }
                Some(Symbol::Char('\\')) if !heredoc.quoted => {
                    self.take();
                    if !self.adjacent() {
                        self.take();
                    }
                }
                Some(Symbol::Char('$')) if !heredoc.quoted => self.dollar(&mut ignored, Quoting::Double),
                Some(Symbol::Char('`')) if !heredoc.quoted => self.backticks(&mut ignored),
                Some(Symbol::Char(_)) => {
                    self.take();
                }
            }
        }
    }

    /// The length of the delimiter line, with its newline, when it is next.
    pub(super) fn delimiter_line(&self, heredoc: &Heredoc) -> Option<usize> {
        let mut ahead = 0;
        while heredoc.strip_tabs && self.char_at(ahead) == Some('\t') {
            ahead += 1;
        }
        for c in heredoc.delimiter.chars() {
            if self.char_at(ahead) != Some(c) {
                return None;
            }
            ahead += 1;
        }
        match self.symbols.get(self.at + ahead) {
            None => Some(ahead),
            Some((Symbol::Char('\n'), _)) => Some(ahead + 1),
            Some(_) => None,
        }
    }
}
