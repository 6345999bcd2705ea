//! `escrow invocation end`: as its runs came out, or as somebody says.

use escrow_model::RunStatus;
use escrow_runtime::entropy::now_ms;
use escrow_store::{EndInvocation, InvocationEnd, InvocationRow, RunFilter, Store};
use serde_json::json;

use super::{document, find, unknown};
use crate::arguments::InvocationEndArguments;
use crate::commands::cancel::who;
use crate::commands::override_run::{BY_LENGTH_MAX, WHY_LENGTH_MAX, one_line, text};
use crate::commands::runs::parse_status;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{Ui, printable};

pub(super) fn end(
    arguments: &InvocationEndArguments,
    state: &StateDirectory,
    ui: &Ui,
) -> Result<Exit, Failure> {
    let status = arguments.status.as_deref().map(parse_status).transpose()?;
    if let Some(by) = &arguments.by {
        one_line("--by", by, BY_LENGTH_MAX)?;
    }
    if let Some(why) = &arguments.why {
        text("--why", why, WHY_LENGTH_MAX)?;
    }
    let store = state.write()?;
    let row = find(&arguments.id, &store)?;
    // A word against an earlier word names who says it.
    let by = if row.ended_by_hand { arguments.by.clone() } else { arguments.by.clone().or_else(who) };
    let id = row.id;
    let wish = EndInvocation {
        at: now_ms(),
        status,
        by,
        why: arguments.why.as_ref().map(|why| why.trim().to_owned()),
    };
    match store.end_invocation(&id, &wish)? {
        InvocationEnd::Done(row) => {
            let reason = row.reason.as_ref().map_or("", |reason| reason.code.as_str());
            let word = row.status.as_str().replace('_', " ");
            ui.say(&format!("{word}  {reason}"));
            ui.data_if_machine(&json!({ "invocation": document(&row) }));
            Ok(Exit::Completed)
        }
        InvocationEnd::Unknown => Err(unknown(&id)),
        InvocationEnd::NothingRan(_) => {
            Err(Failure::author("nothing_ran", format!("invocation `{id}` has no runs"))
                .help("give its status: `--status completed`, `failed`, `aborted` or `cancelled`"))
        }
        InvocationEnd::StillOpen(_) => Err(still_open(&id, &store)?),
        InvocationEnd::EndedBefore(row) => {
            let message = format!("invocation `{id}` has ended: {}", row.status.as_str().replace('_', " "));
            Err(Failure::person("ended", message).help("changing it needs `--why TEXT` and `--by NAME`"))
        }
        InvocationEnd::BetterThanItsRuns(row) => Err(better(&row)),
        InvocationEnd::NotForPeople(status) => {
            let word = status.as_str().replace('_', " ");
            Err(Failure::author("usage", format!("the status of an invocation cannot be set to {word}"))
                .help("one of completed, failed, aborted, cancelled"))
        }
    }
}

fn still_open(id: &str, store: &Store) -> Result<Failure, Failure> {
    let mut open = Vec::new();
    for status in [RunStatus::Running, RunStatus::Waiting] {
        let filter = RunFilter {
            status: Some(status),
            invocation: Some(id.to_owned()),
            limit: Some(3),
            ..RunFilter::default()
        };
        open.extend(
            store.runs(&filter)?.into_iter().map(|row| format!("{} ({})", row.id, row.status.as_str())),
        );
    }
    let message = format!("invocation `{id}` has runs that have not ended: {}", open.join(", "));
    Ok(Failure::person("not_ended", message)
        .help("`escrow wait RUN` waits for one, `escrow cancel RUN` ends it"))
}

fn better(row: &InvocationRow) -> Failure {
    let health = row.health.map_or("", RunStatus::as_str).replace('_', " ");
    let because = row.reason.as_ref().map(|reason| format!(": {}", printable(&reason.summary)));
    let message =
        format!("a run of invocation `{}` ended as {health}{}", row.id, because.unwrap_or_default());
    Failure::person("worse", message).help("to set this status nevertheless, give `--why TEXT`")
}
