//! Tables that may be behind while a run is under way, because nobody waits for them.
//!
//! ```text
//!   entry ──▶ journal ──▶ prompt tables                    in every commit
//!                └─ waits ─▶ late tables (checks, attempts) when the run changes its status, a second has
//!                                                           passed, or much has come together
//! ```
//!
//! They change with almost every entry; written together they cost a fraction. `journals.projected` tells how far
//! they have come. Who asks for a run that is further is answered from its journal.
//!
//! **Invariant:** what is kept here is a copy. When it does not fit the journal, the journal is read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use escrow_model::{Event, Millis, RunId};
use rusqlite::Connection;

use crate::chain::Hash;
use crate::fault::{StoreError, Trouble};
use crate::journal::{self, Draft, Head};
use crate::store::Store;
use crate::tables::{self, Applied};

/// How far the late tables may fall behind, in the time of the entries.
const BEHIND_MAX_MS: Millis = 1_000;
const BEHIND_MAX_ENTRIES: usize = 2_000;
const BEHIND_MAX_BYTES: usize = 1 << 20;

/// What this process has committed and not yet applied to the late tables.
#[derive(Default)]
pub(crate) struct Late {
    journals: Mutex<BTreeMap<i64, Waiting>>,
}

/// The latest entries of one journal.
struct Waiting {
    /// The hash of the last of them.
    end: Hash,
    entries: Vec<(u64, Millis, Arc<Event>)>,
    bytes: usize,
}

impl Late {
    /// Remembers entries that were just appended after `before`; says whether the tables should catch up.
    pub(crate) fn note(&self, head: &Head, before: Hash, drafts: &[Draft]) -> bool {
        let mut journals = self.journals.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Waiting { end: before, entries: Vec::new(), bytes: 0 };
        let waiting = journals.entry(head.id).or_insert_with(fresh);
        if waiting.end != before {
            *waiting = fresh();
        }
        let first = head.seq - drafts.len() as u64 + 1;
        let mut comes_to_rest = false;
        for (draft, seq) in drafts.iter().zip(first..) {
            comes_to_rest |= matches!(
                *draft.event,
                Event::RunWaiting { .. } | Event::RunEnded { .. } | Event::RunOverridden { .. }
            );
            waiting.bytes += draft.bytes.len();
            waiting.entries.push((seq, draft.at, Arc::clone(&draft.event)));
        }
        waiting.end = head.hash;
        let span = match (waiting.entries.first(), waiting.entries.last()) {
            (Some((_, from, _)), Some((_, to, _))) => to.saturating_sub(*from),
            _ => 0,
        };
        comes_to_rest
            || span > BEHIND_MAX_MS
            || waiting.entries.len() > BEHIND_MAX_ENTRIES
            || waiting.bytes > BEHIND_MAX_BYTES
    }

    /// Applies everything up to the head.
    pub(crate) fn catch_up(
        &self,
        connection: &Connection,
        run: &RunId,
        head: &mut Head,
    ) -> Result<(), Trouble> {
        let waiting = self.journals.lock().unwrap_or_else(PoisonError::into_inner).remove(&head.id);
        let whole = waiting.filter(|waiting| {
            let from = waiting.entries.first().map(|(seq, ..)| *seq);
            waiting.end == head.hash && from.is_some_and(|from| from <= head.projected + 1)
        });
        match whole {
            Some(waiting) => {
                for (seq, at, event) in waiting.entries.iter().filter(|(seq, ..)| *seq > head.projected) {
                    tables::apply_late(&Applied::new(run.as_str(), *seq, *at, event), connection)?;
                }
            }
            None => replay(connection, run, head.projected + 1, connection)?,
        }
        head.projected = head.seq;
        Ok(())
    }
}

/// Applies the stored entries from `from` on to the late tables of another database, or of the same one.
fn replay(journals: &Connection, run: &RunId, from: u64, tables: &Connection) -> Result<(), Trouble> {
    for stored in journal::stored(journals, run, from)? {
        let entry = journal::decode(run.as_str(), stored.seq, &stored.bytes)?;
        tables::apply_late(&Applied::new(run.as_str(), stored.seq, entry.at, &entry.event), tables)?;
    }
    Ok(())
}

/// Asks the late tables about a run. When they are behind, a copy for this run alone is derived and asked.
pub(crate) fn ask<T>(
    connection: &Connection,
    run: &RunId,
    question: impl FnOnce(&Connection) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    match journal::head(connection, run)? {
        Some(head) if head.projected < head.seq => {
            let copy = Connection::open_in_memory()?;
            tables::create_late(&copy)?;
            replay(connection, run, 1, &copy)?;
            question(&copy)
        }
        Some(_) | None => question(connection),
    }
}

impl Store {
    /// Brings every table up to date, for who wants to read the database without Escrow.
    pub fn catch_up(&self) -> Result<(), StoreError> {
        let late = Arc::clone(self.late());
        self.write(crate::Durability::Grouped, move |connection| {
            let behind: Vec<String> = connection
                .prepare_cached("SELECT run FROM journals WHERE projected < seq ORDER BY id")?
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            for run in behind.into_iter().map(RunId::from_stored) {
                let Some(mut head) = journal::head(connection, &run)? else { continue };
                late.catch_up(connection, &run, &mut head)?;
                journal::set_head(connection, &head)?;
            }
            Ok(())
        })
    }
}
