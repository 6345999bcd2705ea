//! Finds the open run that has what another one needs for itself, in memory, by the rules of the store.

use std::collections::BTreeMap;
use std::path::Path;

use escrow_engine::Run;
use escrow_model::{EffectState, Entry, Event, RunId, RunOptions};
use escrow_store::{Contested, RunConflict, RunRow, StoreError};

use crate::effects::Effects;

/// What every run holds while it is open.
#[derive(Default)]
pub(crate) struct Holdings(BTreeMap<RunId, Holding>);

struct Holding {
    parent: Option<RunId>,
    group: Option<String>,
    artifacts: String,
    is_open: bool,
}

/// The entries of a run, as the journal has them.
pub(crate) type ReadEntries<'a> = dyn Fn(&RunId) -> Result<Vec<Entry>, StoreError> + 'a;

impl Holdings {
    pub(crate) fn apply(&mut self, run: &RunId, entry: &Entry) {
        match &entry.event {
            Event::RunStarted { options, group, .. } => {
                let holding = Holding {
                    parent: options.parent.clone(),
                    group: group.clone(),
                    artifacts: options.artifacts.clone(),
                    is_open: true,
                };
                self.0.insert(run.clone(), holding);
            }
            Event::RunEnded { .. } => self.change(run, |holding| holding.is_open = false),
            Event::RunReopened { group, .. } => self.change(run, |holding| {
                holding.is_open = true;
                holding.group.clone_from(group);
            }),
            _ => {}
        }
    }

    fn change(&mut self, run: &RunId, change: impl FnOnce(&mut Holding)) {
        change(self.0.get_mut(run).expect("a journal begins with the start of its run"));
    }

    /// The run that is in the way of one that these entries start or open again.
    pub(crate) fn in_the_way(&self, run: &RunId, entries: &[Entry]) -> Option<(Contested, RunId)> {
        entries.iter().find_map(|entry| match &entry.event {
            Event::RunStarted { options, group, .. } => {
                let ends = entries.iter().any(|entry| matches!(entry.event, Event::RunEnded { .. }));
                let artifacts = (!ends).then_some(options.artifacts.as_str());
                self.holder(run, options.parent.as_ref(), group.as_deref(), artifacts)
            }
            Event::RunReopened { group, .. } => self.in_the_way_of_ended(run, group.as_deref()),
            _ => None,
        })
    }

    /// The run that is in the way of this one, which has ended, if it is opened again with this group.
    pub(crate) fn in_the_way_of_ended(&self, run: &RunId, group: Option<&str>) -> Option<(Contested, RunId)> {
        let own = self.0.get(run)?;
        self.holder(run, own.parent.as_ref(), group, Some(&own.artifacts))
    }

    /// The conflict with this holder, as the store tells it. `parent` is that of a run that has not started. `wait` only names the command that would settle it, so it
    /// is left out.
    pub(crate) fn conflict(
        &self,
        run: &RunId,
        parent: Option<&RunId>,
        (over, holder): (Contested, RunId),
        effects: &Effects,
        read: &ReadEntries<'_>,
    ) -> Result<Box<RunConflict>, StoreError> {
        let parent = parent.or_else(|| self.0.get(run)?.parent.as_ref());
        let shared = self.with_those_around(parent);
        let around = self.with_those_around(Some(&holder));
        let outermost = around.iter().take_while(|around| !shared.contains(around)).last().unwrap_or(&holder);
        let is_sibling = self.root(&holder) == self.root(parent.unwrap_or(run));
        let is_inside = |other: &RunId| self.with_those_around(Some(other)).contains(outermost);
        let is_open_effect = |state| matches!(state, EffectState::Intended | EffectState::Unknown);
        let has_open_effects = effects.rows().any(|row| is_open_effect(row.state) && is_inside(&row.run));
        let root = self.row(outermost, &read(outermost)?);
        Ok(Box::new(RunConflict { over, holder, root, is_sibling, has_open_effects, wait: None }))
    }

    fn holder(
        &self,
        run: &RunId,
        parent: Option<&RunId>,
        group: Option<&str>,
        artifacts: Option<&str>,
    ) -> Option<(Contested, RunId)> {
        let around = self.with_those_around(parent);
        let is_related =
            |other: &RunId| around.contains(other) || self.with_those_around(Some(other)).contains(run);
        let open = || self.0.iter().filter(|(_, holding)| holding.is_open);
        let of_group = open().find(|(other, holding)| {
            group.is_some() && holding.group.as_deref() == group && !is_related(other)
        });
        if let (Some(group), Some((holder, _))) = (group, of_group) {
            return Some((Contested::Group(group.to_owned()), holder.clone()));
        }
        let wanted = Path::new(artifacts?);
        let root = self.root(parent.unwrap_or(run));
        let of_directory = open().find(|(other, holding)| {
            let held = Path::new(&holding.artifacts);
            self.root(other) != root && (wanted.starts_with(held) || held.starts_with(wanted))
        });
        of_directory
            .map(|(holder, holding)| (Contested::Artifacts(holding.artifacts.clone()), holder.clone()))
    }

    /// A run and the runs around it, the innermost first.
    fn with_those_around(&self, run: Option<&RunId>) -> Vec<RunId> {
        let parent = |run: &RunId| self.0.get(run).and_then(|holding| holding.parent.clone());
        std::iter::successors(run.cloned(), parent).collect()
    }

    fn root(&self, run: &RunId) -> RunId {
        self.with_those_around(Some(run)).pop().unwrap_or_else(|| run.clone())
    }

    fn row(&self, run: &RunId, entries: &[Entry]) -> RunRow {
        let replayed = Run::replay(entries).expect("the journal of an open run replays");
        let RunOptions { inputs, invocation, event, depth, safe_mode, directory, artifacts, .. } =
            replayed.options().clone();
        let plan = replayed.plan_of();
        RunRow {
            id: run.clone(),
            playbook: plan.name.clone(),
            kind: plan.kind.as_str().to_owned(),
            title: replayed.title().map(str::to_owned),
            inputs: plan.inputs_of(&inputs),
            status: replayed.status(),
            reason: None,
            invocation_id: invocation,
            event,
            depth,
            root: self.root(run),
            safe_mode,
            directory,
            artifacts_directory: artifacts,
            artifacts_status: None,
            warnings: Vec::new(),
            started_at: entries.first().map_or(0, |entry| entry.at),
            ended_at: None,
            overridden: None,
            seq: entries.len() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use escrow_model::{Facts, Reason, ReasonCode};
    use escrow_runtime::Redactor;
    use escrow_store::{Commit, Committed, Created, Durability, Journal as _, Lease, Mode, NewRun, Store};

    use super::*;
    use crate::clock::{Clock, START_MS};
    use crate::disk::Disk;
    use crate::ledger::Ledger;
    use crate::memory::{Memory, StoreBackend};
    use crate::world::holder;

    fn run_id(number: u64) -> RunId {
        RunId::new(START_MS, number)
    }

    /// Starts a run of the group `prod` in a directory of its own. Its first entry is its start.
    async fn start(disk: &Disk, run: &RunId) -> Created {
        let plan = escrow_testkit::plan("@concurrency: {group: prod}\nonly");
        let options = RunOptions::new(run.clone(), "/work", format!("/artifacts/{run}"));
        let begun = escrow_runtime::begin(&plan, options, Facts::default(), &Redactor::none(), START_MS);
        let (_, turn) = begun.expect("the run begins");
        let entries = &turn.entries[..1];
        let new = NewRun { run, holder: &holder(0), entries, durability: Durability::Grouped, parent: None };
        disk.create_run(new).await.expect("the disk works")
    }

    async fn write(disk: &Disk, lease: &Lease, expected_seq: u64, event: Event) -> Committed {
        let entries = &[Entry { at: START_MS, event }];
        let commit = Commit { lease, expected_seq, entries, delivered: &[], durability: Durability::Grouped };
        disk.commit(commit).await.expect("the disk works")
    }

    fn ended() -> Event {
        let reason = Reason { code: ReasonCode::FailedExit, summary: "failed".into(), evidence: Vec::new() };
        Event::RunEnded { reason }
    }

    async fn one_run_holds_the_group(backend: Arc<dyn StoreBackend>) {
        let disk = Disk::new(backend, Arc::new(Ledger::default()), 0, 0);
        let (first, second) = (run_id(1), run_id(2));
        let Created::Done { lease: first_lease, .. } = start(&disk, &first).await else { panic!("no start") };
        let Created::Conflict(conflict) = start(&disk, &second).await else { panic!("both hold the group") };
        assert_eq!((&conflict.holder, &conflict.root.id), (&first, &first));
        assert!(matches!(write(&disk, &first_lease, 1, ended()).await, Committed::Done { .. }));
        let Created::Done { lease: second_lease, .. } = start(&disk, &second).await else {
            panic!("an ended run holds nothing")
        };
        let conflict =
            disk.conflict(&first, Some("prod")).await.expect("the disk works").expect("a conflict");
        assert_eq!((conflict.over, conflict.root.id), (Contested::Group("prod".into()), second));
        assert_eq!(disk.conflict(&first, Some("dev")).await.expect("the disk works"), None);
        let reopened = || Event::RunReopened { places: Vec::new(), by: None, group: Some("prod".into()) };
        assert!(matches!(write(&disk, &first_lease, 2, reopened()).await, Committed::Conflict(_)));
        assert!(matches!(write(&disk, &second_lease, 1, ended()).await, Committed::Done { .. }));
        assert!(matches!(write(&disk, &first_lease, 2, reopened()).await, Committed::Done { .. }));
    }

    #[tokio::test(start_paused = true)]
    async fn in_memory_one_run_holds_a_concurrency_group() {
        one_run_holds_the_group(Arc::new(Memory::new(Arc::new(Clock::new())))).await;
    }

    #[tokio::test]
    async fn on_sqlite_one_run_holds_a_concurrency_group() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::open(&directory.path().join("escrow.db"), Mode::Write).expect("a store");
        one_run_holds_the_group(Arc::new(store)).await;
    }
}
