//! The tables that hold what cannot be derived, and the way from one version of the schema to the next.
//!
//! Projections are not migrated: they are dropped and rebuilt from the journal.

use std::collections::BTreeSet;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreErrorKind;
use crate::sqlite::error::SqliteError;
use crate::sqlite::{
    attention, chains, fires, high_water_mark, invocations, ledger, outbox, outcomes, roster, tables,
};
use crate::state_verification::StateBreak;

/// Marks a file as Escrow's: "escr" in ASCII.
const APPLICATION_ID: i32 = 0x6573_6372;

/// The oldest version that can be opened. Versions below it were never released.
const BASELINE: u32 = 12;

/// The tables of the baseline, then one step from each version to the next. A step is added for a changed projection
/// too, empty if nothing else changes: every migration ends in a rebuild.
const STEPS: &[&[&str]] = &[
    &[
        JOURNALS,
        roster::TABLES,
        high_water_mark::TABLES,
        ledger::TABLES,
        outcomes::TABLES,
        invocations::TABLES,
        attention::TABLES,
    ],
    &[chains::TABLES],
    &[fires::TABLES, outbox::TABLES],
    &[fires::FEED],
    // `roster::link_removals`.
    &[],
    // The index `runs_of_shows`.
    &[],
    // The index `effects_open`.
    &[],
    // A run that completed with warnings needs attention, whatever they are about.
    &[],
    &[fires::FAILED, chains::PAUSED],
    // `effects.answer`.
    &[],
    // `roster::link_recorded_rows`.
    &[],
];

/// Since this version a removal is a link of the roster.
const REMOVALS_ARE_LINKS: u32 = 16;

/// Since this version the roster covers what people recorded beside the journals.
const KEPT_IS_LINKED: u32 = 22;

/// `entries.global` has no `AUTOINCREMENT`: the highest number of all times would cost a page in every commit. `remove`
/// keeps numbers growing.
const JOURNALS: &str = "
CREATE TABLE journals (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    token BLOB,
    holder TEXT,
    expires_at INTEGER
) STRICT;

CREATE TABLE entries (
    global INTEGER PRIMARY KEY,
    journal INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    hash BLOB NOT NULL,
    UNIQUE (journal, seq)
) STRICT;

CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    journal INTEGER NOT NULL,
    sent_at INTEGER NOT NULL,
    sender TEXT NOT NULL,
    message TEXT NOT NULL,
    delivered_seq INTEGER
) STRICT;
CREATE INDEX inbox_undelivered ON inbox (journal, id) WHERE delivered_seq IS NULL;
";

/// The version that this Escrow reads and writes.
pub(crate) const VERSION: u32 = newest(STEPS);

#[expect(clippy::cast_possible_truncation, reason = "a handful of steps")]
const fn newest(steps: &[&[&str]]) -> u32 {
    BASELINE + steps.len() as u32 - 1
}

/// The version of an open database, 0 for an empty one. Refuses what Escrow did not write, or a newer one did.
pub(crate) fn version(connection: &Connection) -> Result<u32, SqliteError> {
    // In one look: another process may be making the database.
    let (found, application, empty): (u32, i32, bool) = connection.query_row(
        "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id),
                NOT EXISTS (SELECT 1 FROM sqlite_schema)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    if application == 0 && found == 0 && empty {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        return Err(SqliteError::Known(
            StoreErrorKind::Foreign,
            "the database belongs to another program".into(),
        ));
    }
    if found > VERSION {
        return Err(SqliteError::Known(
            StoreErrorKind::NewerVersion { found, known: VERSION },
            format!("the database has version {found}, this Escrow knows versions up to {VERSION}"),
        ));
    }
    if found < BASELINE {
        return Err(SqliteError::Known(
            StoreErrorKind::Unreleased { found },
            format!("the database has version {found}, from before the first release"),
        ));
    }
    Ok(found)
}

/// Takes the steps that are missing, all or none.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), SqliteError> {
    migrate_by(STEPS, connection)
}

fn migrate_by(steps: &[&[&str]], connection: &mut Connection) -> Result<(), SqliteError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let found = version(&transaction)?;
    let newest = newest(steps);
    if found == newest {
        return Ok(());
    }
    let taken = if found == 0 { 0 } else { (found - BASELINE + 1) as usize };
    for statements in &steps[taken..] {
        for statement in *statements {
            transaction.execute_batch(statement)?;
        }
    }
    if found < REMOVALS_ARE_LINKS {
        roster::link_removals(&transaction)?;
    }
    if found < KEPT_IS_LINKED {
        roster::link_recorded_rows(&transaction)?;
    }
    tables::rebuild(&transaction)?;
    transaction
        .execute_batch(&format!("PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={newest}"))?;
    transaction.commit()?;
    Ok(())
}

/// Tables, indexes, views and triggers that are missing, changed or not ours. A trigger could change what is written
/// later, and a view could show what is not there.
pub(crate) fn differences(connection: &Connection) -> Result<Vec<StateBreak>, SqliteError> {
    let mut made = Connection::open_in_memory()?;
    migrate(&mut made)?;
    let (expected, found) = (objects(&made)?, objects(connection)?);
    let differ = expected.symmetric_difference(&found).map(|(kind, name, _)| (kind, name));
    let differ: BTreeSet<_> = differ.collect();
    let named =
        |(kind, name): (&String, &String)| StateBreak::Schema { kind: kind.clone(), name: name.clone() };
    Ok(differ.into_iter().map(named).collect())
}

/// Kind, name and statement of each. The figures that SQLite keeps for its planner come and go.
fn objects(connection: &Connection) -> rusqlite::Result<BTreeSet<(String, String, Option<String>)>> {
    let mut statement = connection.prepare(
        "SELECT type, name, sql FROM sqlite_schema
         WHERE NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4'))",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::sqlite::tables::TABLES;

    /// A digest of all tables at each version, shortened.
    const DIGESTS: &[&str] = &[
        "9765feb6", "56f84901", "425593e1", "c9e4c301", "c9e4c301", "03bc3a48", "5e8afdbe", "5e8afdbe",
        "1dbf36c1", "9cd19e85", "9cd19e85",
    ];

    #[test]
    fn a_changed_table_needs_a_step_and_a_new_digest() {
        let mut hasher = Sha256::new();
        STEPS.iter().flat_map(|step| step.iter()).for_each(|statement| hasher.update(statement));
        TABLES.iter().for_each(|table| hasher.update(table.create));
        let digest = escrow_model::hex(&hasher.finalize()[..4]);
        assert_eq!(DIGESTS.len(), STEPS.len());
        assert_eq!(
            DIGESTS.last(),
            Some(&digest.as_str()),
            "add a step, which rebuilds the tables, and this digest"
        );
    }

    #[test]
    fn an_older_database_takes_only_the_steps_it_lacks() {
        let mut connection = Connection::open_in_memory().unwrap();
        let count = |connection: &Connection| -> i64 {
            connection.query_row("SELECT count(*) FROM pages", [], |row| row.get(0)).unwrap()
        };
        migrate(&mut connection).unwrap();
        assert_eq!(version(&connection).unwrap(), VERSION);
        let mut with_a_step = STEPS.to_vec();
        with_a_step.push(&["CREATE TABLE pages (id INTEGER)", "INSERT INTO pages VALUES (1)"]);
        migrate_by(&with_a_step, &mut connection).unwrap();
        assert_eq!(count(&connection), 1);
        let found: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(found, VERSION + 1);
        // This Escrow does not know the step, so for it the database is from the future.
        assert!(matches!(
            version(&connection),
            Err(SqliteError::Known(StoreErrorKind::NewerVersion { found, known: VERSION }, _)) if found == VERSION + 1
        ));
    }

    #[test]
    fn a_database_from_before_the_first_release_is_refused() {
        let connection = Connection::open_in_memory().unwrap();
        let old = format!("PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version=9");
        connection.execute_batch(&old).unwrap();
        assert!(matches!(
            version(&connection),
            Err(SqliteError::Known(StoreErrorKind::Unreleased { found: 9 }, _))
        ));
    }
}
