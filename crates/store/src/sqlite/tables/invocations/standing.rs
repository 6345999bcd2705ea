//! Where an invocation stands, derived from its runs.

use escrow_model::{Millis, ReasonCode, RunStatus};
use rusqlite::{Connection, OptionalExtension};

use crate::sqlite::tables::status_transitions::{self, ESCROW, Transition};
use crate::sqlite::tables::{from_json, json};

use super::{InvocationReason, find};

/// Derives status, health and reason from the runs, unless a person has ended it.
pub(super) fn settle(
    invocation: &str,
    at: Millis,
    known: bool,
    connection: &Connection,
) -> rusqlite::Result<()> {
    let Some(row) = find(invocation, connection)? else { return Ok(()) };
    let present = || RunStatus::ALL.into_iter().filter(|status| row.count(*status) > 0);
    let worst = present().max_by_key(|status| status.health());
    let worst_ended = present().filter(|status| status.is_terminal()).max_by_key(|status| status.health());
    let status = match worst_ended {
        _ if row.count(RunStatus::Running) > 0 => RunStatus::Running,
        _ if row.count(RunStatus::Waiting) > 0 => RunStatus::Waiting,
        Some(worst) => worst,
        None => RunStatus::Running,
    };
    connection
        .prepare_cached("UPDATE invocations SET health = ?2 WHERE id = ?1")?
        .execute((invocation, worst.map(RunStatus::as_str)))?;
    if row.ended_by_hand {
        return Ok(());
    }
    let decisive = worst.map(|worst| decisive(invocation, worst, connection)).transpose()?.flatten();
    let (run, reason) = decisive.unzip();
    connection
        .prepare_cached(
            "UPDATE invocations SET status = ?2, reason_code = ?3, reason_summary = ?4, reason_evidence = ?5,
                    decisive_run = ?6, ended_at = ?7 WHERE id = ?1",
        )?
        .execute((
            invocation,
            status.as_str(),
            reason.as_ref().map(|reason| &reason.code),
            reason.as_ref().map(|reason| &reason.summary),
            reason.as_ref().map_or(Ok("[]".to_owned()), |reason| json(&reason.evidence))?,
            run.as_ref(),
            status.is_terminal().then_some(at),
        ))?;
    if known && status == row.status {
        return Ok(());
    }
    // Why one run failed is not why another runs.
    let reason = reason.filter(|_| Some(status) == worst);
    status_transitions::insert(
        &Transition {
            entity: ("invocation", invocation),
            from: known.then_some(row.status.as_str()),
            to: status.as_str(),
            code: reason.as_ref().map(|reason| reason.code.as_str()),
            summary: reason.as_ref().map(|reason| reason.summary.as_str()),
            evidence: reason.as_ref().map_or(&[], |reason| &reason.evidence),
            source: "runs",
            actor: ESCROW,
            at,
        },
        connection,
    )
}

/// The newest run of an invocation with this status and reason.
pub(crate) const DECISIVE: &str = "SELECT id, reason_summary, reason_evidence, coalesce(ended_at, started_at) FROM runs
    WHERE invocation_id = ?1 AND outermost = 1 AND status = ?2 AND reason_code = ?3 ORDER BY ended_at DESC LIMIT 1";

/// The run that speaks for an invocation: of those with the worst status the one that ended last; of those that
/// completed, one that did nothing, was overridden or warned before one that is fine. A run that has not ended has no reason.
fn decisive(
    invocation: &str,
    worst: RunStatus,
    connection: &Connection,
) -> rusqlite::Result<Option<(String, InvocationReason)>> {
    const COMPLETED: &[ReasonCode] = &[
        ReasonCode::CompletedNothingRan,
        ReasonCode::CompletedOverridden,
        ReasonCode::CompletedWithSkips,
        ReasonCode::CompletedWithWarnings,
        ReasonCode::CompletedOk,
    ];
    let codes = if worst == RunStatus::Completed { COMPLETED } else { ReasonCode::ALL };
    let mut statement = connection.prepare_cached(DECISIVE)?;
    let mut latest: Option<(Millis, String, InvocationReason)> = None;
    // One look into the index for each code, however many runs there are.
    for code in codes.iter().filter(|code| code.status() == worst) {
        let found = statement
            .query_row((invocation, worst.as_str(), code.as_str()), |row| {
                let code = code.as_str().to_owned();
                let reason = InvocationReason { code, summary: row.get(1)?, evidence: from_json(row, 2)? };
                Ok((row.get::<_, Millis>(3)?, row.get::<_, String>(0)?, reason))
            })
            .optional()?;
        if let Some(found) = found
            && latest.as_ref().is_none_or(|latest| (found.0, &found.1) > (latest.0, &latest.1))
        {
            latest = Some(found);
        }
        if worst == RunStatus::Completed && latest.is_some() {
            break;
        }
    }
    Ok(latest.map(|(_, run, reason)| (run, reason)))
}
