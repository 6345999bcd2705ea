//! Letters to runs: sent by any process, opened exactly once, by the commit that acts on them.

use escrow_model::{Letter, Millis, RunId};
use rusqlite::Connection;

use crate::clock;
use crate::commit::Durability;
use crate::fault::{StoreError, StoreErrorKind, Trouble};
use crate::journal::{self, Head};
use crate::store::Store;

/// A letter's place in the inbox. Later letters have greater ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LetterId(pub u64);

/// A letter that lies in the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub id: LetterId,
    pub letter: Letter,
    pub from: String,
    pub at: Millis,
}

impl Store {
    /// Puts a letter into a run's inbox, and returns when it is on the disk.
    pub fn send(&self, run: &RunId, letter: &Letter, from: &str) -> Result<LetterId, StoreError> {
        let text = serde_json::to_string(letter).map_err(|error| {
            StoreError::new(StoreErrorKind::Internal, format!("a letter cannot be written as JSON: {error}"))
        })?;
        let (run, from) = (run.clone(), from.to_owned());
        self.write(Durability::Full, move |connection| {
            let head = journal::head(connection, &run)?.ok_or_else(|| journal::no_such_run(&run))?;
            let id = connection
                .prepare_cached(
                    "INSERT INTO inbox (journal, sent_at, sender, letter) VALUES (?1, ?2, ?3, ?4) RETURNING id",
                )?
                .query_row((head.id, clock::now(), &from, &text), |row| row.get(0))?;
            Ok(LetterId(id))
        })
    }

    /// The letters that no commit has opened, oldest first.
    pub fn unopened(&self, run: &RunId) -> Result<Vec<Sent>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, sent_at, sender, letter FROM inbox
                 WHERE journal = (SELECT id FROM journals WHERE run = ?1) AND opened_seq IS NULL ORDER BY id",
            )?;
            let mut rows = statement.query([run.as_str()])?;
            let mut letters = Vec::new();
            while let Some(row) = rows.next()? {
                let id = row.get(0)?;
                let letter = serde_json::from_str(row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?)
                    .map_err(|error| {
                    Trouble::Known(StoreErrorKind::Corrupt, format!("letter {id} cannot be read: {error}"))
                })?;
                letters.push(Sent { id: LetterId(id), letter, from: row.get(2)?, at: row.get(1)? });
            }
            Ok(letters)
        })
    }
}

/// Part of a commit: the letters are opened at the entry with which the journal then ends.
pub(crate) fn mark_opened(connection: &Connection, head: &Head, letters: &[LetterId]) -> Result<(), Trouble> {
    if letters.is_empty() {
        return Ok(());
    }
    let mut open = connection.prepare_cached(
        "UPDATE inbox SET opened_seq = ?3 WHERE id = ?1 AND journal = ?2 AND opened_seq IS NULL",
    )?;
    for letter in letters {
        if open.execute((letter.0, head.id, head.seq))? == 0 {
            let message = format!("letter {} is not in the inbox", letter.0);
            return Err(Trouble::Known(StoreErrorKind::LetterGone, message));
        }
    }
    Ok(())
}
