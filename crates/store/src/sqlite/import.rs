//! Imports a journal that was written elsewhere, byte for byte, after checking its chain.

use escrow_model::RunId;

use crate::chain::Hash;
use crate::commit::Durability;
use crate::entry::{StoredEntry, decode};
use crate::error::{StoreError, StoreErrorKind};
use crate::import::Imported;
use crate::invocation_record::InvocationRecord;
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::entries::{self, Draft};
use crate::sqlite::error::SqliteError;
use crate::sqlite::invocations::{self, Hear};

impl BlockingStore {
    /// Adds a whole run, as [`BlockingStore::journal`] gave it, and what people said of its invocation. The run has no
    /// holder afterwards.
    pub fn import(
        &self,
        run: &RunId,
        entries: &[StoredEntry],
        invocation: Option<&InvocationRecord>,
    ) -> Result<Imported, StoreError> {
        let drafts = check(run, entries).map_err(|error| error.at(self.path()))?;
        let last = entries.last().map_or_else(|| Hash::origin(run), |entry| entry.hash);
        let (run, invocation) = (run.clone(), invocation.cloned());
        self.write(Durability::Full, move |connection| {
            let hear = |when| {
                invocation.as_ref().map_or(Ok(()), |record| invocations::take_in(record, when, connection))
            };
            if let Some(head) = entries::head(connection, &run)? {
                if head.hash != last {
                    return Ok(Imported::Differs);
                }
                hear(Hear::BehindTheRun)?;
                return Ok(Imported::AlreadyThere);
            }
            hear(Hear::BeforeTheRun)?;
            let Some(mut head) = entries::create(connection, &run)? else { return Ok(Imported::Differs) };
            entries::append(connection, &run, &mut head, &drafts)?;
            hear(Hear::BehindTheRun)?;
            Ok(Imported::Done { seq: head.seq })
        })
    }
}

fn check(run: &RunId, entries: &[StoredEntry]) -> Result<Vec<Draft>, SqliteError> {
    let mut hash = Hash::origin(run);
    let mut drafts = Vec::with_capacity(entries.len());
    for (entry, seq) in entries.iter().zip(1..) {
        hash = hash.next(seq, &entry.bytes);
        if (entry.seq, entry.hash) != (seq, hash) {
            let message = format!("entry {seq} of `{run}` was changed on its way here");
            return Err(SqliteError::Known(StoreErrorKind::Corrupt, message));
        }
        let decoded = decode(run.as_str(), seq, &entry.bytes)?;
        drafts.push(Draft::stored(entry.bytes.clone(), decoded));
    }
    Ok(drafts)
}
