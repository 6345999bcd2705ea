//! Decisions about waits: compared and recorded in one transaction.

use escrow_model::{Entry, Event, Message, Millis, RunId};
use rusqlite::Connection;

use crate::commit::Durability;
use crate::decision::{Decided, DecidedWait, NotAccepted, judge_assumption, judge_decision, wait_of};
use crate::error::{StoreError, StoreErrorKind};
use crate::message::MessageId;
use crate::persisted;
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::error::SqliteError;
use crate::sqlite::tables::waits;
use crate::sqlite::{clock, entries, inbox};

impl BlockingStore {
    /// Puts a decision into a run's inbox if it is the first, and returns when it is on the disk.
    pub fn decide(&self, run: &RunId, message: &Message, from: &str) -> Result<Decided, StoreError> {
        self.decide_at(run, message, from, clock::now())
    }

    /// As [`BlockingStore::decide`], by another clock.
    pub fn decide_at(
        &self,
        run: &RunId,
        message: &Message,
        from: &str,
        now: Millis,
    ) -> Result<Decided, StoreError> {
        let mut send = inbox::sending(run, message, from)?;
        let (run, message) = (run.clone(), message.clone());
        self.write(Durability::Full, move |connection| {
            let id = wait_of(&message).unwrap_or_default();
            let Some(wait) = waits::named_of_run(connection, &run, id)? else {
                return Ok(Decided::Refused(NotAccepted::Gone));
            };
            let recorded: Vec<Message> =
                recorded(connection, &run)?.into_iter().map(|(_, message)| message).collect();
            // The time of a run never goes backwards: what is late for its journal is late for a slower clock as well.
            let now = now.max(entries::latest_at(connection, &run)?);
            match judge_decision(DecidedWait::from(&wait), &recorded, &message, now) {
                Ok(()) => Ok(Decided::Accepted(send(connection)?)),
                Err(refused) => Ok(Decided::Refused(refused)),
            }
        })
    }

    /// Puts words about effects into a run's inbox, all or none, if each is the first about its effect and the journal
    /// still ends where they were compared with it.
    pub fn assume(
        &self,
        run: &RunId,
        messages: &[Message],
        from: &str,
        expected_seq: u64,
    ) -> Result<Result<(), NotAccepted>, StoreError> {
        let sends = messages.iter().map(|message| inbox::sending(run, message, from));
        let mut sends = sends.collect::<Result<Vec<_>, _>>()?;
        let (run, messages) = (run.clone(), messages.to_vec());
        self.write(Durability::Full, move |connection| {
            let seq = entries::head(connection, &run)?.map_or(0, |head| head.seq);
            if seq != expected_seq {
                return Ok(Err(NotAccepted::Moved));
            }
            let recorded: Vec<Message> =
                recorded(connection, &run)?.into_iter().map(|(_, message)| message).collect();
            for message in &messages {
                if let Err(refused) = judge_assumption(&recorded, message) {
                    return Ok(Err(refused));
                }
            }
            for send in &mut sends {
                send(connection)?;
            }
            Ok(Ok(()))
        })
    }
}

/// The undelivered messages of a run, oldest first.
fn recorded(connection: &Connection, run: &RunId) -> Result<Vec<(MessageId, Message)>, SqliteError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, message FROM inbox
         WHERE journal = (SELECT id FROM journals WHERE run = ?1) AND delivered_seq IS NULL ORDER BY id",
    )?;
    let mut rows = statement.query([run.as_str()])?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        let text: String = row.get(1)?;
        let message = persisted::decode_message(&text).map_err(|error| {
            SqliteError::Known(StoreErrorKind::Corrupt, format!("message {id} cannot be read: {error}"))
        })?;
        messages.push((MessageId(id), message));
    }
    Ok(messages)
}

/// The waits that these entries let expire.
pub(super) fn expired_by(entries: &[Entry]) -> Vec<String> {
    let ids = entries.iter().filter_map(|entry| match &entry.event {
        Event::WaitExpired { id } => Some(id.clone()),
        _ => None,
    });
    ids.collect()
}

/// Whether one of these waits was decided in time, by a message that is not among those delivered here.
pub(super) fn are_decided(
    connection: &Connection,
    run: &RunId,
    waits: &[String],
    delivered: &[MessageId],
) -> Result<bool, SqliteError> {
    if waits.is_empty() {
        return Ok(false);
    }
    let is_about =
        |message: &Message| wait_of(message).is_some_and(|wait| waits.iter().any(|one| one == wait));
    let messages = recorded(connection, run)?;
    Ok(messages.iter().any(|(id, message)| is_about(message) && !delivered.contains(id)))
}
