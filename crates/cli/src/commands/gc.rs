//! `escrow gc`: removes whole runs that have ended, by age, number and size. What stays can be verified as before:
//! every run has its own chain.

use std::fs;
use std::path::Path;

use anyhow::Result;
use escrow_model::RunId;
use escrow_runtime::entropy::now_ms;
use escrow_runtime::holder::{liveness, this_process};
use escrow_store::{LeaseError, RunFilter, RunRow, Store};
use serde_json::json;

use crate::arguments::{GcArguments, Shared};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{Ui, bytes_words, count, parse_bytes, parse_duration, printable};

pub(crate) fn gc(arguments: &GcArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let retention = Retention::of(arguments)?;
    let state = StateDirectory::find(shared.state.as_deref())?;
    let sized = sized(&*state.read()?, &state)?;
    let mut going = retention.choose(&sized);
    if !arguments.dry_run && !going.is_empty() {
        going = remove(going, &state, ui)?;
    }
    let freed: u64 = going.iter().map(|run| run.bytes).sum();
    let verb = if arguments.dry_run { "would remove" } else { "removed" };
    for run in &going {
        ui.say(&format!("{verb} {}  {}  {}", run.id, printable(&run.playbook), bytes_words(run.bytes)));
    }
    ui.say(&format!("{verb} {}, {}", count(going.len(), "run"), bytes_words(freed)));
    let ids: Vec<&RunId> = going.iter().map(|run| &run.id).collect();
    ui.data_if_machine(&json!({ "removed": ids, "bytes": freed, "dry_run": arguments.dry_run }));
    Ok(Exit::Completed)
}

/// A run and the room it takes: journal, artifacts, output.
#[derive(Clone, Debug)]
struct Sized {
    id: RunId,
    playbook: String,
    /// Absent while it runs or waits: then it stays, whatever is asked.
    ended_at: Option<u64>,
    bytes: u64,
}

/// Which runs stay.
struct Retention {
    ended_before: Option<u64>,
    keep: usize,
    bytes_max: Option<u64>,
    /// `--keep` alone removes all others.
    only_keep: bool,
}

impl Retention {
    fn of(arguments: &GcArguments) -> Result<Retention, Failure> {
        let bad = |option: &str, text: &str, help: &str| {
            Failure::author("usage", format!("`{text}` is not a valid value of `{option}`")).help(help)
        };
        let age = arguments.older_than.as_deref().map(|text| {
            parse_duration(text)
                .filter(|_| !text.is_empty())
                .ok_or_else(|| bad("--older-than", text, "write e.g. `30d` or `12h`"))
        });
        let size = arguments.max_size.as_deref().map(|text| {
            parse_bytes(text).ok_or_else(|| bad("--max-size", text, "write e.g. `500M` or `2G`"))
        });
        let (age, size) = (age.transpose()?, size.transpose()?);
        Ok(Retention {
            ended_before: age.map(|age| now_ms().saturating_sub(age)),
            keep: arguments.keep.unwrap_or(0),
            bytes_max: size,
            only_keep: age.is_none() && size.is_none(),
        })
    }

    /// Runs come newest first. Only those that have ended are ever chosen, and never one of the newest `keep`.
    fn choose(&self, runs: &[Sized]) -> Vec<Sized> {
        let mut total: u64 = runs.iter().map(|run| run.bytes).sum();
        let mut going = Vec::new();
        for run in runs.iter().skip(self.keep).rev() {
            let Some(ended_at) = run.ended_at else { continue };
            let too_old = self.ended_before.is_some_and(|before| ended_at < before);
            let too_much = self.bytes_max.is_some_and(|max| total > max);
            if self.only_keep || too_old || too_much {
                total = total.saturating_sub(run.bytes);
                going.push(run.clone());
            }
        }
        going
    }
}

/// Every run, newest first.
fn sized(store: &Store, state: &StateDirectory) -> Result<Vec<Sized>, Failure> {
    let journals = store.sizes()?;
    let rows = store.runs(&RunFilter::default())?;
    // A run that goes on may still ask for what it nested.
    let open_since = rows
        .iter()
        .filter(|row| !row.status.is_terminal())
        .map(|row| row.started_at)
        .min()
        .unwrap_or(u64::MAX);
    let size = |row: &RunRow| {
        let journal = journals.get(&row.id).copied().unwrap_or(0);
        journal + directory_size(&state.artifacts(&row.id)) + directory_size(&state.spool(&row.id))
    };
    Ok(rows
        .into_iter()
        .map(|row| Sized {
            bytes: size(&row),
            ended_at: row
                .ended_at
                .filter(|_| row.status.is_terminal() && (row.depth == 0 || row.started_at < open_since)),
            playbook: row.playbook,
            id: row.id,
        })
        .collect())
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

/// Files first, then the journals: what is cut off in between is found again by the next one.
fn remove(runs: Vec<Sized>, state: &StateDirectory, ui: &Ui) -> Result<Vec<Sized>, Failure> {
    let store = state.write()?;
    let mut gone = Vec::new();
    for run in runs {
        // Whoever opens a run again at this moment holds it, and it stays.
        match store.acquire(&run.id, &this_process(), liveness) {
            Ok(lease) => {
                let now = store.run(run.id.as_str()).map_err(Failure::from)?;
                if !now.status.is_terminal() {
                    store.release(&lease)?;
                    continue;
                }
            }
            Err(LeaseError::Held { .. } | LeaseError::NoSuchRun(_)) => continue,
            Err(LeaseError::Store(error)) => return Err(error.into()),
        }
        for directory in [state.artifacts(&run.id), state.spool(&run.id)] {
            match fs::remove_dir_all(&directory) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    let message = format!("cannot remove `{}`: {error}", directory.display());
                    return Err(Failure::world("gc", message));
                }
            }
        }
        gone.push(run);
    }
    let ids: Vec<RunId> = gone.iter().map(|run| run.id.clone()).collect();
    store.remove(&ids)?;
    if let Err(error) = store.compact() {
        ui.say(&format!("{}: the database keeps its size for now: {error}", ui.paint.yellow("warning")));
    }
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs from newest to oldest, one per letter, ended at 40, 30, 20, 10; `w` waits.
    fn check(retention: &Retention, chosen: &str) {
        let runs: Vec<Sized> =
            [("a", Some(40)), ("b", Some(30)), ("w", None), ("c", Some(20)), ("d", Some(10))]
                .into_iter()
                .map(|(name, ended_at)| Sized {
                    id: RunId::from_stored(name),
                    playbook: String::new(),
                    ended_at,
                    bytes: 100,
                })
                .collect();
        let names: String = retention.choose(&runs).iter().map(|run| run.id.as_str().to_owned()).collect();
        assert_eq!(names, chosen);
    }

    fn none() -> Retention {
        Retention { ended_before: None, keep: 0, bytes_max: None, only_keep: false }
    }

    #[test]
    fn runs_go_by_age_number_and_size_oldest_first_and_what_waits_stays() {
        check(&Retention { keep: 1, only_keep: true, ..none() }, "dcb");
        check(&Retention { ended_before: Some(25), ..none() }, "dc");
        check(&Retention { ended_before: Some(25), keep: 4, ..none() }, "d");
        check(&Retention { bytes_max: Some(300), ..none() }, "dc");
        check(&Retention { bytes_max: Some(0), ..none() }, "dcba");
        check(&Retention { bytes_max: Some(500), ended_before: Some(15), ..none() }, "d");
    }
}
