//! Messages to runs: sent by any process, delivered exactly once, by the commit that acts on them.

use escrow_model::{Message, RunId};
use rusqlite::Connection;

use crate::commit::Durability;
use crate::error::{StoreError, StoreErrorKind};
use crate::message::{MessageId, Sent};
use crate::persisted;
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::clock;
use crate::sqlite::entries::{self, Head};
use crate::sqlite::error::SqliteError;

impl BlockingStore {
    /// Puts a message into a run's inbox, and returns when it is on the disk.
    pub fn send(&self, run: &RunId, message: &Message, from: &str) -> Result<MessageId, StoreError> {
        self.write(Durability::Full, sending(run, message, from)?)
    }

    /// The messages that no commit has delivered, oldest first.
    pub fn undelivered(&self, run: &RunId) -> Result<Vec<Sent>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, sent_at, sender, message FROM inbox
                 WHERE journal = (SELECT id FROM journals WHERE run = ?1) AND delivered_seq IS NULL ORDER BY id",
            )?;
            let mut rows = statement.query([run.as_str()])?;
            let mut messages = Vec::new();
            while let Some(row) = rows.next()? {
                let id = row.get(0)?;
                let message = persisted::decode_message(row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?)
                    .map_err(|error| {
                    SqliteError::Known(StoreErrorKind::Corrupt, format!("message {id} cannot be read: {error}"))
                })?;
                messages.push(Sent { id: MessageId(id), message, from: row.get(2)?, at: row.get(1)? });
            }
            Ok(messages)
        })
    }
}

pub(crate) fn sending(
    run: &RunId,
    message: &Message,
    from: &str,
) -> Result<impl FnMut(&Connection) -> Result<MessageId, SqliteError> + Send + use<>, StoreError> {
    let text = persisted::encode_message(message).map_err(|error| {
        StoreError::new(StoreErrorKind::Internal, format!("a message cannot be written as JSON: {error}"))
    })?;
    let (run, from) = (run.clone(), from.to_owned());
    Ok(move |connection: &Connection| {
        let head = entries::head(connection, &run)?.ok_or_else(|| entries::no_such_run(&run))?;
        let id = connection
            .prepare_cached(
                "INSERT INTO inbox (journal, sent_at, sender, message) VALUES (?1, ?2, ?3, ?4) RETURNING id",
            )?
            .query_row((head.id, clock::now(), &from, &text), |row| row.get(0))?;
        Ok(MessageId(id))
    })
}

/// Part of a commit: the messages are delivered at the entry with which the journal then ends. The journal has them
/// without secrets; what was sent is erased.
pub(crate) fn mark_delivered(
    connection: &Connection,
    head: &Head,
    messages: &[MessageId],
) -> Result<(), SqliteError> {
    if messages.is_empty() {
        return Ok(());
    }
    let mut open = connection.prepare_cached(
        "UPDATE inbox SET delivered_seq = ?3, message = '' WHERE id = ?1 AND journal = ?2 AND delivered_seq IS NULL",
    )?;
    for message in messages {
        if open.execute((message.0, head.id, head.seq))? == 0 {
            let message = format!("message {} is not in the inbox", message.0);
            return Err(SqliteError::Known(StoreErrorKind::MessageGone, message));
        }
    }
    Ok(())
}
