//! Where logs are printed to. A pipe gets every byte; a terminal is shown what would drive it.

use std::io::{self, Write};

use escrow_model::is_harmless;

/// What becomes of control characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    /// Bytes pass as they are.
    Sent,
    /// Control characters, and bytes that are not UTF-8, are written out: `\u{1b}[31m`, `\xff`.
    Shown,
}

pub(super) struct Page<W> {
    out: W,
    control: Control,
    /// The beginning of a character whose other bytes have not come yet.
    torn: Vec<u8>,
    ends_line: bool,
}

impl<W: Write> Page<W> {
    pub(super) fn new(out: W, control: Control) -> Page<W> {
        Page { out, control, torn: Vec::new(), ends_line: true }
    }

    /// Ends a line that was left open.
    pub(super) fn begin_line(&mut self) -> io::Result<()> {
        if self.ends_line { Ok(()) } else { self.write_all(b"\n") }
    }

    fn show(&mut self, bytes: &[u8]) -> io::Result<()> {
        let joined = [std::mem::take(&mut self.torn).as_slice(), bytes].concat();
        let mut shown = String::with_capacity(joined.len());
        for piece in joined.utf8_chunks() {
            shown.extend(piece.valid().chars().map(|c| match c {
                '\n' | '\t' => c.to_string(),
                c if is_harmless(c) => c.to_string(),
                c => c.escape_default().to_string(),
            }));
            let is_last = std::ptr::eq(piece.invalid().as_ptr_range().end, joined.as_ptr_range().end);
            if is_last && is_torn(piece.invalid()) {
                self.torn = piece.invalid().to_vec();
            } else {
                piece.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02x}")));
            }
        }
        self.out.write_all(shown.as_bytes())
    }
}

/// Whether more bytes could complete the character.
fn is_torn(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

impl<W: Write> Write for Page<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.control {
            Control::Sent => self.out.write_all(bytes)?,
            Control::Shown => self.show(bytes)?,
        }
        if let Some(last) = bytes.last() {
            self.ends_line = *last == b'\n';
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        for byte in std::mem::take(&mut self.torn) {
            write!(self.out, "\\x{byte:02x}")?;
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[&[u8]], control: Control) -> Vec<u8> {
        let mut out = Vec::new();
        let mut page = Page::new(&mut out, control);
        for piece in pieces {
            page.write_all(piece).expect("memory takes everything");
        }
        page.flush().expect("memory takes everything");
        out
    }

    #[test]
    fn a_terminal_is_shown_what_would_drive_it() {
        let pieces: &[&[u8]] = &[b"a\x1b[31mred\x07\r\n\tb", "\u{202e}é\u{200b}".as_bytes(), b"\xff\0"];
        let text = String::from_utf8(shown(pieces, Control::Shown)).expect("it is text");
        assert_eq!(text, "a\\u{1b}[31mred\\u{7}\\r\n\tb\\u{202e}é\\u{200b}\\xff\\u{0}");
    }

    #[test]
    fn a_character_that_comes_in_pieces_is_shown_whole() {
        let snowman = "☃".as_bytes();
        assert_eq!(shown(&[b"a", &snowman[..1], &snowman[1..]], Control::Shown), "a☃".as_bytes());
        assert_eq!(shown(&[&snowman[..2]], Control::Shown), b"\\xe2\\x98");
    }

    #[test]
    fn a_pipe_gets_every_byte() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(shown(&[&all], Control::Sent), all);
    }
}
