//! Regular expressions in JavaScript's syntax on a linear-time engine.
//!
//!   /pattern/flags ──translate──▶ regex::Regex
//!
//! **Invariant:** matching takes time linear in the text for every pattern. Look-around and back-references, which
//! such an engine cannot offer, are refused when the pattern is compiled.

use regex::{Regex, RegexBuilder};

use crate::span::Span;
use crate::syntax_error::SyntaxError;

/// Compiled size in bytes; a pattern beyond it is refused.
const COMPILED_BYTES_MAX: usize = 1 << 20;
/// Longer patterns are refused: no person writes them.
const PATTERN_BYTES_MAX: usize = 8 * 1024;

#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) source: Box<str>,
    pub(crate) flags: Box<str>,
    pub(crate) global: bool,
    pub(crate) sticky: bool,
    pub(crate) regex: Regex,
}

/// The reason why a pattern was refused.
#[derive(Debug)]
pub(crate) struct PatternError(pub(crate) String);

impl PatternError {
    pub(crate) fn at(self, span: Span) -> Box<SyntaxError> {
        SyntaxError::new(self.0, span)
    }
}

impl Pattern {
    pub(crate) fn compile(source: &str, flags: &str) -> Result<Pattern, PatternError> {
        let (mut ignore_case, mut multi_line, mut dot_all) = (false, false, false);
        let (mut global, mut sticky) = (false, false);
        for (position, flag) in flags.char_indices() {
            let seen = flags[..position].contains(flag);
            match flag {
                _ if seen => return Err(PatternError(format!("the flag `{flag}` stands twice"))),
                'i' => ignore_case = true,
                'm' => multi_line = true,
                's' => dot_all = true,
                'g' => global = true,
                'y' => sticky = true,
                'u' | 'd' => {}
                other => return Err(PatternError(format!("`{other}` is not a flag of a pattern"))),
            }
        }
        if source.len() > PATTERN_BYTES_MAX {
            return Err(PatternError(format!("a pattern may have {PATTERN_BYTES_MAX} bytes")));
        }
        let mut translated = Translation {
            rest: source,
            text: String::with_capacity(source.len() + 8),
            multi_line,
            dot_all,
            groups: Vec::new(),
        };
        translated.run()?;
        let regex = RegexBuilder::new(&translated.text)
            .case_insensitive(ignore_case)
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(COMPILED_BYTES_MAX)
            .nest_limit(100)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => PatternError("this pattern is too large".to_owned()),
                other => PatternError(format!("this is not a pattern: {}", first_line(&other.to_string()))),
            })?;
        let sorted: String = "dgimsuy".chars().filter(|flag| flags.contains(*flag)).collect();
        Ok(Pattern { source: source.into(), flags: sorted.into(), global, sticky, regex })
    }
}

fn first_line(text: &str) -> String {
    text.lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("")
        .trim_start_matches("error: ")
        .to_owned()
}

struct Translation<'p> {
    rest: &'p str,
    text: String,
    multi_line: bool,
    dot_all: bool,
    groups: Vec<&'p str>,
}

const BLANKS: &str =
    r"\t\n\x0B\x0C\r \u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}";

impl<'p> Translation<'p> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn run(&mut self) -> Result<(), PatternError> {
        while let Some(c) = self.next() {
            match c {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.group()?,
                '.' if self.dot_all => self.text.push_str("(?s:.)"),
                '.' => self.text.push_str(r"[^\n\r\u{2028}\u{2029}]"),
                '^' if self.multi_line => self.text.push_str("(?m:^)"),
                '$' if self.multi_line => self.text.push_str("(?m:$)"),
                '{' => self.brace(),
                '}' | ']' => {
                    self.text.push('\\');
                    self.text.push(c);
                }
                '*' | '+' | '?' if self.repeats_a_repetition(c) => {
                    return Err(PatternError("there is nothing to repeat".to_owned()));
                }
                c if c.is_whitespace() || c == '#' || c == '&' || c == '~' || c == '-' => self.literal(c),
                c => self.text.push(c),
            }
        }
        Ok(())
    }

    /// The engine reads `a**` as a repeated repetition, JavaScript refuses it.
    fn repeats_a_repetition(&self, c: char) -> bool {
        let mut before = self.text.chars().rev();
        let last = before.next();
        let escaped = before.take_while(|c| *c == '\\').count() % 2 == 1;
        match last {
            Some('*' | '+') if !escaped => c != '?',
            Some('?') if !escaped => {
                c != '?'
                    || self.text.len() >= 2
                        && matches!(self.text.as_bytes()[self.text.len() - 2], b'*' | b'+' | b'?' | b'}')
            }
            _ => false,
        }
    }

    fn literal(&mut self, c: char) {
        if c.is_ascii_punctuation() {
            self.text.push('\\');
        }
        self.text.push(c);
    }

    /// `{2,3}` repeats; any other brace is a brace.
    fn brace(&mut self) {
        let end = self.rest.find('}');
        let counts = end.map(|end| &self.rest[..end]).filter(|counts| {
            let (least, most) = counts.split_once(',').unwrap_or((counts, ""));
            !least.is_empty()
                && least.bytes().all(|byte| byte.is_ascii_digit())
                && most.bytes().all(|byte| byte.is_ascii_digit())
        });
        match counts {
            Some(counts) => {
                self.text.push('{');
                self.text.push_str(counts);
                self.text.push('}');
                self.rest = &self.rest[counts.len() + 1..];
            }
            None => self.text.push_str(r"\{"),
        }
    }

    fn group(&mut self) -> Result<(), PatternError> {
        self.text.push('(');
        let Some(after) = self.rest.strip_prefix('?') else { return Ok(()) };
        if after.starts_with('=')
            || after.starts_with('!')
            || after.starts_with("<=")
            || after.starts_with("<!")
        {
            return Err(PatternError("look-around in a pattern is not supported".to_owned()));
        }
        if let Some(inside) = after.strip_prefix(':') {
            self.text.push_str("?:");
            self.rest = inside;
            return Ok(());
        }
        let name = after.strip_prefix('<').and_then(|named| named.split_once('>')).map(|(name, _)| name);
        match name {
            Some(name)
                if !name.is_empty()
                    && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
                    && !self.groups.contains(&name) =>
            {
                self.groups.push(name);
                self.text.push_str("?<");
                self.text.push_str(name);
                self.text.push('>');
                self.rest = &after[name.len() + 2..];
                Ok(())
            }
            Some(_) | None => Err(PatternError("this group is not supported in a pattern".to_owned())),
        }
    }

    fn escape(&mut self) -> Result<(), PatternError> {
        let Some(c) = self.next() else {
            return Err(PatternError("a pattern must not end with `\\`".to_owned()));
        };
        match c {
            'd' => self.text.push_str("[0-9]"),
            'D' => self.text.push_str("[^0-9]"),
            'w' => self.text.push_str("[0-9A-Za-z_]"),
            'W' => self.text.push_str("[^0-9A-Za-z_]"),
            's' => self.set(BLANKS, ""),
            'S' => self.set(BLANKS, "^"),
            'b' => self.text.push_str(r"(?-u:\b)"),
            // The engine's `\B` without Unicode could split a character, so it counts all letters as letters.
            'B' => self.text.push_str(r"\B"),
            'k' => return Err(PatternError("back-references in a pattern are not supported".to_owned())),
            '1'..='9' => {
                return Err(PatternError("back-references in a pattern are not supported".to_owned()));
            }
            'p' | 'P' => self.property(c),
            other => {
                let c = self.character(other)?;
                self.push_character(c);
            }
        }
        Ok(())
    }

    fn set(&mut self, members: &str, sign: &str) {
        self.text.push('[');
        self.text.push_str(sign);
        self.text.push_str(members);
        self.text.push(']');
    }

    fn property(&mut self, c: char) {
        self.text.push('\\');
        self.text.push(c);
        if let Some(end) = self.rest.find('}').filter(|_| self.rest.starts_with('{')) {
            self.text.push_str(&self.rest[..=end]);
            self.rest = &self.rest[end + 1..];
        }
    }

    fn push_character(&mut self, c: char) {
        self.text.push_str(&format!("\\x{{{:x}}}", u32::from(c)));
    }

    /// The character that an escape denotes.
    fn character(&mut self, c: char) -> Result<char, PatternError> {
        Ok(match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '0' => '\0',
            'x' => self.hex(2).unwrap_or('x'),
            'u' if self.rest.starts_with('{') => {
                let end = self.rest.find('}').unwrap_or(0);
                let value = u32::from_str_radix(self.rest.get(1..end).unwrap_or(""), 16)
                    .ok()
                    .and_then(char::from_u32);
                self.rest = &self.rest[(end + 1).min(self.rest.len())..];
                value.ok_or_else(|| PatternError("this escape is not complete".to_owned()))?
            }
            'u' => self.hex(4).unwrap_or('u'),
            'c' => match self.rest.chars().next().filter(char::is_ascii_alphabetic) {
                Some(letter) => {
                    self.next();
                    char::from_u32(u32::from(letter) % 32).unwrap_or('\0')
                }
                None => 'c',
            },
            other => other,
        })
    }

    fn hex(&mut self, length: usize) -> Option<char> {
        let digits =
            self.rest.get(..length).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        let value = u32::from_str_radix(digits, 16).ok()?;
        self.rest = &self.rest[length..];
        // Half a surrogate pair matches nothing, because texts hold whole characters.
        Some(char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn class(&mut self) -> Result<(), PatternError> {
        let negated = self.rest.starts_with('^');
        if negated {
            self.next();
        }
        if self.rest.starts_with(']') {
            self.next();
            self.text.push_str(if negated { "(?s:.)" } else { "[^\\x{0}-\\x{10ffff}]" });
            return Ok(());
        }
        self.text.push_str(if negated { "[^" } else { "[" });
        loop {
            let Some(c) = self.next() else {
                return Err(PatternError("a class in a pattern is never closed".to_owned()));
            };
            match c {
                ']' => break,
                '\\' => self.class_escape()?,
                '-' => {
                    // A dash between two characters makes a range; at an edge it is literal.
                    let edge = self.text.ends_with('[')
                        || self.text.ends_with("[^")
                        || self.rest.starts_with(']')
                        || self.after_set();
                    self.text.push_str(if edge { r"\-" } else { "-" });
                }
                c => self.push_character(c),
            }
        }
        self.text.push(']');
        Ok(())
    }

    /// Whether the class so far ends with a set like `\d`, after which a dash is literal.
    fn after_set(&self) -> bool {
        self.text.ends_with("0-9")
            || self.text.ends_with("A-Za-z_")
            || self.text.ends_with(r"\u{feff}")
            || ["\\d", "\\w", "\\s"].iter().any(|set| self.rest.starts_with(set))
    }

    fn class_escape(&mut self) -> Result<(), PatternError> {
        let Some(c) = self.next() else {
            return Err(PatternError("a class in a pattern is never closed".to_owned()));
        };
        match c {
            'd' => self.text.push_str("0-9"),
            'w' => self.text.push_str("0-9A-Za-z_"),
            's' => self.text.push_str(BLANKS),
            'D' => self.text.push_str("[^0-9]"),
            'W' => self.text.push_str("[^0-9A-Za-z_]"),
            'S' => self.set(BLANKS, "^"),
            'b' => self.push_character('\u{8}'),
            'p' | 'P' => self.property(c),
            other => {
                let c = self.character(other)?;
                self.push_character(c);
            }
        }
        Ok(())
    }
}
