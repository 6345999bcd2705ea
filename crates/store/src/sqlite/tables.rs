//! Tables derived from the journals: one file per table, one line in [`TABLES`].
//!
//! ```text
//!   entry ──▶ Applied { run, seq, at, event, change } ──▶ each table's `apply`
//! ```
//!
//! **Invariant:** a table depends on entries alone, in the order of their commits; `artifacts` also on the outcomes that
//! were added by hand, and `invocations` on what people said of them, each at its position among the commits. Dropping
//! all tables and applying everything again gives the same rows.

pub(crate) mod artifacts;
pub(crate) mod chain_runs;
pub(crate) mod effects;
pub(crate) mod invocations;
pub(crate) mod runs;
pub(crate) mod status_transitions;
pub(crate) mod waits;
pub(crate) mod warnings;

use escrow_model::{Event, Millis, ProviderName, Reason, RunStatus};
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, Row};
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};

use crate::entry::decode;
use crate::sqlite::error::SqliteError;

/// A projection. Changing one means adding a step to the schema, which rebuilds them all.
pub(crate) struct Projection {
    pub(crate) name: &'static str,
    /// The table with its indexes.
    pub(crate) create: &'static str,
    pub(crate) apply: fn(&Applied<'_>, &Connection) -> rusqlite::Result<()>,
}

/// Every projection. `runs` comes behind those that ask it where the run stood before the entry, and `invocations`
/// behind it, because it asks where its runs stand now.
pub(crate) const TABLES: &[Projection] = &[
    status_transitions::TABLE,
    waits::TABLE,
    warnings::TABLE,
    artifacts::TABLE,
    effects::TABLE,
    runs::TABLE,
    invocations::TABLE,
    chain_runs::TABLE,
];

/// An entry that was just appended.
pub(crate) struct Applied<'a> {
    pub(crate) run: &'a str,
    pub(crate) seq: u64,
    pub(crate) at: Millis,
    pub(crate) event: &'a Event,
    /// Where the entry leads the run, and why.
    pub(crate) change: Option<Change<'a>>,
}

pub(crate) struct Change<'a> {
    pub(crate) to: RunStatus,
    pub(crate) reason: Option<&'a Reason>,
}

impl<'a> Applied<'a> {
    pub(crate) fn new(run: &'a str, seq: u64, at: Millis, event: &'a Event) -> Applied<'a> {
        let to = |to, reason| Some(Change { to, reason });
        let change = match event {
            Event::RunStarted { .. } | Event::RunResumed { .. } | Event::RunReopened { .. } => {
                to(RunStatus::Running, None)
            }
            Event::RunWaiting { reason }
            | Event::RunEnded { reason }
            | Event::RunOverridden { reason, .. } => to(reason.code.status(), Some(reason)),
            _ => None,
        };
        Applied { run, seq, at, event, change }
    }
}

/// Whether events of this kind change a table. Most events concern checks, and questions about checks are answered from the
/// journal.
pub(crate) fn are_changed_by(event: &Event) -> bool {
    match event {
        Event::RunStarted { .. }
        | Event::RunResumed { .. }
        | Event::WaitWithdrawn { .. }
        | Event::RunReopened { .. }
        | Event::RunWaiting { .. }
        | Event::RunEnded { .. }
        | Event::RunOverridden { .. }
        | Event::WarningRaised { .. }
        | Event::OutcomeStored { .. }
        | Event::WaitStarted { .. }
        | Event::MessageDelivered { .. }
        | Event::WaitExpired { .. }
        | Event::NestedResumed { .. }
        | Event::RetryDue { .. }
        | Event::DeadlinePassed {}
        | Event::AttemptAnswered { .. }
        | Event::Reconciled { .. }
        | Event::EffectResolved { .. }
        | Event::ArtifactsVerified { .. } => true,
        // A nested run may be a step of a chain.
        Event::AttemptStarted { effect, request, .. } => {
            effect.is_some() || request.provider == ProviderName::NESTED
        }
        Event::CheckSkipped { .. }
        | Event::LedgerAsked { .. }
        | Event::LedgerAnswered { .. }
        | Event::EffectReused { .. }
        | Event::ArtifactChanged { .. }
        | Event::CheckInspected { .. }
        | Event::CheckJudged { .. }
        | Event::CheckSettled { .. }
        | Event::RetryScheduled { .. }
        | Event::Routed { .. }
        | Event::RoutingDone { .. }
        | Event::LoopBudgetExceeded { .. }
        | Event::IssueRaised { .. }
        | Event::FaultDetected { .. }
        | Event::FaultIsolated { .. }
        | Event::RecoveryStarted { .. }
        | Event::RecoverySucceeded { .. }
        | Event::RecoveryExhausted { .. }
        | Event::ReconcileStarted { .. }
        | Event::MemoryChanged { .. } => false,
    }
}

pub(crate) fn apply(applied: &Applied<'_>, connection: &Connection) -> Result<(), SqliteError> {
    let waited = |run: &str| -> Result<bool, SqliteError> {
        Ok(runs::before(run, connection)?.is_some_and(|before| before.status == RunStatus::Waiting.as_str()))
    };
    if applied.change.is_none() && ends_a_wait(applied.event) && waited(applied.run)? {
        let change = Some(Change { to: RunStatus::Running, reason: None });
        let continues = Applied { change, ..*applied };
        return apply_to_all(&continues, connection);
    }
    apply_to_all(applied, connection)
}

/// Whether this event makes a waiting run work again. If the run still waits for a person, it says so again.
fn ends_a_wait(event: &Event) -> bool {
    matches!(
        event,
        Event::MessageDelivered { refused: None, .. }
            | Event::WaitExpired { .. }
            | Event::NestedResumed { .. }
            | Event::RetryDue { .. }
            | Event::DeadlinePassed {}
    )
}

fn apply_to_all(applied: &Applied<'_>, connection: &Connection) -> Result<(), SqliteError> {
    for table in TABLES {
        (table.apply)(applied, connection)?;
    }
    Ok(())
}

/// Recreates every table and fills it from the entries, oldest commit first.
pub(crate) fn rebuild(connection: &Connection) -> Result<(), SqliteError> {
    for table in TABLES {
        connection.execute_batch(&format!("DROP TABLE IF EXISTS {};\n{}", table.name, table.create))?;
    }
    let mut said = crate::sqlite::invocations::all(connection)?.into_iter().peekable();
    let mut statement = connection.prepare(
        "SELECT journals.run, entries.seq, entries.bytes, entries.global
         FROM entries JOIN journals ON journals.id = entries.journal ORDER BY entries.global",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let global: i64 = row.get(3)?;
        while let Some(kept) = said.next_if(|kept| kept.after < global) {
            invocations::apply_said(&kept.invocation, &kept.said, connection)?;
        }
        let run: String = row.get(0)?;
        let seq = row.get(1)?;
        let entry = decode(&run, seq, row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?)?;
        let applied = Applied::new(&run, seq, entry.at, &entry.event);
        apply(&applied, connection)?;
    }
    for kept in said {
        invocations::apply_said(&kept.invocation, &kept.said, connection)?;
    }
    artifacts::refill(connection)
}

/// A value that serialises without fail, as a JSON column holds it.
pub(crate) fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

/// Reads a JSON column.
pub(crate) fn from_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?;
    let parsed = serde_json::from_str(text.as_str()?);
    parsed.map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, text.data_type(), error.into()))
}

/// Reads a column that holds one of our own words, spelled as in the journal.
pub(crate) fn word<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: StrDeserializer<'_, serde::de::value::Error> =
        row.get_ref(column)?.as_str()?.into_deserializer();
    T::deserialize(text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into()))
}

pub(crate) fn optional_word<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<T>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => word(row, column).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_each_table_makes_the_one_it_is_named_for() {
        let mut names: Vec<_> = TABLES.iter().map(|table| table.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLES.len());
        for table in TABLES {
            assert!(table.create.contains(&format!("CREATE TABLE {} (", table.name)), "{}", table.name);
        }
    }
}
