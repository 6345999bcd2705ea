//! What needs a person, and what a person dismisses. A dismissed cause returns when it happens again.

use std::path::Path;

use escrow_model::{ChainStatus, EventTrigger, FireCode, Millis};
use escrow_runtime::{liveness, now_ms};
use escrow_store::{ChainRow, Dismissing, Queries};

pub use escrow_store::{AttentionItem, AttentionKind, AttentionWait};

use crate::app::App;
use crate::around::redactor_around;
use crate::chains;
use crate::error::Error;
use crate::person_text::{NAME_LENGTH_MAX, WHY_LENGTH_MAX, one_line, text};
use crate::settled;

/// Everything that needs a person, newest first. Dismissed items are included and marked.
pub async fn items(queries: &dyn Queries) -> Result<Vec<AttentionItem>, Error> {
    let mut items = open_items(queries).await?;
    settled::note_items(queries, &mut items).await;
    Ok(items)
}

async fn open_items(queries: &dyn Queries) -> Result<Vec<AttentionItem>, Error> {
    let mut open = Vec::new();
    for item in queries.attention(liveness).await? {
        if !is_corrected(queries, &item).await? {
            open.push(item);
        }
    }
    Ok(open)
}

/// Whether a tick could not begin because of its definition, which has no problem any more. The next tick fires the chain;
/// another event would be lost.
async fn is_corrected(queries: &dyn Queries, item: &AttentionItem) -> Result<bool, Error> {
    let is_of_schedule = item.subject.as_ref().is_some_and(|one| one.id == EventTrigger::SCHEDULE);
    if item.reason_code.as_deref() != Some(FireCode::FailedDefinition.as_str()) || !is_of_schedule {
        return Ok(false);
    }
    Ok(match queries.chain(&item.playbook).await? {
        None => true,
        Some(chain) if chain.status == ChainStatus::Disabled => true,
        Some(ChainRow { file, text, directory, .. }) => {
            chains::compile(Path::new(&file), text.as_bytes(), Path::new(&directory)).is_ok()
        }
    })
}

/// Which items are listed.
#[derive(Debug, Default)]
pub struct AttentionQuery {
    /// Only those that happened at this time or later.
    pub since: Option<Millis>,
    /// Dismissed items too.
    pub with_dismissed: bool,
    /// At most so many, the newest.
    pub limit: Option<usize>,
}

/// The items of a list, and how many are not on it.
#[derive(Debug)]
pub struct ListedItems {
    pub items: Vec<AttentionItem>,
    /// The items that are dismissed, listed or not.
    pub dismissed: usize,
    /// The items beyond the limit.
    pub left_out: usize,
}

/// The items that a list shows, newest first.
pub async fn list(queries: &dyn Queries, query: &AttentionQuery) -> Result<ListedItems, Error> {
    let mut items = items(queries).await?;
    items.retain(|item| query.since.is_none_or(|since| item.last_at >= since));
    let dismissed = items.iter().filter(|item| item.dismissed.is_some()).count();
    items.retain(|item| query.with_dismissed || item.dismissed.is_none());
    let limit = query.limit.unwrap_or(usize::MAX);
    let left_out = items.len().saturating_sub(limit);
    items.truncate(limit);
    Ok(ListedItems { items, dismissed, left_out })
}

#[derive(Debug)]
pub struct DismissRequest {
    /// A fingerprint or a beginning of it, a run, or a wait.
    pub what: String,
    pub note: String,
    pub by: Option<String>,
}

/// The item, dismissed.
pub async fn dismiss(app: &App, request: &DismissRequest) -> Result<AttentionItem, Error> {
    text("--note", &request.note, WHY_LENGTH_MAX)?;
    if let Some(by) = &request.by {
        one_line("--by", by, NAME_LENGTH_MAX)?;
    }
    let records = app.records()?;
    let item = find(&*app.queries()?, &request.what).await?;
    if item.dismissed.is_some() {
        let message = format!("`{}` is already dismissed and has not recurred", item.fingerprint);
        return Err(Error::person("dismissed", message));
    }
    let redactor = redactor_around(app).await?;
    let (mut by, mut note) = (request.by.clone().or_else(|| app.actor()), request.note.trim().to_owned());
    redactor.text(&mut note);
    if let Some(by) = &mut by {
        redactor.text(by);
    }
    let dismissing = Dismissing { at: now_ms(), by, note };
    let dismissal = records.dismiss(&item, dismissing).await?;
    Ok(AttentionItem { dismissed: Some(dismissal), ..item })
}

/// The item of a fingerprint, of a wait, or of a run.
async fn find(queries: &dyn Queries, what: &str) -> Result<AttentionItem, Error> {
    let mut items = open_items(queries).await?;
    let is_wait = |item: &AttentionItem| item.wait.as_ref().is_some_and(|wait| wait.id == what);
    if what.starts_with("f_") && what.len() > 2 {
        items.retain(|item| item.fingerprint.starts_with(what));
    } else if items.iter().any(is_wait) {
        items.retain(is_wait);
    } else {
        let row = queries.run(what).await?;
        items.retain(|item| match &row.reason {
            Some(_) if item.kind == AttentionKind::UnknownEffect => item.runs.contains(&row.id),
            // An item names only its newest runs; an older one is found by its cause.
            Some(reason) if row.status.is_terminal() => {
                let subject = reason.evidence.first().map(|one| (one.kind.as_str(), one.id.as_str()));
                let of_item = item.subject.as_ref().map(|one| (one.kind.as_str(), one.id.as_str()));
                item.playbook == row.playbook
                    && item.reason_code.as_deref() == Some(reason.code.as_str())
                    && of_item == subject
            }
            Some(_) | None => item.runs.contains(&row.id),
        });
    }
    match (items.pop(), items.is_empty()) {
        (Some(item), true) => Ok(item),
        (None, _) => {
            Err(Error::not_found("unknown_item", format!("nothing that needs a person is called `{what}`"))
                .help("`escrow attention --all` lists everything"))
        }
        (Some(_), false) => {
            Err(Error::author("ambiguous_item", format!("`{what}` is ambiguous"))
                .help("give the fingerprint"))
        }
    }
}
