//! One row per run: what it is, where it stands and why.

use escrow_model::{DeliveryStatus, Event, Letter, Millis, Reason, RunId, RunStatus, Warning};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{Applied, Table, When, from_json, json, optional_word, word};

pub(crate) const TABLE: Table = Table {
    name: "runs",
    create: "
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    playbook TEXT NOT NULL,
    status TEXT NOT NULL,
    reason_code TEXT,
    reason_summary TEXT,
    reason_evidence TEXT,
    invocation_id TEXT,
    event TEXT,
    depth INTEGER NOT NULL,
    safe_mode INTEGER NOT NULL,
    directory TEXT NOT NULL,
    artifacts_directory TEXT NOT NULL,
    artifacts_status TEXT,
    last_letter_by TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_newest ON runs (started_at DESC, id DESC);
CREATE INDEX runs_by_status ON runs (status, started_at DESC, id DESC);
CREATE INDEX runs_by_playbook ON runs (playbook, started_at DESC, id DESC);
CREATE INDEX runs_by_invocation ON runs (invocation_id, started_at DESC, id DESC) WHERE invocation_id IS NOT NULL;
",
    apply,
    when: When::Prompt,
};

#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    pub id: RunId,
    pub playbook: String,
    pub status: RunStatus,
    /// Absent while it runs.
    pub reason: Option<Reason>,
    pub invocation_id: Option<String>,
    pub event: Option<String>,
    /// How many playbook runs this one is nested in.
    pub depth: u32,
    pub safe_mode: bool,
    pub directory: String,
    pub artifacts_directory: String,
    pub artifacts_status: Option<DeliveryStatus>,
    pub warnings: Vec<Warning>,
    pub started_at: Millis,
    pub ended_at: Option<Millis>,
    /// The last entry.
    pub seq: u64,
}

/// The columns that [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, playbook, status, reason_code, reason_summary, reason_evidence, \
    invocation_id, event, depth, safe_mode, directory, artifacts_directory, artifacts_status, \
    (SELECT json_group_array(json(warning)) FROM \
        (SELECT warning FROM warnings WHERE warnings.run = runs.id ORDER BY seq)), \
    started_at, ended_at, (SELECT seq FROM journals WHERE journals.run = runs.id)";

pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        id: RunId::from_stored(row.get::<_, String>(0)?),
        playbook: row.get(1)?,
        status: word(row, 2)?,
        reason: reason(row)?,
        invocation_id: row.get(6)?,
        event: row.get(7)?,
        depth: row.get(8)?,
        safe_mode: row.get(9)?,
        directory: row.get(10)?,
        artifacts_directory: row.get(11)?,
        artifacts_status: optional_word(row, 12)?,
        warnings: from_json(row, 13)?,
        started_at: row.get(14)?,
        ended_at: row.get(15)?,
        seq: row.get(16)?,
    })
}

fn reason(row: &Row<'_>) -> rusqlite::Result<Option<Reason>> {
    let Some(summary) = row.get(4)? else { return Ok(None) };
    Ok(Some(Reason { code: word(row, 3)?, summary, evidence: from_json(row, 5)? }))
}

/// Where a run stood before the entry that is being applied, and who last wrote to it.
pub(crate) struct Before {
    pub(crate) status: String,
    pub(crate) invocation: Option<String>,
    pub(crate) last_letter_by: Option<String>,
}

pub(crate) fn before(run: &str, connection: &Connection) -> rusqlite::Result<Option<Before>> {
    connection
        .prepare_cached("SELECT status, invocation_id, last_letter_by FROM runs WHERE id = ?1")?
        .query_row([run], |row| {
            Ok(Before { status: row.get(0)?, invocation: row.get(1)?, last_letter_by: row.get(2)? })
        })
        .optional()
}

fn apply(applied: &Applied<'_>, connection: &Connection) -> rusqlite::Result<()> {
    if let Event::RunStarted { plan, options, .. } = applied.event {
        connection
            .prepare_cached(
                "INSERT INTO runs (id, playbook, status, invocation_id, event, depth, safe_mode, directory,
                                   artifacts_directory, started_at)
                 VALUES (?1, ?2, 'running', ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute((
                applied.run,
                &plan.name,
                &options.invocation,
                &options.event,
                options.depth,
                options.safe_mode,
                &options.directory,
                &options.artifacts,
                applied.at,
            ))?;
        return Ok(());
    }
    if let Some(change) = &applied.change {
        let evidence = change.reason.map(|reason| json(&reason.evidence)).transpose()?;
        connection
            .prepare_cached(
                "UPDATE runs SET status = ?2, reason_code = ?3, reason_summary = ?4, reason_evidence = ?5, ended_at = ?6
                 WHERE id = ?1",
            )?
            .execute((
                applied.run,
                change.to.as_str(),
                change.reason.map(|reason| reason.code.as_str()),
                change.reason.map(|reason| &reason.summary),
                evidence,
                change.to.is_terminal().then_some(applied.at),
            ))?;
    } else if let Event::ArtifactsVerified { delivery } = applied.event {
        connection
            .prepare_cached("UPDATE runs SET artifacts_status = ?2 WHERE id = ?1")?
            .execute((applied.run, delivery.status.as_str()))?;
    } else if let Event::LetterOpened { letter, refused: None } = applied.event {
        connection
            .prepare_cached("UPDATE runs SET last_letter_by = ?2 WHERE id = ?1")?
            .execute((applied.run, sender(letter)))?;
    }
    Ok(())
}

pub(crate) fn sender(letter: &Letter) -> Option<&str> {
    match letter {
        Letter::Approve { by, .. }
        | Letter::Deny { by, .. }
        | Letter::Answer { by, .. }
        | Letter::Assume { by, .. }
        | Letter::Cancel { by, .. } => by.as_deref(),
    }
}
