//! Cuts a source into tokens, with matching brackets found on the way.
//!
//! **Invariant:** one pass, no recursion; template literals keep a stack of their own. Each opening bracket
//! knows its partner, so the parser can tell `(a, b) => …` from `(a, b)` without trying both.

use crate::span::Span;
use crate::syntax_error::SyntaxError;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Number(f64),
    Text(Box<str>),
    /// The text between two holes of a template, and whether the template ends after it.
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
    Mark(Mark),
    End,
}

/// Every punctuator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    ParenOpen,
    ParenClose,
    BracketOpen,
    BracketClose,
    BraceOpen,
    BraceClose,
    TemplateOpen,
    Dot,
    OptionalDot,
    Spread,
    Comma,
    Semicolon,
    Colon,
    Question,
    Arrow,
    Equal,
    LooseEqual,
    StrictEqual,
    Not,
    LooseNotEqual,
    StrictNotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Plus,
    Minus,
    Star,
    StarStar,
    Slash,
    Percent,
    Increment,
    Decrement,
    Ampersand,
    Pipe,
    Caret,
    Tilde,
    ShiftLeft,
    ShiftRight,
    ShiftRightZero,
    And,
    Or,
    Nullish,
    PlusEqual,
    MinusEqual,
    StarEqual,
    StarStarEqual,
    SlashEqual,
    PercentEqual,
    AmpersandEqual,
    PipeEqual,
    CaretEqual,
    ShiftLeftEqual,
    ShiftRightEqual,
    ShiftRightZeroEqual,
    AndEqual,
    OrEqual,
    NullishEqual,
}

#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    /// A line break stands before it, which may end a statement.
    pub(crate) after_newline: bool,
    /// For an opening bracket, the index of the token that closes it.
    pub(crate) partner: u32,
}

/// Longest first, so that the first that fits is the right one.
const MARKS: &[(&str, Mark)] = &[
    (">>>=", Mark::ShiftRightZeroEqual),
    ("...", Mark::Spread),
    ("===", Mark::StrictEqual),
    ("!==", Mark::StrictNotEqual),
    ("**=", Mark::StarStarEqual),
    ("<<=", Mark::ShiftLeftEqual),
    (">>=", Mark::ShiftRightEqual),
    (">>>", Mark::ShiftRightZero),
    ("&&=", Mark::AndEqual),
    ("||=", Mark::OrEqual),
    ("??=", Mark::NullishEqual),
    ("=>", Mark::Arrow),
    ("==", Mark::LooseEqual),
    ("!=", Mark::LooseNotEqual),
    ("<=", Mark::LessEqual),
    (">=", Mark::GreaterEqual),
    ("++", Mark::Increment),
    ("--", Mark::Decrement),
    ("**", Mark::StarStar),
    ("<<", Mark::ShiftLeft),
    (">>", Mark::ShiftRight),
    ("&&", Mark::And),
    ("||", Mark::Or),
    ("??", Mark::Nullish),
    ("+=", Mark::PlusEqual),
    ("-=", Mark::MinusEqual),
    ("*=", Mark::StarEqual),
    ("/=", Mark::SlashEqual),
    ("%=", Mark::PercentEqual),
    ("&=", Mark::AmpersandEqual),
    ("|=", Mark::PipeEqual),
    ("^=", Mark::CaretEqual),
    ("?.", Mark::OptionalDot),
    ("(", Mark::ParenOpen),
    (")", Mark::ParenClose),
    ("[", Mark::BracketOpen),
    ("]", Mark::BracketClose),
    ("{", Mark::BraceOpen),
    ("}", Mark::BraceClose),
    (".", Mark::Dot),
    (",", Mark::Comma),
    (";", Mark::Semicolon),
    (":", Mark::Colon),
    ("?", Mark::Question),
    ("=", Mark::Equal),
    ("!", Mark::Not),
    ("<", Mark::Less),
    (">", Mark::Greater),
    ("+", Mark::Plus),
    ("-", Mark::Minus),
    ("*", Mark::Star),
    ("/", Mark::Slash),
    ("%", Mark::Percent),
    ("&", Mark::Ampersand),
    ("|", Mark::Pipe),
    ("^", Mark::Caret),
    ("~", Mark::Tilde),
];

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
                self.push(Kind::End, start, after_newline);
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
                    self.open_bracket(Mark::TemplateOpen, start, after_newline);
                    self.chunk()?;
                }
                '/' if self.regex_may_start() => self.regex(after_newline)?,
                c if is_word_start(c) => self.word(after_newline)?,
                '#' | '@' | '\\' => return Err(self.unexpected(next)),
                c => self.mark(c, after_newline)?,
            }
        }
    }

    fn push(&mut self, kind: Kind, start: usize, after_newline: bool) {
        self.tokens.push(Token { kind, span: Span::new(start, self.at), after_newline, partner: 0 });
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.source.as_bytes().get(self.at + ahead).copied()
    }

    fn unexpected(&self, found: char) -> Box<SyntaxError> {
        SyntaxError::new(format!("unexpected `{found}`"), Span::new(self.at, self.at + found.len_utf8()))
    }

    /// Skips blanks and comments; answers whether a line break was among them.
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

    fn number(&mut self, after_newline: bool) -> Result<(), Box<SyntaxError>> {
        let start = self.at;
        let radix = match (self.byte(0), self.byte(1).map(|byte| byte.to_ascii_lowercase())) {
            (Some(b'0'), Some(b'x')) => 16,
            (Some(b'0'), Some(b'o')) => 8,
            (Some(b'0'), Some(b'b')) => 2,
            _ => 10,
        };
        let value = if radix == 10 { self.decimal()? } else { self.whole(radix)? };
        if self.source[self.at..].chars().next().is_some_and(|c| is_word_start(c) || c.is_ascii_digit()) {
            let message = if self.byte(0) == Some(b'n') {
                "big integers are not supported"
            } else {
                "a number runs into a name"
            };
            return Err(SyntaxError::new(message, Span::new(start, self.at + 1)));
        }
        self.push(Kind::Number(value), start, after_newline);
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

    fn text(&mut self, quote: char, after_newline: bool) -> Result<(), Box<SyntaxError>> {
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
        self.push(Kind::Text(text.into()), start, after_newline);
        Ok(())
    }

    /// Reads one chunk of a template, up to its next hole or its end.
    fn chunk(&mut self) -> Result<(), Box<SyntaxError>> {
        let start = self.at;
        let mut text = String::new();
        loop {
            match self.source[self.at..].chars().next() {
                Some('`') => {
                    self.push(Kind::Chunk { text: text.into(), last: true }, start, false);
                    self.at += 1;
                    self.close_bracket();
                    return Ok(());
                }
                Some('$') if self.byte(1) == Some(b'{') => {
                    self.push(Kind::Chunk { text: text.into(), last: false }, start, false);
                    self.at += 2;
                    self.open_bracket(Mark::BraceOpen, self.at - 2, false);
                    // The brace of a hole is told from others by the template that is open right below it.
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
        self.push(Kind::Word, start, after_newline);
        Ok(())
    }

    /// After a value a `/` divides; anywhere else it opens a pattern.
    fn regex_may_start(&self) -> bool {
        let Some(before) = self.tokens.last() else { return true };
        match &before.kind {
            Kind::Number(_) | Kind::Text(_) | Kind::Chunk { .. } | Kind::Regex { .. } | Kind::End => false,
            Kind::Word => {
                let word = &self.source[before.span.range()];
                let property = self.tokens.len() >= 2
                    && matches!(
                        self.tokens[self.tokens.len() - 2].kind,
                        Kind::Mark(Mark::Dot | Mark::OptionalDot)
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
            Kind::Mark(Mark::ParenClose) => self.closes_a_head(),
            Kind::Mark(mark) => {
                !matches!(mark, Mark::BracketClose | Mark::BraceClose | Mark::Increment | Mark::Decrement)
            }
        }
    }

    /// Whether the `)` just read closes the head of an `if`, a `while` or a `for`.
    fn closes_a_head(&self) -> bool {
        let close = self.tokens.len() - 1;
        let open = self.tokens[close].partner as usize;
        open > 0
            && self.tokens[open - 1].kind == Kind::Word
            && matches!(&self.source[self.tokens[open - 1].span.range()], "if" | "while" | "for")
    }

    fn regex(&mut self, after_newline: bool) -> Result<(), Box<SyntaxError>> {
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
        self.push(Kind::Regex { pattern, flags }, start, after_newline);
        Ok(())
    }

    fn mark(&mut self, found: char, after_newline: bool) -> Result<(), Box<SyntaxError>> {
        let rest = &self.source[self.at..];
        let Some((text, mark)) = MARKS.iter().find(|(text, _)| rest.starts_with(text)) else {
            return Err(self.unexpected(found));
        };
        // `a?.5:b` is a ternary, not an optional member.
        let (text, mark) =
            if *mark == Mark::OptionalDot && self.byte(2).is_some_and(|byte| byte.is_ascii_digit()) {
                ("?", Mark::Question)
            } else {
                (*text, *mark)
            };
        let start = self.at;
        self.at += text.len();
        match mark {
            Mark::ParenOpen | Mark::BracketOpen | Mark::BraceOpen => {
                self.open_bracket(mark, start, after_newline)
            }
            Mark::ParenClose | Mark::BracketClose | Mark::BraceClose => {
                self.close_mark(mark, start, after_newline)?
            }
            other => self.push(Kind::Mark(other), start, after_newline),
        }
        Ok(())
    }

    fn open_bracket(&mut self, mark: Mark, start: usize, after_newline: bool) {
        self.open.push(self.tokens.len());
        self.push(Kind::Mark(mark), start, after_newline);
    }

    fn close_mark(&mut self, mark: Mark, start: usize, after_newline: bool) -> Result<(), Box<SyntaxError>> {
        let expected = match self.open.last().map(|&open| &self.tokens[open].kind) {
            Some(Kind::Mark(Mark::ParenOpen)) => Some(Mark::ParenClose),
            Some(Kind::Mark(Mark::BracketOpen)) => Some(Mark::BracketClose),
            Some(Kind::Mark(Mark::BraceOpen)) => Some(Mark::BraceClose),
            Some(_) | None => None,
        };
        if expected != Some(mark) {
            let found = &self.source[start..self.at];
            return Err(SyntaxError::new(
                format!("`{found}` closes nothing that is open"),
                Span::new(start, self.at),
            ));
        }
        self.push(Kind::Mark(mark), start, after_newline);
        self.close_bracket();
        let hole =
            self.open.last().is_some_and(|&open| self.tokens[open].kind == Kind::Mark(Mark::TemplateOpen));
        if hole { self.chunk() } else { Ok(()) }
    }

    /// Ties the token just pushed to the innermost open bracket.
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
