//! Removes whole runs that have ended, by age, number and size.
//!
//! **Invariant:** runs that stay can be verified as before, because every run has its own chain. A nested run stays and
//! goes with the outermost run around it. Runs of which one is not at its end, or has an effect that the ledger needs,
//! always stay.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use escrow_model::{EffectState, Millis, RunId};
use escrow_runtime::{liveness, this_process};
use escrow_store::{EffectFilter, EffectRow, LeaseError, Queries, RunFilter, RunRow, StoreError};

use crate::app::App;
use crate::error::Error;
use crate::runs::replay;
use crate::state::StateDirectory;

/// Which runs stay.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retention {
    /// Runs that ended before this are removed.
    pub ended_before: Option<Millis>,
    /// So many of the newest runs stay, with the runs nested in them, whatever else is asked. Alone, all others are
    /// removed.
    pub keep: Option<usize>,
    /// The oldest runs are removed until all together take no more than this.
    pub bytes_max: Option<u64>,
}

/// A run and its size: journal, artifacts, output.
#[derive(Clone, Debug)]
pub struct SizedRun {
    pub id: RunId,
    pub playbook: String,
    pub bytes: u64,
    /// The outermost run around it; itself, for a run that is not nested.
    outermost: RunId,
    /// Absent for a run that has not ended, or that the ledger needs.
    ended_at: Option<Millis>,
}

/// A run that stays although it has ended, because it is not known what became of an effect.
#[derive(Clone, Debug)]
pub struct UnsettledRun {
    pub id: RunId,
    pub playbook: String,
    pub key: String,
}

/// What `remove` would do.
#[derive(Debug)]
pub struct RemovalPlan {
    /// Oldest first.
    pub runs: Vec<SizedRun>,
    /// Runs that stay whatever is asked.
    pub unsettled: Vec<UnsettledRun>,
}

pub async fn plan(app: &App, retention: &Retention) -> Result<RemovalPlan, Error> {
    let (sized, unsettled) = sized(&*app.queries()?, app.state()).await?;
    Ok(RemovalPlan { runs: retention.choose(&sized), unsettled })
}

#[derive(Debug)]
pub struct Removed {
    pub runs: Vec<SizedRun>,
    /// Why the database keeps its size for now.
    pub not_compacted: Option<StoreError>,
}

/// Removes the runs of a plan, except those that another process has opened again meanwhile.
///
/// Journals go first, then files: a run that is listed has its files. The tombstones on the roster tell which files a
/// removal that was cut off has left; the next one removes them.
pub async fn remove(app: &App, plan: Vec<SizedRun>) -> Result<Removed, Error> {
    if plan.is_empty() {
        remove_leftovers(app).await?;
        return Ok(Removed { runs: plan, not_compacted: None });
    }
    let (queries, journal, records) = (app.queries()?, app.journal()?, app.records()?);
    let mut removed = Vec::new();
    let mut kept = BTreeSet::new();
    for run in plan {
        if kept.contains(&run.outermost) {
            continue;
        }
        match journal.acquire(&run.id, &this_process(), liveness).await {
            Ok(lease) => {
                if !queries.run(run.id.as_str()).await?.status.is_terminal() {
                    journal.release(&lease).await?;
                    kept.insert(run.outermost);
                    continue;
                }
            }
            Err(LeaseError::Held { .. } | LeaseError::NoSuchRun(_)) => {
                kept.insert(run.outermost);
                continue;
            }
            Err(LeaseError::Store(error)) => return Err(error.into()),
        }
        removed.push(run);
    }
    let ids: Vec<RunId> = removed.iter().map(|run| run.id.clone()).collect();
    records.remove(&ids).await?;
    remove_leftovers(app).await?;
    Ok(Removed { runs: removed, not_compacted: records.compact().await.err() })
}

/// Removes the files of every run that was removed.
async fn remove_leftovers(app: &App) -> Result<(), Error> {
    for run in app.queries()?.removed_runs().await? {
        remove_merge_notes(&app.state().worktrees(&run));
        for directory in [app.state().artifacts(&run), app.state().spool(&run)] {
            match fs::remove_dir_all(&directory) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let message = format!("cannot remove `{}`: {error}", directory.display());
                    return Err(Error::world("gc", message));
                }
            }
        }
    }
    Ok(())
}

/// Removes what the merges of a show's plays have noted. A worktree whose merge failed stays: it has work in it.
fn remove_merge_notes(worktrees: &Path) {
    for entry in fs::read_dir(worktrees).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "merge") {
            let _ = fs::remove_file(entry.path());
        }
    }
    // Only when nothing else is in it.
    let _ = fs::remove_dir(worktrees);
}

impl Retention {
    /// Runs come newest first. Those that are chosen come oldest first, each before the runs nested in it.
    fn choose(&self, runs: &[SizedRun]) -> Vec<SizedRun> {
        let mut nested: BTreeMap<&RunId, Vec<&SizedRun>> = BTreeMap::new();
        for run in runs.iter().filter(|run| run.id != run.outermost) {
            nested.entry(&run.outermost).or_default().push(run);
        }
        let only_keep = self.keep.is_some() && self.ended_before.is_none() && self.bytes_max.is_none();
        let mut total: u64 = runs.iter().map(|run| run.bytes).sum();
        let mut chosen = Vec::new();
        let outermost: Vec<&SizedRun> = runs.iter().filter(|run| run.id == run.outermost).collect();
        for run in outermost.into_iter().skip(self.keep.unwrap_or(0)).rev() {
            let Some(ended_at) = run.ended_at else { continue };
            let inside = nested.remove(&run.id).unwrap_or_default();
            if inside.iter().any(|nested| nested.ended_at.is_none()) {
                continue;
            }
            let too_old = self.ended_before.is_some_and(|before| ended_at < before);
            let too_much = self.bytes_max.is_some_and(|max| total > max);
            if only_keep || too_old || too_much {
                for run in std::iter::once(run).chain(inside) {
                    total = total.saturating_sub(run.bytes);
                    chosen.push(run.clone());
                }
            }
        }
        chosen
    }
}

/// Every run, newest first; and those that have ended and have unsettled effects.
async fn sized(
    queries: &dyn Queries,
    state: &StateDirectory,
) -> Result<(Vec<SizedRun>, Vec<UnsettledRun>), Error> {
    let journals = queries.sizes().await?;
    let rows = queries.runs(&RunFilter::default()).await?;
    // An effect that a person or another run may still ask about stays, with the run that knows it.
    let effects = queries.effects(&EffectFilter::default()).await?;
    let is_asked_about = |effect: &&EffectRow| match effect.state {
        EffectState::Intended | EffectState::Unknown => true,
        EffectState::Confirmed => effect.generation.is_none(),
        EffectState::Failed => false,
    };
    let in_ledger: BTreeSet<RunId> =
        effects.iter().filter(is_asked_about).map(|one| one.run.clone()).collect();
    let unsettled = effects
        .iter()
        .filter(|effect| matches!(effect.state, EffectState::Intended | EffectState::Unknown))
        .filter_map(|effect| {
            let row = rows.iter().find(|row| row.id == effect.run && row.status.is_terminal())?;
            Some(UnsettledRun { id: row.id.clone(), playbook: row.playbook.clone(), key: effect.key.clone() })
        })
        .collect();
    let mut parents = BTreeMap::new();
    for row in rows.iter().filter(|row| row.depth > 0) {
        if let Some(parent) = replay(queries, row).await?.options().parent.clone() {
            parents.insert(row.id.clone(), parent);
        }
    }
    let known: BTreeSet<RunId> = rows.iter().map(|row| row.id.clone()).collect();
    let outermost = |id: &RunId| {
        let mut outermost = id;
        while let Some(parent) = parents.get(outermost).filter(|parent| known.contains(*parent)) {
            outermost = parent;
        }
        outermost.clone()
    };
    let size = |row: &RunRow| {
        let journal = journals.get(&row.id).copied().unwrap_or(0);
        journal + directory_size(&state.artifacts(&row.id)) + directory_size(&state.spool(&row.id))
    };
    let sized = rows
        .into_iter()
        .map(|row| SizedRun {
            bytes: size(&row),
            outermost: outermost(&row.id),
            ended_at: row
                .ended_at
                .filter(|_| row.status.is_terminal())
                .filter(|_| !in_ledger.contains(&row.id)),
            playbook: row.playbook,
            id: row.id,
        })
        .collect();
    Ok((sized, unsettled))
}

/// Links are counted, not followed.
fn directory_size(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => directory_size(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, outermost: &str, ended_at: Option<Millis>) -> SizedRun {
        SizedRun {
            id: RunId::from_stored(name),
            playbook: String::new(),
            outermost: RunId::from_stored(outermost),
            ended_at,
            bytes: 100,
        }
    }

    /// Runs from newest to oldest, one per letter, ended at 40, 30, 20, 10; `w` waits.
    fn check(retention: &Retention, chosen: &str) {
        let all = [("a", Some(40)), ("b", Some(30)), ("w", None), ("c", Some(20)), ("d", Some(10))];
        check_of(&all.map(|(name, ended_at)| run(name, name, ended_at)), retention, chosen);
    }

    fn check_of(runs: &[SizedRun], retention: &Retention, chosen: &str) {
        let names: String = retention.choose(runs).iter().map(|run| run.id.as_str().to_owned()).collect();
        assert_eq!(names, chosen);
    }

    #[test]
    fn runs_go_by_age_number_and_size_oldest_first_and_runs_that_wait_stay() {
        let none = Retention::default();
        check(&none, "");
        check(&Retention { keep: Some(1), ..none }, "dcb");
        check(&Retention { ended_before: Some(25), ..none }, "dc");
        check(&Retention { ended_before: Some(25), keep: Some(4), ..none }, "d");
        check(&Retention { bytes_max: Some(300), ..none }, "dc");
        check(&Retention { bytes_max: Some(0), ..none }, "dcba");
        check(&Retention { bytes_max: Some(500), ended_before: Some(15), ..none }, "d");
    }

    #[test]
    fn nested_runs_stay_and_go_with_the_run_around_them() {
        let runs = [
            run("x", "a", Some(40)),
            run("y", "a", Some(40)),
            run("a", "a", Some(40)),
            run("z", "b", None),
            run("b", "b", Some(30)),
            run("v", "c", Some(15)),
            run("c", "c", Some(20)),
        ];
        check_of(&runs, &Retention { keep: Some(1), ..Retention::default() }, "cv");
        check_of(&runs, &Retention { keep: Some(3), ..Retention::default() }, "");
        check_of(&runs, &Retention { ended_before: Some(20), ..Retention::default() }, "");
        check_of(&runs, &Retention { bytes_max: Some(500), ..Retention::default() }, "cv");
    }
}
