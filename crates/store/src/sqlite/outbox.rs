//! The outbox: notifications, kept until they are delivered.
//!
//! **Invariant:** at least once. A process that dies while it delivers leaves the notification to the next one, after
//! its claim has lapsed.

use escrow_model::{Millis, RunId};
use rusqlite::Connection;

use crate::error::StoreError;
use crate::notification::{DeliveryResult, DueNotification, Notification};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::error::SqliteError;
use crate::sqlite::tables::{from_json, json};

/// What cannot be derived; a step of the schema.
pub(crate) const TABLES: &str = "
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    run TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_at INTEGER,
    settled_at INTEGER,
    error TEXT
) STRICT;
CREATE INDEX outbox_due ON outbox (next_at) WHERE next_at IS NOT NULL;
";

/// How many are claimed at once.
const CLAIM_MAX: u64 = 20;

pub(crate) fn keeping(
    notifications: Vec<Notification>,
) -> impl FnMut(&Connection) -> Result<u64, SqliteError> + Send {
    move |connection| {
        let mut new = 0;
        for one in &notifications {
            new += connection
                .prepare_cached(
                    "INSERT INTO outbox (key, run, body, created_at, next_at) VALUES (?1, ?2, ?3, ?4, ?4)
                     ON CONFLICT (key) DO NOTHING",
                )?
                .execute((&one.key, one.run.as_str(), json(&one.body)?, one.at))? as u64;
        }
        Ok(new)
    }
}

pub(crate) fn has_due(store: &BlockingStore, now: Millis) -> Result<bool, StoreError> {
    store.read(|connection| {
        let sql = "SELECT EXISTS (SELECT 1 FROM outbox WHERE next_at IS NOT NULL AND next_at <= ?1)";
        Ok(connection.prepare_cached(sql)?.query_row([now], |row| row.get(0))?)
    })
}

pub(crate) fn claiming(
    now: Millis,
    lease_ms: u64,
) -> impl FnMut(&Connection) -> Result<Vec<DueNotification>, SqliteError> + Send {
    move |connection| {
        let due: Vec<DueNotification> = connection
            .prepare_cached(
                "SELECT id, key, run, body, created_at, attempts FROM outbox
                 WHERE next_at IS NOT NULL AND next_at <= ?1 ORDER BY next_at, id LIMIT ?2",
            )?
            .query_map((now, CLAIM_MAX), |row| {
                Ok(DueNotification {
                    id: row.get(0)?,
                    notification: Notification {
                        key: row.get(1)?,
                        run: RunId::from_stored(row.get::<_, String>(2)?),
                        body: from_json(row, 3)?,
                        at: row.get(4)?,
                    },
                    attempts: row.get(5)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?;
        for one in &due {
            connection
                .prepare_cached("UPDATE outbox SET next_at = ?2, attempts = attempts + 1 WHERE id = ?1")?
                .execute((one.id, now.saturating_add(lease_ms)))?;
        }
        Ok(due)
    }
}

pub(crate) fn settling(
    id: u64,
    result: DeliveryResult,
    at: Millis,
) -> impl FnMut(&Connection) -> Result<(), SqliteError> + Send {
    move |connection| {
        let (next_at, error, settled_at) = match &result {
            DeliveryResult::Delivered | DeliveryResult::Obsolete => (None, None, Some(at)),
            DeliveryResult::Failed { why, next_at } => (Some(*next_at), Some(why.as_str()), None),
        };
        connection
            .prepare_cached("UPDATE outbox SET next_at = ?2, error = ?3, settled_at = ?4 WHERE id = ?1")?
            .execute((id, next_at, error, settled_at))?;
        Ok(())
    }
}
