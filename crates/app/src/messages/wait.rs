//! The wait that a message answers, and which messages can answer it.

use escrow_engine::{Refusal, Run};
use escrow_model::{ApprovalStatus, Message, RunId, WaitKind};
use escrow_store::{NotAccepted, Queries, WaitRow};

use crate::app::App;
use crate::documents::assumed_done;
use crate::error::Error;
use crate::words::visible;

/// Characters of a prompt that an error repeats.
const PROMPT_LENGTH_MAX: usize = 400;

/// The open wait of this name. A message resolves a wait once.
pub(super) async fn find(queries: &dyn Queries, name: &str) -> Result<WaitRow, Error> {
    let named = queries.waits_named(name).await?;
    match named.as_slice() {
        [] => Err(Error::not_found("unknown_wait", format!("no approval or question is called `{name}`"))
            .help("`escrow approvals` lists what waits")),
        [one] => match &one.resolution {
            Some(how) => Err(not_accepted(one, &NotAccepted::Resolved(how.clone()))),
            None => Ok(one.clone()),
        },
        several => {
            let ids: Vec<&str> = several.iter().map(|wait| wait.id.as_str()).collect();
            Err(Error::author("ambiguous_wait", format!("`{name}` is ambiguous: {}", ids.join(", "))))
        }
    }
}

/// Whether this kind of message answers this kind of wait.
pub(super) fn fits(wait: &WaitRow, message: &Message) -> Result<(), Error> {
    let id = &wait.id;
    let help = match (message, wait.kind) {
        (Message::Approve { .. } | Message::Deny { .. }, WaitKind::Approval)
        | (Message::Answer { .. } | Message::Deny { .. }, WaitKind::Input) => return Ok(()),
        (_, WaitKind::Approval) => format!("`escrow approve {id}`, or `escrow deny {id}`"),
        (_, WaitKind::Input) => format!("`escrow answer {id} TEXT`"),
        (_, WaitKind::UnknownEffect) => format!(
            "`escrow resume {} --assume {}`, or `failed`, or `retry`",
            wait.run,
            assumed_done(&format!("{}{}", wait.check, wait.scope))
        ),
        (_, WaitKind::Nested) => format!("`escrow runs show {id}` shows what the nested run waits for"),
    };
    let prompt: String = visible(&wait.prompt).chars().take(PROMPT_LENGTH_MAX).collect();
    Err(Error::author("wrong_message", format!("`{id}` waits for something else: {prompt}")).help(help))
}

/// Whether an answer is one of the choices, where there are any.
pub(super) fn admits(wait: &WaitRow, message: &Message) -> Result<(), Error> {
    match message {
        Message::Answer { text, .. } if !wait.choices.is_empty() && !wait.choices.contains(text) => {
            Err(Error::author("bad_answer", format!("`{text}` is not a choice"))
                .help(format!("one of: {}", wait.choices.join(", "))))
        }
        Message::Answer { .. }
        | Message::Approve { .. }
        | Message::Deny { .. }
        | Message::Assume { .. }
        | Message::Cancel { .. } => Ok(()),
    }
}

/// Refuses a word about a check or an item that the run does not have.
pub(super) fn names_what_exists(run: &Run, message: &Message) -> Result<(), Error> {
    match run.refusal(message) {
        Some(Refusal::NoCheck(_) | Refusal::NoItem(_)) => refused(run, message),
        _ => Ok(()),
    }
}

/// Whether the run would refuse the decision, as far as its journal tells.
pub(super) fn refused(run: &Run, message: &Message) -> Result<(), Error> {
    let Some(refusal) = run.refusal(message) else { return Ok(()) };
    let text = refusal.to_string();
    Err(match refusal {
        Refusal::NoWait(_) => Error::person("stale", text).help("`escrow approvals` lists what waits"),
        Refusal::NotNamed { .. } => Error::forbidden("not_allowed", text),
        Refusal::NotIndependent(_) => Error::forbidden("not_independent", text)
            .help("another person approves; `--by` is kept as a claim and does not count"),
        Refusal::Again(_) => Error::person("again", text).help("another person has to approve as well"),
        Refusal::OtherKind(_) | Refusal::NotAChoice { .. } => Error::author("wrong_message", text),
        Refusal::NoCheck(_) | Refusal::NoItem(_) => {
            Error::author("usage", text).help("`escrow approvals` lists what waits")
        }
        Refusal::PerItem(place) => {
            Error::author("usage", text).help(format!("an item is called `{place}[2]`, counted from 0"))
        }
        Refusal::NotUnknown(_) | Refusal::Settled(_) | Refusal::LookedFor(_) | Refusal::Stopping => {
            Error::person("resolved", text)
        }
        Refusal::EffectUnderWay => Error::person("effect_under_way", text),
    })
}

/// Whether the run has taken the decision in. One whose own time was up, or that of a run around it, ends instead.
pub(super) async fn in_time(app: &App, name: &str, run: &RunId) -> Result<(), Error> {
    let queries = app.queries()?;
    let waits = queries.waits_named(name).await?;
    let Some(wait) = waits.iter().find(|wait| wait.run == *run && wait.id == name) else { return Ok(()) };
    let ended = [ApprovalStatus::RunEnded, ApprovalStatus::Expired];
    let is_left = wait.resolution.as_deref().is_some_and(|how| ended.iter().any(|one| one.as_str() == how));
    let actor = app.actor();
    if !is_left || wait.approvals.iter().any(|given| given.by == actor) {
        return Ok(());
    }
    let reason = queries.run(run.as_str()).await?.reason.map(|reason| reason.summary).unwrap_or_default();
    let message = format!("`{name}` was not decided: run `{run}` had to end before that ({reason})");
    Err(Error::person("too_late", message).help(format!("`escrow runs show {run}` shows how it ended")))
}

/// Why the first decision about a wait was not this one.
pub(super) fn not_accepted(wait: &WaitRow, why: &NotAccepted) -> Error {
    let (id, run) = (&wait.id, &wait.run);
    match why {
        NotAccepted::Gone => {
            Error::not_found("unknown_wait", format!("no approval or question is called `{id}`"))
                .help("`escrow approvals` lists what waits")
        }
        NotAccepted::Resolved(how) if how == ApprovalStatus::Stale.as_str() => {
            Error::person("stale", format!("`{id}` is stale: what it asked about has changed"))
                .help("`escrow approvals` lists what waits now")
        }
        NotAccepted::Resolved(how) => {
            let by = wait.resolved_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            Error::person("resolved", format!("`{id}` was resolved{by}: {how}"))
                .help(format!("`escrow runs show {run}` shows what followed"))
        }
        NotAccepted::Expired => Error::person("expired", format!("`{id}` has expired"))
            .help(format!("`escrow resume {run}` lets the run act on that")),
        NotAccepted::Decided | NotAccepted::Moved => Error::person(
            "resolved",
            format!("`{id}` is already decided; run `{run}` has not acted on it yet"),
        )
        .help(format!("`escrow resume {run}` resumes it")),
        NotAccepted::Again => Error::person("again", format!("you have already approved `{id}`"))
            .help("another person has to approve as well"),
    }
}
