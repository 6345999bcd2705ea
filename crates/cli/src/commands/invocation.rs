//! `escrow invocation`: what somebody asked for, the runs that it led to, and what it came to.

mod end;
mod show;

use anyhow::Result;
use escrow_model::{InvocationId, rfc3339};
use escrow_runtime::entropy::{now_ms, random_u64};
use escrow_store::{InvocationFilter, InvocationRow, StartedInvocation, Store};
use serde_json::{Value, json};

use super::cancel::who;
use super::override_run::{BY_LENGTH_MAX, one_line, text};
use super::runs::parse_status;
use crate::arguments::{
    InvocationAction, InvocationArguments, InvocationList, InvocationStart, Output, Shared,
};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{Table, Ui, count, parse_duration, printable, status_painted};

/// How long a prompt may be, in characters.
const PROMPT_LENGTH_MAX: usize = 20_000;

pub(crate) fn invocation(arguments: &InvocationArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    let exit = match &arguments.action {
        InvocationAction::Start(start) => self::start(start, &state, ui),
        InvocationAction::End(end) => end::end(end, &state, ui),
        InvocationAction::List(list) => self::list(list, &*state.read()?, ui),
        InvocationAction::Show(show) => show::show(show, &*state.read()?, ui),
    };
    Ok(exit?)
}

fn start(arguments: &InvocationStart, state: &StateDirectory, ui: &Ui) -> Result<Exit, Failure> {
    let InvocationStart { name, skill, prompt, by } = arguments;
    for (option, given) in [("--name", name), ("--skill", skill), ("--by", by)] {
        given.as_ref().map_or(Ok(()), |given| one_line(option, given, BY_LENGTH_MAX))?;
    }
    prompt.as_ref().map_or(Ok(()), |prompt| text("--prompt", prompt, PROMPT_LENGTH_MAX))?;
    let at = now_ms();
    let chance =
        random_u64().map_err(|error| Failure::world("chance", format!("no random numbers: {error}")))?;
    let id = InvocationId::new(at, chance);
    let started = StartedInvocation {
        at,
        name: name.clone(),
        skill: skill.clone(),
        prompt: prompt.clone(),
        by: by.clone().or_else(who),
    };
    let store = state.write()?;
    store.start_invocation(&id, &started)?;
    match ui.output() {
        Output::Human => ui.page(id.as_str()),
        Output::Json | Output::Jsonl => {
            let row = find(id.as_str(), &store)?;
            ui.data(&json!({ "invocation": document(&row) }));
        }
    }
    Ok(Exit::Completed)
}

fn list(arguments: &InvocationList, store: &Store, ui: &Ui) -> Result<Exit, Failure> {
    let since = match arguments.since.as_deref() {
        None => None,
        Some(text) => Some(now_ms().saturating_sub(parse_duration(text).ok_or_else(|| {
            Failure::author("usage", format!("`--since {text}` is not a duration")).help("write e.g. `7d`")
        })?)),
    };
    let status = arguments.status.as_deref().map(parse_status).transpose()?;
    let rows = store.invocations(&InvocationFilter { status, since, limit: Some(arguments.limit) })?;
    match ui.output() {
        Output::Json => {
            let documents: Vec<Value> = rows.iter().map(document).collect();
            ui.data(&json!({ "invocations": documents }));
        }
        Output::Jsonl => drop(rows.iter().all(|row| ui.data(&json!({ "invocation": document(row) })))),
        Output::Human if rows.is_empty() => ui.page("no invocations"),
        Output::Human => {
            let page = ui.page;
            let mut table = Table::new();
            for row in &rows {
                let status = row.status.as_str().replace('_', " ");
                let started = rfc3339(row.started_at).replace('T', " ");
                let started = &started[..19];
                let runs = count(usize::try_from(row.runs()).unwrap_or(usize::MAX), "run");
                let name = printable(row.name.as_ref().or(row.skill.as_ref()).map_or("", String::as_str));
                let summary =
                    row.reason.as_ref().map(|reason| printable(&reason.summary)).unwrap_or_default();
                table.row(&[
                    (&row.id, page.cyan(&row.id)),
                    (&status, status_painted(row.status, page)),
                    (started, page.dim(started)),
                    (&runs, runs.clone()),
                    (&name, page.bold(&name)),
                    ("", summary),
                ]);
            }
            ui.page(&table.render());
        }
    }
    Ok(Exit::Completed)
}

/// As `invocation list --output json` shows it; `docs/invocations.md` describes every field.
fn document(row: &InvocationRow) -> Value {
    json!({
        "id": row.id,
        "name": row.name,
        "skill": row.skill,
        "prompt": row.prompt,
        "started_by": row.started_by,
        "status": row.status,
        "health": row.health,
        "reason": row.reason,
        "decisive_run_id": row.decisive_run,
        "ended_by_hand": row.ended_by_hand,
        "runs_count": row.runs(),
        "started_at": rfc3339(row.started_at),
        "ended_at": row.ended_at.map(rfc3339),
    })
}

fn find(name: &str, store: &Store) -> Result<InvocationRow, Failure> {
    let mut found = store.invocations_named(name)?;
    match (found.pop(), found.is_empty()) {
        (Some(row), true) => Ok(row),
        (None, _) => Err(unknown(name)),
        (Some(_), false) => Err(Failure::author("ambiguous_invocation", format!("`{name}` is ambiguous"))
            .help("give more of the id")),
    }
}

fn unknown(name: &str) -> Failure {
    Failure::author("unknown_invocation", format!("no invocation is called `{}`", printable(name)))
        .help("`escrow invocation list` lists them, `escrow invocation start` begins one")
}

/// The invocation that a run joins, if it is to join one: not one that has ended.
pub(crate) fn joined(given: Option<&str>, store: &Store) -> Result<Option<String>, Failure> {
    let Some(id) = named(given, store)? else { return Ok(None) };
    match store.invocation(&id)? {
        Some(row) if row.ended_by_hand => {
            let word = row.status.as_str().replace('_', " ");
            let message = format!("invocation `{}` has ended: {word}", row.id);
            Err(Failure::person("ended", message).help("`escrow invocation start` begins another"))
        }
        Some(_) | None => Ok(Some(id)),
    }
}

/// The invocation that is meant. An id of Escrow's own must be known here, unless it came with
/// the environment, which may be that of another state; others are taken as they are: a trigger elsewhere made them.
pub(crate) fn named(given: Option<&str>, store: &Store) -> Result<Option<String>, Failure> {
    let Some(given) = given.filter(|given| !given.is_empty()) else { return Ok(None) };
    one_line("--invocation", given, BY_LENGTH_MAX)?;
    let mut found = store.invocations_named(given)?;
    match (found.pop(), found.is_empty()) {
        (Some(row), true) => Ok(Some(row.id)),
        (Some(_), false) => Err(Failure::author("ambiguous_invocation", format!("`{given}` is ambiguous"))
            .help("give more of the id")),
        (None, _) => {
            let inherited = std::env::var("ESCROW_INVOCATION").is_ok_and(|inherited| inherited == given);
            let ours = given.starts_with("i_") && given.len() == InvocationId::new(0, 0).as_str().len();
            if ours && !inherited { Err(unknown(given)) } else { Ok(Some(given.to_owned())) }
        }
    }
}
