//! `escrow runs override`: a person's word about a run that has ended, as one more entry of its journal.

use std::path::Path;

use anyhow::Result;
use escrow_engine::{NotOverridden, Override};
use escrow_model::RunStatus;
use escrow_runtime::entropy::now_ms;
use escrow_runtime::secrets::Secrets;
use escrow_store::{Commit, Committed, Durability, Lease, RunRow, Store};

use super::resume::take_over;
use super::run::report;
use super::runs::{parse_status, replay};
use crate::arguments::OverrideArguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::Ui;

/// How long a name and a justification may be, in characters.
pub(super) const BY_LENGTH_MAX: usize = 200;
pub(super) const WHY_LENGTH_MAX: usize = 2_000;

pub(crate) fn override_run(arguments: &OverrideArguments, state: &StateDirectory, ui: &Ui) -> Result<Exit> {
    let status = parse_status(&arguments.status)?;
    let from = arguments.from.as_deref().map(parse_status).transpose()?;
    one_line("--by", &arguments.by, BY_LENGTH_MAX)?;
    text("--why", &arguments.why, WHY_LENGTH_MAX)?;
    let row = state.read()?.run(&arguments.run).map_err(Failure::from)?;
    if !row.status.is_terminal() {
        return Err(refused(&row, &NotOverridden::NotEnded(row.status)).into());
    }
    let store = state.write()?;
    // Whoever holds the run writes its journal, and nobody else does: what is compared here is still so when it is set.
    let lease = take_over(&row, &store)?;
    let said = say(arguments, status, from, &row, &store, &lease);
    store.release(&lease).map_err(Failure::from)?;
    report(&said?, &store, ui);
    Ok(Exit::Completed)
}

fn say(
    arguments: &OverrideArguments,
    status: RunStatus,
    from: Option<RunStatus>,
    row: &RunRow,
    store: &Store,
    lease: &Lease,
) -> Result<escrow_engine::Run, Failure> {
    let entries = store.entries(&row.id, 0)?;
    let last = entries.last().map_or(0, |(seq, _)| *seq);
    let mut run = replay(store, row)?;
    if let Some(from) = from.filter(|from| *from != run.status()) {
        let (is, from) = (run.status().as_str(), from.as_str());
        let message = format!("run `{}` is {is}, not {from}", row.id);
        return Err(
            Failure::person("changed", message).help(format!("`escrow runs show {} --history`", row.id))
        );
    }
    let secrets = Secrets::at_hand(run.plan_of(), Path::new(&run.options().directory));
    let (mut by, mut why) = (arguments.by.trim().to_owned(), arguments.why.trim().to_owned());
    secrets.redactor().text(&mut by);
    secrets.redactor().text(&mut why);
    let word = Override { status, by, why };
    let turn = run.override_status(now_ms(), word).map_err(|why| refused(row, &why))?;
    let commit = Commit {
        lease,
        expected_seq: last,
        entries: &turn.entries,
        delivered: &[],
        durability: Durability::Full,
    };
    match store.commit(commit)? {
        Committed::Done { .. } | Committed::AlreadyDone { .. } => Ok(run),
        Committed::Fenced => {
            Err(Failure::person("fenced", format!("another process has taken over run `{}`", row.id)))
        }
    }
}

fn refused(row: &RunRow, why: &NotOverridden) -> Failure {
    let message = format!("run `{}` cannot be overridden: {why}", row.id);
    match why {
        NotOverridden::NotEnded(_) => {
            Failure::person("not_ended", message).help(format!("`escrow cancel {}` ends it", row.id))
        }
        NotOverridden::Same(_) => Failure::person("same_status", message),
        NotOverridden::NotForPeople(_) => {
            Failure::author("usage", message).help("one of completed, failed, aborted, cancelled")
        }
        NotOverridden::Nameless => Failure::author("usage", message),
    }
}

/// A word that is shown in lists.
pub(super) fn one_line(option: &str, given: &str, length_max: usize) -> Result<(), Failure> {
    if given.chars().any(char::is_control) {
        return Err(Failure::author("usage", format!("`{option}` must be one line")));
    }
    text(option, given, length_max)
}

/// Something that a person has to say.
pub(super) fn text(option: &str, given: &str, length_max: usize) -> Result<(), Failure> {
    let (empty, length) = (given.trim().is_empty(), given.chars().count());
    if given.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(Failure::author("usage", format!("`{option}` contains a control character")));
    }
    if empty || length > length_max {
        let message = format!("`{option}` must have 1 to {length_max} characters");
        return Err(Failure::author("usage", message));
    }
    Ok(())
}
