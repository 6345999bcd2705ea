//! Records what sources found: occurrences, fires, and how far each source was read, in one transaction.

use escrow_model::{FireStatus, RunId, hex};
use rusqlite::{Connection, OptionalExtension};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::fire::{CursorMove, Delivery, FireRow, NewFire, Occurrence, Recorded, Recording, Together};
use crate::sqlite::error::SqliteError;
use crate::sqlite::tables::{from_json, json};

use super::one;

/// How long a delivery is remembered. Longer than the window in which a replay could be accepted.
const REMEMBERED_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// The event of a fire whose sources occurred together.
const TOGETHER: &str = "all.fired";

pub(crate) fn recording(
    recording: Recording,
) -> impl FnMut(&Connection) -> Result<Recorded, SqliteError> + Send {
    move |connection| {
        for CursorMove { name, from, .. } in &recording.cursors {
            if cursor(name, connection)? != *from {
                return Ok(Recorded::Moved);
            }
        }
        for delivery in &recording.deliveries {
            if !remember(delivery, connection)? {
                return Ok(Recorded::Duplicate);
            }
        }
        for CursorMove { name, to, .. } in &recording.cursors {
            connection
                .prepare_cached(
                    "INSERT INTO cursors (name, value) VALUES (?1, ?2)
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                )?
                .execute((name, to))?;
        }
        for handled in &recording.handled {
            // Another process may be further.
            connection
                .prepare_cached(
                    "UPDATE armed_triggers SET after = ?3, next_at = ?4, computed_at = ?5
                     WHERE chain_id = ?1 AND position = ?2 AND (after <= ?3 OR computed_at > ?5)",
                )?
                .execute((
                    handled.chain_id.as_str(),
                    handled.position,
                    handled.after,
                    handled.next_at,
                    handled.at,
                ))?;
        }
        let mut fires = Vec::new();
        for Occurrence { fire, together } in &recording.occurrences {
            let recorded = match (together, &fire.refused) {
                (Some(together), None) => occur(fire, *together, connection)?,
                (None, _) | (Some(_), Some(_)) => insert(fire, connection)?,
            };
            fires.extend(recorded);
        }
        Ok(Recorded::Done(fires))
    }
}

pub(crate) fn recording_fire(
    fire: NewFire,
) -> impl FnMut(&Connection) -> Result<FireRow, SqliteError> + Send {
    move |connection| {
        if let Some(row) = insert(&fire, connection)? {
            return Ok(row);
        }
        let id = connection
            .prepare_cached("SELECT id FROM fires WHERE chain_id = ?1 AND key = ?2")?
            .query_row((fire.chain_id.as_str(), &fire.key), |row| row.get(0))?;
        Ok(one(id, connection)?)
    }
}

pub(crate) fn cursor(name: &str, connection: &Connection) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT value FROM cursors WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()
}

pub(crate) fn is_known_subject(subject: &str, connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM deliveries WHERE subject = ?1)")?
        .query_row([subject], |row| row.get(0))
}

/// Whether the delivery is new. The sender's id, the signed bytes and what is told each tell a duplicate.
fn remember(delivery: &Delivery, connection: &Connection) -> Result<bool, SqliteError> {
    let Delivery { hook, id, digest, subject, at } = delivery;
    let known: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM deliveries WHERE hook = ?1 AND id = ?2)
                 OR EXISTS (SELECT 1 FROM deliveries WHERE hook = ?1 AND digest = ?3)
                 OR (?4 IS NOT NULL AND EXISTS (SELECT 1 FROM deliveries WHERE subject = ?4))",
        )?
        .query_row((hook, id, digest, subject), |row| row.get(0))?;
    if known {
        return Ok(false);
    }
    connection
        .prepare_cached("INSERT INTO deliveries (hook, id, digest, subject, at) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute((hook, id, digest, subject, at))?;
    connection
        .prepare_cached("DELETE FROM deliveries WHERE at < ?1")?
        .execute([at.saturating_sub(REMEMBERED_MS)])?;
    Ok(true)
}

/// `None` when the fire is recorded already.
fn insert(fire: &NewFire, connection: &Connection) -> Result<Option<FireRow>, SqliteError> {
    let run: RunId = fire.chain_id.run_of(&fire.key);
    let (code, reason) = match &fire.refused {
        Some((code, reason)) => (Some(*code), Some(reason.as_str())),
        None => (None, None),
    };
    let status = code.map_or(FireStatus::Recorded, |code| code.status());
    let inserted = connection
        .prepare_cached(
            "INSERT INTO fires (chain_id, chain, key, at, event, payload, depth, status, reason_code, reason, run,
                                decided_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT (chain_id, key) DO NOTHING",
        )?
        .execute((
            fire.chain_id.as_str(),
            &fire.chain,
            &fire.key,
            fire.at,
            &fire.event,
            json(&fire.payload)?,
            fire.depth,
            status.as_str(),
            code.map(|code| code.as_str()),
            reason,
            run.as_str(),
            code.map(|_| fire.at),
        ))?;
    if inserted == 0 {
        return Ok(None);
    }
    Ok(Some(one(connection.last_insert_rowid().unsigned_abs(), connection)?))
}

/// Keeps an occurrence of one source, and records the fire when each source has occurred.
fn occur(
    fire: &NewFire,
    together: Together,
    connection: &Connection,
) -> Result<Option<FireRow>, SqliteError> {
    let inserted = connection
        .prepare_cached(
            "INSERT INTO occurrences (chain_id, position, key, at, event, payload, depth)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (chain_id, position, key) DO NOTHING",
        )?
        .execute((
            fire.chain_id.as_str(),
            together.position,
            &fire.key,
            fire.at,
            &fire.event,
            json(&fire.payload)?,
            fire.depth,
        ))?;
    if inserted == 0 {
        return Ok(None);
    }
    let mut latest = connection.prepare_cached(
        "SELECT key, at, event, payload, depth FROM occurrences
         WHERE chain_id = ?1 AND position = ?2 AND used = 0 ORDER BY at DESC, key DESC LIMIT 1",
    )?;
    let mut hasher = Sha256::new();
    let mut events = Vec::new();
    let (mut first, mut last, mut depth) = (u64::MAX, 0, 0);
    for position in 0..together.sources {
        let found = latest
            .query_row((fire.chain_id.as_str(), position), |row| {
                let (key, at, event): (String, u64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let payload: Map<String, Value> = from_json(row, 3)?;
                Ok((key, at, event, payload, row.get::<_, u32>(4)?))
            })
            .optional()?;
        let Some((key, at, event, payload, its_depth)) = found else { return Ok(None) };
        hasher.update((key.len() as u64).to_be_bytes());
        hasher.update(&key);
        (first, last, depth) = (first.min(at), last.max(at), depth.max(its_depth));
        let mut one = Map::new();
        one.insert("event".into(), Value::String(event));
        one.extend(payload);
        events.push(Value::Object(one));
    }
    if last - first > together.within_ms {
        return Ok(None);
    }
    connection
        .prepare_cached("UPDATE occurrences SET used = 1 WHERE chain_id = ?1 AND used = 0")?
        .execute([fire.chain_id.as_str()])?;
    let mut payload = Map::new();
    payload.insert("events".into(), Value::Array(events));
    let together = NewFire {
        key: format!("all:{}", hex(&hasher.finalize()[..16])),
        event: TOGETHER.to_owned(),
        payload,
        depth,
        ..fire.clone()
    };
    insert(&together, connection)
}
