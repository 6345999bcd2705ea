//! One row per wait for a message: what is asked, until when, and how it ended.

use escrow_model::{ApprovalCode, Assumption, Event, Evidence, Message, RunId, WaitKind};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::StoreError;
use crate::sqlite::blocking::BlockingStore;
use crate::wait::{GivenApproval, WaitRow};

use super::status_transitions::{self, ESCROW, Transition};
use super::{Applied, Projection, from_json, json, word};

pub(crate) const TABLE: Projection = Projection {
    name: "waits",
    create: "
CREATE TABLE waits (
    run TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    scope TEXT NOT NULL,
    kind TEXT NOT NULL,
    digest TEXT NOT NULL,
    prompt TEXT NOT NULL,
    choices TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    expires_at INTEGER,
    resolved_at INTEGER,
    resolution TEXT,
    resolved_by TEXT,
    claim TEXT,
    note TEXT,
    subject TEXT,
    needed INTEGER NOT NULL,
    approvals TEXT NOT NULL,
    PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX waits_open ON waits (started_at, run, id) WHERE resolved_at IS NULL;
CREATE INDEX waits_by_id ON waits (id);
",
    apply,
};

fn apply(applied: &Applied<'_>, connection: &Connection) -> rusqlite::Result<()> {
    match applied.event {
        Event::WaitStarted {
            check,
            scope,
            kind,
            id,
            digest,
            subject,
            replaces,
            prompt,
            choices,
            expires_at,
            ..
        } => {
            let kind = match kind {
                WaitKind::Approval => "approval",
                WaitKind::Input => "input",
                WaitKind::UnknownEffect => "unknown_effect",
                WaitKind::Nested => "nested",
            };
            if let Some(stale) = replaces {
                go_stale(applied, stale, connection)?;
            }
            let needed = subject.as_ref().map_or(1, |subject| subject.terms.count);
            let subject = subject.as_ref().map(json).transpose()?;
            connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO waits
                         (run, id, name, scope, kind, digest, prompt, choices, started_at, expires_at, subject, needed,
                          approvals)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, '[]')",
                )?
                .execute((
                    applied.run,
                    id,
                    check,
                    scope.to_string(),
                    kind,
                    digest,
                    prompt,
                    json(choices)?,
                    applied.at,
                    expires_at,
                    subject,
                    needed,
                ))?;
            if kind == "nested" {
                return Ok(());
            }
            let evidence = [Evidence::check(check, prompt.as_str())];
            status_transitions::insert(
                &Transition {
                    entity: ("approval", id),
                    from: None,
                    to: ApprovalCode::PendingAsked.status().as_str(),
                    code: Some(ApprovalCode::PendingAsked.as_str()),
                    summary: Some(prompt),
                    evidence: &evidence,
                    source: "engine",
                    actor: ESCROW,
                    at: applied.at,
                },
                connection,
            )
        }
        Event::MessageDelivered { message, refused: None, sent_at, .. } => {
            // It was decided when it was said, not when the run was told.
            let at = sent_at.unwrap_or(applied.at);
            let Applied { run, seq, event, .. } = *applied;
            let applied = &Applied { run, seq, at, event, change: None };
            let by = message.by();
            let by_id = |id: &str, code| resolve(applied, ("id", id, ""), code, by, connection);
            let kept = |id: &str, claim: &Option<String>, note: &Option<String>| {
                keep_words(applied, id, claim.as_deref(), note.as_deref(), connection)
            };
            match message {
                Message::Approve { id, claim, note, .. } => {
                    let given = GivenApproval {
                        by: by.map(str::to_owned),
                        claim: claim.clone(),
                        note: note.clone(),
                        at: applied.at,
                    };
                    if add_approval(applied, id, &given, connection)? {
                        kept(id, claim, note)?;
                        by_id(id, ApprovalCode::ApprovedPerson)?;
                    }
                    Ok(())
                }
                Message::Deny { id, claim, note, .. } => {
                    kept(id, claim, note)?;
                    by_id(id, ApprovalCode::DeniedPerson)
                }
                Message::Answer { id, .. } => by_id(id, ApprovalCode::AnsweredPerson),
                Message::Assume { check, scope, assumption, .. } => {
                    let code = match assumption {
                        Assumption::Done => ApprovalCode::AssumedDone,
                        Assumption::Failed => ApprovalCode::AssumedFailed,
                        Assumption::Retry => ApprovalCode::AssumedRetry,
                    };
                    resolve(applied, ("unknown_effect", check, &scope.to_string()), code, by, connection)
                }
                Message::Cancel { .. } => Ok(()),
            }
        }
        // Nothing was asked of a person here, so nothing is to be remembered.
        Event::NestedResumed { check, scope } => {
            connection
                .prepare_cached(
                    "DELETE FROM waits WHERE run = ?1 AND kind = 'nested' AND name = ?2 AND scope = ?3",
                )?
                .execute((applied.run, check, scope.to_string()))?;
            Ok(())
        }
        Event::WaitExpired { id } => {
            resolve(applied, ("id", id, ""), ApprovalCode::ExpiredDeadline, None, connection)
        }
        Event::WaitWithdrawn { id, .. } => {
            resolve(applied, ("id", id, ""), ApprovalCode::StaleChanged, None, connection)
        }
        Event::RunEnded { .. } => resolve(applied, ("all", "", ""), ApprovalCode::RunEnded, None, connection),
        _ => Ok(()),
    }
}

/// Resolves open waits of the run, and writes each down: the one of an id, those of a check whose effect was unknown,
/// or all. Those that were resolved before stay as they are: that is the comparison of this compare-and-set.
fn resolve(
    applied: &Applied<'_>,
    (which, name, scope): (&str, &str, &str),
    code: ApprovalCode,
    by: Option<&str>,
    connection: &Connection,
) -> rusqlite::Result<()> {
    let resolved: Vec<(String, String)> = connection
        .prepare_cached(
            "UPDATE waits SET resolved_at = ?2, resolution = ?3, resolved_by = ?4
             WHERE run = ?1 AND resolved_at IS NULL AND CASE ?5
                 WHEN 'id' THEN id = ?6
                 WHEN 'unknown_effect' THEN kind = ?5 AND name = ?6 AND scope = ?7
                 ELSE 1 END
             RETURNING id, kind",
        )?
        .query_map((applied.run, applied.at, code.status().as_str(), by, which, name, scope), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    for (id, _) in resolved.iter().filter(|(_, kind)| kind != "nested") {
        status_transitions::insert(
            &Transition {
                entity: ("approval", id),
                from: Some(ApprovalCode::PendingAsked.status().as_str()),
                to: code.status().as_str(),
                code: Some(code.as_str()),
                summary: None,
                evidence: &[],
                source: match code {
                    ApprovalCode::ExpiredDeadline => "clock",
                    ApprovalCode::RunEnded | ApprovalCode::PendingAsked | ApprovalCode::StaleChanged => {
                        "engine"
                    }
                    ApprovalCode::ApprovedPerson
                    | ApprovalCode::DeniedPerson
                    | ApprovalCode::AnsweredPerson
                    | ApprovalCode::AssumedDone
                    | ApprovalCode::AssumedFailed
                    | ApprovalCode::AssumedRetry => "message",
                },
                actor: by.unwrap_or(ESCROW),
                at: applied.at,
            },
            connection,
        )?;
    }
    Ok(())
}

/// Notes an approval, and tells whether it was the last that is needed.
fn add_approval(
    applied: &Applied<'_>,
    id: &str,
    given: &GivenApproval,
    connection: &Connection,
) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached(
        "UPDATE waits SET approvals = json_insert(approvals, '$[#]', json(?3))
         WHERE run = ?1 AND id = ?2 AND resolved_at IS NULL
         RETURNING json_array_length(approvals) >= needed",
    )?;
    let mut rows = statement.query((applied.run, id, json(given)?))?;
    rows.next()?.map_or(Ok(false), |row| row.get(0))
}

/// Keeps who the sender of a decision claimed to be, and the reason that was given.
fn keep_words(
    applied: &Applied<'_>,
    id: &str,
    claim: Option<&str>,
    note: Option<&str>,
    connection: &Connection,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE waits SET claim = ?3, note = ?4 WHERE run = ?1 AND id = ?2 AND resolved_at IS NULL",
        )?
        .execute((applied.run, id, claim, note))?;
    Ok(())
}

/// What was approved has changed before it could start.
fn go_stale(applied: &Applied<'_>, id: &str, connection: &Connection) -> rusqlite::Result<()> {
    let code = ApprovalCode::StaleChanged;
    connection.prepare_cached("UPDATE waits SET resolution = ?3 WHERE run = ?1 AND id = ?2")?.execute((
        applied.run,
        id,
        code.status().as_str(),
    ))?;
    status_transitions::insert(
        &Transition {
            entity: ("approval", id),
            from: Some(ApprovalCode::ApprovedPerson.status().as_str()),
            to: code.status().as_str(),
            code: Some(code.as_str()),
            summary: None,
            evidence: &[],
            source: "engine",
            actor: ESCROW,
            at: applied.at,
        },
        connection,
    )
}

/// Whether people have decided about an open wait, in messages that its run has not taken in: one denial or answer, or as
/// many approvals as are needed.
pub(crate) const IS_DECIDED: &str = "(EXISTS (SELECT 1 FROM inbox JOIN journals ON journals.id = inbox.journal \
        WHERE journals.run = waits.run AND inbox.delivered_seq IS NULL \
        AND waits.id IN (inbox.message ->> '$.deny.id', inbox.message ->> '$.answer.id')) \
    OR waits.needed <= json_array_length(waits.approvals) \
        + (SELECT count(*) FROM inbox JOIN journals ON journals.id = inbox.journal \
            WHERE journals.run = waits.run AND inbox.delivered_seq IS NULL \
            AND waits.id = inbox.message ->> '$.approve.id'))";

fn columns() -> String {
    format!(
        "run, id, name, scope, kind, digest, prompt, choices, started_at, expires_at,
         resolved_at, resolution, resolved_by, claim, note, subject, approvals,
         resolved_at IS NULL AND {IS_DECIDED},
         (SELECT coalesce(runs.title, (SELECT root.title FROM runs AS root WHERE root.id = runs.root))
            FROM runs WHERE runs.id = waits.run),
         (SELECT json_group_array(json_object('by', inbox.message ->> '$.approve.by',
                'claim', inbox.message ->> '$.approve.claim', 'note', inbox.message ->> '$.approve.note',
                'at', inbox.sent_at) ORDER BY inbox.id)
            FROM inbox JOIN journals ON journals.id = inbox.journal
            WHERE journals.run = waits.run AND inbox.delivered_seq IS NULL
            AND waits.id = inbox.message ->> '$.approve.id')"
    )
}

/// The oldest thing that one of these runs waits for: a JSON array of their ids.
pub(crate) fn first_open_of(runs: &str, connection: &Connection) -> rusqlite::Result<Option<WaitRow>> {
    connection
        .prepare_cached(&format!(
            "SELECT {} FROM waits WHERE resolved_at IS NULL AND kind <> 'nested'
             AND run IN (SELECT value FROM json_each(?1))
             ORDER BY started_at, id LIMIT 1",
            columns()
        ))?
        .query_row([runs], read)
        .optional()
}

fn read(row: &Row<'_>) -> rusqlite::Result<WaitRow> {
    Ok(WaitRow {
        run: RunId::from_stored(row.get::<_, String>(0)?),
        id: row.get(1)?,
        check: row.get(2)?,
        scope: row.get(3)?,
        kind: word(row, 4)?,
        digest: row.get(5)?,
        prompt: row.get(6)?,
        choices: from_json(row, 7)?,
        started_at: row.get(8)?,
        expires_at: row.get(9)?,
        resolved_at: row.get(10)?,
        resolution: row.get(11)?,
        resolved_by: row.get(12)?,
        claim: row.get(13)?,
        note: row.get(14)?,
        subject: match row.get_ref(15)? {
            rusqlite::types::ValueRef::Null => None,
            _ => Some(from_json(row, 15)?),
        },
        approvals: from_json(row, 16)?,
        has_recorded_decision: row.get(17)?,
        title: row.get(18)?,
        recorded_approvals: from_json(row, 19)?,
    })
}

/// One wait of a run.
pub(crate) fn named_of_run(
    connection: &Connection,
    run: &RunId,
    id: &str,
) -> rusqlite::Result<Option<WaitRow>> {
    connection
        .prepare_cached(&format!("SELECT {} FROM waits WHERE run = ?1 AND id = ?2", columns()))?
        .query_row((run.as_str(), id), read)
        .optional()
}

impl BlockingStore {
    /// What people are asked for at this moment, over all runs, oldest first.
    pub fn open_waits(&self) -> Result<Vec<WaitRow>, StoreError> {
        self.waits_where("resolved_at IS NULL ORDER BY started_at, run, id", "")
    }

    /// Everything that people were ever asked for, newest first.
    pub fn all_waits(&self) -> Result<Vec<WaitRow>, StoreError> {
        self.waits_where("1 ORDER BY started_at DESC, run DESC, id", "")
    }

    /// What people have decided, and what needed no decision any more: the newest `limit`, but not waits for nested runs.
    pub fn decided_waits(&self, limit: usize) -> Result<Vec<WaitRow>, StoreError> {
        // Rows are found before they are read: what was approved is the larger part of them.
        const NEWEST: &str = "ORDER BY resolved_at DESC, started_at DESC, run DESC, id";
        let found = format!(
            "SELECT run, id FROM waits WHERE resolved_at IS NOT NULL AND kind <> 'nested' {NEWEST} LIMIT {limit}"
        );
        self.waits_where(&format!("(run, id) IN ({found}) {NEWEST}"), "")
    }

    /// Every wait of a run, oldest first.
    pub fn waits(&self, run: &RunId) -> Result<Vec<WaitRow>, StoreError> {
        self.waits_where("run = ?1 ORDER BY started_at, id", run.as_str())
    }

    /// The waits with this id: one, unless two runs asked alike.
    pub fn waits_named(&self, id: &str) -> Result<Vec<WaitRow>, StoreError> {
        self.waits_where("id = ?1 ORDER BY started_at, run", id)
    }

    fn waits_where(&self, condition: &str, value: &str) -> Result<Vec<WaitRow>, StoreError> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached(&format!("SELECT {} FROM waits WHERE {condition}", columns()))?;
            let values = if statement.parameter_count() == 0 { &[][..] } else { &[&value][..] };
            let rows = statement.query_map(rusqlite::params_from_iter(values), read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}
