//! Tells people what waits for them: every open wait becomes a notification, kept until it is delivered.
//!
//! **Invariant:** at least once. A wait is in the journal, so a process that dies before it was told leaves it to the next
//! one.

use std::path::Path;

use escrow_model::{Millis, WaitKind, rfc3339};
use escrow_runtime::config::Notify;
use escrow_runtime::notifier::deliver;
use escrow_runtime::now_ms;
use escrow_store::{DeliveryResult, DueNotification, Notification, WaitRow};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::documents::assumed_done;
use crate::error::Error;

/// Longer than a delivery may take: until then no other process tries.
const LEASE_MS: u64 = 60_000;
const BACKOFF_MS: u64 = 10_000;
const BACKOFF_MS_MAX: u64 = 30 * 60_000;

/// What became of the notifications that were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub delivered: u32,
    pub failed: u32,
}

/// Queues a notification for each open wait that has none, and delivers what is due.
pub async fn tell(app: &App, notify: &Notify, directory: &Path) -> Result<Told, Error> {
    let fires = app.fires()?;
    let waits = app.queries()?.open_waits().await?;
    let now = now_ms();
    let asked: Vec<Notification> = waits.iter().filter_map(|wait| notification(wait, now)).collect();
    if !asked.is_empty() {
        fires.notify(&asked).await?;
    }
    let mut told = Told::default();
    for due in fires.claim_notifications(now, LEASE_MS).await? {
        let is_open = asked.iter().any(|one| one.key == due.notification.key);
        let result =
            if is_open { attempt(&due, notify, directory, app).await } else { DeliveryResult::Obsolete };
        match &result {
            DeliveryResult::Delivered => told.delivered += 1,
            DeliveryResult::Failed { .. } => told.failed += 1,
            DeliveryResult::Obsolete => {}
        }
        fires.notified(due.id, &result, now_ms()).await?;
    }
    Ok(told)
}

async fn attempt(due: &DueNotification, notify: &Notify, directory: &Path, app: &App) -> DeliveryResult {
    match deliver(notify, &due.notification.body, directory, &app.stopping()).await {
        Ok(()) => DeliveryResult::Delivered,
        Err(why) => DeliveryResult::Failed { why, next_at: now_ms() + backoff_ms(due.attempts) },
    }
}

/// Doubles with each attempt.
fn backoff_ms(attempts: u32) -> u64 {
    BACKOFF_MS.saturating_mul(1 << attempts.min(16)).min(BACKOFF_MS_MAX)
}

/// `None` for waits that no person answers.
fn notification(wait: &WaitRow, now: Millis) -> Option<Notification> {
    let (kind, commands) = match wait.kind {
        WaitKind::Nested => return None,
        WaitKind::Approval => {
            ("approval", vec![format!("escrow approve {}", wait.id), format!("escrow deny {}", wait.id)])
        }
        WaitKind::Input => ("input", vec![format!("escrow answer {} TEXT", wait.id)]),
        WaitKind::UnknownEffect => {
            let done = assumed_done(&format!("{}{}", wait.check, wait.scope));
            ("unknown_effect", vec![format!("escrow resume {} --assume {done}", wait.run)])
        }
    };
    if wait.has_recorded_decision {
        return None;
    }
    let mut body = Map::new();
    for (name, value) in [
        ("kind", json!(kind)),
        ("id", json!(wait.id)),
        ("run_id", json!(wait.run)),
        ("title", json!(wait.title)),
        ("check", json!(format!("{}{}", wait.check, wait.scope))),
        ("prompt", json!(wait.prompt)),
        ("asked_at", json!(rfc3339(wait.started_at))),
        ("expires_at", wait.expires_at.map_or(Value::Null, |at| json!(rfc3339(at)))),
        ("commands", json!(commands)),
    ] {
        body.insert(name.to_owned(), value);
    }
    Some(Notification { key: format!("{}:{}", wait.run, wait.id), run: wait.run.clone(), body, at: now })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_ever_further_apart_up_to_half_an_hour() {
        let delays: Vec<u64> = (0..12).map(|attempts| backoff_ms(attempts) / 1000).collect();
        assert_eq!(delays, [10, 20, 40, 80, 160, 320, 640, 1280, 1800, 1800, 1800, 1800]);
        assert_eq!(backoff_ms(u32::MAX), BACKOFF_MS_MAX);
    }
}
