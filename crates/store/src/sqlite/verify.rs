//! Finds what is not as it was written: entries, derived rows, and whole runs.

use escrow_model::RunId;
use rusqlite::Connection;
use sha2::{Digest, Sha256};

use crate::chain::Hash;
use crate::entry::decode;
use crate::error::StoreError;
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::error::SqliteError;
use crate::sqlite::{derived, entries, high_water_mark, ledger, recorded_rows, roster, schema};
use crate::state_verification::{StateBreak, StateVerification};
use crate::verify::{Break, Verification, reason_of};

impl BlockingStore {
    /// Recomputes the chain of a run from its first entry.
    pub fn verify(&self, run: &RunId) -> Result<Verification, StoreError> {
        self.read(|connection| {
            // One snapshot, so that a commit in between does not look like a break.
            let snapshot = connection.unchecked_transaction()?;
            verify_journal(&snapshot, run)
        })
    }

    /// What is wrong with the derived rows of a run whose journal is intact, and with the roster.
    pub fn verify_tables(&self, run: &RunId) -> Result<Vec<StateBreak>, StoreError> {
        let database = self.path().to_owned();
        self.read(move |connection| {
            let losses = high_water_mark::losses(connection, &database)?;
            let snapshot = connection.unchecked_transaction()?;
            let mut breaks = derived::differences_of(&snapshot, run)?;
            breaks.extend(losses.iter().filter(|loss| loss.last.run == *run).map(StateBreak::of_loss));
            let walked = roster::walk(&snapshot)?;
            breaks.extend(walked.breaks);
            breaks.extend(recorded_rows::differences(&walked.recorded, &snapshot)?);
            Ok(breaks)
        })
    }

    /// Verifies every journal, every derived table and the roster; `None` when there is no database.
    pub fn verify_state(&self) -> Result<Option<StateVerification>, StoreError> {
        let database = self.path().to_owned();
        let lost: Vec<StateBreak> = self.lost_with_database().iter().map(StateBreak::of_loss).collect();
        let verified = self.read(move |connection| {
            let losses = high_water_mark::losses(connection, &database)?;
            let snapshot = connection.unchecked_transaction()?;
            let walked = roster::walk(&snapshot)?;
            let is_whole = walked.breaks.is_empty();
            let (mut breaks, mut entries) = (walked.breaks, 0);
            // A run that is lost with its creation has no journal, so a loss counts whether or not its run is there.
            breaks.extend(losses.iter().map(StateBreak::of_loss));
            breaks.extend(schema::differences(&snapshot)?);
            // In a database with other tables the ledger may be none.
            let is_ours = !breaks.iter().any(|one| matches!(one, StateBreak::Schema { .. }));
            if is_ours && is_whole {
                breaks.extend(recorded_rows::differences(&walked.recorded, &snapshot)?);
            }
            let receipts = is_ours.then(|| ledger::chain::problem(&snapshot)).flatten();
            breaks.extend(receipts.map(|problem| StateBreak::Receipts { problem }));
            let problem: String = snapshot.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
            if problem != "ok" {
                breaks.push(StateBreak::Damaged { problem });
            }
            let mut whole = Sha256::new();
            whole.update(walked.link.as_bytes());
            let runs = runs(&snapshot)?;
            for run in &runs {
                match verify_journal(&snapshot, run)? {
                    Verification::Intact { entries: count, hash } => {
                        entries += count;
                        whole.update(hash.as_bytes());
                    }
                    Verification::Broken { seq, reason } => {
                        breaks.push(StateBreak::Journal { run: run.clone(), seq, reason });
                    }
                    Verification::NoSuchRun => breaks.push(StateBreak::RunMissing { run: run.clone() }),
                }
            }
            // Tables that are not ours, or have triggers, cannot be derived again.
            let is_in_the_way =
                |one: &StateBreak| matches!(one, StateBreak::Journal { .. } | StateBreak::Schema { .. });
            let is_readable = !breaks.iter().any(is_in_the_way);
            if is_readable {
                breaks.extend(derived::differences(&snapshot)?);
            }
            Ok(Some(StateVerification {
                runs: runs.len() as u64,
                removed: walked.removed,
                entries,
                hash: Hash::from_bytes(whole.finalize().into()),
                breaks,
            }))
        })?;
        let without_tables = || {
            let hash = Hash::of_empty_roster();
            (!lost.is_empty()).then_some(StateVerification {
                runs: 0,
                removed: 0,
                entries: 0,
                hash,
                breaks: lost,
            })
        };
        Ok(verified.or_else(without_tables))
    }
}

fn runs(connection: &Connection) -> rusqlite::Result<Vec<RunId>> {
    let mut statement = connection.prepare_cached("SELECT run FROM journals ORDER BY id")?;
    let runs = statement.query_map([], |row| Ok(RunId::from_stored(row.get::<_, String>(0)?)))?;
    runs.collect()
}

fn verify_journal(connection: &Connection, run: &RunId) -> Result<Verification, SqliteError> {
    let Some(head) = entries::head(connection, run)? else { return Ok(Verification::NoSuchRun) };
    let mut statement =
        connection.prepare_cached("SELECT seq, bytes, hash FROM entries WHERE journal = ?1 ORDER BY seq")?;
    let mut rows = statement.query([head.id])?;
    let (mut seq, mut hash) = (0, Hash::origin(run));
    while let Some(row) = rows.next()? {
        let expected = seq + 1;
        let broken = |reason| Ok(Verification::Broken { seq: expected, reason });
        seq = row.get(0)?;
        if seq != expected {
            return broken(Break::Gap { found: seq });
        }
        let Ok(bytes) = row.get_ref(1)?.as_blob() else { return broken(Break::NotJson) };
        hash = hash.next(seq, bytes);
        if row.get::<_, Hash>(2).ok() != Some(hash) {
            return broken(Break::HashMismatch);
        }
        if let Err(error) = decode(run.as_str(), seq, bytes) {
            return broken(reason_of(&error));
        }
    }
    if seq < head.seq {
        return Ok(Verification::Broken { seq: seq + 1, reason: Break::CutOff { recorded: head.seq } });
    }
    if seq > head.seq || hash != head.hash {
        return Ok(Verification::Broken { seq, reason: Break::NotRecorded });
    }
    Ok(Verification::Intact { entries: seq, hash })
}
