//! `escrow resume`: goes on with a run whose process is gone, or that waits. Nothing confirmed is repeated.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use escrow_engine::Run;
use escrow_model::{Assumption, Letter, ScopePath};
use escrow_runtime::holder::{liveness, this_process};
use escrow_runtime::secrets::Secrets;
use escrow_runtime::supervisor::Beginning;
use escrow_store::{LeaseError, RunRow, Store};

use super::run::report;
use super::runs::replay;
use super::start::{Begun, exit_of};
use crate::arguments::{ResumeArguments, Shared};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{Live, Talk};

pub(crate) fn resume(arguments: &ResumeArguments, shared: &Shared, talk: &Talk) -> Result<Exit> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    let row = state.read()?.run(&arguments.run).map_err(Failure::from)?;
    if row.status.is_terminal() {
        let message = format!("run `{}` has ended: {}", row.id, row.status.as_str());
        return Err(Failure::person("ended", message).into());
    }
    let store = state.write()?;
    for assumption in &arguments.assume {
        store.send(&row.id, &read_assumption(assumption)?, "cli").map_err(Failure::from)?;
    }
    let run = drive(&row, store, &state, talk, Wish::GoOn)?;
    report(&run, talk);
    Ok(exit_of(&run))
}

/// Whether the run may have to start something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    GoOn,
    /// Nobody should need its secrets to end a run.
    End,
}

/// Takes the run over if nobody holds it, and drives it until it ends or waits.
pub(crate) fn drive(
    row: &RunRow,
    store: Arc<Store>,
    state: &StateDirectory,
    talk: &Talk,
    wish: Wish,
) -> Result<Run, Failure> {
    let lease = match store.acquire(&row.id, &this_process(), liveness) {
        Ok(lease) => lease,
        Err(LeaseError::Store(error)) => return Err(error.into()),
        Err(error @ (LeaseError::Held { .. } | LeaseError::NoSuchRun(_))) => {
            return Err(Failure::person("held", error.to_string())
                .help("it goes on there; `escrow runs show` tells how"));
        }
    };
    let run = replay(&store, row)?;
    let directory = Path::new(&run.options().directory);
    let secrets = match wish {
        Wish::GoOn => Secrets::read(run.plan_of(), directory),
        Wish::End => Ok(Secrets::at_hand(run.plan_of(), directory)),
    };
    let secrets = match secrets {
        Ok(secrets) => secrets,
        Err(error) => {
            store.release(&lease)?;
            return Err(error.into());
        }
    };
    let mut live = Live::new(talk, &run);
    let begun = Begun { run, lease, store, secrets, beginning: Beginning::Resumed };
    let run = begun.drive(state, &mut live)?;
    live.finish();
    Ok(run)
}

/// `CHECK=done`, `CHECK[2]=retry`.
fn read_assumption(text: &str) -> Result<Letter, Failure> {
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
    Ok(Letter::Assume {
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
            Ok(Letter::Assume { check, scope, assumption, .. }) => format!("{check}{scope} {assumption:?}"),
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
