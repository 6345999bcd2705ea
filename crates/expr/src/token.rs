//! The lexer: splits a source into tokens and matches brackets.
//!
//! **Invariant:** one pass, no recursion; template literals keep a stack of their own. Each opening bracket
//! knows its partner, so the parser can tell `(a, b) => …` from `(a, b)` without trying both.

mod number;
mod punctuator;
mod regex;
mod text;

pub(crate) use punctuator::Punctuator;

use punctuator::PUNCTUATORS;

use crate::span::Span;
use crate::syntax_error::SyntaxError;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    Number(f64),
    Text(Box<str>),
    /// Template text between two holes; `last` says that the template ends after it.
    Chunk {
        text: Box<str>,
        last: bool,
    },
    /// A name or a keyword; its text is in the source, unless it was written with escapes.
    Word,
    Regex {
        pattern: Box<str>,
        flags: Box<str>,
    },
    Punctuator(Punctuator),
    End,
}

#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
    /// A line break precedes the token, which may end a statement.
    pub(crate) after_newline: bool,
    /// For an opening bracket, the index of the token that closes it.
    pub(crate) partner: u32,
}

pub(crate) fn tokens(source: &str) -> Result<Vec<Token>, Box<SyntaxError>> {
    let mut lexer =
        Lexer { source, at: 0, tokens: Vec::with_capacity(source.len() / 4 + 4), open: Vec::new() };
    lexer.run()?;
    Ok(lexer.tokens)
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
    tokens: Vec<Token>,
    /// Indexes of the brackets that are still open.
    open: Vec<usize>,
}

impl Lexer<'_> {
    fn run(&mut self) -> Result<(), Box<SyntaxError>> {
        loop {
            let after_newline = self.skip_blanks()?;
            let start = self.at;
            let Some(next) = self.source[start..].chars().next() else {
                if let Some(&open) = self.open.last() {
                    return Err(SyntaxError::new("this is never closed", self.tokens[open].span));
                }
                self.push(TokenKind::End, start, after_newline);
                return Ok(());
            };
            match next {
                '0'..='9' => self.number(after_newline)?,
                '.' if self.byte(1).is_some_and(|byte| byte.is_ascii_digit()) => {
                    self.number(after_newline)?
                }
                '"' | '\'' => self.text(next, after_newline)?,
                '`' => {
                    self.at += 1;
                    self.open_bracket(Punctuator::TemplateOpen, start, after_newline);
                    self.chunk()?;
                }
                '/' if self.regex_may_start() => self.regex(after_newline)?,
                c if is_word_start(c) => self.word(after_newline)?,
                '#' | '@' | '\\' => return Err(self.unexpected(next)),
                c => self.punctuator(c, after_newline)?,
            }
        }
    }

    fn push(&mut self, kind: TokenKind, start: usize, after_newline: bool) {
        self.tokens.push(Token { kind, span: Span::new(start, self.at), after_newline, partner: 0 });
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.source.as_bytes().get(self.at + ahead).copied()
    }

    fn unexpected(&self, found: char) -> Box<SyntaxError> {
        SyntaxError::new(format!("unexpected `{found}`"), Span::new(self.at, self.at + found.len_utf8()))
    }

    /// Skips white space and comments; returns whether they contain a line break.
    fn skip_blanks(&mut self) -> Result<bool, Box<SyntaxError>> {
        let mut newline = false;
        loop {
            let rest = &self.source[self.at..];
            if rest.starts_with("//") {
                self.at += rest.find(['\n', '\r', '\u{2028}', '\u{2029}']).unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let Some(length) = rest.find("*/") else {
                    return Err(SyntaxError::new(
                        "this comment is never closed",
                        Span::new(self.at, self.at + 2),
                    ));
                };
                newline |= rest[..length].contains('\n');
                self.at += length + 2;
            } else {
                match rest.chars().next() {
                    Some(c) if is_line_end(c) => {
                        newline = true;
                        self.at += c.len_utf8();
                    }
                    Some(c) if c.is_whitespace() || c == '\u{feff}' => self.at += c.len_utf8(),
                    Some(_) | None => return Ok(newline),
                }
            }
        }
    }

    fn word(&mut self, after_newline: bool) -> Result<(), Box<SyntaxError>> {
        let start = self.at;
        for c in self.source[start..].chars() {
            if !is_word_part(c) {
                break;
            }
            self.at += c.len_utf8();
        }
        if self.byte(0) == Some(b'\\') {
            return Err(self.unexpected('\\'));
        }
        self.push(TokenKind::Word, start, after_newline);
        Ok(())
    }

    fn punctuator(&mut self, found: char, after_newline: bool) -> Result<(), Box<SyntaxError>> {
        let rest = &self.source[self.at..];
        let Some((text, punctuator)) = PUNCTUATORS.iter().find(|(text, _)| rest.starts_with(text)) else {
            return Err(self.unexpected(found));
        };
        // `a?.5:b` is a ternary, not an optional member.
        let (text, punctuator) = if *punctuator == Punctuator::OptionalDot
            && self.byte(2).is_some_and(|byte| byte.is_ascii_digit())
        {
            ("?", Punctuator::Question)
        } else {
            (*text, *punctuator)
        };
        let start = self.at;
        self.at += text.len();
        match punctuator {
            Punctuator::ParenOpen | Punctuator::BracketOpen | Punctuator::BraceOpen => {
                self.open_bracket(punctuator, start, after_newline)
            }
            Punctuator::ParenClose | Punctuator::BracketClose | Punctuator::BraceClose => {
                self.close_punctuator(punctuator, start, after_newline)?
            }
            other => self.push(TokenKind::Punctuator(other), start, after_newline),
        }
        Ok(())
    }

    fn open_bracket(&mut self, punctuator: Punctuator, start: usize, after_newline: bool) {
        self.open.push(self.tokens.len());
        self.push(TokenKind::Punctuator(punctuator), start, after_newline);
    }

    fn close_punctuator(
        &mut self,
        punctuator: Punctuator,
        start: usize,
        after_newline: bool,
    ) -> Result<(), Box<SyntaxError>> {
        let expected = match self.open.last().map(|&open| &self.tokens[open].kind) {
            Some(TokenKind::Punctuator(Punctuator::ParenOpen)) => Some(Punctuator::ParenClose),
            Some(TokenKind::Punctuator(Punctuator::BracketOpen)) => Some(Punctuator::BracketClose),
            Some(TokenKind::Punctuator(Punctuator::BraceOpen)) => Some(Punctuator::BraceClose),
            Some(_) | None => None,
        };
        if expected != Some(punctuator) {
            let found = &self.source[start..self.at];
            return Err(SyntaxError::new(
                format!("`{found}` closes nothing that is open"),
                Span::new(start, self.at),
            ));
        }
        self.push(TokenKind::Punctuator(punctuator), start, after_newline);
        self.close_bracket();
        let hole = self
            .open
            .last()
            .is_some_and(|&open| self.tokens[open].kind == TokenKind::Punctuator(Punctuator::TemplateOpen));
        if hole { self.chunk() } else { Ok(()) }
    }

    /// Pairs the token just pushed with the innermost open bracket.
    fn close_bracket(&mut self) {
        let close = self.tokens.len() - 1;
        if let Some(open) = self.open.pop() {
            self.tokens[open].partner = u32::try_from(close).unwrap_or(u32::MAX);
            self.tokens[close].partner = u32::try_from(open).unwrap_or(u32::MAX);
        }
    }
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

fn is_word_start(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphabetic()
}

fn is_word_part(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphanumeric() || c == '\u{200c}' || c == '\u{200d}'
}
