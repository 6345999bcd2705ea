//! What people recorded beside the journals is covered by the roster: each row is a link when it is written, and another
//! one when `gc` removes it with its run. No journal tells of these rows, so nothing else could notice that one was changed.

use std::collections::BTreeMap;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use sha2::{Digest, Sha256};

use crate::chain::Hash;
use crate::sqlite::roster;
use crate::state_verification::StateBreak;

/// A table whose rows are numbered and never changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RecordedTable {
    Outcomes,
    Invocations,
}

const TABLES: [RecordedTable; 2] = [RecordedTable::Outcomes, RecordedTable::Invocations];

impl RecordedTable {
    fn table(self) -> &'static str {
        match self {
            RecordedTable::Outcomes => "added_outcomes",
            RecordedTable::Invocations => "invocations_said",
        }
    }

    /// What a link covers.
    fn columns(self) -> &'static str {
        match self {
            RecordedTable::Outcomes => "run, added",
            RecordedTable::Invocations => "invocation, after, said",
        }
    }

    /// What the owner of rows is called.
    fn owner(self) -> &'static str {
        match self {
            RecordedTable::Outcomes => "run",
            RecordedTable::Invocations => "invocation",
        }
    }
}

/// Digests of rows by table and number.
pub(crate) type Digests = BTreeMap<(&'static str, u64), Hash>;

/// Links the row that this connection has just inserted.
pub(crate) fn link_last(table: RecordedTable, connection: &Connection) -> rusqlite::Result<()> {
    link_where(table, "number = last_insert_rowid()", connection)
}

/// A step of the schema: rows from before are linked as they are found.
pub(crate) fn link_all(connection: &Connection) -> rusqlite::Result<()> {
    TABLES.iter().try_for_each(|table| link_where(*table, "true", connection))
}

pub(crate) fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(digests(connection)?.is_empty())
}

/// Removes what belongs to this run or invocation, and says so in the roster.
pub(crate) fn forget(table: RecordedTable, owner: &str, connection: &Connection) -> rusqlite::Result<()> {
    let condition = format!("FROM {} WHERE {} = ?1", table.table(), table.owner());
    let mut statement = connection.prepare_cached(&format!("SELECT number {condition} ORDER BY number"))?;
    let numbers = statement.query_map([owner], |row| row.get(0))?.collect::<rusqlite::Result<Vec<u64>>>()?;
    for number in numbers {
        roster::append_note(connection, &Note::Forgotten { table: table.table(), number }.to_link())?;
    }
    connection.prepare_cached(&format!("DELETE {condition}"))?.execute([owner])?;
    Ok(())
}

/// What is not as the roster says.
pub(crate) fn differences(linked: &Digests, connection: &Connection) -> rusqlite::Result<Vec<StateBreak>> {
    let found = digests(connection)?;
    let mut differ: Vec<_> = linked.iter().filter(|(key, digest)| found.get(key) != Some(digest)).collect();
    differ.extend(found.iter().filter(|(key, _)| !linked.contains_key(key)));
    Ok(differ
        .into_iter()
        .map(|((table, number), _)| StateBreak::RecordedRow { table, number: *number })
        .collect())
}

/// What a link of the roster says about a row. No run has such a name.
pub(crate) enum Note {
    Written { table: &'static str, number: u64, digest: Hash },
    Forgotten { table: &'static str, number: u64 },
}

const WRITTEN: &str = "\0kept ";
const FORGOTTEN: &str = "\0forgotten ";

impl Note {
    fn to_link(&self) -> String {
        match self {
            Note::Written { table, number, digest } => format!("{WRITTEN}{table} {number} {digest}"),
            Note::Forgotten { table, number } => format!("{FORGOTTEN}{table} {number}"),
        }
    }

    /// `None` for the name of a run.
    pub(crate) fn read(link: &str) -> Option<Note> {
        let (rest, is_written) = match (link.strip_prefix(WRITTEN), link.strip_prefix(FORGOTTEN)) {
            (Some(rest), _) => (rest, true),
            (None, Some(rest)) => (rest, false),
            (None, None) => return None,
        };
        let mut words = rest.split(' ');
        let name = words.next()?;
        let table = TABLES.iter().map(|table| table.table()).find(|table| *table == name)?;
        let number = words.next()?.parse().ok()?;
        if !is_written {
            return Some(Note::Forgotten { table, number });
        }
        Some(Note::Written { table, number, digest: Hash::parse(words.next()?)? })
    }

    /// Whether it can follow what was said before.
    pub(crate) fn apply(self, linked: &mut Digests) -> bool {
        match self {
            Note::Written { table, number, digest } => linked.insert((table, number), digest).is_none(),
            Note::Forgotten { table, number } => linked.remove(&(table, number)).is_some(),
        }
    }
}

fn link_where(table: RecordedTable, condition: &str, connection: &Connection) -> rusqlite::Result<()> {
    for (number, digest) in rows(table, condition, connection)? {
        let note = Note::Written { table: table.table(), number, digest };
        roster::append_note(connection, &note.to_link())?;
    }
    Ok(())
}

fn digests(connection: &Connection) -> rusqlite::Result<Digests> {
    let mut found = Digests::new();
    for table in TABLES {
        let rows = rows(table, "true", connection)?;
        found.extend(rows.into_iter().map(|(number, digest)| ((table.table(), number), digest)));
    }
    Ok(found)
}

fn rows(
    table: RecordedTable,
    condition: &str,
    connection: &Connection,
) -> rusqlite::Result<Vec<(u64, Hash)>> {
    let (table, columns) = (table.table(), table.columns());
    let mut statement = connection.prepare_cached(&format!(
        "SELECT number, {columns} FROM {table} WHERE {condition} ORDER BY number"
    ))?;
    let count = statement.column_count();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, digest(row, 1..count)?)))?;
    rows.collect()
}

/// Kind and length of each value go before it, so that no two rows are the same bytes.
fn digest(row: &Row<'_>, columns: std::ops::Range<usize>) -> rusqlite::Result<Hash> {
    let mut hasher = Sha256::new();
    for column in columns {
        let number;
        let (kind, bytes) = match row.get_ref(column)? {
            ValueRef::Null => (b'n', &[][..]),
            ValueRef::Integer(value) => {
                number = value.to_be_bytes();
                (b'i', &number[..])
            }
            ValueRef::Real(value) => {
                number = value.to_be_bytes();
                (b'r', &number[..])
            }
            ValueRef::Text(bytes) => (b't', bytes),
            ValueRef::Blob(bytes) => (b'b', bytes),
        };
        hasher.update([kind]);
        hasher.update((bytes.len() as u64).to_be_bytes());
        hasher.update(bytes);
    }
    Ok(Hash::from_bytes(hasher.finalize().into()))
}
