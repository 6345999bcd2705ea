//! What needs a person, by cause. `docs/attention.md` describes every field.

use escrow_model::{EventTrigger, Millis, WaitKind, rfc3339};
use escrow_store::{AttentionItem, AttentionKind, AttentionWait, Dismissal};
use serde_json::{Value, json};

use super::wait::nested;
use crate::words::shell_word;

/// The list, with the number of dismissed items and of those beyond the limit.
pub fn attention(items: &[AttentionItem], dismissed: usize, left_out: usize, now: Millis) -> Value {
    let documents: Vec<Value> = items.iter().map(|item| attention_item(item, now)).collect();
    json!({ "attention": documents, "dismissed": dismissed, "left_out": left_out })
}

pub fn attention_item(item: &AttentionItem, now: Millis) -> Value {
    let subject = item.wait.as_ref().and_then(|wait| wait.subject.as_ref());
    json!({
        "fingerprint": item.fingerprint,
        "kind": item.kind,
        "reason_code": item.reason_code,
        "playbook": item.playbook,
        "title": item.title,
        "check": item.subject.as_ref().filter(|subject| subject.kind == "check").map(|subject| &subject.id),
        "subject": item.subject,
        "summary": item.summary,
        "count": item.count,
        "first_at": rfc3339(item.first_at),
        "last_at": rfc3339(item.last_at),
        "run_ids": item.runs,
        "wait_id": item.wait.as_ref().map(|wait| &wait.id),
        "request": subject.map(|subject| &subject.request),
        "nested": subject.and_then(|subject| subject.nested.as_ref()).map(nested),
        "next": next_command(item, now),
        "dismissed": item.dismissed.as_ref().map(dismissal),
    })
}

fn dismissal(seen: &Dismissal) -> Value {
    json!({ "at": rfc3339(seen.at), "by": seen.by, "note": seen.note })
}

/// The command that settles an unknown effect after its run has ended.
pub fn settles(key: &str) -> String {
    // Quoted, because a shell reads `|` as a pipe.
    format!("escrow effects resolve {} 'done|failed' --by NAME --why TEXT", shell_word(key))
}

/// The command that deals with an item.
pub fn next_command(item: &AttentionItem, now: Millis) -> String {
    let run = item.runs.first().map_or("last", |run| run.as_str());
    if let Some(AttentionWait { id, kind, place, expires_at, has_recorded_decision, subject: _ }) = &item.wait
    {
        // Resuming the run delivers the decision, or makes the run notice the expiry.
        if *has_recorded_decision || expires_at.is_some_and(|at| at <= now) {
            return format!("escrow resume {run}");
        }
        return match kind {
            WaitKind::Approval => format!("escrow approve {id}"),
            WaitKind::Input => format!("escrow answer {id} TEXT"),
            // Quoted, because a shell reads `|` as a pipe and `[2]` as a pattern.
            WaitKind::UnknownEffect => format!("escrow resume {run} --assume '{place}=done|failed|retry'"),
            WaitKind::Nested => format!("escrow runs show {id}"),
        };
    }
    match item.kind {
        AttentionKind::Interrupted if item.count > 1 => "escrow resume --all".to_owned(),
        AttentionKind::Interrupted => format!("escrow resume {run}"),
        AttentionKind::Undelivered => "escrow chain check".to_owned(),
        AttentionKind::NotBegun => {
            let chain = shell_word(&item.playbook);
            match item.subject.as_ref().map(|subject| subject.id.as_str()) {
                Some(EventTrigger::SCHEDULE | EventTrigger::MANUAL) | None => {
                    format!("escrow chain fire {chain}")
                }
                Some(_) => format!("escrow chain fire {chain} --event FILE"),
            }
        }
        AttentionKind::UnknownEffect => settles(item.subject.as_ref().map_or("", |subject| &subject.id)),
        AttentionKind::Warning | AttentionKind::Waiting => format!("escrow runs show {run}"),
        AttentionKind::Failed | AttentionKind::TimedOut | AttentionKind::Aborted => {
            format!("escrow explain {run}")
        }
    }
}
