//! `escrow logs`: what a run's commands printed, whole, from the files they were streamed to.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use escrow_model::{Event, ScopePath};
use serde_json::Value;

use crate::arguments::{LogsArguments, Shared};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;

pub(crate) fn logs(arguments: &LogsArguments, shared: &Shared) -> Result<Exit> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    let store = state.read()?;
    let row = store.run(&arguments.run).map_err(Failure::from)?;
    let spool = state.spool(&row.id);
    let entries = store.entries(&row.id, 0).map_err(Failure::from)?;
    let mut known = false;
    let mut out = io::stdout().lock();
    for (_, entry) in &entries {
        match &entry.event {
            Event::RunStarted { plan, .. } => {
                known = arguments.check.as_ref().is_none_or(|name| plan.find(name).is_some());
            }
            Event::AttemptAnswered { check, scope, attempt, answer }
                if arguments.check.as_ref().is_none_or(|name| name == check) =>
            {
                let printed = Attempt { check, scope, number: *attempt, answer, spool: &spool };
                if printed.write(arguments, &mut out).is_err() {
                    return Ok(Exit::Completed); // nobody reads any more
                }
            }
            _ => {}
        }
    }
    if !known {
        let name = arguments.check.clone().unwrap_or_default();
        return Err(
            Failure::author("unknown_check", format!("run `{}` has no check `{name}`", row.id)).into()
        );
    }
    Ok(Exit::Completed)
}

struct Attempt<'a> {
    check: &'a str,
    scope: &'a ScopePath,
    number: u32,
    answer: &'a escrow_model::Answer,
    /// Where an imported run has its files: not where they were when it ran.
    spool: &'a Path,
}

impl Attempt<'_> {
    fn write(&self, arguments: &LogsArguments, out: &mut impl Write) -> io::Result<()> {
        let streams: &[&str] = match (arguments.stdout, arguments.stderr) {
            (true, _) => &["stdout"],
            (_, true) => &["stderr"],
            (false, false) => &["stdout", "stderr"],
        };
        for stream in streams {
            // One stream of one check is wanted as it is, for pipes.
            let bare = arguments.check.is_some() && streams.len() == 1;
            if !bare && self.has(stream) {
                writeln!(out, "── {}{} #{} {stream} ──", self.check, self.scope, self.number)?;
            }
            self.copy(stream, out)?;
        }
        Ok(())
    }

    fn has(&self, stream: &str) -> bool {
        self.answer.record.contains_key(&format!("{stream}_file")) || !self.text(stream).is_empty()
    }

    /// The file has it all; without one, what the journal remembers.
    fn copy(&self, stream: &str, out: &mut impl Write) -> io::Result<()> {
        let file = self.answer.record.get(&format!("{stream}_file")).and_then(Value::as_str);
        let open = |path: &str| {
            let here = Path::new(path).file_name().map(|name| self.spool.join(name));
            File::open(path).ok().or_else(|| File::open(here?).ok())
        };
        if let Some(mut file) = file.and_then(open) {
            io::copy(&mut file, out)?;
            return Ok(());
        }
        let text = self.text(stream);
        out.write_all(text.as_bytes())?;
        if !text.is_empty() && !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn text(&self, stream: &str) -> String {
        match stream {
            "stderr" => {
                self.answer.record.get("stderr").and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            _ => match &self.answer.output {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            },
        }
    }
}
