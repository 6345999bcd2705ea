//! One row per invocation: what was asked for, the runs that it led to, and where they stand.
//!
//! Until a person ends it, its status is that of its runs: running while one runs, waiting while one waits, then the
//! worst status of any of them. The reason of that run travels here unchanged: code, summary and evidence. Nested
//! runs do not count: their parents have judged them.

mod query;
mod standing;

use escrow_model::{Event, Plan, ReasonCode, RunOptions};
use rusqlite::{Connection, OptionalExtension};

use crate::invocation::{InvocationReason, StartedInvocation};
use crate::invocation_record::{Ended, Said};

use super::status_transitions::{self, ESCROW, Transition};
use super::{Applied, Projection, json};

pub(crate) use query::find;
#[cfg(test)]
pub(crate) use standing::DECISIVE;
use standing::settle;

pub(crate) const TABLE: Projection = Projection {
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
    decisive_run TEXT,
    chain_run_id TEXT,
    step_index INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX invocations_newest ON invocations (started_at DESC, id DESC);
CREATE INDEX invocations_by_status ON invocations (status, started_at DESC, id DESC);
CREATE INDEX idx_invocations_chain_run ON invocations (chain_run_id) WHERE chain_run_id IS NOT NULL;
",
    apply,
};

fn apply(applied: &Applied<'_>, connection: &Connection) -> rusqlite::Result<()> {
    let Some(change) = &applied.change else { return Ok(()) };
    let invocation: Option<String> = connection
        .prepare_cached("SELECT invocation_id FROM runs WHERE id = ?1 AND outermost = 1")?
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
    if let Event::RunStarted { plan, options, .. } = applied.event {
        of_chain(&invocation, plan, options, connection)?;
    }
    for (status, step) in [(from.as_deref(), -1), (Some(change.to.as_str()), 1)] {
        if let Some(status) = status {
            // The words are those of `RunStatus`, which are the names of the columns.
            let sql = format!("UPDATE invocations SET {status} = {status} + ?2 WHERE id = ?1");
            connection.prepare_cached(&sql)?.execute((&invocation, step))?;
        }
    }
    settle(&invocation, applied.at, known, connection)
}

/// A run of a chain and each of its steps have invocations that no person began: their first entries describe them.
fn of_chain(
    invocation: &str,
    plan: &Plan,
    options: &RunOptions,
    connection: &Connection,
) -> rusqlite::Result<()> {
    let (skill, step) = match (&options.fire, &options.step) {
        (Some(_), _) => ("chain", None),
        (None, Some(step)) => (plan.name.as_str(), Some(step)),
        (None, None) => return Ok(()),
    };
    connection
        .prepare_cached(
            "UPDATE invocations SET name = ?2, skill = ?3, started_by = ?4, chain_run_id = ?5, step_index = ?6
             WHERE id = ?1",
        )?
        .execute((
            invocation,
            &plan.name,
            skill,
            options.started_by.first(),
            step.map(|step| step.chain_run.as_str()),
            step.map(|step| step.index),
        ))?;
    Ok(())
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
    if find(invocation, connection)?.is_some() {
        // A run of it came from elsewhere, and this later than the run.
        connection
            .prepare_cached(
                "UPDATE invocations SET started_at = min(started_at, ?2), name = ?3, skill = ?4, prompt = ?5,
                        started_by = ?6 WHERE id = ?1",
            )?
            .execute((invocation, at, name, skill, prompt, by))?;
        return Ok(());
    }
    connection
        .prepare_cached(
            "INSERT INTO invocations (id, started_at, name, skill, prompt, started_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
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
