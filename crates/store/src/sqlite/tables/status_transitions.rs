//! Every change of status of a run, an approval or an invocation, with its reason and who caused it. A terminal status
//! is final: the table itself refuses a row that leads out of one, except by a resume or an override, or because new runs
//! join an invocation that was not ended by hand.
//!
//! The words are those of [`escrow_model::vocabularies`]. Checks change far more often than all others; their changes
//! are read from the journal, not written twice.

use escrow_model::{Event, Evidence, Millis, ReasonCode};
use rusqlite::Connection;

use crate::error::StoreError;
use crate::sqlite::blocking::BlockingStore;
use crate::transition::TransitionRow;

use super::{Applied, Projection, from_json, json, runs};

pub(crate) const TABLE: Projection = Projection {
    name: "status_transitions",
    create: "
CREATE TABLE status_transitions (
    id INTEGER PRIMARY KEY,
    entity_type TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    from_status TEXT,
    to_status TEXT NOT NULL,
    reason_code TEXT,
    reason_summary TEXT,
    evidence TEXT NOT NULL,
    source TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX status_transitions_by_entity ON status_transitions (entity_type, entity_id, id);
CREATE TRIGGER a_terminal_status_is_final BEFORE INSERT ON status_transitions
WHEN NEW.from_status IN ('completed', 'failed', 'timed_out', 'aborted', 'cancelled')
 AND NEW.source NOT IN ('resume', 'override', 'runs')
BEGIN SELECT RAISE(ABORT, 'a terminal status is final'); END;
",
    apply,
};

/// The actor of changes that no person caused.
pub(crate) const ESCROW: &str = "escrow";

fn apply(applied: &Applied<'_>, connection: &Connection) -> rusqlite::Result<()> {
    let Some(change) = &applied.change else { return Ok(()) };
    let before = runs::before(applied.run, connection)?;
    let source = match applied.event {
        Event::RunStarted { .. } => "start",
        Event::RunResumed { .. } | Event::RunReopened { .. } => "resume",
        Event::RunOverridden { .. } => "override",
        Event::MessageDelivered { .. } => "message",
        Event::WaitExpired { .. } | Event::RetryDue { .. } | Event::DeadlinePassed {} => "clock",
        _ => "engine",
    };
    let acted = match applied.event {
        Event::RunReopened { by, .. } => by.as_deref(),
        Event::RunOverridden { by, .. } => Some(by.as_str()),
        Event::MessageDelivered { message, .. } => message.by(),
        _ => None,
    };
    let actor = match change.reason.map(|reason| reason.code) {
        Some(ReasonCode::CancelledUser | ReasonCode::CancelledSystem | ReasonCode::AbortedDenied) => {
            before.as_ref().and_then(|before| before.last_message_by.as_deref()).unwrap_or(ESCROW)
        }
        Some(_) | None => acted.unwrap_or(ESCROW),
    };
    let reason = change.reason;
    insert(
        &Transition {
            entity: ("run", applied.run),
            from: before.as_ref().map(|before| before.status.as_str()),
            to: change.to.as_str(),
            code: reason.map(|reason| reason.code.as_str()),
            summary: reason.map(|reason| reason.summary.as_str()),
            evidence: reason.map_or(&[], |reason| &reason.evidence),
            source,
            actor,
            at: applied.at,
        },
        connection,
    )
}

/// One change of one thing.
pub(crate) struct Transition<'a> {
    pub(crate) entity: (&'static str, &'a str),
    pub(crate) from: Option<&'a str>,
    pub(crate) to: &'a str,
    pub(crate) code: Option<&'a str>,
    pub(crate) summary: Option<&'a str>,
    pub(crate) evidence: &'a [Evidence],
    pub(crate) source: &'static str,
    pub(crate) actor: &'a str,
    pub(crate) at: Millis,
}

/// The one place where a change of status is written down.
pub(crate) fn insert(change: &Transition<'_>, connection: &Connection) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO status_transitions
                 (entity_type, entity_id, from_status, to_status, reason_code, reason_summary, evidence, source, actor, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute((
            change.entity.0,
            change.entity.1,
            change.from,
            change.to,
            change.code,
            change.summary,
            json(&change.evidence)?,
            change.source,
            change.actor,
            change.at,
        ))?;
    Ok(())
}

impl BlockingStore {
    /// The changes of one thing, for instance a `run`, oldest first.
    pub fn transitions(&self, entity_type: &str, entity_id: &str) -> Result<Vec<TransitionRow>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT entity_type, entity_id, from_status, to_status, reason_code, reason_summary, evidence,
                        source, actor, at
                 FROM status_transitions WHERE entity_type = ?1 AND entity_id = ?2 ORDER BY id",
            )?;
            let rows = statement.query_map((entity_type, entity_id), |row| {
                Ok(TransitionRow {
                    entity_type: row.get(0)?,
                    entity_id: row.get(1)?,
                    from_status: row.get(2)?,
                    to_status: row.get(3)?,
                    reason_code: row.get(4)?,
                    reason_summary: row.get(5)?,
                    evidence: from_json(row, 6)?,
                    source: row.get(7)?,
                    actor: row.get(8)?,
                    at: row.get(9)?,
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}
