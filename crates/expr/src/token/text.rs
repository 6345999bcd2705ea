//! Texts in quotes, the chunks of templates, and the escapes in both.

use super::{Lexer, Punctuator, TokenKind};
use crate::span::Span;
use crate::syntax_error::SyntaxError;

impl Lexer<'_> {
    pub(super) fn text(&mut self, quote: char, after_newline: bool) -> Result<(), Box<SyntaxError>> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.source[self.at..].chars().next() {
                Some(c) if c == quote => break,
                Some('\n' | '\r') | None => {
                    return Err(SyntaxError::new("this text is never closed", Span::new(start, self.at)));
                }
                Some('\\') => self.escape(&mut text)?,
                Some(c) => {
                    text.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
        self.at += 1;
        self.push(TokenKind::Text(text.into()), start, after_newline);
        Ok(())
    }

    /// Reads one chunk of a template, up to its next hole or its end.
    pub(super) fn chunk(&mut self) -> Result<(), Box<SyntaxError>> {
        let start = self.at;
        let mut text = String::new();
        loop {
            match self.source[self.at..].chars().next() {
                Some('`') => {
                    self.push(TokenKind::Chunk { text: text.into(), last: true }, start, false);
                    self.at += 1;
                    self.close_bracket();
                    return Ok(());
                }
                Some('$') if self.byte(1) == Some(b'{') => {
                    self.push(TokenKind::Chunk { text: text.into(), last: false }, start, false);
                    self.at += 2;
                    self.open_bracket(Punctuator::BraceOpen, self.at - 2, false);
                    // The brace belongs to a hole when the bracket below it is that of a template.
                    return Ok(());
                }
                Some('\\') => self.escape(&mut text)?,
                Some('\r') => {
                    text.push('\n');
                    self.at += if self.byte(1) == Some(b'\n') { 2 } else { 1 };
                }
                Some(c) => {
                    text.push(c);
                    self.at += c.len_utf8();
                }
                None => {
                    return Err(SyntaxError::new("this template is never closed", Span::new(start, self.at)));
                }
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), Box<SyntaxError>> {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.source[self.at..].chars().next() else {
            return Err(SyntaxError::new("this text is never closed", Span::new(start, self.at)));
        };
        self.at += c.len_utf8();
        match c {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'v' => text.push('\u{b}'),
            '0' if !self.byte(0).is_some_and(|byte| byte.is_ascii_digit()) => text.push('\0'),
            '0'..='9' => {
                return Err(SyntaxError::new("octal escapes are not supported", Span::new(start, self.at)));
            }
            'x' => {
                text.push(self.hex(2, start).and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER))
            }
            'u' => self.unicode_escape(start, text)?,
            '\r' => {
                if self.byte(0) == Some(b'\n') {
                    self.at += 1;
                }
            }
            '\n' | '\u{2028}' | '\u{2029}' => {}
            other => text.push(other),
        }
        if c == 'x' && self.at < start + 4 {
            return Err(SyntaxError::new("this escape is not complete", Span::new(start, self.at)));
        }
        Ok(())
    }

    fn hex(&mut self, length: usize, _start: usize) -> Option<u32> {
        let digits = self.source.get(self.at..self.at + length)?;
        let value = digits
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit())
            .then(|| u32::from_str_radix(digits, 16).ok())??;
        self.at += length;
        Some(value)
    }

    fn unicode_escape(&mut self, start: usize, text: &mut String) -> Result<(), Box<SyntaxError>> {
        let bad = |end: usize| SyntaxError::new("this escape is not complete", Span::new(start, end));
        if self.byte(0) == Some(b'{') {
            let end = self.source[self.at..].find('}').ok_or_else(|| bad(self.at))?;
            let digits = &self.source[self.at + 1..self.at + end];
            let value = u32::from_str_radix(digits, 16)
                .ok()
                .filter(|value| *value <= 0x0010_ffff && !digits.starts_with('+'));
            self.at += end + 1;
            text.push(
                char::from_u32(value.ok_or_else(|| bad(self.at))?).unwrap_or(char::REPLACEMENT_CHARACTER),
            );
            return Ok(());
        }
        let unit = self.hex(4, start).ok_or_else(|| bad(self.at))?;
        if (0xd800..0xdc00).contains(&unit) && self.byte(0) == Some(b'\\') && self.byte(1) == Some(b'u') {
            let back = self.at;
            self.at += 2;
            if let Some(low) = self.hex(4, start).filter(|low| (0xdc00..0xe000).contains(low)) {
                let joined = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                text.push(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
                return Ok(());
            }
            self.at = back;
        }
        text.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
        Ok(())
    }
}
