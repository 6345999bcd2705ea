//! Patterns between slashes, and when a slash opens one.

use super::{Lexer, Punctuator, TokenKind, is_line_end, is_word_part};
use crate::span::Span;
use crate::syntax_error::SyntaxError;

impl Lexer<'_> {
    /// After a value a `/` divides; anywhere else it opens a pattern.
    pub(super) fn regex_may_start(&self) -> bool {
        let Some(before) = self.tokens.last() else { return true };
        match &before.kind {
            TokenKind::Number(_)
            | TokenKind::Text(_)
            | TokenKind::Chunk { .. }
            | TokenKind::Regex { .. }
            | TokenKind::End => false,
            TokenKind::Word => {
                let word = &self.source[before.span.range()];
                let property = self.tokens.len() >= 2
                    && matches!(
                        self.tokens[self.tokens.len() - 2].kind,
                        TokenKind::Punctuator(Punctuator::Dot | Punctuator::OptionalDot)
                    );
                !property
                    && matches!(
                        word,
                        "return"
                            | "typeof"
                            | "case"
                            | "in"
                            | "of"
                            | "delete"
                            | "void"
                            | "throw"
                            | "new"
                            | "else"
                            | "do"
                            | "instanceof"
                    )
            }
            TokenKind::Punctuator(Punctuator::ParenClose) => self.closes_a_head(),
            TokenKind::Punctuator(punctuator) => !matches!(
                punctuator,
                Punctuator::BracketClose
                    | Punctuator::BraceClose
                    | Punctuator::Increment
                    | Punctuator::Decrement
            ),
        }
    }

    /// Whether the `)` just read closes the head of an `if`, a `while` or a `for`.
    fn closes_a_head(&self) -> bool {
        let close = self.tokens.len() - 1;
        let open = self.tokens[close].partner as usize;
        open > 0
            && self.tokens[open - 1].kind == TokenKind::Word
            && matches!(&self.source[self.tokens[open - 1].span.range()], "if" | "while" | "for")
    }

    pub(super) fn regex(&mut self, after_newline: bool) -> Result<(), Box<SyntaxError>> {
        let start = self.at;
        let mut in_class = false;
        let mut escaped = false;
        let mut end = None;
        for (offset, c) in self.source[start + 1..].char_indices() {
            match c {
                c if is_line_end(c) => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => {
                    end = Some(start + 1 + offset);
                    break;
                }
                _ => {}
            }
        }
        let Some(end) = end else {
            return Err(SyntaxError::new("this pattern is never closed", Span::new(start, start + 1)));
        };
        self.at = end + 1;
        while let Some(c) = self.source[self.at..].chars().next().filter(|c| is_word_part(*c)) {
            self.at += c.len_utf8();
        }
        let (pattern, flags) = (self.source[start + 1..end].into(), self.source[end + 1..self.at].into());
        self.push(TokenKind::Regex { pattern, flags }, start, after_newline);
        Ok(())
    }
}
