//! One row per run: its origin, status and reason, and whether it needs a person.
//!
//! `kind` is what its plan was compiled from. `outermost` tells whether the run speaks for its invocation: it is nested in
//! no other run, or it is a step of a chain.
//!
//! `attention` is the kind of trouble that a run which is not nested has ended in. A later success of the same playbook,
//! asked for in the same way (`request`), clears it.

use escrow_model::{Event, Evidence, Reason, ReasonCode, RunId, RunOptions, hex, rfc3339};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};
use sha2::{Digest, Sha256};

use crate::run::RunRow;

use super::{Applied, Projection, from_json, json, optional_word, word};

pub(crate) const TABLE: Projection = Projection {
    name: "runs",
    create: "
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    playbook TEXT NOT NULL,
    status TEXT NOT NULL,
    reason_code TEXT,
    reason_summary TEXT,
    reason_evidence TEXT,
    invocation_id TEXT,
    event TEXT,
    root TEXT NOT NULL,
    concurrency_group TEXT,
    depth INTEGER NOT NULL,
    kind TEXT NOT NULL,
    outermost INTEGER NOT NULL,
    safe_mode INTEGER NOT NULL,
    directory TEXT NOT NULL,
    artifacts_directory TEXT NOT NULL,
    artifacts_status TEXT,
    last_message_by TEXT,
    overridden TEXT,
    request TEXT NOT NULL,
    attention TEXT,
    subject TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    title TEXT,
    inputs TEXT NOT NULL,
    payload TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_newest ON runs (started_at DESC, id DESC);
CREATE INDEX runs_by_status ON runs (status, started_at DESC, id DESC);
CREATE INDEX runs_by_playbook ON runs (playbook, started_at DESC, id DESC);
CREATE INDEX runs_by_invocation ON runs (invocation_id, started_at DESC, id DESC) WHERE invocation_id IS NOT NULL;
CREATE INDEX runs_by_invocation_and_reason ON runs (invocation_id, outermost, status, reason_code, ended_at)
    WHERE invocation_id IS NOT NULL;
CREATE INDEX runs_for_attention ON runs (playbook, attention, reason_code, subject, ended_at) WHERE attention IS NOT NULL;
CREATE INDEX runs_by_group ON runs (concurrency_group)
    WHERE concurrency_group IS NOT NULL AND status IN ('running', 'waiting');
CREATE INDEX runs_by_artifacts ON runs (artifacts_directory) WHERE status IN ('running', 'waiting');
CREATE INDEX runs_of_shows ON runs (started_at DESC, id DESC) WHERE kind = 'show';
CREATE INDEX runs_by_root ON runs (root) WHERE depth > 0;
CREATE INDEX runs_to_be_cleared ON runs (playbook, request) WHERE attention IS NOT NULL;
",
    apply,
};

/// The columns that [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, playbook, status, reason_code, reason_summary, reason_evidence, \
    invocation_id, event, depth, safe_mode, directory, artifacts_directory, artifacts_status, \
    (SELECT json_group_array(json(warning)) FROM \
        (SELECT warning FROM warnings WHERE warnings.run = runs.id ORDER BY seq)), \
    started_at, ended_at, overridden, (SELECT seq FROM journals WHERE journals.run = runs.id), title, inputs, kind, root";

pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        id: RunId::from_stored(row.get::<_, String>(0)?),
        playbook: row.get(1)?,
        status: word(row, 2)?,
        reason: reason(row)?,
        invocation_id: row.get(6)?,
        event: row.get(7)?,
        depth: row.get(8)?,
        safe_mode: row.get(9)?,
        directory: row.get(10)?,
        artifacts_directory: row.get(11)?,
        artifacts_status: optional_word(row, 12)?,
        warnings: from_json(row, 13)?,
        started_at: row.get(14)?,
        ended_at: row.get(15)?,
        overridden: match row.get_ref(16)? {
            ValueRef::Null => None,
            _ => Some(from_json(row, 16)?),
        },
        seq: row.get(17)?,
        title: row.get(18)?,
        inputs: from_json(row, 19)?,
        kind: row.get(20)?,
        root: RunId::from_stored(row.get::<_, String>(21)?),
    })
}

fn reason(row: &Row<'_>) -> rusqlite::Result<Option<Reason>> {
    let Some(summary) = row.get(4)? else { return Ok(None) };
    Ok(Some(Reason { code: word(row, 3)?, summary, evidence: from_json(row, 5)? }))
}

/// Where a run stood before the entry that is being applied, and who last wrote to it.
pub(crate) struct Before {
    pub(crate) status: String,
    pub(crate) invocation: Option<String>,
    pub(crate) last_message_by: Option<String>,
}

pub(crate) fn before(run: &str, connection: &Connection) -> rusqlite::Result<Option<Before>> {
    connection
        .prepare_cached("SELECT status, invocation_id, last_message_by FROM runs WHERE id = ?1")?
        .query_row([run], |row| {
            Ok(Before { status: row.get(0)?, invocation: row.get(1)?, last_message_by: row.get(2)? })
        })
        .optional()
}

fn apply(applied: &Applied<'_>, connection: &Connection) -> rusqlite::Result<()> {
    if let Event::RunStarted { plan, options, title, group, .. } = applied.event {
        let payload = (!options.payload.is_empty()).then(|| json(&options.payload)).transpose()?;
        connection
            .prepare_cached(
                "INSERT INTO runs (id, playbook, status, invocation_id, event, depth, safe_mode, directory,
                                   artifacts_directory, started_at, request, title, inputs, payload,
                                   concurrency_group, root, kind, outermost)
                 VALUES (?1, ?2, 'running', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
                         coalesce((SELECT root FROM runs WHERE id = ?15), ?15, ?1), ?16, ?17)",
            )?
            .execute(params![
                applied.run,
                &plan.name,
                &options.invocation,
                &options.event,
                options.depth,
                options.safe_mode,
                &options.directory,
                &options.artifacts,
                applied.at,
                request(options)?,
                title,
                json(&plan.inputs_of(&options.inputs))?,
                payload,
                group,
                options.parent.as_ref().map(RunId::as_str),
                plan.kind.as_str(),
                // The run of a step has an invocation of its own, although a chain's run is around it.
                options.depth == 0 || options.step.is_some(),
            ])?;
        return Ok(());
    }
    if let Event::RunOverridden { by, why, .. } = applied.event {
        // Of its status before, as the row still has it. When it ended stays as it was.
        connection
            .prepare_cached(
                "UPDATE runs SET overridden = json_object('from', status, 'by', ?2, 'why', ?3, 'at', ?4) WHERE id = ?1",
            )?
            .execute((applied.run, by, why, rfc3339(applied.at)))?;
    } else if let Event::RunReopened { group, .. } = applied.event {
        connection
            .prepare_cached("UPDATE runs SET overridden = NULL, concurrency_group = ?2 WHERE id = ?1")?
            .execute((applied.run, group))?;
    }
    if let Some(change) = &applied.change {
        let evidence = change.reason.map(|reason| json(&reason.evidence)).transpose()?;
        connection
            .prepare_cached(
                "UPDATE runs SET status = ?2, reason_code = ?3, reason_summary = ?4, reason_evidence = ?5,
                        ended_at = CASE WHEN ?6 IS NULL THEN NULL WHEN ?7 THEN coalesce(ended_at, ?6) ELSE ?6 END,
                        subject = ?8,
                        attention = CASE
                            WHEN depth > 0 OR ?9 THEN NULL
                            WHEN ?2 IN ('failed', 'timed_out', 'aborted') THEN ?2
                            WHEN ?2 = 'completed' AND (artifacts_status = 'warning' OR ?10) THEN 'warning' END
                 WHERE id = ?1",
            )?
            .execute((
                applied.run,
                change.to.as_str(),
                change.reason.map(|reason| reason.code.as_str()),
                change.reason.map(|reason| &reason.summary),
                evidence,
                change.to.is_terminal().then_some(applied.at),
                matches!(applied.event, Event::RunOverridden { .. }),
                change.reason.and_then(|reason| reason.evidence.first()).map(subject),
                // An override means that a person has seen the run.
                matches!(applied.event, Event::RunOverridden { .. }),
                change.reason.is_some_and(|reason| reason.code == ReasonCode::CompletedWithWarnings),
            ))?;
        if let Some(
            ReasonCode::CompletedOk | ReasonCode::CompletedWithWarnings | ReasonCode::CompletedWithSkips,
        ) = change.reason.map(|reason| reason.code)
        {
            clear(applied.run, connection)?;
        }
    } else if let Event::ArtifactsVerified { delivery } = applied.event {
        connection
            .prepare_cached("UPDATE runs SET artifacts_status = ?2 WHERE id = ?1")?
            .execute((applied.run, delivery.status.as_str()))?;
    }
    if let Event::MessageDelivered { message, refused: None, .. } = applied.event {
        connection
            .prepare_cached("UPDATE runs SET last_message_by = ?2 WHERE id = ?1")?
            .execute((applied.run, message.by()))?;
    }
    Ok(())
}

/// What a reason is about, as text that compares.
fn subject(evidence: &Evidence) -> String {
    format!("{} {}", evidence.kind, evidence.id)
}

const CLEAR: &str = "UPDATE runs INDEXED BY runs_to_be_cleared SET attention = NULL
    WHERE attention IS NOT NULL AND id <> ?1 AND (playbook, request) =
          (SELECT playbook, request FROM runs WHERE id = ?1 AND depth = 0)
      AND started_at <= (SELECT started_at FROM runs WHERE id = ?1)";

/// A run that ended well takes the trouble off earlier ones that were asked for alike. Its own warnings stay.
fn clear(run: &str, connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached(CLEAR)?.execute([run])?;
    Ok(())
}

/// How a run was asked for, apart from its playbook: two equal requests should end the same way.
fn request(options: &RunOptions) -> rusqlite::Result<String> {
    let RunOptions { event, payload, inputs, only, tags, exclude_tags, safe_mode, directory, .. } = options;
    let asked = json(&(event, payload, inputs, only, tags, exclude_tags, safe_mode, directory))?;
    Ok(hex(&Sha256::digest(asked)[..8]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cleared_and_who_speaks_for_an_invocation_are_found_without_a_scan() {
        let connection = Connection::open_in_memory().expect("a database");
        connection.execute_batch(TABLE.create).expect("the table");
        let plan = |sql: &str| -> Vec<String> {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("a plan");
            let count = statement.parameter_count();
            let rows = statement.query_map(rusqlite::params_from_iter(vec![1; count]), |row| row.get(3));
            rows.and_then(Iterator::collect).expect("its steps")
        };
        let cleared = plan(CLEAR);
        assert!(cleared[0].contains("runs_to_be_cleared (playbook=? AND request=?)"), "{cleared:?}");
        let decisive = plan(super::super::invocations::DECISIVE);
        let index =
            "runs_by_invocation_and_reason (invocation_id=? AND outermost=? AND status=? AND reason_code=?)";
        assert!(decisive.len() == 1 && decisive[0].contains(index), "{decisive:?}");
    }
}
