//! What a run's commands printed: from the files that it was streamed to, or else from the journal.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use escrow_model::{Answer, Entry};
use serde_json::Value;

use crate::timeline::{CheckScope, RunStart, Timeline, What};

/// The names of both streams.
pub const STREAMS: [&str; 2] = ["stdout", "stderr"];

/// What one attempt printed.
#[derive(Debug)]
pub struct Printed<'e> {
    pub of: CheckScope<'e>,
    pub attempt: u32,
    answer: &'e Answer,
    /// The files of an imported run are here, not where they were when it ran.
    spool: PathBuf,
}

/// Every attempt that was answered, in order.
pub fn printed<'e>(entries: &'e [Entry], spool: &Path) -> Vec<Printed<'e>> {
    let Some(start) = RunStart::of(entries) else { return Vec::new() };
    let items = Timeline::new(start.plan).read(entries).into_iter();
    let attempts = items.filter_map(|item| match item.what {
        What::AttemptAnswered { of, attempt, answer, .. } => {
            Some(Printed { of, attempt, answer, spool: spool.to_owned() })
        }
        _ => None,
    });
    attempts.collect()
}

impl Printed<'_> {
    pub fn has(&self, stream: &str) -> bool {
        self.answer.record.contains_key(&format!("{stream}_file")) || !self.text(stream).is_empty()
    }

    /// The file that has all of it.
    pub fn file(&self, stream: &str) -> Option<File> {
        let path = self.answer.record.get(&format!("{stream}_file")).and_then(Value::as_str)?;
        let here = Path::new(path).file_name().map(|name| self.spool.join(name));
        File::open(path).ok().or_else(|| File::open(here?).ok())
    }

    /// As far as the journal has it.
    pub fn text(&self, stream: &str) -> String {
        match stream {
            "stderr" => {
                self.answer.record.get("stderr").and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            _ => match (self.answer.record.get("stdout").and_then(Value::as_str), &self.answer.output) {
                (Some(printed), _) => printed.to_owned(),
                (None, Value::Null) => String::new(),
                (None, Value::String(text)) => text.clone(),
                (None, other) => other.to_string(),
            },
        }
    }

    /// The end of a stream, and whether something stands before it.
    pub fn end(&self, stream: &str, bytes_max: u64) -> io::Result<(String, bool)> {
        match self.file(stream) {
            Some(file) => end_of(file, bytes_max),
            None => Ok((self.text(stream), self.answer.record.get("truncated") == Some(&Value::Bool(true)))),
        }
    }
}

fn end_of(mut file: File, bytes_max: u64) -> io::Result<(String, bool)> {
    let before = file.metadata()?.len().saturating_sub(bytes_max);
    file.seek(SeekFrom::Start(before))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), before > 0))
}
