//! `escrow logs`: what a run's commands printed, whole, from the files they were streamed to.

mod follow;
mod page;

use std::io::{self, IsTerminal, Write};

use escrow_app::logs::Printed;
use escrow_app::timeline::RunStart;
use escrow_app::{Error, logs, runs};
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
    let is_known = |name: &String| start.plan.find(of_check(name)).is_some();
    if !arguments.check.as_ref().is_none_or(is_known) {
        return Err(unknown_check(arguments, &row));
    }
    let item = match arguments.check.as_ref().filter(|name| name.contains('[')) {
        Some(name) => {
            let run = runs::replay(&*queries, &row).await?;
            expect_item(name, &run, &row)?;
            Some(logs::attempts_of_item(&entries, &run, name))
        }
        None => None,
    };
    for attempt in logs::printed(&entries, &spool) {
        let is_of_check = arguments.check.as_ref().is_none_or(|name| of_check(name) == attempt.of.check);
        let place = (attempt.of.scope.clone(), attempt.attempt);
        if !is_of_check || item.as_ref().is_some_and(|attempts| !attempts.contains(&place)) {
            continue;
        }
        let printed = Attempt(&attempt);
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

/// The check that a place is of.
fn of_check(place: &str) -> &str {
    place.split('[').next().unwrap_or(place)
}

fn unknown_check(arguments: &LogsArguments, row: &RunRow) -> Error {
    let name = arguments.check.as_deref().unwrap_or_default();
    Error::not_found("unknown_check", format!("run `{}` has no check `{name}`", row.id))
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
    Err(Error::not_found("unknown_check", format!("run `{}` has no item `{name}`", row.id))
        .help(format!("`escrow runs show {}` lists the items", row.id)))
}

/// How much of the end of a stream a document holds. The file has all of it.
const DOCUMENT_BYTES_MAX: u64 = 16 << 20;

struct Attempt<'a>(&'a Printed<'a>);

impl Attempt<'_> {
    fn write<W: Write>(&self, arguments: &LogsArguments, out: &mut Page<W>) -> io::Result<()> {
        let streams = streams(arguments);
        for stream in streams {
            // One stream of one check is wanted as it is, for pipes.
            let bare = arguments.check.is_some() && streams.len() == 1;
            if !bare && self.0.has(stream) {
                out.begin_line()?;
                writeln!(out, "{}", heading(&format!("── {} #{} {stream} ──", self.0.of, self.0.attempt)))?;
            }
            self.copy(stream, out)?;
        }
        Ok(())
    }

    /// Copies what was printed, byte for byte: from the file, which has it all, or else from the journal.
    fn copy(&self, stream: &str, out: &mut impl Write) -> io::Result<()> {
        if let Some(mut file) = self.0.file(stream) {
            io::copy(&mut file, out)?;
            return Ok(());
        }
        out.write_all(self.0.text(stream).as_bytes())
    }

    /// One for each stream that has something.
    fn documents(&self, arguments: &LogsArguments) -> Vec<Value> {
        let document = |stream: &&str| {
            let (text, truncated) = self.0.end(stream, DOCUMENT_BYTES_MAX).ok()?;
            (!text.is_empty()).then(|| {
                json!({
                    "check": self.0.of.check,
                    "scope": self.0.of.scope.to_string(),
                    "attempt": self.0.attempt,
                    "stream": stream,
                    "text": text,
                    "truncated": truncated,
                })
            })
        };
        streams(arguments).iter().filter_map(document).collect()
    }
}

fn streams(arguments: &LogsArguments) -> &'static [&'static str] {
    match (arguments.stdout, arguments.stderr) {
        (true, _) => &["stdout"],
        (_, true) => &["stderr"],
        (false, false) => &["stdout", "stderr"],
    }
}
