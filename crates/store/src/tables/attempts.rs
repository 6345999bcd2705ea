//! One row per attempt: when it began, how it ended and what it was judged to be.

use escrow_model::{Ending, Event, FaultClass, Millis, RunId, ScopePath, Verdict};
use rusqlite::Connection;

use super::{Applied, Table, When, optional_word};
use crate::fault::StoreError;
use crate::late;
use crate::store::Store;

pub(crate) const TABLE: Table = Table {
    name: "attempts",
    // A loop counts its attempts anew, so the entry that started one belongs to its name.
    create: "
CREATE TABLE attempts (
    run TEXT NOT NULL,
    name TEXT NOT NULL,
    scope TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    started_seq INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    ending TEXT,
    verdict TEXT,
    fault_class TEXT,
    external INTEGER NOT NULL,
    PRIMARY KEY (run, name, scope, attempt, started_seq)
) STRICT, WITHOUT ROWID;
",
    apply,
    when: When::Late,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRow {
    pub check: String,
    /// As people read it: `[2][0]`, empty outside `forEach`.
    pub scope: String,
    pub attempt: u32,
    /// The entry that holds the intent.
    pub started_seq: u64,
    pub started_at: Millis,
    pub ended_at: Option<Millis>,
    /// `done`, or the code of the provider's fault.
    pub ending: Option<String>,
    pub verdict: Option<Verdict>,
    pub fault_class: Option<FaultClass>,
    pub external: bool,
}

fn apply(applied: &Applied<'_>, connection: &Connection) -> rusqlite::Result<()> {
    match applied.event {
        Event::AttemptStarted { check, scope, attempt, external, request: _ } => {
            connection
                .prepare_cached(
                    "INSERT INTO attempts (run, name, scope, attempt, started_seq, started_at, external)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute((
                    applied.run,
                    check,
                    scope.to_string(),
                    attempt,
                    applied.seq,
                    applied.at,
                    external,
                ))?;
        }
        Event::AttemptAnswered { check, scope, attempt, answer } => {
            let (ending, class) = match &answer.ending {
                Ending::Done => ("done", None),
                Ending::Fault(fault) => (fault.code.as_str(), Some(fault.class.as_str())),
            };
            let place = Place { run: applied.run, check, scope, attempt: *attempt };
            place.set(
                "ended_at = ?5, ending = ?6, fault_class = ?7",
                (applied.at, ending, class),
                connection,
            )?;
        }
        Event::CheckJudged { check, scope, attempt, verdict, fault, .. } => {
            let verdict = match verdict {
                Verdict::Succeeded => "succeeded",
                Verdict::Failed => "failed",
            };
            let class = fault.map(FaultClass::as_str);
            let place = Place { run: applied.run, check, scope, attempt: *attempt };
            let change = "verdict = ?6, fault_class = coalesce(?7, fault_class)";
            place.set(change, (applied.at, verdict, class), connection)?;
        }
        _ => {}
    }
    Ok(())
}

struct Place<'a> {
    run: &'a str,
    check: &'a str,
    scope: &'a ScopePath,
    attempt: u32,
}

impl Place<'_> {
    /// Changes the latest attempt of this name.
    fn set(
        &self,
        change: &str,
        (at, word, class): (Millis, &str, Option<&str>),
        connection: &Connection,
    ) -> rusqlite::Result<()> {
        connection
            .prepare_cached(&format!(
                "UPDATE attempts SET {change}
                 WHERE run = ?1 AND name = ?2 AND scope = ?3 AND attempt = ?4 AND ?5 IS NOT NULL AND started_seq =
                     (SELECT max(started_seq) FROM attempts
                      WHERE run = ?1 AND name = ?2 AND scope = ?3 AND attempt = ?4)"
            ))?
            .execute((self.run, self.check, self.scope.to_string(), self.attempt, at, word, class))?;
        Ok(())
    }
}

impl Store {
    /// The attempts of a run, in the order in which they began.
    pub fn attempts(&self, run: &RunId) -> Result<Vec<AttemptRow>, StoreError> {
        self.read(|connection| {
            late::ask(connection, run, |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT name, scope, attempt, started_seq, started_at, ended_at, ending, verdict, fault_class, external
                 FROM attempts WHERE run = ?1 ORDER BY started_seq",
            )?;
            let rows = statement.query_map([run.as_str()], |row| {
                Ok(AttemptRow {
                    check: row.get(0)?,
                    scope: row.get(1)?,
                    attempt: row.get(2)?,
                    started_seq: row.get(3)?,
                    started_at: row.get(4)?,
                    ended_at: row.get(5)?,
                    ending: row.get(6)?,
                    verdict: optional_word(row, 7)?,
                    fault_class: optional_word(row, 8)?,
                    external: row.get(9)?,
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
        })
    }
}
