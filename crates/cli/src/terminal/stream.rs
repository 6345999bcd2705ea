//! The output of commands as it comes, in whole lines, each behind the check that printed it.

use std::collections::BTreeMap;

use escrow_model::{is_harmless, rfc3339};
use escrow_runtime::now_ms;
use escrow_runtime::process::Stream;

use super::paint::Paint;

/// A line that does not end is shown in pieces of this size.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// Collects pieces of output and gives out lines.
#[derive(Default)]
pub(crate) struct OutputLines {
    /// What has no end of line yet, by the label of its check.
    open: BTreeMap<(String, Stream), Vec<u8>>,
    pub(crate) timestamps: bool,
}

impl OutputLines {
    pub(crate) fn new(timestamps: bool) -> OutputLines {
        OutputLines { timestamps, ..OutputLines::default() }
    }

    /// The lines that a piece completes.
    pub(crate) fn take(&mut self, label: &str, stream: Stream, bytes: &[u8], paint: Paint) -> Vec<String> {
        let key = (label.to_owned(), stream);
        let mut pending = self.open.remove(&key).unwrap_or_default();
        pending.extend_from_slice(bytes);
        let mut lines = Vec::new();
        let mut from = 0;
        while let Some(end) = end_of_line(&pending[from..]) {
            lines.push(self.line(label, &pending[from..from + end], paint));
            from += end + usize::from(pending.get(from + end) == Some(&b'\n'));
        }
        pending.drain(..from);
        if !pending.is_empty() {
            self.open.insert(key, pending);
        }
        lines
    }

    /// What a check printed last, without an end of line.
    pub(crate) fn finish(&mut self, label: &str, paint: Paint) -> Vec<String> {
        let mut lines = Vec::new();
        for stream in [Stream::Stdout, Stream::Stderr] {
            if let Some(rest) = self.open.remove(&(label.to_owned(), stream)) {
                lines.push(self.line(label, &rest, paint));
            }
        }
        lines
    }

    fn line(&self, label: &str, bytes: &[u8], paint: Paint) -> String {
        let text = String::from_utf8_lossy(bytes);
        // What a command prints must not drive the reader's terminal.
        let text: String = text.chars().filter(|c| is_harmless(*c) || *c == '\t').collect();
        let time = if self.timestamps { format!("{} ", rfc3339(now_ms())) } else { String::new() };
        format!("{}{} {text}", paint.dim(&time), paint.cyan(&format!("{label} |"))).trim_end().to_owned()
    }
}

/// Where the first line ends, if it does.
fn end_of_line(bytes: &[u8]) -> Option<usize> {
    let newline = bytes.iter().take(LINE_BYTES_MAX).position(|byte| *byte == b'\n');
    newline.or((bytes.len() > LINE_BYTES_MAX).then_some(LINE_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Paint {
        Paint::for_terminal(false)
    }

    #[test]
    fn pieces_become_lines_behind_their_check() {
        let mut lines = OutputLines::new(false);
        assert!(lines.take("build", Stream::Stdout, b"compi", plain()).is_empty());
        assert_eq!(lines.take("test", Stream::Stdout, b"ok\n", plain()), ["test | ok"]);
        assert_eq!(
            lines.take("build", Stream::Stdout, b"ling\n\nlin", plain()),
            ["build | compiling", "build |"]
        );
        assert_eq!(lines.finish("build", plain()), ["build | lin"]);
        assert!(lines.finish("build", plain()).is_empty());
    }

    #[test]
    fn the_two_streams_do_not_mix_within_a_line() {
        let mut lines = OutputLines::new(false);
        assert!(lines.take("a", Stream::Stdout, b"out", plain()).is_empty());
        assert_eq!(lines.take("a", Stream::Stderr, b"err\n", plain()), ["a | err"]);
        assert_eq!(lines.take("a", Stream::Stdout, b"put\n", plain()), ["a | output"]);
    }

    #[test]
    fn control_sequences_are_not_sent() {
        let mut lines = OutputLines::new(false);
        assert_eq!(lines.take("a", Stream::Stdout, b"\x1b[2Jred\x07\n", plain()), ["a | [2Jred"]);
    }

    #[test]
    fn a_line_without_end_is_given_out_in_pieces() {
        let mut lines = OutputLines::new(false);
        let given = lines.take("a", Stream::Stdout, &vec![b'x'; 3 * LINE_BYTES_MAX], plain());
        assert_eq!(given.len(), 2);
        assert_eq!(lines.finish("a", plain()).len(), 1);
    }
}
