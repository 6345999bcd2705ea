//! The sources of attention: runs that ended badly, open waits, unknown effects of runs that were ended, and runs whose
//! holder died.

use std::collections::BTreeMap;

use escrow_model::{Millis, RunId, ScopePath};
use rusqlite::Connection;

use crate::lease::{Holder, Liveness};
use crate::sqlite::error::SqliteError;
use crate::sqlite::lease;
use crate::sqlite::tables::waits::IS_DECIDED;
use crate::sqlite::tables::{from_json, word};

use super::{AttentionItem, AttentionKind, AttentionWait, Cause, Dismissal, Occurrence, RUNS_MAX, Subject};

/// Runs that ended in trouble which nothing has cleared since, one row per cause.
pub(super) fn ended(
    connection: &Connection,
    dismissals: &BTreeMap<String, Dismissal>,
    items: &mut BTreeMap<String, AttentionItem>,
) -> Result<(), SqliteError> {
    let mut causes = connection.prepare_cached(
        "SELECT playbook, attention, reason_code, subject, count(*), min(ended_at), max(ended_at)
         FROM runs INDEXED BY runs_for_attention WHERE attention IS NOT NULL
         GROUP BY playbook, attention, reason_code, subject",
    )?;
    let mut since = connection.prepare_cached(
        "SELECT count(*), min(ended_at) FROM runs INDEXED BY runs_for_attention
         WHERE attention = ?2 AND playbook = ?1 AND reason_code IS ?3 AND subject IS ?4 AND (ended_at, id) > (?5, ?6)",
    )?;
    let mut newest = connection.prepare_cached(
        "SELECT id FROM runs INDEXED BY runs_for_attention
         WHERE attention = ?2 AND playbook = ?1 AND reason_code IS ?3 AND subject IS ?4
         ORDER BY ended_at DESC, id DESC LIMIT ?5",
    )?;
    let mut summary = connection.prepare_cached("SELECT reason_summary, title FROM runs WHERE id = ?1")?;
    let mut rows = causes.query([])?;
    while let Some(row) = rows.next()? {
        let (playbook, attention): (String, String) = (row.get(0)?, row.get(1)?);
        let (code, subject): (Option<String>, Option<String>) = (row.get(2)?, row.get(3)?);
        let (mut count, mut first_at): (u64, Millis) = (row.get(4)?, row.get(5)?);
        let last_at: Millis = row.get(6)?;
        let mut runs = newest
            .query_map((&playbook, &attention, &code, &subject, RUNS_MAX), |row| row.get::<_, String>(0))?
            .map(|id| id.map(RunId::from_stored))
            .collect::<rusqlite::Result<Vec<RunId>>>()?;
        let Some(last) = runs.first() else { continue };
        let cause = Cause {
            kind: kind(&attention),
            reason_code: code.clone(),
            playbook: playbook.clone(),
            subject: subject.as_deref().map(read_subject),
            wait: None,
        };
        let fingerprint = cause.fingerprint();
        let seen = dismissals.get(&fingerprint);
        let dismissed = seen.filter(|seen| seen.covers(last_at, last)).cloned();
        if let (Some(seen), None) = (seen, &dismissed) {
            let after = (&playbook, &attention, &code, &subject, seen.up_to, seen.up_to_run.as_str());
            (count, first_at) = since.query_row(after, |row| Ok((row.get(0)?, row.get(1)?)))?;
        }
        let (summary, title): (Option<String>, Option<String>) =
            summary.query_row([last.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        runs.truncate(usize::try_from(count).unwrap_or(RUNS_MAX));
        let Cause { kind, reason_code, playbook, subject, wait: _ } = cause;
        items.insert(
            fingerprint.clone(),
            AttentionItem {
                fingerprint,
                kind,
                reason_code,
                playbook,
                title,
                subject,
                count,
                first_at,
                last_at,
                summary: summary.unwrap_or_default(),
                runs,
                wait: None,
                dismissed,
            },
        );
    }
    Ok(())
}

/// As `runs` spells it.
fn kind(attention: &str) -> AttentionKind {
    match attention {
        "timed_out" => AttentionKind::TimedOut,
        "aborted" => AttentionKind::Aborted,
        "warning" => AttentionKind::Warning,
        _ => AttentionKind::Failed,
    }
}

fn read_subject(text: &str) -> Subject {
    let (kind, id) = text.split_once(' ').unwrap_or(("", text));
    Subject { kind: kind.to_owned(), id: id.to_owned() }
}

pub(super) fn waiting(connection: &Connection) -> Result<Vec<Occurrence>, SqliteError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT waits.run, waits.id, waits.name, waits.kind, waits.prompt, waits.started_at, runs.playbook, waits.scope,
                waits.expires_at,
                {IS_DECIDED},
                runs.title,
                waits.subject
         FROM waits JOIN runs ON runs.id = waits.run
         WHERE waits.resolved_at IS NULL AND waits.kind <> 'nested'"
    ))?;
    let rows = statement.query_map([], |row| {
        let (id, check, kind): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
        let wait = AttentionWait {
            id,
            kind: word(row, 3)?,
            place: format!("{check}{}", row.get::<_, String>(7)?),
            expires_at: row.get(8)?,
            has_recorded_decision: row.get(9)?,
            subject: match row.get_ref(11)? {
                rusqlite::types::ValueRef::Null => None,
                _ => Some(from_json(row, 11)?),
            },
        };
        Ok(Occurrence {
            cause: Cause {
                kind: AttentionKind::Waiting,
                reason_code: Some(format!("run.waiting.{kind}")),
                playbook: row.get(6)?,
                subject: Some(Subject { kind: "check".into(), id: check }),
                wait: Some(wait.id.clone()),
            },
            at: row.get(5)?,
            run: RunId::from_stored(row.get::<_, String>(0)?),
            summary: row.get(4)?,
            title: row.get(10)?,
            wait: Some(wait),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Effects that a run left open when it was ended. A run that failed or completed has asked about its effects, unless they
/// may always be repeated.
pub(super) fn unknown_effects(connection: &Connection) -> Result<Vec<Occurrence>, SqliteError> {
    let mut statement = connection.prepare_cached(
        "SELECT effects.run, effects.key, effects.name, runs.status, runs.ended_at, runs.playbook, runs.title,
                effects.scope
         FROM effects INDEXED BY effects_open JOIN runs ON runs.id = effects.run
         WHERE effects.state IN ('intended', 'unknown') AND runs.status IN ('aborted', 'cancelled', 'timed_out')",
    )?;
    let rows = statement.query_map([], |row| {
        let (key, check, status): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
        let scope: ScopePath = from_json(row, 7)?;
        let status = status.replace('_', " ");
        Ok(Occurrence {
            cause: Cause {
                kind: AttentionKind::UnknownEffect,
                reason_code: None,
                playbook: row.get(5)?,
                subject: Some(Subject { kind: "effect".into(), id: key }),
                wait: None,
            },
            at: row.get(4)?,
            run: RunId::from_stored(row.get::<_, String>(0)?),
            summary: format!("`{check}{scope}` may or may not have taken effect; its run is {status}"),
            title: row.get(6)?,
            wait: None,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Notifications that could not be delivered, while what they tell still waits.
pub(super) fn undelivered(connection: &Connection) -> Result<Vec<Occurrence>, SqliteError> {
    let mut statement = connection.prepare_cached(
        "SELECT outbox.run, outbox.error, outbox.created_at, outbox.attempts, runs.playbook, runs.title
         FROM outbox JOIN runs ON runs.id = outbox.run
         WHERE outbox.next_at IS NOT NULL AND outbox.error IS NOT NULL",
    )?;
    let rows = statement.query_map([], |row| {
        let (error, attempts): (String, u64) = (row.get(1)?, row.get(3)?);
        let times = if attempts == 1 { "once".to_owned() } else { format!("{attempts} times") };
        Ok(Occurrence {
            cause: Cause {
                kind: AttentionKind::Undelivered,
                reason_code: None,
                playbook: row.get(4)?,
                subject: Some(Subject { kind: "notification".into(), id: "notify".into() }),
                wait: None,
            },
            at: row.get(2)?,
            run: RunId::from_stored(row.get::<_, String>(0)?),
            summary: format!("the notification failed {times}: {error}"),
            title: row.get(5)?,
            wait: None,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Logins of the user that a harness was lent and that may be lost. Runs that completed with warnings are listed anyway; a
/// later success of the same playbook shows that the user is logged in.
pub(super) fn lost_logins(connection: &Connection) -> Result<Vec<Occurrence>, SqliteError> {
    let mut statement = connection.prepare_cached(
        "SELECT runs.id, json_extract(warning, '$.message'), json_extract(warning, '$.check'), runs.ended_at, runs.playbook,
                runs.title
         FROM warnings JOIN runs ON runs.id = warnings.run
         WHERE json_extract(warning, '$.code') = 'login_lost' AND runs.ended_at IS NOT NULL
           AND runs.attention IS NOT 'warning' AND NOT EXISTS (
             SELECT 1 FROM runs AS later
             WHERE later.playbook = runs.playbook AND later.started_at > runs.started_at AND later.status = 'completed')",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(Occurrence {
            cause: Cause {
                kind: AttentionKind::Warning,
                reason_code: Some("login_lost".into()),
                playbook: row.get(4)?,
                subject: row
                    .get::<_, Option<String>>(2)?
                    .map(|check| Subject { kind: "check".into(), id: check }),
                wait: None,
            },
            at: row.get(3)?,
            run: RunId::from_stored(row.get::<_, String>(0)?),
            summary: row.get(1)?,
            title: row.get(5)?,
            wait: None,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Fires whose run could not begin. A later fire with the same event makes up for it; for a tick of a schedule, any later fire
/// does.
pub(super) fn not_begun(connection: &Connection) -> Result<Vec<Occurrence>, SqliteError> {
    let mut statement = connection.prepare_cached(
        "SELECT chain, event, reason_code, reason, coalesce(decided_at, at) FROM fires INDEXED BY fires_failed
         WHERE status = 'failed' AND NOT EXISTS (
             SELECT 1 FROM fires AS later
             WHERE later.chain_id = fires.chain_id AND later.id > fires.id AND later.status = 'begun'
               AND (fires.event = 'schedule.fired'
                    OR later.event = fires.event AND later.payload = fires.payload))",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(Occurrence {
            cause: Cause {
                kind: AttentionKind::NotBegun,
                reason_code: row.get(2)?,
                playbook: row.get(0)?,
                subject: Some(Subject { kind: "event".into(), id: row.get(1)? }),
                wait: None,
            },
            at: row.get(4)?,
            // There is none.
            run: RunId::from_stored(""),
            summary: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
            title: None,
            wait: None,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Runs that should be running, and whose process is gone.
pub(super) fn interrupted(
    connection: &Connection,
    judge: &impl Fn(&Holder) -> Liveness,
) -> Result<Vec<Occurrence>, SqliteError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, playbook, (SELECT max(at) FROM status_transitions
                               WHERE entity_type = 'run' AND entity_id = runs.id), title
         FROM runs WHERE status = 'running' AND depth = 0",
    )?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let run = RunId::from_stored(row.get::<_, String>(0)?);
        if lease::is_driven(connection, &run, judge)? {
            continue;
        }
        found.push(Occurrence {
            cause: Cause {
                kind: AttentionKind::Interrupted,
                reason_code: None,
                playbook: row.get(1)?,
                subject: None,
                wait: None,
            },
            at: row.get(2)?,
            run,
            summary: "the process that drove it is gone".to_owned(),
            title: row.get(3)?,
            wait: None,
        });
    }
    Ok(found)
}
