//! One row per check and scope. The row of the root scope speaks for the check as a whole: the runs of all its
//! items are counted there, and it has failed as soon as one of them has.

use escrow_model::{CheckStatus, Criticality, Event, Issue, RunId, ScopePath, SkipReason, Verdict, WaitKind};
use rusqlite::Connection;

use super::{Applied, Table, When, from_json, json, optional_word, word};
use crate::fault::StoreError;
use crate::late;
use crate::store::Store;

pub(crate) const TABLE: Table = Table {
    name: "checks",
    // `verdict` outlives the status: a check that ran once is not made `skipped` by a later skip.
    create: "
CREATE TABLE checks (
    run TEXT NOT NULL,
    name TEXT NOT NULL,
    scope TEXT NOT NULL,
    place INTEGER NOT NULL,
    criticality TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending',
    verdict TEXT,
    skip_reason TEXT,
    runs INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 0,
    issues TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (run, name, scope)
) STRICT, WITHOUT ROWID;
CREATE INDEX checks_failed_items ON checks (run, name) WHERE verdict = 'failed' AND scope <> '';
",
    apply,
    when: When::Late,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRow {
    pub check: String,
    /// As people read it: `[2][0]`, empty for the check as a whole.
    pub scope: String,
    pub criticality: Criticality,
    pub status: CheckStatus,
    pub skip_reason: Option<SkipReason>,
    /// Attempts that reached the provider, over all items for the check as a whole.
    pub runs: u32,
    /// The number of the latest attempt since the check was last decided anew.
    pub attempt: u32,
    /// What the latest verdict reproached it with.
    pub issues: Vec<Issue>,
}

fn apply(applied: &Applied<'_>, connection: &Connection) -> rusqlite::Result<()> {
    let run = applied.run;
    match applied.event {
        Event::RunStarted { plan, .. } => {
            let mut insert = connection.prepare_cached(
                "INSERT INTO checks (run, name, scope, place, criticality) VALUES (?1, ?2, '', ?3, ?4)",
            )?;
            for (place, check) in plan.checks.iter().enumerate() {
                insert.execute((run, &check.name, place, check.criticality.as_str()))?;
            }
        }
        Event::CheckSkipped { check, scope, reason, .. } => {
            for scope in rows_of(run, check, scope, connection)? {
                connection
                    .prepare_cached(
                        "UPDATE checks SET
                             status = coalesce(verdict, CASE WHEN runs = 0 THEN 'skipped' ELSE status END),
                             skip_reason = CASE WHEN verdict IS NULL AND runs = 0 THEN ?4 END
                         WHERE run = ?1 AND name = ?2 AND scope = ?3",
                    )?
                    .execute((run, check, scope, reason.as_str()))?;
            }
        }
        Event::AttemptStarted { check, scope, attempt, .. } => {
            for scope in rows_of(run, check, scope, connection)? {
                connection
                    .prepare_cached(
                        "UPDATE checks SET status = 'running', skip_reason = NULL, runs = runs + 1, attempt = ?4
                         WHERE run = ?1 AND name = ?2 AND scope = ?3",
                    )?
                    .execute((run, check, scope, attempt))?;
            }
        }
        Event::CheckJudged { check, scope, verdict, issues, .. } => {
            let verdict = match verdict {
                Verdict::Succeeded => "succeeded",
                Verdict::Failed => "failed",
            };
            let issues = json(issues)?;
            for scope in rows_of(run, check, scope, connection)? {
                connection
                    .prepare_cached(
                        "WITH now (verdict) AS (SELECT CASE WHEN ?3 = '' AND EXISTS
                             (SELECT 1 FROM checks WHERE run = ?1 AND name = ?2 AND verdict = 'failed' AND scope <> '')
                             THEN 'failed' ELSE ?4 END)
                         UPDATE checks SET
                             status = (SELECT verdict FROM now), verdict = (SELECT verdict FROM now),
                             skip_reason = NULL,
                             issues = CASE WHEN (SELECT verdict FROM now) = ?4 THEN ?5 ELSE issues END
                         WHERE run = ?1 AND name = ?2 AND scope = ?3",
                    )?
                    .execute((run, check, scope, verdict, &issues))?;
            }
        }
        Event::IssueRaised { check, scope, issue, .. } => {
            for scope in rows_of(run, check, scope, connection)?.into_iter().take(1) {
                connection
                    .prepare_cached(
                        "UPDATE checks SET issues = json_insert(issues, '$[#]', json(?4))
                         WHERE run = ?1 AND name = ?2 AND scope = ?3",
                    )?
                    .execute((run, check, scope, json(issue)?))?;
            }
        }
        Event::WaitStarted { check, scope, kind, .. } => {
            let status = match kind {
                WaitKind::Approval | WaitKind::Input | WaitKind::Nested => CheckStatus::Waiting,
                WaitKind::UnknownEffect => CheckStatus::Unknown,
            };
            for scope in rows_of(run, check, scope, connection)? {
                connection
                    .prepare_cached(
                        "UPDATE checks SET status = ?4 WHERE run = ?1 AND name = ?2 AND scope = ?3",
                    )?
                    .execute((run, check, scope, status.as_str()))?;
            }
        }
        Event::ReconcileStarted { check, scope, .. } => {
            for scope in rows_of(run, check, scope, connection)? {
                connection
                    .prepare_cached(
                        "UPDATE checks SET status = 'unknown' WHERE run = ?1 AND name = ?2 AND scope = ?3",
                    )?
                    .execute((run, check, scope))?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The scopes whose rows an event concerns: the item's, which is made when it is new, then the check's own.
fn rows_of(
    run: &str,
    check: &str,
    scope: &ScopePath,
    connection: &Connection,
) -> rusqlite::Result<Vec<String>> {
    if scope.is_root() {
        return Ok(vec![String::new()]);
    }
    let scope = scope.to_string();
    connection
        .prepare_cached(
            "INSERT INTO checks (run, name, scope, place, criticality)
             SELECT run, name, ?3, place, criticality FROM checks WHERE run = ?1 AND name = ?2 AND scope = ''
             ON CONFLICT DO NOTHING",
        )?
        .execute((run, check, &scope))?;
    Ok(vec![scope, String::new()])
}

impl Store {
    /// The checks of a run in the order of its playbook, each followed by its items.
    pub fn checks(&self, run: &RunId) -> Result<Vec<CheckRow>, StoreError> {
        self.read(|connection| {
            late::ask(connection, run, |connection| {
                let mut statement = connection.prepare_cached(
                    "SELECT name, scope, criticality, status, skip_reason, runs, attempt, issues
                 FROM checks WHERE run = ?1 ORDER BY place, length(scope), scope",
                )?;
                let rows = statement.query_map([run.as_str()], |row| {
                    Ok(CheckRow {
                        check: row.get(0)?,
                        scope: row.get(1)?,
                        criticality: word(row, 2)?,
                        status: word(row, 3)?,
                        skip_reason: optional_word(row, 4)?,
                        runs: row.get(5)?,
                        attempt: row.get(6)?,
                        issues: from_json(row, 7)?,
                    })
                })?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
        })
    }
}
