//! What people say of invocations. No journal records it, so it is kept here with its position among the commits: a
//! rebuild applies it at the same moment.

mod carried;

use std::collections::BTreeSet;

use escrow_model::{Evidence, InvocationCode, InvocationId, RunId};
use rusqlite::{Connection, OptionalExtension};

use crate::commit::Durability;
use crate::error::StoreError;
use crate::invocation::{EndInvocation, InvocationEnd, InvocationRow, StartedInvocation};
use crate::invocation_record::{Ended, Said, SaidReason};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::error::SqliteError;
use crate::sqlite::recorded_rows::{self, RecordedTable};
use crate::sqlite::tables::invocations;
use crate::sqlite::tables::{from_json, json};

pub(crate) use carried::{Hear, take_in};

/// What cannot be derived; a step of the schema.
pub(crate) const TABLES: &str = "
CREATE TABLE invocations_said (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    invocation TEXT NOT NULL,
    after INTEGER NOT NULL,
    said TEXT NOT NULL
) STRICT;
CREATE INDEX invocations_said_by_invocation ON invocations_said (invocation);
";

impl BlockingStore {
    /// Begins an invocation. Its id must be new.
    pub fn start_invocation(&self, id: &InvocationId, started: &StartedInvocation) -> Result<(), StoreError> {
        let (id, said) = (id.clone(), Said::Started(started.clone()));
        self.write(Durability::Full, move |connection| say(id.as_str(), &said, connection))
    }

    /// Ends an invocation, if it is as it must be for that: compared and set in one transaction.
    pub fn end_invocation(&self, id: &str, wish: &EndInvocation) -> Result<InvocationEnd, StoreError> {
        let (id, wish) = (id.to_owned(), wish.clone());
        self.write(Durability::Full, move |connection| {
            let Some(row) = invocations::find(&id, connection)? else { return Ok(InvocationEnd::Unknown) };
            let ended = match ending(row, &wish) {
                Ok(ended) => ended,
                Err(refused) => return Ok(*refused),
            };
            say(&id, &Said::Ended(ended), connection)?;
            let row = invocations::find(&id, connection)?;
            Ok(row.map_or(InvocationEnd::Unknown, InvocationEnd::Done))
        })
    }
}

/// What is to be written down, or why nothing is.
fn ending(row: InvocationRow, wish: &EndInvocation) -> Result<Ended, Box<InvocationEnd>> {
    let overrides = wish.by.is_some() && wish.why.is_some();
    if row.ended_by_hand && !overrides {
        return Err(InvocationEnd::EndedBefore(row).into());
    }
    let of_runs = row.health;
    if let Some(status) = wish.status.filter(|status| Some(*status) != of_runs)
        && InvocationCode::by_hand(status).is_none()
    {
        return Err(InvocationEnd::NotForPeople(status).into());
    }
    if row.is_open() {
        return Err(InvocationEnd::StillOpen(row).into());
    }
    let status = match (wish.status, of_runs) {
        (Some(status), _) => status,
        (None, Some(of_runs)) => of_runs,
        (None, None) => return Err(InvocationEnd::NothingRan(row).into()),
    };
    if of_runs.is_some_and(|of_runs| status.health() < of_runs.health()) && wish.why.is_none() {
        return Err(InvocationEnd::BetterThanItsRuns(row).into());
    }
    let (at, by) = (wish.at, wish.by.clone());
    // The reason of its runs is kept as it is.
    if let (false, true, Some(reason)) = (row.ended_by_hand, Some(status) == of_runs, &row.reason) {
        return Ok(Ended { at, status, reason: reason.clone().into(), by });
    }
    let Some(code) = InvocationCode::by_hand(status) else {
        return Err(InvocationEnd::NotForPeople(status).into());
    };
    let who = by.as_deref().unwrap_or("somebody");
    let why = wish.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let mut evidence = vec![Evidence::person(who, wish.why.as_deref().unwrap_or_default())];
    evidence.extend(row.reason.map(|earlier| Evidence::earlier(&earlier.code, &earlier.summary)));
    let reason = SaidReason {
        code: code.as_str().to_owned(),
        summary: format!("{who} says {}{why}", status.as_str().replace('_', " ")),
        evidence,
    };
    Ok(Ended { at, status, reason, by })
}

/// Writes it down and applies it, in the transaction of the caller.
fn say(invocation: &str, said: &Said, connection: &Connection) -> Result<(), SqliteError> {
    connection
        .prepare_cached(
            "INSERT INTO invocations_said (invocation, after, said)
             VALUES (?1, (SELECT coalesce(max(global), 0) FROM entries), ?2)",
        )?
        .execute((invocation, json(said)?))?;
    recorded_rows::link_last(RecordedTable::Invocations, connection)?;
    invocations::apply_said(invocation, said, connection)?;
    Ok(())
}

/// A change to an invocation that a person recorded, and the entry that it follows.
pub(crate) struct RecordedChange {
    pub(crate) invocation: String,
    pub(crate) after: i64,
    pub(crate) said: Said,
}

/// Every recorded change, oldest first.
pub(crate) fn all(connection: &Connection) -> Result<Vec<RecordedChange>, SqliteError> {
    let mut statement =
        connection.prepare_cached("SELECT invocation, after, said FROM invocations_said ORDER BY number")?;
    let rows = statement.query_map([], |row| {
        Ok(RecordedChange { invocation: row.get(0)?, after: row.get(1)?, said: from_json(row, 2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The invocations that these runs belong to.
pub(crate) fn of_runs(runs: &[RunId], connection: &Connection) -> Result<BTreeSet<String>, SqliteError> {
    let mut statement = connection.prepare_cached("SELECT invocation_id FROM runs WHERE id = ?1")?;
    let mut found = BTreeSet::new();
    for run in runs {
        let invocation =
            statement.query_row([run.as_str()], |row| row.get::<_, Option<String>>(0)).optional()?;
        found.extend(invocation.flatten());
    }
    Ok(found)
}

/// Forgets those that have ended and of which no run and no outcome is left: they go with their last run. The journals
/// are gone already, the tables not yet.
pub(crate) fn forget_empty(
    invocations: &BTreeSet<String>,
    connection: &Connection,
) -> Result<(), SqliteError> {
    let mut is_over = connection.prepare_cached(
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM invocations WHERE id = ?1 AND ended_by_hand = 1)
           AND NOT EXISTS (SELECT 1 FROM runs JOIN journals ON journals.run = runs.id WHERE runs.invocation_id = ?1)
           AND NOT EXISTS (SELECT 1 FROM artifacts WHERE invocation_id = ?1
                           AND (run_id IS NULL OR run_id IN (SELECT run FROM journals)))",
    )?;
    for invocation in invocations {
        if is_over.exists([invocation])? {
            recorded_rows::forget(RecordedTable::Invocations, invocation, connection)?;
        }
    }
    Ok(())
}
