//! The tables that hold what cannot be derived, and the way from one version of the schema to the next.
//!
//! Projections are not migrated: they are dropped and rebuilt from the journal.

use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreErrorKind;
use crate::sqlite::trouble::Trouble;
use crate::sqlite::{attention, invocations, ledger, outcomes, tables};

/// Marks a file as Escrow's: "escr" in ASCII.
const APPLICATION_ID: i32 = 0x6573_6372;

/// One step from each version to the next; the database's `user_version` counts the steps it has taken. When a
/// projection changes, a step is added for it too, empty if nothing else changes: every step ends in a rebuild.
const STEPS: &[&str] = &[
    "
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
    global INTEGER PRIMARY KEY AUTOINCREMENT,
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
",
    ledger::TABLES,
    // Keeping the highest number of all times in a table of its own costs a page in every commit; `remove` sees to
    // it that numbers only grow.
    "
ALTER TABLE journals ADD COLUMN projected INTEGER NOT NULL DEFAULT 0;
CREATE TABLE entries_as_they_come (
    global INTEGER PRIMARY KEY,
    journal INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    hash BLOB NOT NULL,
    UNIQUE (journal, seq)
) STRICT;
INSERT INTO entries_as_they_come SELECT global, journal, seq, bytes, hash FROM entries ORDER BY global;
DROP TABLE entries;
ALTER TABLE entries_as_they_come RENAME TO entries;
",
    outcomes::TABLES,
    invocations::TABLES,
    attention::TABLES,
    // These were never queried: the checks of a run are read from its journal.
    "
DROP TABLE IF EXISTS checks;
DROP TABLE IF EXISTS attempts;
ALTER TABLE journals DROP COLUMN projected;
",
];

/// The version that this Escrow reads and writes.
#[expect(clippy::cast_possible_truncation, reason = "a handful of steps")]
pub(crate) const VERSION: u32 = STEPS.len() as u32;

/// The version of an open database, 0 for an empty one. Refuses what Escrow did not write, or a newer one did.
pub(crate) fn version(connection: &Connection) -> Result<u32, Trouble> {
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
        return Err(Trouble::Known(
            StoreErrorKind::Foreign,
            "the database belongs to another program".into(),
        ));
    }
    if found > VERSION {
        return Err(Trouble::Known(
            StoreErrorKind::NewerVersion { found, known: VERSION },
            format!("the database has version {found}, this Escrow knows versions up to {VERSION}"),
        ));
    }
    Ok(found)
}

/// Takes the steps that are missing, all or none.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), Trouble> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let found = version(&transaction)?;
    if found == VERSION {
        return Ok(());
    }
    for step in &STEPS[found as usize..] {
        transaction.execute_batch(step)?;
    }
    tables::rebuild(&transaction)?;
    transaction
        .execute_batch(&format!("PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={VERSION}"))?;
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::STEPS;
    use crate::sqlite::tables::TABLES;

    /// What the tables look like at each version, shortened.
    const LOOKS: &[&str] =
        &["19614466", "8a0dbf19", "6b357a26", "6d981640", "came with the next", "2365a6af", "83b2c2f9"];

    #[test]
    fn a_changed_table_needs_a_step_and_a_new_look() {
        let mut hasher = Sha256::new();
        STEPS.iter().for_each(|step| hasher.update(step));
        TABLES.iter().for_each(|table| hasher.update(table.create));
        let look = escrow_model::hex(&hasher.finalize()[..4]);
        assert_eq!(LOOKS.len(), STEPS.len());
        assert_eq!(
            LOOKS.last(),
            Some(&look.as_str()),
            "add a step, which rebuilds the tables, and this look"
        );
    }
}
