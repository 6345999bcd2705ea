//! One row per invocation: what was asked for, the runs that it led to, and where they stand.
//!
//! Until a person ends it, its status is that of its runs: running while one runs, waiting while one waits, then the
//! worst that one of them came to. The reason of that run travels here unchanged: code, summary and evidence. Runs
//! inside of runs do not count; the run around them has judged them.

use escrow_model::{Evidence, InvocationStatus, Millis, ReasonCode, RunId, RunStatus};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use super::status_transitions::{self, ESCROW, Transition};
use super::{Applied, Table, When, from_json, json, word};
use crate::fault::StoreError;
use crate::invocations::{Ended, Said, StartedInvocation};
use crate::store::Store;

pub(crate) const TABLE: Table = Table {
    name: "invocations",
    create: "
CREATE TABLE invocations (
    id TEXT PRIMARY KEY,
    name TEXT,
    skill TEXT,
    prompt TEXT,
    started_by TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    ended_by_hand INTEGER NOT NULL DEFAULT 0,
    running INTEGER NOT NULL DEFAULT 0,
    waiting INTEGER NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    timed_out INTEGER NOT NULL DEFAULT 0,
    aborted INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    status TEXT NOT NULL DEFAULT 'running',
    health TEXT,
    reason_code TEXT,
    reason_summary TEXT,
    reason_evidence TEXT NOT NULL DEFAULT '[]',
    decisive_run TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX invocations_newest ON invocations (started_at DESC, id DESC);
CREATE INDEX invocations_by_status ON invocations (status, started_at DESC, id DESC);
",
    apply,
    when: When::Prompt,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvocationRow {
    pub id: String,
    pub name: Option<String>,
    pub skill: Option<String>,
    pub prompt: Option<String>,
    pub started_by: Option<String>,
    pub started_at: Millis,
    /// When a person ended it, or its last run ended; absent while one runs or waits.
    pub ended_at: Option<Millis>,
    /// A person said what it came to; its runs no longer do.
    pub ended_by_hand: bool,
    pub status: InvocationStatus,
    /// The worst that one of its runs came to so far, whatever a person says; absent while there is none.
    pub health: Option<RunStatus>,
    pub reason: Option<InvocationReason>,
    /// The run whose reason this is.
    pub decisive_run: Option<RunId>,
    /// How many runs stand where, in the order of [`RunStatus::ALL`].
    pub counts: [u64; 7],
}

/// A reason as it came up from a run, or as a person gave it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct InvocationReason {
    pub code: String,
    pub summary: String,
    pub evidence: Vec<Evidence>,
}

impl InvocationRow {
    pub fn runs(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many of its runs have this status.
    pub fn count(&self, status: RunStatus) -> u64 {
        RunStatus::ALL.iter().position(|one| *one == status).map_or(0, |place| self.counts[place])
    }

    /// Whether one of its runs runs or waits.
    pub fn is_open(&self) -> bool {
        self.count(RunStatus::Running) + self.count(RunStatus::Waiting) > 0
    }
}

fn apply(applied: &Applied<'_>, connection: &Connection) -> rusqlite::Result<()> {
    let Some(change) = &applied.change else { return Ok(()) };
    let invocation: Option<String> = connection
        .prepare_cached("SELECT invocation_id FROM runs WHERE id = ?1 AND depth = 0")?
        .query_row([applied.run], |row| row.get(0))
        .optional()?
        .flatten();
    let Some(invocation) = invocation else { return Ok(()) };
    // `runs` has moved on already; where it came from is in the change that was just written down.
    let from: Option<String> = connection
        .prepare_cached(
            "SELECT from_status FROM status_transitions WHERE entity_type = 'run' AND entity_id = ?1
             ORDER BY id DESC LIMIT 1",
        )?
        .query_row([applied.run], |row| row.get(0))
        .optional()?
        .flatten();
    let known = connection
        .prepare_cached("INSERT INTO invocations (id, started_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute((&invocation, applied.at))?
        == 0;
    for (status, step) in [(from.as_deref(), -1), (Some(change.to.as_str()), 1)] {
        if let Some(status) = status {
            // The words are those of `RunStatus`, which are the names of the columns.
            let sql = format!("UPDATE invocations SET {status} = {status} + ?2 WHERE id = ?1");
            connection.prepare_cached(&sql)?.execute((&invocation, step))?;
        }
    }
    settle(&invocation, applied.at, known, connection)
}

/// Derives status, health and reason from the runs, unless a person has ended it.
fn settle(invocation: &str, at: Millis, known: bool, connection: &Connection) -> rusqlite::Result<()> {
    let Some(row) = find(invocation, connection)? else { return Ok(()) };
    let present = || RunStatus::ALL.into_iter().filter(|status| row.count(*status) > 0);
    let worst = present().max_by_key(|status| status.health());
    let worst_ended = present().filter(|status| status.is_terminal()).max_by_key(|status| status.health());
    let status = match worst_ended {
        _ if row.count(RunStatus::Running) > 0 => RunStatus::Running,
        _ if row.count(RunStatus::Waiting) > 0 => RunStatus::Waiting,
        Some(worst) => worst,
        None => RunStatus::Running,
    };
    connection
        .prepare_cached("UPDATE invocations SET health = ?2 WHERE id = ?1")?
        .execute((invocation, worst.map(RunStatus::as_str)))?;
    if row.ended_by_hand {
        return Ok(());
    }
    let decisive = worst.map(|worst| decisive(invocation, worst, connection)).transpose()?.flatten();
    let (run, reason) = decisive.map_or((None, None), |(run, reason)| (Some(run), reason));
    connection
        .prepare_cached(
            "UPDATE invocations SET status = ?2, reason_code = ?3, reason_summary = ?4, reason_evidence = ?5,
                    decisive_run = ?6, ended_at = ?7 WHERE id = ?1",
        )?
        .execute((
            invocation,
            status.as_str(),
            reason.as_ref().map(|reason| &reason.code),
            reason.as_ref().map(|reason| &reason.summary),
            reason.as_ref().map_or(Ok("[]".to_owned()), |reason| json(&reason.evidence))?,
            run.as_ref(),
            status.is_terminal().then_some(at),
        ))?;
    if known && status == row.status {
        return Ok(());
    }
    // Why one run failed is not why another runs.
    let reason = reason.filter(|_| Some(status) == worst);
    status_transitions::insert(
        &Transition {
            entity: ("invocation", invocation),
            from: known.then_some(row.status.as_str()),
            to: status.as_str(),
            code: reason.as_ref().map(|reason| reason.code.as_str()),
            summary: reason.as_ref().map(|reason| reason.summary.as_str()),
            evidence: reason.as_ref().map_or(&[], |reason| &reason.evidence),
            source: "runs",
            actor: ESCROW,
            at,
        },
        connection,
    )
}

/// The run that speaks for an invocation: of those with the worst status the one that ended last; of those that
/// completed, one that did nothing or warned before one that is fine.
fn decisive(
    invocation: &str,
    worst: RunStatus,
    connection: &Connection,
) -> rusqlite::Result<Option<(String, Option<InvocationReason>)>> {
    const COMPLETED: [ReasonCode; 3] =
        [ReasonCode::CompletedNothingRan, ReasonCode::CompletedOverridden, ReasonCode::CompletedWithWarnings];
    let read = |row: &Row<'_>| {
        let reason = match row.get::<_, Option<String>>(1)? {
            Some(code) => Some(InvocationReason { code, summary: row.get(2)?, evidence: from_json(row, 3)? }),
            None => None,
        };
        Ok((row.get(0)?, reason))
    };
    const SELECT: &str = "SELECT id, reason_code, reason_summary, reason_evidence FROM runs
        WHERE invocation_id = ?1 AND depth = 0 AND status = ?2";
    if worst == RunStatus::Completed {
        for code in COMPLETED {
            let found = connection
                .prepare_cached(&format!("{SELECT} AND reason_code = ?3 ORDER BY ended_at DESC LIMIT 1"))?
                .query_row((invocation, worst.as_str(), code.as_str()), read)
                .optional()?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    let sql = format!("{SELECT} ORDER BY ended_at DESC LIMIT 1");
    connection.prepare_cached(&sql)?.query_row((invocation, worst.as_str()), read).optional()
}

/// What a person says of an invocation takes its place among what its runs say.
pub(crate) fn apply_said(invocation: &str, said: &Said, connection: &Connection) -> rusqlite::Result<()> {
    match said {
        Said::Started(started) => apply_started(invocation, started, connection),
        Said::Ended(ended) => apply_ended(invocation, ended, connection),
    }
}

fn apply_started(
    invocation: &str,
    started: &StartedInvocation,
    connection: &Connection,
) -> rusqlite::Result<()> {
    let StartedInvocation { at, name, skill, prompt, by } = started;
    connection
        .prepare_cached(
            "INSERT INTO invocations (id, started_at, name, skill, prompt, started_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
        )?
        .execute((invocation, at, name, skill, prompt, by))?;
    let code = escrow_model::InvocationCode::RunningStarted;
    status_transitions::insert(
        &Transition {
            entity: ("invocation", invocation),
            from: None,
            to: code.status().as_str(),
            code: Some(code.as_str()),
            summary: name.as_deref(),
            evidence: &[],
            source: "start",
            actor: by.as_deref().unwrap_or(ESCROW),
            at: *at,
        },
        connection,
    )
}

fn apply_ended(invocation: &str, ended: &Ended, connection: &Connection) -> rusqlite::Result<()> {
    let Some(row) = find(invocation, connection)? else { return Ok(()) };
    let InvocationReason { code, summary, evidence } = &ended.reason.clone().into();
    connection
        .prepare_cached(
            "UPDATE invocations SET status = ?2, reason_code = ?3, reason_summary = ?4, reason_evidence = ?5,
                    ended_at = ?6, ended_by_hand = 1, decisive_run = iif(?7, decisive_run, NULL) WHERE id = ?1",
        )?
        .execute((invocation, ended.status.as_str(), code, summary, json(evidence)?, ended.at, ReasonCode::parse(code).is_some()))?;
    status_transitions::insert(
        &Transition {
            entity: ("invocation", invocation),
            from: Some(row.status.as_str()),
            to: ended.status.as_str(),
            code: Some(code),
            summary: Some(summary),
            evidence,
            // What had ended by itself is ended for good; only a word against an earlier word is an override.
            source: match (row.ended_by_hand, row.status.is_terminal()) {
                (true, _) => "override",
                (false, true) => "runs",
                (false, false) => "end",
            },
            actor: ended.by.as_deref().unwrap_or(ESCROW),
            at: ended.at,
        },
        connection,
    )
}

const COLUMNS: &str = "id, name, skill, prompt, started_by, started_at, ended_at, ended_by_hand, status, health, \
    reason_code, reason_summary, reason_evidence, decisive_run, \
    running, waiting, completed, failed, timed_out, aborted, cancelled";

fn read(row: &Row<'_>) -> rusqlite::Result<InvocationRow> {
    let mut counts = [0; 7];
    for (place, count) in counts.iter_mut().enumerate() {
        *count = row.get(14 + place)?;
    }
    Ok(InvocationRow {
        id: row.get(0)?,
        name: row.get(1)?,
        skill: row.get(2)?,
        prompt: row.get(3)?,
        started_by: row.get(4)?,
        started_at: row.get(5)?,
        ended_at: row.get(6)?,
        ended_by_hand: row.get(7)?,
        status: word(row, 8)?,
        health: super::optional_word(row, 9)?,
        reason: match row.get::<_, Option<String>>(10)? {
            Some(code) => {
                Some(InvocationReason { code, summary: row.get(11)?, evidence: from_json(row, 12)? })
            }
            None => None,
        },
        decisive_run: row.get::<_, Option<String>>(13)?.map(RunId::from_stored),
        counts,
    })
}

pub(crate) fn find(id: &str, connection: &Connection) -> rusqlite::Result<Option<InvocationRow>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM invocations WHERE id = ?1"))?
        .query_row([id], read)
        .optional()
}

/// Which invocations to list; the default lists all.
#[derive(Clone, Debug, Default)]
pub struct InvocationFilter {
    pub status: Option<InvocationStatus>,
    /// Those that started then or later.
    pub since: Option<Millis>,
    pub limit: Option<usize>,
}

impl Store {
    pub fn invocation(&self, id: &str) -> Result<Option<InvocationRow>, StoreError> {
        self.read(|connection| Ok(find(id, connection)?))
    }

    /// The invocation with this id, or those whose id begins so, with or without `i_`; at most a few. `last` is the
    /// newest.
    pub fn invocations_named(&self, name: &str) -> Result<Vec<InvocationRow>, StoreError> {
        if name == "last" {
            return self.invocations(&InvocationFilter { limit: Some(1), ..InvocationFilter::default() });
        }
        self.read(|connection| {
            // Ids that came from elsewhere need not begin with `i_`.
            if let Some(exact) = find(name, connection)? {
                return Ok(vec![exact]);
            }
            let start = if name.starts_with("i_") { name.to_owned() } else { format!("i_{name}") };
            let end = format!("{start}\u{7f}");
            let sql = format!(
                "SELECT {COLUMNS} FROM invocations WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT 8"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map([&start, &end], read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Invocations, newest first.
    pub fn invocations(&self, filter: &InvocationFilter) -> Result<Vec<InvocationRow>, StoreError> {
        let mut conditions = String::from("1");
        let mut values = Vec::new();
        if let Some(status) = filter.status {
            conditions.push_str(" AND status = ?");
            values.push(Value::Text(status.as_str().to_owned()));
        }
        if let Some(since) = filter.since {
            conditions.push_str(" AND started_at >= ?");
            values.push(Value::Integer(i64::try_from(since).unwrap_or(i64::MAX)));
        }
        let limit = filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(-1));
        let sql = format!(
            "SELECT {COLUMNS} FROM invocations WHERE {conditions} ORDER BY started_at DESC, id DESC LIMIT {limit}"
        );
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params_from_iter(values), read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}
