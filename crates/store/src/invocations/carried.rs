//! What people said of an invocation, as it travels with a run from one store to another.

use escrow_model::{InvocationCode, ReasonCode};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::{Said, say};
use crate::fault::{StoreError, Trouble};
use crate::store::Store;
use crate::tables::from_json;

/// Nobody says more of one invocation than this.
const SAID_MAX: usize = 1_000;

/// How long each text may be.
const TEXT_BYTES_MAX: usize = 100_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InvocationRecord {
    pub id: String,
    said: Vec<Said>,
}

impl InvocationRecord {
    /// Why it cannot be what people said: nothing proves it but itself.
    pub fn problem(&self) -> Option<&'static str> {
        if self.said.is_empty() || self.said.len() > SAID_MAX {
            return Some("says nothing, or too much");
        }
        self.said.iter().enumerate().find_map(|(place, said)| match said {
            Said::Started(_) if place > 0 => Some("starts twice"),
            Said::Started(started) => {
                let mut texts =
                    [&started.name, &started.skill, &started.prompt, &started.by].into_iter().flatten();
                texts.any(|text| text.len() > TEXT_BYTES_MAX).then_some("has too long a text")
            }
            Said::Ended(ended) => {
                let code = ended.reason.code.as_str();
                let of_a_person = InvocationCode::parse(code).map(InvocationCode::status);
                let means = of_a_person.or_else(|| ReasonCode::parse(code).map(ReasonCode::status));
                match means {
                    Some(status) if status == ended.status && status.is_terminal() => {
                        (ended.reason.summary.len() > TEXT_BYTES_MAX).then_some("has too long a text")
                    }
                    _ => Some("ends with an unknown reason"),
                }
            }
        })
    }
}

impl Store {
    /// What people said of an invocation, if anything.
    pub fn invocation_record(&self, id: &str) -> Result<Option<InvocationRecord>, StoreError> {
        self.read(|connection| {
            let said = said_of(id, connection)?;
            Ok((!said.is_empty()).then(|| InvocationRecord { id: id.to_owned(), said }))
        })
    }
}

/// When something that was said elsewhere is heard here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hear {
    /// That it began.
    BeforeTheRun,
    /// That it ended, too.
    BehindTheRun,
}

/// Takes in what was said elsewhere and goes on from what was said here. If that differs, it stays as it is.
pub(crate) fn take_in(record: &InvocationRecord, when: Hear, connection: &Connection) -> Result<(), Trouble> {
    let here = said_of(&record.id, connection)?;
    let Some(more) = record.said.strip_prefix(here.as_slice()) else { return Ok(()) };
    for said in more {
        match (said, when) {
            (Said::Ended(_), Hear::BeforeTheRun) => break,
            (Said::Started(_), _) | (Said::Ended(_), Hear::BehindTheRun) => {
                say(&record.id, said, connection)?
            }
        }
    }
    Ok(())
}

fn said_of(id: &str, connection: &Connection) -> Result<Vec<Said>, Trouble> {
    let mut statement = connection
        .prepare_cached("SELECT said FROM invocations_said WHERE invocation = ?1 ORDER BY number")?;
    let rows = statement.query_map([id], |row| from_json(row, 0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
