//! Splits a script into text and `{{ }}`. `{#` does not start a comment, because `${#a[@]}` is shell.

use std::ops::Range;

use super::error::{ShellError, ShellErrorKind};
use crate::parse::help_for_liquid;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(Range<usize>),
    Value { outer: Range<usize>, inner: Range<usize> },
}

pub(super) fn split(source: &str) -> Result<Vec<Piece>, ShellError> {
    let mut pieces = Vec::new();
    let mut text = 0;
    let mut at = 0;
    // Behind it no tag is closed, so none is looked for: each would be to the end of the source.
    let last_close = source.rfind("%}").unwrap_or(0);
    while let Some(found) = source[at..].find('{') {
        let open = at + found;
        let rest = &source[open..];
        if rest.starts_with("{{") {
            pieces.push(Piece::Text(text..open));
            let (inner, end) = value(source, open)?;
            pieces.push(Piece::Value { outer: open..end, inner });
            (text, at) = (end, end);
        } else if open < last_close
            && let Some(tag) = tag(rest)
        {
            let error = ShellError::new(ShellErrorKind::Statement, open..open + tag.length);
            if let Some(help) = help_for_liquid(tag.word).filter(|_| !STATEMENTS.contains(&tag.word)) {
                return Err(error.saying(format!("there is no statement `{}`", tag.word)).helping(help));
            }
            if tag.word != "raw" {
                return Err(error);
            }
            let body = open + tag.length;
            let (close, length) = end_of_raw(&source[body..])
                .ok_or_else(|| ShellError::new(ShellErrorKind::Unfinished, open..body))?;
            pieces.push(Piece::Text(text..open));
            pieces.push(Piece::Text(body..body + close));
            text = body + close + length;
            at = text;
        } else {
            at = open + 1;
        }
    }
    pieces.push(Piece::Text(text..source.len()));
    Ok(pieces)
}

/// The expressions, in order.
pub(super) fn insertions(pieces: &[Piece]) -> impl Iterator<Item = Range<usize>> + '_ {
    pieces.iter().filter_map(|piece| match piece {
        Piece::Value { inner, .. } => Some(inner.clone()),
        Piece::Text(_) => None,
    })
}

pub(super) fn text_of(source: &str, pieces: &[Piece]) -> String {
    pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Text(range) => Some(&source[range.clone()]),
            Piece::Value { .. } => None,
        })
        .collect()
}

/// Finds the end of the `{{` at `open`: strings and braces within the expression do not end it.
fn value(source: &str, open: usize) -> Result<(Range<usize>, usize), ShellError> {
    let start = open + 2;
    if source[start..].starts_with(['-', '+']) {
        return Err(ShellError::new(ShellErrorKind::Template, open..start + 1)
            .saying("`{{-` does not trim in a shell script")
            .helping("write `{{ … }}`, with a space behind the braces"));
    }
    let mut braces = 0_usize;
    let mut quote = None;
    let mut chars = source[start..].char_indices();
    while let Some((offset, c)) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => {
                chars.next();
            }
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '{') => braces += 1,
            (None, '}') if braces > 0 => braces -= 1,
            (None, '}') if source[start + offset..].starts_with("}}") => {
                let end = start + offset;
                return Ok((start..end, end + 2));
            }
            (None, _) => {}
        }
    }
    Err(ShellError::new(ShellErrorKind::Unfinished, open..start)
        .helping("close it with `}}`, or write `{{` itself between `{% raw %}` and `{% endraw %}`"))
}

struct Tag<'a> {
    word: &'a str,
    length: usize,
}

const STATEMENTS: &[&str] = &[
    "autoescape",
    "block",
    "call",
    "do",
    "elif",
    "else",
    "endautoescape",
    "endblock",
    "endcall",
    "endfilter",
    "endfor",
    "endif",
    "endmacro",
    "endraw",
    "endset",
    "endwith",
    "extends",
    "filter",
    "for",
    "from",
    "if",
    "import",
    "include",
    "macro",
    "raw",
    "set",
    "with",
];

/// A `{% … %}` with a statement of Jinja or Liquid. `printf '{%s}'` and `date +{%Y}` contain none.
fn tag(rest: &str) -> Option<Tag<'_>> {
    let word = statement(rest)?;
    let close = rest.find("%}")?;
    Some(Tag { word, length: close + 2 })
}

fn statement(rest: &str) -> Option<&str> {
    let inner = rest.strip_prefix("{%")?;
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner).trim_start_matches([' ', '\t', '\n', '\r']);
    let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
    let word = &inner[..end];
    (STATEMENTS.contains(&word) || help_for_liquid(word).is_some()).then_some(word)
}

/// The offset and the length of `{% endraw %}`.
fn end_of_raw(body: &str) -> Option<(usize, usize)> {
    let open =
        body.match_indices("{%").map(|(at, _)| at).find(|at| statement(&body[*at..]) == Some("endraw"))?;
    tag(&body[open..]).map(|tag| (open, tag.length))
}
