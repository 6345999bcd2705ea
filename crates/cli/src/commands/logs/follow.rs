//! `escrow logs --follow`: the output of a run while another process drives it.
//!
//! The journal says which attempts run; their output is read from the files that the driving process writes. A command
//! that prints little has no file: what it printed is in its answer.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use escrow_app::timeline::{RunStart, Timeline, What};
use escrow_app::{App, Error, runs};
use escrow_model::{Answer, RunStatus, ScopedCheck};
use escrow_runtime::process::Stream;
use escrow_runtime::spool_label;
use escrow_store::RunRow;
use serde_json::{Value, json};

use crate::arguments::{LogsArguments, Output};
use crate::exit::Exit;
use crate::terminal::{OutputLines, Ui};

const INTERVAL: Duration = Duration::from_millis(200);
/// How often to look whether the process that drives the run still lives.
const LIVENESS_INTERVAL: Duration = Duration::from_secs(2);
/// How much of a file is read at once.
const PIECE_BYTES_MAX: u64 = 1 << 20;

pub(super) async fn follow(
    arguments: &LogsArguments,
    app: &App,
    mut row: RunRow,
    ui: &Ui,
) -> Result<Exit, Error> {
    let queries = app.queries()?;
    let mut follower = Follower {
        arguments,
        ui,
        spool: app.state().spool(&row.id),
        open: BTreeMap::new(),
        lines: OutputLines::new(false),
    };
    let mut timeline = None;
    let mut next_seq = 0;
    let mut looked = Instant::now();
    loop {
        let entries = queries.entries(&row.id, next_seq).await?;
        next_seq = entries.last().map_or(next_seq, |(seq, _)| seq + 1);
        let entries: Vec<_> = entries.into_iter().map(|(_, entry)| entry).collect();
        if timeline.is_none() {
            timeline = RunStart::of(&entries).map(|start| Timeline::new(start.plan));
        }
        let items = timeline.as_mut().map(|timeline| timeline.read(&entries)).unwrap_or_default();
        let is_read = items.iter().all(|item| follower.take(&item.what)) && follower.read_open();
        row = queries.run(row.id.as_str()).await?;
        // The reader has closed the pipe, or nothing more will come.
        if !is_read || (row.status != RunStatus::Running && entries.is_empty()) {
            return Ok(Exit::Completed);
        }
        if looked.elapsed() >= LIVENESS_INTERVAL {
            looked = Instant::now();
            runs::wait(app, row.id.as_str(), Some(Duration::ZERO)).await?;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

struct Follower<'a> {
    arguments: &'a LogsArguments,
    ui: &'a Ui,
    spool: PathBuf,
    open: BTreeMap<ScopedCheck, OpenAttempt>,
    lines: OutputLines,
}

struct OpenAttempt {
    number: u32,
    /// How much of the two files has been printed.
    printed: [u64; 2],
}

const STREAMS: [Stream; 2] = [Stream::Stdout, Stream::Stderr];

impl Follower<'_> {
    /// False when the reader has closed the pipe.
    fn take(&mut self, what: &What<'_>) -> bool {
        match what {
            What::AttemptStarted { of, attempt, .. } if self.is_wanted(&of.scoped_check()) => {
                self.open.insert(of.scoped_check(), OpenAttempt { number: *attempt, printed: [0, 0] });
                true
            }
            What::AttemptAnswered { of, answer, .. } => self.finish(&of.scoped_check(), answer),
            _ => true,
        }
    }

    fn is_wanted(&self, at: &ScopedCheck) -> bool {
        self.arguments.check.as_ref().is_none_or(|name| *name == at.check || *name == at.to_string())
    }

    /// Prints what has been added to the files of running attempts.
    fn read_open(&mut self) -> bool {
        let places: Vec<ScopedCheck> = self.open.keys().cloned().collect();
        places.iter().all(|at| self.read(at))
    }

    fn read(&mut self, at: &ScopedCheck) -> bool {
        for (place, stream) in STREAMS.into_iter().enumerate() {
            loop {
                let Some(open) = self.open.get(at) else { return true };
                let Some(bytes) = self.piece(at, open.number, stream, open.printed[place]) else { break };
                if bytes.is_empty() {
                    break;
                }
                let number = open.number;
                if let Some(open) = self.open.get_mut(at) {
                    open.printed[place] += bytes.len() as u64;
                }
                if !self.print(at, number, stream, &bytes) {
                    return false;
                }
            }
        }
        true
    }

    fn piece(&self, at: &ScopedCheck, attempt: u32, stream: Stream, from: u64) -> Option<Vec<u8>> {
        let name = format!("{}.{}", spool_label(&at.check, &at.scope, attempt), stream.as_str());
        let mut file = File::open(self.spool.join(name)).ok()?;
        file.seek(SeekFrom::Start(from)).ok()?;
        let mut bytes = Vec::new();
        file.take(PIECE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    fn finish(&mut self, at: &ScopedCheck, answer: &Answer) -> bool {
        let continues = self.read(at);
        let Some(open) = self.open.remove(at) else { return continues };
        for (place, stream) in STREAMS.into_iter().enumerate() {
            let text = match answer.record.get(stream.as_str()) {
                Some(Value::String(text)) => text.as_str(),
                _ => "",
            };
            if open.printed[place] == 0
                && !text.is_empty()
                && !self.print(at, open.number, stream, text.as_bytes())
            {
                return false;
            }
        }
        let rest = self.lines.finish(&at.to_string(), self.ui.page);
        continues && rest.iter().all(|line| self.write(line))
    }

    fn print(&mut self, at: &ScopedCheck, attempt: u32, stream: Stream, bytes: &[u8]) -> bool {
        if !super::streams(self.arguments).contains(&stream.as_str()) {
            return true;
        }
        if self.ui.output() != Output::Human {
            let text = String::from_utf8_lossy(bytes);
            return self.ui.data(&json!({
                "check": at.check,
                "scope": at.scope.to_string(),
                "attempt": attempt,
                "stream": stream.as_str(),
                "text": text,
            }));
        }
        let lines = self.lines.take(&at.to_string(), stream, bytes, self.ui.page);
        lines.iter().all(|line| self.write(line))
    }

    fn write(&self, line: &str) -> bool {
        use io::Write;
        self.ui.is_written(writeln!(io::stdout().lock(), "{line}"))
    }
}
