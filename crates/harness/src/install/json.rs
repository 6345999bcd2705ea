//! Reads JSON, with comments and trailing commas, and remembers where each value is.

use std::fmt;

/// Deeper files are refused, not recursed into.
const DEPTH_MAX: usize = 128;

/// Why a file is not touched, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub place: Option<LineColumn>,
    pub message: String,
    pub help: &'static str,
}

/// A place in a text, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineColumn {
    pub line: usize,
    pub column: usize,
}

impl LineColumn {
    pub(super) fn of(text: &str, at: usize) -> LineColumn {
        let before = &text.as_bytes()[..at.min(text.len())];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |found| found + 1);
        let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
        LineColumn { line: before.iter().filter(|byte| **byte == b'\n').count() + 1, column }
    }
}

impl Problem {
    pub(super) fn at(text: &str, at: usize, message: impl Into<String>, help: &'static str) -> Problem {
        Problem { place: Some(LineColumn::of(text, at)), message: message.into(), help }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(LineColumn { line, column }) = self.place {
            write!(formatter, "{line}:{column}: ")?;
        }
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

const REPAIR: &str = "repair the file, then call the command again; Escrow has not changed it";

/// A value and its place: `start` at its first byte, `end` behind its last.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) value: Tree,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tree {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Text(String),
    /// A number, `true`, `false` or `null`.
    Word,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    /// Where the key begins.
    pub(super) start: usize,
    pub(super) key: String,
    pub(super) node: Node,
}

impl Node {
    pub(super) fn members(&self) -> Option<&[Member]> {
        match &self.value {
            Tree::Object(members) => Some(members),
            Tree::Array(_) | Tree::Text(_) | Tree::Word => None,
        }
    }

    pub(super) fn elements(&self) -> Option<&[Node]> {
        match &self.value {
            Tree::Array(elements) => Some(elements),
            Tree::Object(_) | Tree::Text(_) | Tree::Word => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Tree::Text(text) => Some(text),
            Tree::Object(_) | Tree::Array(_) | Tree::Word => None,
        }
    }

    pub(super) fn member(&self, key: &str) -> Option<&Node> {
        self.members()?.iter().find(|member| member.key == key).map(|member| &member.node)
    }
}

/// The document, or the first thing that is wrong.
pub(super) fn parse(text: &str) -> Result<Node, Problem> {
    let mut reader = Reader { text, at: if text.starts_with('\u{feff}') { 3 } else { 0 }, depth: 0 };
    reader.space()?;
    let node = reader.value()?;
    reader.space()?;
    if reader.at < text.len() {
        return Err(reader.wrong("expected the end of the file"));
    }
    Ok(node)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn wrong(&self, message: impl Into<String>) -> Problem {
        Problem::at(self.text, self.at, message, REPAIR)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    /// White space and comments.
    fn space(&mut self) -> Result<(), Problem> {
        loop {
            let rest = &self.text[self.at..];
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    return Err(self.wrong("the comment does not end"));
                };
                self.at += end + 4;
            } else if matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
                self.at += 1;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self) -> Result<Node, Problem> {
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::array)?,
            Some(b'"') => Tree::Text(self.string()?),
            Some(_) => self.word()?,
            None => return Err(self.wrong("the file ends where a value is expected")),
        };
        Ok(Node { start, end: self.at, value })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Tree, Problem>) -> Result<Tree, Problem> {
        if self.depth == DEPTH_MAX {
            return Err(self.wrong("the file is nested too deeply"));
        }
        self.depth += 1;
        self.at += 1;
        let tree = read(self)?;
        self.depth -= 1;
        Ok(tree)
    }

    fn object(&mut self) -> Result<Tree, Problem> {
        let mut members: Vec<Member> = Vec::new();
        loop {
            self.space()?;
            if self.takes(b'}') {
                return Ok(Tree::Object(members));
            }
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.wrong("expected a key in double quotes, or `}`"));
            }
            let key = self.string()?;
            if members.iter().any(|member| member.key == key) {
                self.at = start;
                return Err(self.wrong(format!("the key `{key}` is there twice")));
            }
            self.space()?;
            if !self.takes(b':') {
                return Err(self.wrong("expected `:`"));
            }
            self.space()?;
            let node = self.value()?;
            members.push(Member { start, key, node });
            self.space()?;
            if !self.takes(b',') && self.peek() != Some(b'}') {
                return Err(self.wrong("expected `,` or `}`"));
            }
        }
    }

    fn array(&mut self) -> Result<Tree, Problem> {
        let mut elements = Vec::new();
        loop {
            self.space()?;
            if self.takes(b']') {
                return Ok(Tree::Array(elements));
            }
            elements.push(self.value()?);
            self.space()?;
            if !self.takes(b',') && self.peek() != Some(b']') {
                return Err(self.wrong("expected `,` or `]`"));
            }
        }
    }

    fn string(&mut self) -> Result<String, Problem> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break self.at += 1,
                Some(b'\\') => self.at += 2,
                Some(b'\n') | None => {
                    self.at = start;
                    return Err(self.wrong("the text does not end"));
                }
                Some(_) => self.at += 1,
            }
        }
        let read = self.text.get(start..self.at).and_then(|quoted| serde_json::from_str(quoted).ok());
        read.ok_or_else(|| {
            self.at = start;
            self.wrong("the text has an invalid escape or a control character")
        })
    }

    fn word(&mut self) -> Result<Tree, Problem> {
        let start = self.at;
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        while self.peek().is_some_and(is_part) {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        if serde_json::from_str::<serde_json::Value>(word).is_ok() {
            return Ok(Tree::Word);
        }
        self.at = start;
        Err(self.wrong("expected a value"))
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, problem) in [
            ("", "1:1: the file ends where a value is expected"),
            ("{\n  \"a\": 1\n  \"b\": 2\n}", "3:3: expected `,` or `}`"),
            ("{\"a\": [1, 2", "1:12: expected `,` or `]`"),
            ("{a: 1}", "1:2: expected a key in double quotes, or `}`"),
            ("{\"a\": tru}", "1:7: expected a value"),
            ("{\"a\": \"x}", "1:7: the text does not end"),
            ("{\"a\": \"x\\", "1:7: the text does not end"),
            ("{\"a\": 1, \"a\": 2}", "1:10: the key `a` is there twice"),
            ("{} {}", "1:4: expected the end of the file"),
            ("{} /* x", "1:4: the comment does not end"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), problem, "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).unwrap_err().to_string().contains("too deeply"));
        assert!(parse("\u{feff}// x\n{\"a\": [1,], /* y */ \"b\": {\"c\": null,},}\n").is_ok());
    }
}
