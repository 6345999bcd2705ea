//! The two output streams: data on stdout, messages for people on stderr.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, OnceLock};

use escrow_app::Error;
use escrow_model::{is_harmless, is_visible};
use serde_json::Value;

use super::paint::Paint;
use super::width::terminal_columns;
use crate::arguments::{Output, Shared};

#[derive(Clone, Debug)]
pub(crate) struct Ui {
    output: Output,
    quiet: bool,
    /// How stderr is painted.
    pub(crate) paint: Paint,
    /// How stdout is painted.
    pub(crate) page: Paint,
    /// Whether stderr is a terminal on which lines may be redrawn.
    pub(crate) redraws: bool,
    /// How the output of commands is shown while they run.
    pub(crate) streaming: Streaming,
    /// Why an answer could not be written.
    unwritten: Arc<OnceLock<String>>,
}

/// How the output of commands is shown while they run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Streaming {
    /// Line by line, as it comes.
    pub(crate) lines: bool,
    /// Each line with its time.
    pub(crate) timestamps: bool,
    /// The output of every check when it has finished, not only of those that failed.
    pub(crate) finished: bool,
}

impl Ui {
    pub(crate) fn new(shared: &Shared) -> Ui {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let terminal = io::stderr().is_terminal() && !dumb;
        Ui {
            output: shared.output,
            quiet: shared.quiet,
            paint: Paint::for_terminal(terminal),
            page: Paint::for_terminal(io::stdout().is_terminal() && !dumb),
            redraws: terminal && std::env::var_os("CI").is_none(),
            streaming: Streaming::default(),
            unwritten: Arc::default(),
        }
    }

    /// The same with the output of commands shown while they run.
    pub(crate) fn streaming(&self, streaming: Streaming) -> Ui {
        Ui { streaming, ..self.clone() }
    }

    /// Whether this looks like a CI job: its log is read while it grows, and by machines.
    pub(crate) fn is_ci_log(&self) -> bool {
        std::env::var_os("CI").is_some_and(|ci| !ci.is_empty()) && !io::stderr().is_terminal()
    }

    pub(crate) fn output(&self) -> Output {
        self.output
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// A line for people. A reader that has gone away is no reason to stop working.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            self.say_even_when_quiet(text);
        }
    }

    /// What an error consists of, such as the lines that are wrong.
    pub(crate) fn say_even_when_quiet(&self, text: &str) {
        drop(writeln!(io::stderr().lock(), "{text}"));
    }

    /// For what takes a while to find out.
    pub(crate) fn say_lazily(&self, text: impl FnOnce() -> String) {
        if !self.quiet {
            self.say(&text());
        }
    }

    /// Errors are told even when quiet.
    pub(crate) fn error(&self, message: &str, help: Option<&str>) {
        let mut stderr = io::stderr().lock();
        drop(writeln!(stderr, "{}: {}", self.paint.red("error"), harmless(message)));
        if let Some(help) = help {
            drop(writeln!(stderr, "  {} {}", self.paint.dim("help:"), harmless(help)));
        }
    }

    /// Why a verb could not do its work: on stderr for people, and on stdout as well when the output is JSON.
    pub(crate) fn failed(&self, error: &Error) {
        if let Some(diagnosed) = error.diagnoses() {
            let rendered = diagnosed.rendered(terminal_columns(), self.paint.is_coloured());
            self.say_even_when_quiet(rendered.trim_end());
        }
        self.error(&error.to_string(), error.hint());
        self.data_if_machine(&error.document());
    }

    /// A document on stdout. False when the reader has closed the pipe.
    pub(crate) fn data(&self, document: &Value) -> bool {
        let mut stdout = io::stdout().lock();
        let text = match self.output {
            Output::Json => serde_json::to_string_pretty(document),
            Output::Human | Output::Jsonl => serde_json::to_string(document),
        };
        let text = text.map(escaped_json);
        self.is_answered(text.map_err(io::Error::from).and_then(|text| writeln!(stdout, "{text}")))
    }

    pub(crate) fn data_if_machine(&self, document: &Value) {
        if self.output != Output::Human {
            self.data(document);
        }
    }

    /// Text for people that is the answer itself.
    pub(crate) fn page(&self, text: &str) {
        self.is_written(writeln!(io::stdout().lock(), "{}", text.trim_end()));
    }

    /// Whether an answer was written. A reader that has gone away is one thing, a full disk another: that is kept.
    pub(crate) fn is_written(&self, written: io::Result<()>) -> bool {
        match written {
            Ok(()) => true,
            Err(error) => {
                if error.kind() != io::ErrorKind::BrokenPipe {
                    // The first reason is the one to tell.
                    let _ = self.unwritten.set(error.to_string());
                }
                false
            }
        }
    }

    /// Whether an answer for a machine was written. A machine that has gone away did not get it, so that is kept too.
    pub(crate) fn is_answered(&self, written: io::Result<()>) -> bool {
        match written {
            Ok(()) => true,
            Err(error) => {
                let _ = self.unwritten.set(error.to_string());
                false
            }
        }
    }

    /// Why an answer could not be written, if one could not.
    pub(crate) fn unwritten(&self) -> Option<&str> {
        self.unwritten.get().map(String::as_str)
    }
}

/// Names of files and the like are quoted in errors; they must not drive the reader's terminal.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().filter(|c| is_harmless(*c) || matches!(c, '\n' | '\t')).collect()
}
/// JSON in which characters that drive a terminal, reorder text or are invisible are escapes: it may be shown on one.
pub(crate) fn escaped_json(text: String) -> String {
    let is_plain = |c: char| c == '\n' || is_visible(c);
    if text.chars().all(is_plain) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_plain(c) {
            escaped.push(c);
        } else {
            // Outside of strings JSON has none of them.
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    escaped
}
