//! Reads and appends entries. They are stored as the bytes that were hashed.

use escrow_model::{Entry, Event, Millis, RunId};
use rusqlite::{Connection, OptionalExtension};

use crate::chain::Hash;
use crate::entry::{StoredEntry, decode};
use crate::error::{StoreError, StoreErrorKind};
use crate::lease::Lease;
use crate::persisted;
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::error::SqliteError;
use crate::sqlite::roster;
use crate::sqlite::tables::{self, Applied};

impl BlockingStore {
    /// The whole journal of a run, byte for byte; empty when there is no such run.
    pub fn journal(&self, run: &RunId) -> Result<Vec<StoredEntry>, StoreError> {
        self.read(|connection| stored(connection, run, 1))
    }

    /// The numbers and hashes of the last entries, oldest first.
    pub fn last_hashes(&self, run: &RunId, limit: usize) -> Result<Vec<(u64, Hash)>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT seq, hash FROM entries WHERE journal = (SELECT id FROM journals WHERE run = ?1)
                 ORDER BY seq DESC LIMIT ?2",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map((run.as_str(), limit), |row| Ok((row.get(0)?, row.get(1)?)))?;
            let mut hashes: Vec<(u64, Hash)> = rows.collect::<rusqlite::Result<_>>()?;
            hashes.reverse();
            Ok(hashes)
        })
    }

    /// The entries from `from_seq` on.
    pub fn entries(&self, run: &RunId, from_seq: u64) -> Result<Vec<(u64, Entry)>, StoreError> {
        self.read(|connection| Bytes::read(connection, run, from_seq, None)?.decode(run))
    }

    /// At most `limit` of the entries from `from_seq` on.
    pub fn entries_part(
        &self,
        run: &RunId,
        from_seq: u64,
        limit: u32,
    ) -> Result<Vec<(u64, Entry)>, StoreError> {
        self.read(|connection| Bytes::read(connection, run, from_seq, Some(limit))?.decode(run))
    }

    /// The first entry of a journal, read without the rest.
    pub fn first_entry(&self, run: &RunId) -> Result<Option<Entry>, StoreError> {
        self.read(|connection| first(connection, run))
    }
}

/// When the last entry of a journal was decided; 0 when there is none.
pub(super) fn latest_at(connection: &Connection, run: &RunId) -> Result<Millis, SqliteError> {
    let Some(head) = head(connection, run)? else { return Ok(0) };
    let last = Bytes::read(connection, run, head.seq, None)?.decode(run)?;
    Ok(last.last().map_or(0, |(_, entry)| entry.at))
}

/// Entries one after the other, as they were hashed.
struct Bytes {
    all: Vec<u8>,
    /// The number of each entry, and where it ends.
    ends: Vec<(u64, usize)>,
}

/// Fewer entries than this are decoded by one thread; starting another would take longer.
const ENTRIES_APIECE: usize = 2_000;

impl Bytes {
    fn read(
        connection: &Connection,
        run: &RunId,
        from_seq: u64,
        limit: Option<u32>,
    ) -> Result<Bytes, SqliteError> {
        let mut bytes = Bytes { all: Vec::new(), ends: Vec::new() };
        let mut statement = connection.prepare_cached(
            "SELECT seq, bytes FROM entries
             WHERE journal = (SELECT id FROM journals WHERE run = ?1) AND seq >= ?2 ORDER BY seq
             LIMIT ?3",
        )?;
        // A negative limit is none.
        let limit = limit.map_or(-1, i64::from);
        let mut rows = statement.query((run.as_str(), from_seq, limit))?;
        while let Some(row) = rows.next()? {
            bytes.all.extend_from_slice(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?);
            bytes.ends.push((row.get(0)?, bytes.all.len()));
        }
        Ok(bytes)
    }

    /// Decodes every entry; those of a long journal on all processors.
    fn decode(&self, run: &RunId) -> Result<Vec<(u64, Entry)>, SqliteError> {
        let helpers = std::thread::available_parallelism().map_or(1, usize::from);
        let apiece = self.ends.len().div_ceil(helpers).max(ENTRIES_APIECE);
        if self.ends.len() <= apiece {
            return self.decode_some(run, 0, &self.ends);
        }
        std::thread::scope(|scope| {
            let mut begin = 0;
            let parts: Vec<_> = self
                .ends
                .chunks(apiece)
                .map(|ends| {
                    let from = std::mem::replace(&mut begin, ends.last().map_or(0, |(_, end)| *end));
                    scope.spawn(move || self.decode_some(run, from, ends))
                })
                .collect();
            let mut entries = Vec::with_capacity(self.ends.len());
            for part in parts {
                let gone =
                    |_| SqliteError::Known(StoreErrorKind::Internal, "a reader of entries is gone".into());
                entries.append(&mut part.join().map_err(gone)??);
            }
            Ok(entries)
        })
    }

    fn decode_some(
        &self,
        run: &RunId,
        mut from: usize,
        ends: &[(u64, usize)],
    ) -> Result<Vec<(u64, Entry)>, SqliteError> {
        let mut entries = Vec::with_capacity(ends.len());
        for (seq, end) in ends {
            entries.push((*seq, decode(run.as_str(), *seq, &self.all[from..*end])?));
            from = *end;
        }
        Ok(entries)
    }
}

pub(crate) fn stored(
    connection: &Connection,
    run: &RunId,
    from_seq: u64,
) -> Result<Vec<StoredEntry>, SqliteError> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, bytes, hash FROM entries
         WHERE journal = (SELECT id FROM journals WHERE run = ?1) AND seq >= ?2 ORDER BY seq",
    )?;
    let rows = statement.query_map((run.as_str(), from_seq), |row| {
        Ok(StoredEntry { seq: row.get(0)?, bytes: row.get(1)?, hash: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The first entry of a journal, read without the rest.
pub(crate) fn first(connection: &Connection, run: &RunId) -> Result<Option<Entry>, SqliteError> {
    let first = Bytes::read(connection, run, 0, Some(1))?.decode(run)?;
    Ok(first.into_iter().next().map(|(_, entry)| entry))
}

/// The end of a journal, and the token of its holder.
pub(crate) struct Head {
    pub(crate) id: i64,
    pub(crate) seq: u64,
    pub(crate) hash: Hash,
    token: Option<Vec<u8>>,
}

impl Head {
    pub(crate) fn is_held_by(&self, lease: &Lease) -> bool {
        self.token.as_deref() == Some(lease.token())
    }
}

pub(crate) fn head(connection: &Connection, run: &RunId) -> Result<Option<Head>, SqliteError> {
    let head = connection
        .prepare_cached("SELECT id, seq, hash, token FROM journals WHERE run = ?1")?
        .query_row([run.as_str()], |row| {
            Ok(Head { id: row.get(0)?, seq: row.get(1)?, hash: row.get(2)?, token: row.get(3)? })
        })
        .optional()?;
    Ok(head)
}

/// An empty journal; `None` when the run has one.
pub(crate) fn create(connection: &Connection, run: &RunId) -> Result<Option<Head>, SqliteError> {
    let origin = Hash::origin(run);
    let made = connection
        .prepare_cached("INSERT INTO journals (run, seq, hash) VALUES (?1, 0, ?2) ON CONFLICT DO NOTHING")?
        .execute((run.as_str(), origin))?;
    if made == 0 {
        return Ok(None);
    }
    let id = connection.last_insert_rowid();
    roster::record_created(connection, run)?;
    Ok(Some(Head { id, seq: 0, hash: origin, token: None }))
}

pub(crate) fn hash_at(connection: &Connection, journal: i64, seq: u64) -> rusqlite::Result<Option<Hash>> {
    connection
        .prepare_cached("SELECT hash FROM entries WHERE journal = ?1 AND seq = ?2")?
        .query_row((journal, seq), |row| row.get(0))
        .optional()
}

/// An entry on its way into the journal.
pub(crate) struct Draft {
    pub(crate) bytes: Vec<u8>,
    pub(crate) at: Millis,
    /// Only of entries that change a table.
    pub(crate) event: Option<Event>,
}

impl Draft {
    /// Serialises into `room` first, so that a draft takes no more memory than its bytes.
    pub(crate) fn new(entry: &Entry, room: &mut Vec<u8>) -> Result<Draft, SqliteError> {
        room.clear();
        persisted::write(entry, &mut *room).map_err(|error| {
            SqliteError::Known(
                StoreErrorKind::Internal,
                format!("an entry cannot be written as JSON: {error}"),
            )
        })?;
        Ok(Draft {
            bytes: room.as_slice().to_vec(),
            at: entry.at,
            event: tables::are_changed_by(&entry.event).then(|| entry.event.clone()),
        })
    }

    /// An entry that already has its bytes; writing it as JSON again might spell it differently.
    pub(crate) fn stored(bytes: Vec<u8>, entry: Entry) -> Draft {
        Draft { bytes, at: entry.at, event: Some(entry.event) }
    }
}

pub(crate) fn append(
    connection: &Connection,
    run: &RunId,
    head: &mut Head,
    drafts: &[Draft],
) -> Result<(), SqliteError> {
    let mut insert = connection
        .prepare_cached("INSERT INTO entries (journal, seq, bytes, hash) VALUES (?1, ?2, ?3, ?4)")?;
    for draft in drafts {
        let seq = head.seq + 1;
        let hash = head.hash.next(seq, &draft.bytes);
        insert.execute((head.id, seq, &draft.bytes, hash))?;
        if let Some(event) = &draft.event {
            tables::apply(&Applied::new(run.as_str(), seq, draft.at, event), connection)?;
        }
        (head.seq, head.hash) = (seq, hash);
    }
    set_head(connection, head)
}

pub(crate) fn set_head(connection: &Connection, head: &Head) -> Result<(), SqliteError> {
    connection
        .prepare_cached("UPDATE journals SET seq = ?2, hash = ?3 WHERE id = ?1")?
        .execute((head.id, head.seq, head.hash))?;
    Ok(())
}

pub(crate) fn no_such_run(run: &RunId) -> SqliteError {
    SqliteError::Known(StoreErrorKind::NoSuchRun, format!("there is no run `{run}`"))
}
