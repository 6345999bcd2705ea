//! Decides recorded runs again under another plan. Nothing is called.

use std::sync::Arc;

use escrow_engine::{Comparison, compare, redecide};
use escrow_model::{Entry, Plan, PlanReads};
use escrow_store::{Queries, RunFilter, RunRow};

use crate::error::Error;
use crate::runs::{entries, unreplayable};
use crate::timeline::RunStart;

/// Which runs are decided again.
#[derive(Debug)]
pub enum Which {
    /// An id, a unique beginning of it, or `last`.
    Run(String),
    /// So many of the newest runs of the plan's playbook that have ended.
    Newest(u32),
}

/// A run decided again, and what the new plan reads that was not recorded.
#[derive(Debug)]
pub struct Replayed {
    pub comparison: Comparison,
    pub unrecorded: Vec<String>,
}

pub async fn replay_with(
    queries: &dyn Queries,
    which: &Which,
    plan: &Arc<Plan>,
) -> Result<Vec<Replayed>, Error> {
    let rows = match which {
        Which::Run(name) => vec![queries.run(name).await?],
        Which::Newest(number) => ended(queries, &plan.name, *number).await?,
    };
    let mut replayed = Vec::new();
    for row in &rows {
        let journal = entries(queries, row).await?;
        let comparison =
            redecide(&journal, Arc::clone(plan)).and_then(|redecided| compare(&journal, &redecided));
        replayed.push(Replayed {
            unrecorded: unrecorded(&journal, plan),
            comparison: comparison.map_err(|error| unreplayable(&row.id, &error))?,
        });
    }
    Ok(replayed)
}

/// The newest runs of the playbook that have ended.
async fn ended(queries: &dyn Queries, playbook: &str, number: u32) -> Result<Vec<RunRow>, Error> {
    let filter = RunFilter { playbook: Some(playbook.to_owned()), ..RunFilter::default() };
    let mut rows = queries.runs(&filter).await?;
    rows.retain(|row| row.status.is_terminal());
    rows.truncate(usize::try_from(number).unwrap_or(usize::MAX));
    if rows.is_empty() {
        return Err(Error::author("no_runs", format!("no run of playbook `{playbook}` has ended"))
            .help("runs are matched by the `name` in the file; `escrow runs` lists them"));
    }
    Ok(rows)
}

/// Names of the world that only the new plan reads: they were not captured, so they are undefined here.
fn unrecorded(journal: &[Entry], plan: &Plan) -> Vec<String> {
    let Some(RunStart { plan: before, options, facts }) = RunStart::of(journal) else { return Vec::new() };
    let (old, new) = (PlanReads::of(before), PlanReads::of(plan));
    let mut missing: Vec<String> = new.env.difference(&old.env).map(|name| format!("env.{name}")).collect();
    if new.wants_git() && facts.git.is_none() && !options.payload.contains_key("filesChanged") {
        missing.push("git".into());
    }
    for (name, input) in &plan.inputs {
        if input.required && input.default.is_none() && !options.inputs.contains_key(name) {
            missing.push(format!("inputs.{name}"));
        }
    }
    missing
}
