//! Numbers, in any base, with `_` between digits.

use super::{Lexer, TokenKind, is_word_start};
use crate::span::Span;
use crate::syntax_error::SyntaxError;

impl Lexer<'_> {
    pub(super) fn number(&mut self, after_newline: bool) -> Result<(), Box<SyntaxError>> {
        let start = self.at;
        let radix = match (self.byte(0), self.byte(1).map(|byte| byte.to_ascii_lowercase())) {
            (Some(b'0'), Some(b'x')) => 16,
            (Some(b'0'), Some(b'o')) => 8,
            (Some(b'0'), Some(b'b')) => 2,
            _ => 10,
        };
        let value = if radix == 10 { self.decimal()? } else { self.whole(radix)? };
        let next = self.source[self.at..].chars().next();
        if let Some(next) = next.filter(|next| is_word_start(*next) || next.is_ascii_digit()) {
            let message =
                if next == 'n' { "big integers are not supported" } else { "a number runs into a name" };
            return Err(SyntaxError::new(message, Span::new(start, self.at + next.len_utf8())));
        }
        self.push(TokenKind::Number(value), start, after_newline);
        Ok(())
    }

    fn whole(&mut self, radix: u32) -> Result<f64, Box<SyntaxError>> {
        let start = self.at;
        self.at += 2;
        let digits = self.digits(|byte| (byte as char).is_digit(radix))?;
        if digits.is_empty() {
            return Err(SyntaxError::new("digits are missing", Span::new(start, self.at)));
        }
        Ok(crate::number::parse_whole(&digits, radix))
    }

    fn decimal(&mut self) -> Result<f64, Box<SyntaxError>> {
        let start = self.at;
        let mut digits = self.digits(|byte| byte.is_ascii_digit())?;
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(SyntaxError::new("a number must not start with `0`", Span::new(start, self.at)));
        }
        if self.byte(0) == Some(b'.') {
            self.at += 1;
            digits.push('.');
            digits.push_str(&self.digits(|byte| byte.is_ascii_digit())?);
        }
        if matches!(self.byte(0), Some(b'e' | b'E')) {
            self.at += 1;
            digits.push('e');
            if let Some(sign @ (b'+' | b'-')) = self.byte(0) {
                self.at += 1;
                digits.push(char::from(sign));
            }
            let exponent = self.digits(|byte| byte.is_ascii_digit())?;
            if exponent.is_empty() {
                return Err(SyntaxError::new("the exponent is missing", Span::new(start, self.at)));
            }
            digits.push_str(&exponent);
        }
        Ok(digits.parse().unwrap_or(f64::NAN))
    }

    /// Digits with single `_` between them.
    fn digits(&mut self, accept: impl Fn(u8) -> bool) -> Result<String, Box<SyntaxError>> {
        let mut digits = String::new();
        while let Some(byte) = self.byte(0) {
            if accept(byte) {
                digits.push(char::from(byte));
            } else if byte != b'_' || digits.is_empty() || !self.byte(1).is_some_and(&accept) {
                break;
            }
            self.at += 1;
        }
        Ok(digits)
    }
}
