//! How wide the terminal is, and text that fits it.

use std::io;

/// Columns and rows of the terminal that stderr is, if it is one.
pub(super) fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then(|| (usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// How wide lines on stderr may be.
pub(crate) fn terminal_columns() -> Option<usize> {
    size().map(|(columns, _)| columns)
}

/// How wide lines on stdout may be, if it is a terminal.
pub(super) fn page_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// A heading on stdout, no wider than the terminal that stdout is.
pub(crate) fn heading(line: &str) -> String {
    fit(line, page_columns())
}

/// The line, shortened with `…` where it is wider than the terminal.
pub(super) fn fit(line: &str, columns: Option<usize>) -> String {
    match columns {
        Some(columns) if width(line) > columns => format!("{}…", cut(line, columns.saturating_sub(1))),
        Some(_) | None => line.to_owned(),
    }
}

/// How many columns a text takes.
pub(super) fn width(text: &str) -> usize {
    let mut columns = 0;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\x1b' {
            characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            columns += cells(character);
        }
    }
    columns
}

/// The text, cut to so many columns. Escape sequences take no room and are all kept, so that colours end.
pub(super) fn cut(text: &str, columns: usize) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut used = 0;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\x1b' {
            kept.push(character);
            for part in characters.by_ref() {
                kept.push(part);
                if part.is_ascii_alphabetic() {
                    break;
                }
            }
            continue;
        }
        used += cells(character);
        if used <= columns {
            kept.push(character);
        }
    }
    kept
}

/// Two for the wide characters of East Asian scripts and for emoji, none for combining marks.
fn cells(character: char) -> usize {
    match character {
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_what_is_seen() {
        assert_eq!(cut("abcdef", 3), "abc");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("\x1b[32mabc\x1b[0mdef", 2), "\x1b[32mab\x1b[0m");
        assert_eq!(cut("日本語", 5), "日本");
        assert_eq!(cut("e\u{301}x", 1), "e\u{301}");
        assert_eq!(cut("", 0), "");
        assert_eq!(width("\x1b[32mab\x1b[0m日"), 4);
        assert_eq!(fit("abcdef", Some(4)), "abc…");
        assert_eq!(fit("abcd", Some(4)), "abcd");
        assert_eq!(fit("abcdef", None), "abcdef");
    }
}
