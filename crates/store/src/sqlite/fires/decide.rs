//! Decides fires: whether a fire has its turn, waits for it, or has none.

use escrow_model::{ChainConcurrency, FireCode, FireStatus, Millis, RunId};
use rusqlite::Connection;

use crate::fire::{FireDecision, FireRow, FireRules};
use crate::sqlite::error::SqliteError;

use super::one;

/// How many fires of one chain wait for their turn.
const QUEUE_MAX: u64 = 1_000;

pub(crate) fn deciding(
    id: u64,
    rules: FireRules,
) -> impl FnMut(&Connection) -> Result<FireDecision, SqliteError> + Send {
    move |connection| {
        let fire = one(id, connection)?;
        match fire.status {
            FireStatus::Accepted => return Ok(FireDecision::Accepted(fire)),
            FireStatus::Recorded => {}
            FireStatus::Begun | FireStatus::Skipped | FireStatus::Missed | FireStatus::Failed => {
                return Ok(FireDecision::Settled(fire));
            }
        }
        if let Some(why) = rules.inactive {
            return settle(&fire, FireCode::SkippedInactive, why.to_owned(), rules.at, connection);
        }
        if fire.depth > rules.max_depth {
            let why = format!(
                "chains fired one another {} deep, and `max_depth` of this chain is {}",
                fire.depth, rules.max_depth
            );
            return settle(&fire, FireCode::SkippedDepth, why, rules.at, connection);
        }
        let open = open_runs(&fire, connection)?;
        match rules.concurrency {
            ChainConcurrency::Skip
                if rules.catches_up
                    && (fire.code == Some(FireCode::Queued) || is_behind(&fire, &open, connection)?) =>
            {
                queue(&fire, &open, rules.at, connection)
            }
            ChainConcurrency::Skip => match open.first() {
                None => accept(&fire, rules.at, connection),
                Some(run) => {
                    let why = format!("run `{run}` of this chain had not ended");
                    settle(&fire, FireCode::SkippedOverlap, why, rules.at, connection)
                }
            },
            ChainConcurrency::Queue => queue(&fire, &open, rules.at, connection),
            ChainConcurrency::Replace => {
                if let Some(newer) = waiting(&fire, Side::After, connection)?.newest {
                    let why = format!("fire `{newer}` of this chain is newer");
                    return settle(&fire, FireCode::SkippedReplaced, why, rules.at, connection);
                }
                if open.is_empty() {
                    return accept(&fire, rules.at, connection);
                }
                let why = format!("waits for the end of run `{}`", open[0]);
                let fire = wait(&fire, FireCode::Replacing, &why, connection)?;
                Ok(FireDecision::Replaces { fire, runs: open })
            }
        }
    }
}

fn queue(
    fire: &FireRow,
    open: &[RunId],
    at: Millis,
    connection: &Connection,
) -> Result<FireDecision, SqliteError> {
    let before = waiting(fire, Side::Before, connection)?.count;
    if before >= QUEUE_MAX {
        let why = format!("{before} fires of this chain wait before it");
        return settle(fire, FireCode::SkippedQueueFull, why, at, connection);
    }
    let why = match (open.first(), before) {
        (None, 0) => return accept(fire, at, connection),
        (Some(run), 0) => format!("waits for the end of run `{run}`"),
        (_, 1) => "one fire of this chain waits before it".to_owned(),
        (_, before) => format!("{before} fires of this chain wait before it"),
    };
    let fire = wait(fire, FireCode::Queued, &why, connection)?;
    Ok(FireDecision::Waits { fire, runs: open.to_vec() })
}

/// The runs of the chain that have not ended, and those that are about to begin.
fn open_runs(fire: &FireRow, connection: &Connection) -> Result<Vec<RunId>, SqliteError> {
    // Open runs are few, and runs of a chain many: the plus keeps SQLite from walking the latter.
    let mut statement = connection.prepare_cached(
        "SELECT id FROM chain_runs WHERE +chain_id = ?1 AND status IN ('running', 'waiting_approval') AND id <> ?2
         UNION
         SELECT run FROM fires WHERE status = 'accepted' AND status IN ('recorded', 'accepted')
                                 AND +chain_id = ?1 AND run <> ?2",
    )?;
    let rows = statement.query_map((fire.chain_id.as_str(), fire.run.as_str()), |row| {
        Ok(RunId::from_stored(row.get::<_, String>(0)?))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether each of these runs is that of a tick that the same look has found: to skip a tick because of another one that
/// is caught up with at the same time would catch up with one of them.
fn is_behind(fire: &FireRow, open: &[RunId], connection: &Connection) -> Result<bool, SqliteError> {
    let mut found = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM fires WHERE run = ?1 AND chain_id = ?2 AND at = ?3 AND event = ?4)",
    )?;
    for run in open {
        let is_one: bool = found
            .query_row((run.as_str(), fire.chain_id.as_str(), fire.at, &fire.event), |row| row.get(0))?;
        if !is_one {
            return Ok(false);
        }
    }
    Ok(true)
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

struct Waiting {
    count: u64,
    newest: Option<String>,
}

/// The fires of the chain that are recorded before or after this one and not decided.
fn waiting(fire: &FireRow, side: Side, connection: &Connection) -> Result<Waiting, SqliteError> {
    let compare = match side {
        Side::Before => "<",
        Side::After => ">",
    };
    let sql = format!(
        "SELECT count(*), (SELECT newest.key FROM fires AS newest WHERE newest.id = (
             SELECT max(id) FROM fires
             WHERE status IN ('recorded', 'accepted') AND status = 'recorded' AND +chain_id = ?1 AND id {compare} ?2))
         FROM fires WHERE status IN ('recorded', 'accepted') AND status = 'recorded' AND +chain_id = ?1 AND id {compare} ?2"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_row((fire.chain_id.as_str(), fire.id), |row| {
        Ok(Waiting { count: row.get(0)?, newest: row.get(1)? })
    })?;
    Ok(found)
}

fn accept(fire: &FireRow, at: Millis, connection: &Connection) -> Result<FireDecision, SqliteError> {
    connection
        .prepare_cached(
            "UPDATE fires SET status = 'accepted', reason_code = NULL, reason = NULL, decided_at = ?2 WHERE id = ?1",
        )?
        .execute((fire.id, at))?;
    Ok(FireDecision::Accepted(one(fire.id, connection)?))
}

fn settle(
    fire: &FireRow,
    code: FireCode,
    why: String,
    at: Millis,
    connection: &Connection,
) -> Result<FireDecision, SqliteError> {
    connection
        .prepare_cached(
            "UPDATE fires SET status = ?2, reason_code = ?3, reason = ?4, decided_at = ?5 WHERE id = ?1",
        )?
        .execute((fire.id, code.status().as_str(), code.as_str(), why, at))?;
    Ok(FireDecision::Settled(one(fire.id, connection)?))
}

/// Notes what the fire waits for. What is noted already is not written again.
fn wait(fire: &FireRow, code: FireCode, why: &str, connection: &Connection) -> Result<FireRow, SqliteError> {
    if fire.code == Some(code) && fire.reason.as_deref() == Some(why) {
        return Ok(fire.clone());
    }
    connection.prepare_cached("UPDATE fires SET reason_code = ?2, reason = ?3 WHERE id = ?1")?.execute((
        fire.id,
        code.as_str(),
        why,
    ))?;
    Ok(one(fire.id, connection)?)
}

pub(crate) fn begun(id: u64, at: Millis) -> impl FnMut(&Connection) -> Result<(), SqliteError> + Send {
    move |connection| {
        connection
            .prepare_cached(
                "UPDATE fires SET status = 'begun', reason_code = NULL, reason = NULL, decided_at = ?2
                 WHERE id = ?1 AND status = 'accepted'",
            )?
            .execute((id, at))?;
        Ok(())
    }
}

pub(crate) fn failed(
    id: u64,
    code: FireCode,
    why: String,
    at: Millis,
) -> impl FnMut(&Connection) -> Result<(), SqliteError> + Send {
    move |connection| {
        connection
            .prepare_cached(
                "UPDATE fires SET status = ?2, reason_code = ?3, reason = ?4, decided_at = ?5
                 WHERE id = ?1 AND status = 'accepted'",
            )?
            .execute((id, code.status().as_str(), code.as_str(), &why, at))?;
        Ok(())
    }
}
