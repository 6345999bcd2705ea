//! `escrow wait`: until a run ends or waits for a person; then it exits as the run would have.

use std::time::{Duration, Instant};

use anyhow::Result;
use escrow_model::RunStatus;
use escrow_store::{RunRow, Store, Watch};

use super::run::report;
use super::runs::{is_driven, replay};
use super::start::exit_of;
use crate::arguments::{Shared, WaitArguments};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{Ui, parse_duration};

/// How often to look. A look costs a microsecond or two.
const INTERVAL: Duration = Duration::from_millis(20);

/// How often to look whether the process that drives the run is still there.
const LIVENESS_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) fn wait(arguments: &WaitArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let timeout = arguments.timeout.as_deref().map(read_timeout).transpose()?;
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let store = StateDirectory::find(shared.state.as_deref())?.read()?;
    let row = store.run(&arguments.run).map_err(Failure::from)?;
    match come_to_rest(row, &store, deadline)? {
        Some(row) => {
            let run = replay(&store, &row)?;
            report(&run, &store, ui);
            Ok(exit_of(&run))
        }
        None => {
            let given = arguments.timeout.as_deref().unwrap_or_default();
            ui.say(&format!("still running after {given}"));
            Ok(Exit::TimedOut)
        }
    }
}

fn read_timeout(text: &str) -> Result<Duration, Failure> {
    parse_duration(text).map(Duration::from_millis).ok_or_else(|| {
        Failure::author("usage", format!("`--timeout {text}` is not a duration")).help("write e.g. `30m`")
    })
}

/// The run once it has ended or waits; nothing when time is up before.
fn come_to_rest(row: RunRow, store: &Store, deadline: Option<Instant>) -> Result<Option<RunRow>, Failure> {
    let mut watch = Watch::new();
    let mut row = row;
    let mut looked = None::<Instant>;
    loop {
        if watch.changed(store.version()?) {
            row = store.run(row.id.as_str())?;
        }
        if row.status != RunStatus::Running {
            return Ok(Some(row));
        }
        if looked.is_none_or(|at| at.elapsed() >= LIVENESS_INTERVAL) {
            // It may have ended between the two looks.
            if !is_driven(store, &row)? && store.run(row.id.as_str())?.status == RunStatus::Running {
                let message = format!("the process that drove run `{}` is gone", row.id);
                let help = format!("`escrow resume {}` resumes it", row.id);
                return Err(Failure::world("interrupted", message).help(help));
            }
            looked = Some(Instant::now());
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(None);
        }
        std::thread::sleep(INTERVAL);
    }
}
