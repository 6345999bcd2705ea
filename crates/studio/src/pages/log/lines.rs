//! The lines of an attempt: those of stdout, then those of stderr, each stream counted from 1.
//!
//! A line keeps its number while the attempt runs and ever after, so that a link to it stays right.

use escrow_app::logs::{Printed, STREAMS};
use escrow_app::words;
use maud::{Markup, html};

use crate::layout::anchor;

/// One line that was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'t> {
    pub(crate) stream: &'static str,
    pub(crate) number: usize,
    pub(crate) text: &'t str,
}

/// The end of both streams, as far as it was read.
pub(crate) struct LogText {
    /// One for each of [`STREAMS`].
    streams: Vec<StreamText>,
}

struct StreamText {
    stream: &'static str,
    text: String,
    /// Lines that stand before the text and were not read.
    before: usize,
    is_cut: bool,
}

impl LogText {
    pub(crate) fn read(printed: &Printed<'_>, bytes_max: u64) -> LogText {
        let streams = STREAMS.into_iter().map(|stream| {
            // A file that is gone has no lines; the page says how many there are.
            let (mut text, is_cut) = printed.end(stream, bytes_max).unwrap_or_default();
            let mut before = 0;
            if is_cut {
                before = printed.lines_before(stream, bytes_max).unwrap_or(0);
                // The first line was cut, too.
                if let Some(end) = text.find('\n') {
                    text.drain(..=end);
                    before += 1;
                }
            }
            StreamText { stream, text, before, is_cut }
        });
        LogText { streams: streams.collect() }
    }

    /// Every line, in order.
    pub(crate) fn lines(&self) -> Vec<Line<'_>> {
        let mut all = Vec::new();
        for one in &self.streams {
            let lines = one.text.lines().enumerate();
            all.extend(lines.map(|(place, text)| Line {
                stream: one.stream,
                number: one.before + place + 1,
                text,
            }));
        }
        all
    }

    /// Whether the beginning of a stream was too far away to be read.
    pub(crate) fn is_cut(&self) -> bool {
        self.streams.iter().any(|one| one.is_cut)
    }

    /// The number of the last whole line of each stream. A line without its end may still grow.
    pub(crate) fn whole_lines(&self) -> [usize; 2] {
        let mut counts = [0, 0];
        for (count, one) in counts.iter_mut().zip(&self.streams) {
            *count = one.before + one.text.bytes().filter(|byte| *byte == b'\n').count();
        }
        counts
    }
}

/// The name of a line in addresses: `L7` of stdout, `E7` of stderr.
pub(crate) fn name(line: &Line<'_>) -> String {
    format!("{}{}", if line.stream == "stderr" { "E" } else { "L" }, line.number)
}

/// The place of a line among all, by its name.
pub(crate) fn find(lines: &[Line<'_>], wanted: &str) -> Option<usize> {
    lines.iter().position(|line| name(line) == wanted)
}

/// Lines with permalinks. `address` is that of the log, with the attempt; the line that it asks for is marked.
pub(crate) fn list(
    check: &str,
    attempt: u32,
    address: &str,
    lines: &[Line<'_>],
    asked: Option<&str>,
) -> Markup {
    let prefix = anchor("", check);
    let prefix = prefix.trim_start_matches('-');
    html! {
        ol {
            @for line in lines {
                @let name = name(line);
                @let id = format!("{prefix}-{attempt}-{name}");
                li id=(id) class=[class(line, asked == Some(name.as_str()))] { a href={ (address) "&line=" (name) "#" (id) } aria-label={ "Line " (name) } { (line.number) } span.s { (line.stream) } span { (words::visible(line.text)) } }
            }
        }
    }
}

fn class(line: &Line<'_>, is_asked: bool) -> Option<&'static str> {
    match (is_alarming(line.text), is_asked) {
        (true, true) => Some("e at"),
        (true, false) => Some("e"),
        (false, true) => Some("at"),
        (false, false) => None,
    }
}

/// Whether a line looks like the one to blame.
fn is_alarming(text: &str) -> bool {
    let start = text.trim_start();
    ["error", "fatal", "panicked", "traceback", "failed"]
        .iter()
        .any(|word| start.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)))
}
