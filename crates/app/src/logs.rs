//! What a run's commands printed: from the files that it was streamed to, or else from the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use escrow_engine::Run;
use escrow_model::{Answer, Entry, ScopePath, ScopedCheck};
use escrow_runtime::spool_label;
use serde_json::Value;

use crate::timeline::{CheckScope, RunStart, Timeline, What};

/// The names of both streams.
pub const STREAMS: [&str; 2] = ["stdout", "stderr"];

/// Lines are counted within so many bytes.
const COUNTED_BYTES_MAX: u64 = 256 << 20;

/// What one attempt printed.
#[derive(Debug)]
pub struct Printed<'e> {
    pub of: CheckScope<'e>,
    pub attempt: u32,
    /// `None` while the attempt runs: what it has printed so far is in its files.
    answer: Option<&'e Answer>,
    /// The files of an imported run are here, not where they were when it ran.
    spool: PathBuf,
}

/// Every attempt that was answered, in order.
pub fn printed<'e>(entries: &'e [Entry], spool: &Path) -> Vec<Printed<'e>> {
    let Some(start) = RunStart::of(entries) else { return Vec::new() };
    let items = Timeline::new(start.plan).read(entries).into_iter();
    let attempts = items.filter_map(|item| match item.what {
        What::AttemptAnswered { of, attempt, answer, .. } => {
            Some(Printed { of, attempt, answer: Some(answer), spool: spool.to_owned() })
        }
        _ => None,
    });
    attempts.collect()
}

/// The attempts for the value that an item has now, each with the scope that it had then. When its list was computed again,
/// another value may have stood at this place, and this one at another.
pub fn attempts_of_item(entries: &[Entry], run: &Run, name: &str) -> BTreeSet<(ScopePath, u32)> {
    let Some(check) = name.split('[').next().and_then(|check| run.plan_of().find(check)) else {
        return BTreeSet::new();
    };
    let now: BTreeMap<&ScopePath, Option<&Value>> =
        run.item_reports(check).map(|item| (item.scope, item.value)).collect();
    let check = &run.plan_of().check(check).name;
    let Some((place, value)) = now.iter().find(|(scope, _)| format!("{check}{scope}") == name) else {
        return BTreeSet::new();
    };
    let items = Timeline::new(run.plan_of()).read(entries).into_iter();
    let of_value: Vec<(&ScopePath, u32)> = items
        .filter_map(|item| match item.what {
            What::AttemptStarted { of, attempt, item, .. } if of.check == check && item == *value => {
                Some((of.scope, attempt))
            }
            _ => None,
        })
        .collect();
    let is_left = |scope: &ScopePath| now.get(scope).is_none_or(|other| other != value);
    let here = of_value.iter().any(|(scope, _)| scope == place);
    let last = of_value.iter().map(|(scope, _)| *scope).rfind(|scope| is_left(scope));
    let wanted = if here { Some(*place) } else { last };
    let attempts = of_value.into_iter().filter(|(scope, _)| Some(*scope) == wanted);
    attempts.map(|(scope, attempt)| (scope.clone(), attempt)).collect()
}

/// Every attempt that has begun and is not answered. In the journal of a run that no process drives, those were cut off.
pub fn running<'e>(entries: &'e [Entry], spool: &Path) -> Vec<Printed<'e>> {
    let Some(start) = RunStart::of(entries) else { return Vec::new() };
    let mut open: BTreeMap<ScopedCheck, Printed<'e>> = BTreeMap::new();
    for item in Timeline::new(start.plan).read(entries) {
        match item.what {
            What::AttemptStarted { of, attempt, .. } => {
                let key = of.scoped_check();
                open.insert(key, Printed { of, attempt, answer: None, spool: spool.to_owned() });
            }
            What::AttemptAnswered { of, .. } => drop(open.remove(&of.scoped_check())),
            _ => {}
        }
    }
    open.into_values().collect()
}

impl Printed<'_> {
    pub fn is_running(&self) -> bool {
        self.answer.is_none()
    }

    /// A member of the record of the attempt.
    pub fn record(&self, name: &str) -> Option<&Value> {
        self.answer?.record.get(name)
    }

    pub fn has(&self, stream: &str) -> bool {
        self.record(&format!("{stream}_file")).is_some()
            || !self.text(stream).is_empty()
            || self.streamed(stream).is_some_and(|file| file.metadata().is_ok_and(|file| file.len() > 0))
    }

    /// The file that has all of it.
    pub fn file(&self, stream: &str) -> Option<File> {
        let Some(path) = self.record(&format!("{stream}_file")).and_then(Value::as_str) else {
            return self.streamed(stream);
        };
        let here = Path::new(path).file_name().map(|name| self.spool.join(name));
        File::open(path).ok().or_else(|| File::open(here?).ok())
    }

    /// The file that a running attempt is streamed to. It stays when Escrow is killed: the answer that a resumed run
    /// records for such an attempt knows nothing of it.
    fn streamed(&self, stream: &str) -> Option<File> {
        let label = spool_label(self.of.check, self.of.scope, self.attempt);
        File::open(self.spool.join(format!("{label}.{stream}"))).ok()
    }

    /// As far as the journal has it.
    pub fn text(&self, stream: &str) -> String {
        let Some(answer) = self.answer else { return String::new() };
        match stream {
            "stderr" => answer.record.get("stderr").and_then(Value::as_str).unwrap_or_default().to_owned(),
            _ => match (answer.record.get("stdout").and_then(Value::as_str), &answer.output) {
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
            None => Ok((self.text(stream), self.record("truncated") == Some(&Value::Bool(true)))),
        }
    }
}

impl Printed<'_> {
    /// How many lines of a stream stand before the end that [`end`](Self::end) gives; `None` where they are too many to
    /// count.
    pub fn lines_before(&self, stream: &str, bytes_max: u64) -> Option<usize> {
        let Some(file) = self.file(stream) else { return Some(0) };
        let before = file.metadata().ok()?.len().saturating_sub(bytes_max);
        if before > COUNTED_BYTES_MAX {
            return None;
        }
        let mut lines = 0;
        let mut reader = BufReader::with_capacity(1 << 16, file.take(before));
        loop {
            let piece = reader.fill_buf().ok()?;
            if piece.is_empty() {
                return Some(lines);
            }
            lines += piece.iter().filter(|byte| **byte == b'\n').count();
            let read = piece.len();
            reader.consume(read);
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
