//! `escrow logs`: what a run's commands printed, whole, from the files they were streamed to.

mod follow;
mod page;

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::Path;

use escrow_app::timeline::{CheckScope, RunStart, Timeline, What};
use escrow_app::{Error, runs};
use escrow_engine::Run;
use escrow_store::RunRow;
use serde_json::{Value, json};

use crate::arguments::{LogsArguments, Output, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{Ui, heading};
use page::{Control, Page};

pub(crate) async fn logs(arguments: &LogsArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    let queries = app.queries()?;
    let row = queries.run(&arguments.run).await?;
    if arguments.follow {
        return follow::follow(arguments, &app, row, ui).await;
    }
    let spool = app.state().spool(&row.id);
    let entries = runs::entries(&*queries, &row).await?;
    let mut documents = Vec::new();
    let is_shown = io::stdout().is_terminal() && !arguments.raw;
    let mut out = Page::new(io::stdout().lock(), if is_shown { Control::Shown } else { Control::Sent });
    let Some(start) = RunStart::of(&entries) else { return Err(unknown_check(arguments, &row)) };
    // `each[2]` is an item of `each`.
    let is_known = |name: &String| start.plan.find(name.split('[').next().unwrap_or(name)).is_some();
    if !arguments.check.as_ref().is_none_or(is_known) {
        return Err(unknown_check(arguments, &row));
    }
    if let Some(name) = arguments.check.as_ref().filter(|name| name.contains('[')) {
        expect_item(name, &runs::replay(&*queries, &row).await?, &row)?;
    }
    for item in Timeline::new(start.plan).read(&entries) {
        let What::AttemptAnswered { of, attempt, answer, .. } = item.what else { continue };
        let is_wanted = |name: &String| name == of.check || *name == of.to_string();
        if !arguments.check.as_ref().is_none_or(is_wanted) {
            continue;
        }
        let printed = Attempt { of, number: attempt, answer, spool: &spool };
        if ui.output() != Output::Human {
            documents.extend(printed.documents(arguments));
        } else if !ui.is_written(printed.write(arguments, &mut out)) {
            return Ok(Exit::Completed); // the reader has closed the pipe
        }
    }
    if !ui.is_written(out.flush()) {
        return Ok(Exit::Completed);
    }
    drop(out);
    match ui.output() {
        Output::Human => {}
        Output::Json => drop(ui.data(&json!({ "logs": documents }))),
        Output::Jsonl => {
            for document in &documents {
                if !ui.data(document) {
                    break;
                }
            }
        }
    }
    Ok(Exit::Completed)
}

fn unknown_check(arguments: &LogsArguments, row: &RunRow) -> Error {
    let name = arguments.check.as_deref().unwrap_or_default();
    Error::author("unknown_check", format!("run `{}` has no check `{name}`", row.id))
}

/// An item that was never there has printed nothing, which an empty answer would hide.
fn expect_item(name: &str, run: &Run, row: &RunRow) -> Result<(), Error> {
    let check = name.split('[').next().and_then(|check| run.plan_of().find(check));
    let is_there = |check| {
        run.item_reports(check)
            .any(|item| format!("{}{}", run.plan_of().check(check).name, item.scope) == name)
    };
    if check.is_some_and(is_there) {
        return Ok(());
    }
    Err(Error::author("unknown_check", format!("run `{}` has no item `{name}`", row.id))
        .help(format!("`escrow runs show {}` lists the items", row.id)))
}

/// How much of the end of a stream a document holds. The file has all of it.
const DOCUMENT_BYTES_MAX: u64 = 16 << 20;

struct Attempt<'a> {
    of: CheckScope<'a>,
    number: u32,
    answer: &'a escrow_model::Answer,
    /// The files of an imported run are here, not where they were when it ran.
    spool: &'a Path,
}

impl Attempt<'_> {
    fn write<W: Write>(&self, arguments: &LogsArguments, out: &mut Page<W>) -> io::Result<()> {
        let streams = streams(arguments);
        for stream in streams {
            // One stream of one check is wanted as it is, for pipes.
            let bare = arguments.check.is_some() && streams.len() == 1;
            if !bare && self.has(stream) {
                out.begin_line()?;
                writeln!(out, "{}", heading(&format!("── {} #{} {stream} ──", self.of, self.number)))?;
            }
            self.copy(stream, out)?;
        }
        Ok(())
    }

    fn has(&self, stream: &str) -> bool {
        self.answer.record.contains_key(&format!("{stream}_file")) || !self.text(stream).is_empty()
    }

    /// Copies what was printed, byte for byte: from the file, which has it all, or else from the journal.
    fn copy(&self, stream: &str, out: &mut impl Write) -> io::Result<()> {
        if let Some(mut file) = self.file(stream) {
            io::copy(&mut file, out)?;
            return Ok(());
        }
        out.write_all(self.text(stream).as_bytes())
    }

    fn file(&self, stream: &str) -> Option<File> {
        let path = self.answer.record.get(&format!("{stream}_file")).and_then(Value::as_str)?;
        let here = Path::new(path).file_name().map(|name| self.spool.join(name));
        File::open(path).ok().or_else(|| File::open(here?).ok())
    }

    /// One for each stream that has something.
    fn documents(&self, arguments: &LogsArguments) -> Vec<Value> {
        let document = |stream: &&str| {
            let (text, truncated) = match self.file(stream) {
                Some(file) => end_of(file).ok()?,
                None => (self.text(stream), self.answer.record.get("truncated") == Some(&Value::Bool(true))),
            };
            (!text.is_empty()).then(|| {
                json!({
                    "check": self.of.check,
                    "scope": self.of.scope.to_string(),
                    "attempt": self.number,
                    "stream": stream,
                    "text": text,
                    "truncated": truncated,
                })
            })
        };
        streams(arguments).iter().filter_map(document).collect()
    }

    fn text(&self, stream: &str) -> String {
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
}

fn streams(arguments: &LogsArguments) -> &'static [&'static str] {
    match (arguments.stdout, arguments.stderr) {
        (true, _) => &["stdout"],
        (_, true) => &["stderr"],
        (false, false) => &["stdout", "stderr"],
    }
}

/// The end of a file as text, and whether something stands before it.
fn end_of(mut file: File) -> io::Result<(String, bool)> {
    let before = file.metadata()?.len().saturating_sub(DOCUMENT_BYTES_MAX);
    file.seek(SeekFrom::Start(before))?;
    let mut bytes = Vec::new();
    file.take(DOCUMENT_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), before > 0))
}
