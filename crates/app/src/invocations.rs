//! Invocations: starting and ending them, and finding the one that is meant.

use escrow_engine::HarnessTotals;
use escrow_model::{InvocationId, RunStatus, is_harmless};
use escrow_runtime::{now_ms, random_u64};
use escrow_store::{EndInvocation, InvocationEnd, Queries, RunFilter, StartedInvocation};

pub use escrow_store::{InvocationFilter, InvocationRow};

use crate::app::App;
use crate::around::redactor_around;
use crate::error::Error;
use crate::person_text::{NAME_LENGTH_MAX, WHY_LENGTH_MAX, one_line, text};

/// How long a prompt may be, in characters.
const PROMPT_LENGTH_MAX: usize = 20_000;

/// What is asked for, by whom.
#[derive(Clone, Debug, Default)]
pub struct NewInvocation {
    pub name: Option<String>,
    pub skill: Option<String>,
    pub prompt: Option<String>,
    pub by: Option<String>,
}

pub async fn start(app: &App, mut new: NewInvocation) -> Result<InvocationRow, Error> {
    for (field, given) in [("--name", &new.name), ("--skill", &new.skill), ("--by", &new.by)] {
        given.as_ref().map_or(Ok(()), |given| one_line(field, given, NAME_LENGTH_MAX))?;
    }
    new.prompt.as_ref().map_or(Ok(()), |prompt| text("--prompt", prompt, PROMPT_LENGTH_MAX))?;
    let redactor = redactor_around(app).await?;
    for given in [&mut new.name, &mut new.skill, &mut new.prompt, &mut new.by].into_iter().flatten() {
        redactor.text(given);
    }
    let at = now_ms();
    let chance =
        random_u64().map_err(|error| Error::world("chance", format!("no random numbers: {error}")))?;
    let id = InvocationId::new(at, chance);
    let NewInvocation { name, skill, prompt, by } = new;
    let started = StartedInvocation { at, name, skill, prompt, by: by.or_else(|| app.actor()) };
    app.records()?.start_invocation(&id, &started).await?;
    find(&*app.queries()?, id.as_str()).await
}

/// The end of an invocation: as its runs ended, or as a person says.
#[derive(Clone, Debug)]
pub struct EndRequest {
    /// An id, a unique beginning of it, or `last`.
    pub invocation: String,
    pub status: Option<RunStatus>,
    pub by: Option<String>,
    pub why: Option<String>,
}

pub async fn end(app: &App, request: &EndRequest) -> Result<InvocationRow, Error> {
    if let Some(by) = &request.by {
        one_line("--by", by, NAME_LENGTH_MAX)?;
    }
    if let Some(why) = &request.why {
        text("--why", why, WHY_LENGTH_MAX)?;
    }
    let records = app.records()?;
    let queries = app.queries()?;
    let row = find(&*queries, &request.invocation).await?;
    let redactor = redactor_around(app).await?;
    let (mut by, mut why) = (request.by.clone(), request.why.as_ref().map(|why| why.trim().to_owned()));
    for given in [&mut by, &mut why].into_iter().flatten() {
        redactor.text(given);
    }
    // A word against an earlier word names its author.
    let by = if row.ended_by_hand { by } else { by.or_else(|| app.actor()) };
    let wish = EndInvocation { at: now_ms(), status: request.status, by, why };
    let id = row.id;
    match records.end_invocation(&id, &wish).await? {
        InvocationEnd::Done(row) => Ok(row),
        InvocationEnd::Unknown => Err(unknown(&id)),
        InvocationEnd::NothingRan(_) => {
            Err(Error::author("nothing_ran", format!("invocation `{id}` has no runs"))
                .help("give its status: `--status completed`, `failed`, `aborted` or `cancelled`"))
        }
        InvocationEnd::StillOpen(_) => Err(still_open(&*queries, &id).await?),
        InvocationEnd::EndedBefore(row) => {
            let message = format!("invocation `{id}` has ended: {}", row.status.as_str().replace('_', " "));
            Err(Error::person("ended", message).help("changing it needs `--why TEXT` and `--by NAME`"))
        }
        InvocationEnd::BetterThanItsRuns(row) => Err(better(&row)),
        InvocationEnd::NotForPeople(status) => {
            let word = status.as_str().replace('_', " ");
            Err(Error::author("usage", format!("the status of an invocation cannot be set to {word}"))
                .help("one of completed, failed, aborted, cancelled"))
        }
    }
}

async fn still_open(queries: &dyn Queries, id: &str) -> Result<Error, Error> {
    let mut open = Vec::new();
    for status in [RunStatus::Running, RunStatus::Waiting] {
        let filter = RunFilter {
            status: Some(status),
            invocation: Some(id.to_owned()),
            limit: Some(3),
            ..RunFilter::default()
        };
        open.extend(
            queries
                .runs(&filter)
                .await?
                .into_iter()
                .map(|row| format!("{} ({})", row.id, row.status.as_str())),
        );
    }
    let message = format!("invocation `{id}` has runs that have not ended: {}", open.join(", "));
    Ok(Error::person("not_ended", message)
        .help("`escrow wait RUN` waits for one, `escrow cancel RUN` ends it"))
}

fn better(row: &InvocationRow) -> Error {
    let health = row.health.map_or("", RunStatus::as_str).replace('_', " ");
    let because = row.reason.as_ref().map(|reason| format!(": {}", reason.summary));
    let message =
        format!("a run of invocation `{}` ended as {health}{}", row.id, because.unwrap_or_default());
    Error::person("worse", message).help("to set this status nevertheless, give `--why TEXT`")
}

/// By its id, a unique beginning of it, or `last`.
pub async fn find(queries: &dyn Queries, name: &str) -> Result<InvocationRow, Error> {
    match only_one(queries, name).await? {
        Some(row) => Ok(row),
        None => Err(unknown(name)),
    }
}

async fn only_one(queries: &dyn Queries, name: &str) -> Result<Option<InvocationRow>, Error> {
    let mut found = queries.invocations_named(name).await?;
    match (found.pop(), found.is_empty()) {
        (found, true) => Ok(found),
        (_, false) => Err(Error::author("ambiguous_invocation", format!("`{name}` is ambiguous"))
            .help("give more of the id")),
    }
}

fn unknown(name: &str) -> Error {
    let name: String = name.chars().filter(|c| is_harmless(*c)).collect();
    Error::not_found("unknown_invocation", format!("no invocation is called `{name}`"))
        .help("`escrow invocation list` lists them, `escrow invocation start` begins one")
}

/// An invocation as a request names it.
#[derive(Clone, Debug)]
pub struct NamedInvocation {
    pub name: String,
    pub origin: Origin,
}

/// Where the name of an invocation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Request,
    /// The environment of the process, which may belong to another state directory.
    Environment,
}

/// The invocation that a run joins: not one that a person has ended.
pub(crate) async fn joined(
    queries: &dyn Queries,
    named: Option<&NamedInvocation>,
) -> Result<Option<String>, Error> {
    let Some(id) = resolve(queries, named).await? else { return Ok(None) };
    match queries.invocation(&id).await? {
        Some(row) if row.ended_by_hand => {
            let word = row.status.as_str().replace('_', " ");
            let message = format!("invocation `{}` has ended: {word}", row.id);
            Err(Error::person("ended", message).help("`escrow invocation start` begins another"))
        }
        Some(_) | None => Ok(Some(id)),
    }
}

/// The id of the invocation that is meant. An id of Escrow's own must be known here, unless it comes from the
/// environment. Other ids are taken as they are: a trigger elsewhere made them.
pub async fn resolve(
    queries: &dyn Queries,
    named: Option<&NamedInvocation>,
) -> Result<Option<String>, Error> {
    let Some(NamedInvocation { name, origin }) = named.filter(|named| !named.name.is_empty()) else {
        return Ok(None);
    };
    one_line("--invocation", name, NAME_LENGTH_MAX)?;
    if let Some(row) = only_one(queries, name).await? {
        return Ok(Some(row.id));
    }
    let is_own = name.starts_with("i_") && name.len() == InvocationId::new(0, 0).as_str().len();
    match origin {
        Origin::Request if is_own => Err(unknown(name)),
        Origin::Request | Origin::Environment => Ok(Some(name.clone())),
    }
}
/// What the harnesses of all its runs have used; none if no harness was at work.
pub async fn harness_totals(queries: &dyn Queries, id: &str) -> Result<Option<HarnessTotals>, Error> {
    let filter = RunFilter { invocation: Some(id.to_owned()), ..RunFilter::default() };
    let mut totals = HarnessTotals::default();
    for row in queries.runs(&filter).await? {
        let run = crate::runs::replay(queries, &row).await?;
        // The runs that it nests are in the list themselves.
        if let Some(of_run) = run.own_harness_totals() {
            totals.merge(&of_run);
        }
    }
    Ok(Some(totals).filter(|totals| totals.attempts > 0))
}
