//! The wait that a message answers, and which messages can answer it.

use escrow_model::{Message, WaitKind, is_harmless};
use escrow_runtime::entropy::now_ms;
use escrow_store::{Queries, WaitRow};

use crate::error::Error;

/// Characters of a prompt that an error repeats.
const PROMPT_LENGTH_MAX: usize = 400;

/// The open wait of this name. A message resolves a wait once.
pub(super) async fn find(queries: &dyn Queries, name: &str) -> Result<WaitRow, Error> {
    let named = queries.waits_named(name).await?;
    match named.as_slice() {
        [] => Err(Error::author("unknown_wait", format!("no approval or question is called `{name}`"))
            .help("`escrow approvals` lists what waits")),
        [one] if one.resolved_at.is_some() => {
            let how = one.resolution.as_deref().unwrap_or("already");
            Err(Error::person("resolved", format!("`{name}` was resolved: {how}")))
        }
        [one] if one.expires_at.is_some_and(|at| at <= now_ms()) => {
            Err(Error::person("expired", format!("`{name}` has expired")))
        }
        [one] => Ok(one.clone()),
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
            "`escrow resume {} --assume {}{}=done`, or `failed`, or `retry`",
            wait.run, wait.check, wait.scope
        ),
        (_, WaitKind::Nested) => format!("`escrow runs show {id}` shows what the nested run waits for"),
    };
    let prompt: String = wait.prompt.chars().filter(|c| is_harmless(*c)).take(PROMPT_LENGTH_MAX).collect();
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

/// Whether a message answers this wait.
pub(super) fn is_about(message: &Message, wait: &str) -> bool {
    match message {
        Message::Approve { id, .. } | Message::Deny { id, .. } | Message::Answer { id, .. } => id == wait,
        Message::Assume { .. } | Message::Cancel { .. } => false,
    }
}
