//! Runs of chains, with what the store knows of their steps.

use escrow_engine::{OpenWait, Run};
use escrow_model::{CheckIndex, RunId, RunStatus, WaitKind};
use escrow_store::{ChainRunFilter, ChainRunRow, Queries, RunFilter};

use crate::app::App;
use crate::error::Error;

/// How deep a wait is looked for in nested runs.
const WAITS_DEPTH_MAX: usize = 8;

/// What a step of a run led to.
#[derive(Clone, Debug, Default)]
pub struct StepLinks {
    pub invocation: Option<String>,
    /// The run of its playbook, which may still be under way.
    pub run: Option<RunId>,
    pub run_status: Option<RunStatus>,
    /// What a person is asked, or was asked last: in the step, or in a run inside it.
    pub approval: Option<String>,
}

/// The runs of one chain, or of all, newest first.
pub async fn rows(app: &App, filter: &ChainRunFilter) -> Result<Vec<ChainRunRow>, Error> {
    if let Some(name) = &filter.chain {
        super::find(app, name).await?;
    }
    Ok(app.queries()?.chain_runs(filter).await?)
}

/// A run of a chain, with what its steps led to.
#[derive(Debug)]
pub struct ChainRun {
    pub row: ChainRunRow,
    pub run: Run,
    /// In the order of the steps.
    pub links: Vec<StepLinks>,
}

impl ChainRun {
    /// The steps, in their order.
    pub fn steps(&self) -> impl Iterator<Item = (CheckIndex, &StepLinks)> {
        self.run.plan_of().indices().zip(&self.links)
    }
}

/// Replays runs of chains.
pub async fn read(queries: &dyn Queries, rows: &[ChainRunRow]) -> Result<Vec<ChainRun>, Error> {
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        let run = crate::runs::replay_of(queries, &row.id).await?;
        all.push(with_links(queries, row.clone(), run).await?);
    }
    Ok(all)
}

/// A run that has just been driven.
pub async fn of_run(queries: &dyn Queries, run: Run) -> Result<ChainRun, Error> {
    let id = &run.options().run;
    let row = queries.chain_run(id).await?;
    let row = row.ok_or_else(|| Error::not_found("unknown_run", format!("`{id}` is no run of a chain")))?;
    with_links(queries, row, run).await
}

async fn with_links(queries: &dyn Queries, row: ChainRunRow, run: Run) -> Result<ChainRun, Error> {
    let mut links = Vec::new();
    for index in run.plan_of().indices() {
        links.push(step_links(queries, &run, index).await?);
    }
    Ok(ChainRun { row, run, links })
}

async fn step_links(queries: &dyn Queries, run: &Run, index: CheckIndex) -> Result<StepLinks, Error> {
    let check = run.plan_of().check(index);
    let mut links = StepLinks::default();
    if check.nested_name().is_some() {
        let invocation = run.options().run.step_invocation(index.0).to_string();
        let filter = RunFilter { invocation: Some(invocation.clone()), ..RunFilter::default() };
        let mut of_step = queries.runs(&filter).await?;
        of_step.retain(|row| row.depth == run.options().depth + 1);
        if let Some(newest) = of_step.into_iter().next() {
            links = StepLinks {
                invocation: Some(invocation),
                run: Some(newest.id),
                run_status: Some(newest.status),
                approval: None,
            };
        }
    }
    let waits = run.waits();
    links.approval = match waits.iter().find(|wait| wait.check == check.name) {
        Some(OpenWait { kind: WaitKind::Nested, .. }) => match &links.run {
            Some(inside) => innermost_wait(queries, inside.clone()).await?,
            None => None,
        },
        Some(wait) => Some(wait.id.clone()),
        None => run.decisions().iter().rev().find(|one| one.check == check.name).map(|one| one.wait.clone()),
    };
    Ok(links)
}

/// The wait for a person that a nested run has, or one inside it.
async fn innermost_wait(queries: &dyn Queries, mut run: RunId) -> Result<Option<String>, Error> {
    for _ in 0..WAITS_DEPTH_MAX {
        let waits = queries.waits(&run).await?;
        let mut open = waits.into_iter().filter(|wait| wait.resolved_at.is_none());
        match open.next() {
            Some(wait) if wait.kind == WaitKind::Nested => run = RunId::from_stored(wait.id),
            Some(wait) => return Ok(Some(wait.id)),
            None => return Ok(None),
        }
    }
    Ok(None)
}
