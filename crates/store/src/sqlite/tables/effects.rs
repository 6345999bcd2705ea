//! The ledger: one row per key of an effect, as the run that attempted it last left it.
//!
//! **Invariant:** a key belongs to one run at a time. Another run takes it over only when the effect did not happen, or
//! when its intent says that a person, or `idempotent`, allows that. The check and the insert are one transaction.

use std::sync::Arc;

use escrow_model::{
    Answer, Assumption, EffectInQuestion, EffectIntent, EffectState, Event, Message, RunId, ScopePath,
};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::effect::{Attempter, EffectFilter, EffectRow, TakenEffect, found_by};
use crate::error::StoreError;
use crate::persisted::{answer_text, read_answer};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::entries::Draft;
use crate::sqlite::error::SqliteError;

use super::{Applied, Projection, from_json, json, word};

pub(crate) const TABLE: Projection = Projection {
    name: "effects",
    create: "
CREATE TABLE effects (
    key TEXT PRIMARY KEY,
    run TEXT NOT NULL,
    name TEXT NOT NULL,
    scope TEXT NOT NULL,
    steps TEXT NOT NULL,
    generation INTEGER,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    intended_at INTEGER NOT NULL,
    answered_at INTEGER,
    request_digest TEXT NOT NULL,
    answer TEXT
) STRICT;
CREATE INDEX effects_by_run ON effects (run, name, scope);
CREATE INDEX effects_newest ON effects (intended_at DESC, key);
CREATE INDEX effects_open ON effects (run) WHERE state IN ('intended', 'unknown');
",
    apply,
};

fn apply(applied: &Applied<'_>, connection: &Connection) -> rusqlite::Result<()> {
    match applied.event {
        Event::AttemptStarted { check, scope, effect: Some(intent), .. } => {
            intend(applied, (check, scope), intent, connection)
        }
        Event::AttemptAnswered { check, scope, answer, .. } => {
            let state = answer.effect_state();
            let kept = answer.outlasts_doubt().then(|| written(answer)).transpose()?;
            // Another run may have said meanwhile that the effect happened. That stands, and the attempt tells the rest.
            connection
                .prepare_cached(
                    "UPDATE effects SET
                         state = CASE state WHEN 'intended' THEN ?4 ELSE state END,
                         answered_at = CASE state WHEN 'intended' THEN ?5 ELSE answered_at END,
                         answer = ?6
                     WHERE run = ?1 AND name = ?2 AND scope = ?3 AND (state = 'intended'
                         OR state = 'confirmed' AND answer IS NULL AND intended_at = (
                             SELECT max(intended_at) FROM effects WHERE run = ?1 AND name = ?2 AND scope = ?3))",
                )?
                .execute((applied.run, check, json(scope)?, state.as_str(), applied.at, kept))?;
            Ok(())
        }
        Event::Reconciled {
            check,
            scope,
            finding: Some(finding),
            effect: Some(effect),
            output,
            answer: said,
            ..
        } => {
            let given = output.clone().map(|output| found_by(said, output));
            answer(applied, (check, scope), effect, (*finding, given.as_ref()), connection)
        }
        Event::EffectResolved { key, state, .. } => settle(applied, key, *state, None, connection),
        Event::MessageDelivered {
            message: Message::Assume { check, scope, assumption, .. },
            refused: None,
            effect: Some(effect),
            ..
        } => answer(applied, (check, scope), effect, (*assumption, None), connection),
        _ => Ok(()),
    }
}

fn intend(
    applied: &Applied<'_>,
    (check, scope): (&str, &ScopePath),
    intent: &EffectIntent,
    connection: &Connection,
) -> rusqlite::Result<()> {
    // An imported run does not take a key away from a run that is here.
    connection
        .prepare_cached(
            "INSERT INTO effects
                 (key, run, name, scope, steps, generation, state, attempts, intended_at, request_digest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'intended', 1, ?7, ?8)
             ON CONFLICT (key) DO UPDATE SET
                 run = excluded.run, name = excluded.name, scope = excluded.scope, steps = excluded.steps,
                 state = 'intended', attempts = attempts + 1, intended_at = excluded.intended_at,
                 answered_at = NULL, request_digest = excluded.request_digest, answer = NULL
             WHERE effects.run = excluded.run OR effects.state = 'failed' OR ?9",
        )?
        .execute((
            &intent.key,
            applied.run,
            check,
            json(scope)?,
            json(&intent.scope)?,
            intent.generation,
            applied.at,
            &intent.digest,
            intent.takes_over.is_some(),
        ))?;
    Ok(())
}

/// What `reconcile` or a person says about the effect that they were asked about.
fn answer(
    applied: &Applied<'_>,
    (check, scope): (&str, &ScopePath),
    asked: &EffectInQuestion,
    (word, given): (Assumption, Option<&Answer>),
    connection: &Connection,
) -> rusqlite::Result<()> {
    let attempter = Attempter { run: applied.run, check, scope };
    match find(connection, &asked.key)? {
        Some(effect) if effect.is_as_asked(attempter, asked) => {
            settle(applied, &asked.key, word.into(), given, connection)
        }
        Some(_) | None => Ok(()),
    }
}

/// A later word about an effect. What was recorded of its attempt stays.
fn settle(
    applied: &Applied<'_>,
    key: &str,
    state: EffectState,
    given: Option<&Answer>,
    connection: &Connection,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE effects SET state = ?2, answered_at = ?3,
                 answer = CASE ?2 WHEN 'confirmed' THEN coalesce(answer, ?4) ELSE NULL END
             WHERE key = ?1",
        )?
        .execute((key, state.as_str(), applied.at, given.map(written).transpose()?))?;
    Ok(())
}

fn written(answer: &Answer) -> rusqlite::Result<String> {
    answer_text(answer).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

/// The first effect that these entries intend and another run, or another check of this one, has.
pub(crate) fn taken(
    connection: &Connection,
    run: &RunId,
    drafts: &[Draft],
) -> Result<Option<TakenEffect>, SqliteError> {
    for draft in drafts {
        let Some(Event::AttemptStarted { check, scope, effect: Some(intent), .. }) = &draft.event else {
            continue;
        };
        let Some(effect) = find(connection, &intent.key)? else { continue };
        if effect.refuses(Attempter { run: run.as_str(), check, scope }, intent) {
            return Ok(Some(TakenEffect { check: check.clone(), scope: scope.clone(), effect }));
        }
    }
    Ok(None)
}

const COLUMNS: &str = "key, run, name, scope, steps, generation, state, attempts, intended_at, answered_at, \
    request_digest, answer";

fn read(row: &Row<'_>) -> rusqlite::Result<EffectRow> {
    let answer: Option<String> = row.get(11)?;
    let answer = answer.map(|text| read_answer(&text)).transpose().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(11, rusqlite::types::Type::Text, error.into())
    })?;
    Ok(EffectRow {
        key: row.get(0)?,
        run: RunId::from_stored(row.get::<_, String>(1)?),
        check: row.get(2)?,
        scope: from_json(row, 3)?,
        steps: from_json(row, 4)?,
        generation: row.get(5)?,
        state: word(row, 6)?,
        attempts: row.get(7)?,
        intended_at: row.get(8)?,
        answered_at: row.get(9)?,
        request_digest: row.get(10)?,
        answer: answer.map(Arc::new),
    })
}

fn find(connection: &Connection, key: &str) -> rusqlite::Result<Option<EffectRow>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM effects WHERE key = ?1"))?
        .query_row([key], read)
        .optional()
}

impl BlockingStore {
    /// The effect that has this key.
    pub fn effect(&self, key: &str) -> Result<Option<EffectRow>, StoreError> {
        self.read(|connection| Ok(find(connection, key)?))
    }

    /// The effects that pass the filter, newest intent first.
    pub fn effects(&self, filter: &EffectFilter) -> Result<Vec<EffectRow>, StoreError> {
        self.read(|connection| {
            // Each question has an index of its own: a condition that may be absent would use none.
            let condition = match (&filter.key, filter.runs.as_slice()) {
                (Some(_), []) => "key = ?1 AND ?2 = '[]'",
                (Some(_), _) => "key = ?1 AND run IN (SELECT value FROM json_each(?2))",
                (None, []) => "?1 IS NULL AND ?2 = '[]'",
                (None, _) => "?1 IS NULL AND run IN (SELECT value FROM json_each(?2))",
            };
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM effects WHERE {condition} ORDER BY intended_at DESC, key LIMIT ?3"
            ))?;
            let limit = filter.limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(-1);
            let rows = statement.query_map((&filter.key, json(&filter.runs)?, limit), read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}
