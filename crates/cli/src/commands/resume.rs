//! `escrow resume`: goes on with a run whose process is gone, that waits, or that failed. Nothing confirmed is
//! repeated.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use escrow_engine::Run;
use escrow_model::{Assumption, Message, RunStatus, ScopePath};
use escrow_runtime::entropy::now_ms;
use escrow_runtime::holder::{liveness, this_process};
use escrow_runtime::secrets::Secrets;
use escrow_runtime::supervisor::Beginning;
use escrow_store::{Lease, LeaseError, RunRow, Store};

use super::messages::drive_upward;
use super::resume_all;
use super::run::report;
use super::runs::replay;
use super::start::{Begun, exit_of, read_secrets};
use crate::arguments::{ResumeArguments, Shared};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{LiveView, Ui};

pub(crate) fn resume(arguments: &ResumeArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    let Some(name) = &arguments.run else { return Ok(resume_all::resume_all(&state, ui)?) };
    let row = state.read()?.run(name).map_err(Failure::from)?;
    if row.status.is_terminal() != arguments.failed {
        return Err(not_resumable(&row).into());
    }
    let store = state.write()?;
    for assumption in &arguments.assume {
        store.send(&row.id, &read_assumption(assumption)?, "cli").map_err(Failure::from)?;
    }
    let run = if arguments.failed {
        reopen(&row, Arc::clone(&store), &state, ui)?
    } else if arguments.assume.is_empty() {
        drive(&row, Arc::clone(&store), &state, ui, Wish::GoOn)?
    } else {
        // Like any message, it sets the run going and those that it is nested in.
        drive_upward(&row, &store, &state, ui, Wish::GoOn)?
    };
    report(&run, &store, ui);
    Ok(exit_of(&run))
}

/// Whether the run may have to start something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    GoOn,
    /// Nobody should need its secrets to end a run.
    End,
}

fn not_resumable(row: &RunRow) -> Failure {
    let word = row.status.as_str().replace('_', " ");
    match row.status {
        RunStatus::Running | RunStatus::Waiting => {
            Failure::person("not_ended", format!("run `{}` has not ended: it is {word}", row.id))
                .help(format!("`escrow resume {}` resumes it", row.id))
        }
        RunStatus::Completed => Failure::person("ended", format!("run `{}` has ended: {word}", row.id)),
        RunStatus::Failed | RunStatus::TimedOut | RunStatus::Aborted | RunStatus::Cancelled => {
            Failure::person("ended", format!("run `{}` has ended: {word}", row.id))
                .help(format!("`escrow resume {} --failed` runs failed checks again", row.id))
        }
    }
}

/// Takes the run over if nobody holds it, and drives it until it ends or waits.
pub(crate) fn drive(
    row: &RunRow,
    store: Arc<Store>,
    state: &StateDirectory,
    ui: &Ui,
    wish: Wish,
) -> Result<Run, Failure> {
    let lease = take_over(row, &store)?;
    let run = replay(&store, row)?;
    let secrets = secrets_of(&run, &lease, &store, wish)?;
    go_on(Begun { run, lease, store, secrets, beginning: Beginning::Resumed }, state, ui)
}

/// What the run may have to give to its checks; without it the run is let go.
fn secrets_of(run: &Run, lease: &Lease, store: &Store, wish: Wish) -> Result<Secrets, Failure> {
    let directory = Path::new(&run.options().directory);
    match wish {
        Wish::End => Ok(Secrets::at_hand(run.plan_of(), directory)),
        Wish::GoOn => read_secrets(run.plan_of(), directory).or_else(|failure| {
            store.release(lease)?;
            Err(failure)
        }),
    }
}

/// Opens what failed again, in the same journal.
fn reopen(row: &RunRow, store: Arc<Store>, state: &StateDirectory, ui: &Ui) -> Result<Run, Failure> {
    let lease = take_over(row, &store)?;
    let mut run = replay(&store, row)?;
    let secrets = secrets_of(&run, &lease, &store, Wish::GoOn)?;
    match run.retry_failed(now_ms(), super::cancel::who()) {
        Ok(turn) => {
            go_on(Begun { run, lease, store, secrets, beginning: Beginning::Reopened(turn) }, state, ui)
        }
        Err(why) => {
            store.release(&lease)?;
            Err(Failure::person("ended", format!("run `{}` cannot be reopened: {why}", row.id)))
        }
    }
}

pub(crate) fn take_over(row: &RunRow, store: &Store) -> Result<Lease, Failure> {
    store.acquire(&row.id, &this_process(), liveness).map_err(|error| match error {
        LeaseError::Store(error) => error.into(),
        LeaseError::Held { .. } | LeaseError::NoSuchRun(_) => Failure::person("held", error.to_string())
            .help("it continues there; `escrow runs show` shows its status"),
    })
}

fn go_on(begun: Begun, state: &StateDirectory, ui: &Ui) -> Result<Run, Failure> {
    let mut live = LiveView::new(ui, &begun.run);
    let run = begun.drive(state, &mut live)?;
    live.finish();
    Ok(run)
}

/// `CHECK=done`, `CHECK[2]=retry`.
fn read_assumption(text: &str) -> Result<Message, Failure> {
    let bad = || {
        Failure::author("usage", format!("`--assume {text}` is not CHECK=done, CHECK=failed or CHECK=retry"))
            .help("an item of a fan-out is `CHECK[2]=done`")
    };
    let (place, word) = text.rsplit_once('=').ok_or_else(bad)?;
    let assumption = match word {
        "done" => Assumption::Done,
        "failed" => Assumption::Failed,
        "retry" => Assumption::Retry,
        _ => return Err(bad()),
    };
    let (check, items) = place.split_once('[').unwrap_or((place, ""));
    let mut indices = Vec::new();
    for item in items.split('[').filter(|item| !item.is_empty()) {
        indices.push(item.strip_suffix(']').and_then(|index| index.parse().ok()).ok_or_else(bad)?);
    }
    Ok(Message::Assume {
        check: check.to_owned(),
        scope: ScopePath::new(indices),
        assumption,
        by: super::cancel::who(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumptions_name_a_check_or_an_item() {
        let read = |text: &str| match read_assumption(text) {
            Ok(Message::Assume { check, scope, assumption, .. }) => format!("{check}{scope} {assumption:?}"),
            Ok(other) => format!("{other:?}"),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(read("post=done"), "post Done");
        assert_eq!(read("post[2]=retry"), "post[2] Retry");
        assert_eq!(read("post[2][0]=failed"), "post[2][0] Failed");
        assert!(read("post=perhaps").contains("is not CHECK=done"));
        assert!(read("post[x]=done").contains("is not CHECK=done"));
    }
}
