//! Finds runs that no process drives and that can continue, and continues them.

use std::collections::BTreeSet;

use escrow_engine::Run;
use escrow_model::{Millis, RunStatus, WaitKind};
use escrow_runtime::now_ms;
use escrow_store::{Queries, RunFilter, RunRow};

use super::resume::{Purpose, drive};
use super::{is_driven, replay};
use crate::app::App;
use crate::driver::Driver;
use crate::error::{Class, Error};
use crate::settled;

/// Runs whose process is gone; and runs that wait, when a message has come for them, their time is up, or the nested run
/// that they wait for has ended. Oldest first.
/// A nested run is continued by the run around it, and is not listed.
pub async fn abandoned(app: &App) -> Result<Vec<RunRow>, Error> {
    let queries = app.queries()?;
    let of = |status| RunFilter { status: Some(status), ..RunFilter::default() };
    let mut rows = queries.runs(&of(RunStatus::Running)).await?;
    rows.extend(queries.runs(&of(RunStatus::Waiting)).await?);
    let waits = queries.open_waits().await?;
    let now = now_ms();
    let mut called: BTreeSet<String> = waits
        .iter()
        .filter(|wait| wait.expires_at.is_some_and(|expiry| expiry <= now))
        .map(|wait| wait.run.to_string())
        .collect();
    for row in &rows {
        if row.status == RunStatus::Running
            || !queries.undelivered(&row.id).await?.is_empty()
            || (!called.contains(row.id.as_str()) && is_due(&*queries, row, now).await?)
        {
            called.insert(row.id.to_string());
        }
    }
    for wait in waits.iter().filter(|wait| wait.kind == WaitKind::Nested) {
        if queries.run(&wait.id).await.is_ok_and(|nested| nested.status.is_terminal()) {
            called.insert(wait.run.to_string());
        }
    }
    loop {
        let before = called.len();
        let nested = waits.iter().filter(|wait| wait.kind == WaitKind::Nested && called.contains(&wait.id));
        let around: Vec<String> = nested.map(|wait| wait.run.to_string()).collect();
        called.extend(around);
        if called.len() == before {
            break;
        }
    }
    let mut wanted = Vec::new();
    for row in rows {
        if row.depth > 0 || !called.contains(row.id.as_str()) || is_driven(&*queries, &row).await? {
            continue;
        }
        // It may have ended, or moved on, between the two looks.
        if queries.run(row.id.as_str()).await?.seq == row.seq {
            wanted.push(row);
        }
    }
    wanted.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(wanted)
}

/// Whether a waiting run has something to do without a message: its own time is up, or another run has settled an
/// effect that it waits for.
async fn is_due(queries: &dyn Queries, row: &RunRow, now: Millis) -> Result<bool, Error> {
    let run = replay(queries, row).await?;
    if run.wake_at().is_some_and(|at| at <= now) {
        return Ok(true);
    }
    Ok(!settled::questions(queries, &run).await?.is_empty())
}

/// An abandoned run, and how it ended or where it waits, or why it could not continue.
#[derive(Debug)]
pub struct Resumed {
    pub row: RunRow,
    pub outcome: Result<Run, Error>,
}

/// Continues one abandoned run. No person asks for it, so no person counts as having resumed it.
pub async fn pick_up(app: &App, row: &RunRow) -> Result<Run, Error> {
    drive(app, row, Purpose::Continue).await
}

/// Continues every abandoned run. A run that cannot continue does not hold up the others. Runs whose turn had not come
/// when the driver was stopped are left out.
pub async fn resume_all(driver: &Driver) -> Result<Vec<Resumed>, Error> {
    let mut hosted = Vec::new();
    for row in abandoned(driver.app()).await? {
        let own = row.clone();
        let handle = driver.spawn(move |app| async move { drive(&app, &own, Purpose::Resume).await });
        hosted.push((row, handle));
    }
    let mut all = Vec::new();
    for (row, handle) in hosted {
        match handle.join().await {
            Err(error) if error.class() == Class::Stopped => {}
            outcome => all.push(Resumed { row, outcome }),
        }
    }
    Ok(all)
}
