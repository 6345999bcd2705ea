//! One row per invocation: the runs that one request led to, counted.
//!
//! The reason is that of the latest run to end badly, or of the latest to end: it travels unchanged.

use escrow_model::{Event, Evidence, Millis, RunStatus};
use rusqlite::{Connection, OptionalExtension};

use super::{Applied, Table, When, from_json, json, runs};
use crate::fault::StoreError;
use crate::store::Store;

pub(crate) const TABLE: Table = Table {
    name: "invocations",
    create: "
CREATE TABLE invocations (
    id TEXT PRIMARY KEY,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    runs INTEGER NOT NULL,
    running INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    reason_code TEXT,
    reason_summary TEXT,
    reason_evidence TEXT NOT NULL DEFAULT '[]'
) STRICT, WITHOUT ROWID;
CREATE INDEX invocations_newest ON invocations (started_at DESC, id DESC);
",
    apply,
    when: When::Prompt,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvocationRow {
    pub id: String,
    pub started_at: Millis,
    /// When its last run ended; absent while one runs or waits.
    pub ended_at: Option<Millis>,
    pub runs: u64,
    pub running: u64,
    pub waiting: u64,
    pub completed: u64,
    /// Those that ended in any other way.
    pub failed: u64,
    pub reason_code: Option<String>,
    pub reason_summary: Option<String>,
    pub reason_evidence: Vec<Evidence>,
}

fn apply(applied: &Applied<'_>, connection: &Connection) -> rusqlite::Result<()> {
    let Some(change) = &applied.change else { return Ok(()) };
    let before = runs::before(applied.run, connection)?;
    if let Event::RunStarted { options, .. } = applied.event {
        let Some(invocation) = &options.invocation else { return Ok(()) };
        connection
            .prepare_cached(
                "INSERT INTO invocations (id, started_at, runs, running, waiting, completed, failed)
                 VALUES (?1, ?2, 1, 1, 0, 0, 0)
                 ON CONFLICT DO UPDATE SET runs = runs + 1, running = running + 1, ended_at = NULL",
            )?
            .execute((invocation, applied.at))?;
        return Ok(());
    }
    let Some(before) = before else { return Ok(()) };
    let Some(invocation) = before.invocation else { return Ok(()) };
    let from = RunStatus::parse(&before.status).map(counter);
    let to = counter(change.to);
    let moved = |name: &str| i64::from(to == name) - i64::from(from == Some(name));
    connection
        .prepare_cached(
            "UPDATE invocations SET running = running + ?2, waiting = waiting + ?3, completed = completed + ?4,
                    failed = failed + ?5,
                    ended_at = CASE WHEN running + ?2 + waiting + ?3 = 0 THEN ?6 END
             WHERE id = ?1",
        )?
        .execute((&invocation, moved("running"), moved("waiting"), moved("completed"), moved("failed"), applied.at))?;
    if let (true, Some(reason)) = (change.to.is_terminal(), change.reason) {
        // A run that ended well does not hide the reason of one that did not.
        connection
            .prepare_cached(
                "UPDATE invocations SET reason_code = ?2, reason_summary = ?3, reason_evidence = ?4
                 WHERE id = ?1 AND (?5 OR failed = 0)",
            )?
            .execute((
                &invocation,
                reason.code.as_str(),
                &reason.summary,
                json(&reason.evidence)?,
                change.to != RunStatus::Completed,
            ))?;
    }
    Ok(())
}

fn counter(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Waiting => "waiting",
        RunStatus::Completed => "completed",
        RunStatus::Failed | RunStatus::TimedOut | RunStatus::Aborted | RunStatus::Cancelled => "failed",
    }
}

impl Store {
    pub fn invocation(&self, id: &str) -> Result<Option<InvocationRow>, StoreError> {
        self.read(|connection| {
            let row = connection
                .prepare_cached(
                    "SELECT id, started_at, ended_at, runs, running, waiting, completed, failed,
                            reason_code, reason_summary, reason_evidence
                     FROM invocations WHERE id = ?1",
                )?
                .query_row([id], |row| {
                    Ok(InvocationRow {
                        id: row.get(0)?,
                        started_at: row.get(1)?,
                        ended_at: row.get(2)?,
                        runs: row.get(3)?,
                        running: row.get(4)?,
                        waiting: row.get(5)?,
                        completed: row.get(6)?,
                        failed: row.get(7)?,
                        reason_code: row.get(8)?,
                        reason_summary: row.get(9)?,
                        reason_evidence: from_json(row, 10)?,
                    })
                })
                .optional()?;
            Ok(row)
        })
    }
}
