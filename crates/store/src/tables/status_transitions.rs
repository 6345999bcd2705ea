//! Every change of status, with its reason and who caused it. A terminal status is final: the table itself
//! refuses to lead out of one, unless by a resume or an override.

use escrow_model::{Event, Evidence, Millis, ReasonCode};
use rusqlite::Connection;

use super::{Applied, Table, When, from_json, json, runs};
use crate::fault::StoreError;
use crate::store::Store;

pub(crate) const TABLE: Table = Table {
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
 AND NEW.source NOT IN ('resume', 'override')
BEGIN SELECT RAISE(ABORT, 'a terminal status is final'); END;
",
    apply,
    when: When::Prompt,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionRow {
    /// `run`, until other things have a status of their own.
    pub entity_type: String,
    pub entity_id: String,
    pub from_status: Option<String>,
    pub to_status: String,
    pub reason_code: Option<String>,
    pub reason_summary: Option<String>,
    pub evidence: Vec<Evidence>,
    /// `start`, `engine`, `resume` or `override`.
    pub source: String,
    pub actor: String,
    pub at: Millis,
}

/// Nobody in particular.
const ESCROW: &str = "escrow";

fn apply(applied: &Applied<'_>, connection: &Connection) -> rusqlite::Result<()> {
    let Some(change) = &applied.change else { return Ok(()) };
    let before = runs::before(applied.run, connection)?;
    let source = match applied.event {
        Event::RunStarted { .. } => "start",
        Event::RunResumed {} | Event::RunReopened { .. } => "resume",
        _ => "engine",
    };
    let reopened_by = match applied.event {
        Event::RunReopened { by, .. } => by.as_deref(),
        _ => None,
    };
    let actor = match change.reason.map(|reason| reason.code) {
        Some(ReasonCode::CancelledUser | ReasonCode::CancelledSystem | ReasonCode::AbortedDenied) => {
            before.as_ref().and_then(|before| before.last_letter_by.as_deref()).unwrap_or(ESCROW)
        }
        Some(_) | None => reopened_by.unwrap_or(ESCROW),
    };
    let from = before.as_ref().map(|before| before.status.as_str());
    let reason = change.reason;
    let evidence = reason.map_or(Ok("[]".to_owned()), |reason| json(&reason.evidence))?;
    connection
        .prepare_cached(
            "INSERT INTO status_transitions
                 (entity_type, entity_id, from_status, to_status, reason_code, reason_summary, evidence, source, actor, at)
             VALUES ('run', ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute((
            applied.run,
            from,
            change.to.as_str(),
            reason.map(|reason| reason.code.as_str()),
            reason.map(|reason| &reason.summary),
            evidence,
            source,
            actor,
            applied.at,
        ))?;
    Ok(())
}

impl Store {
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
