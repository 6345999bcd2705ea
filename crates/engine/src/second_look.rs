//! The second look: what a check has verified is inspected again just before an effect that stands on it.
//!
//! ```text
//!   attempt ──▶ Effect::Inspect(Before) ──▶ Input::SeenBefore ──┬─ the same ──▶ approval, intent
//!                                                               └─ changed ──▶ ArtifactChanged, contract_blocked
//! ```
//!
//! **Invariant:** a look counts only in the turn that brings it. If the check cannot start in that turn, it looks again.

use std::collections::BTreeMap;
use std::sync::Arc;

use escrow_model::{
    ChangedArtifact, CheckIndex, Criticality, Event, ExpectedArtifact, InspectedArtifact, OuterArtifact,
    ProducedArtifact, ScopePath, SkipReason,
};

use crate::artifact_view::{ArtifactFile, VerifiedOnTheWay};
use crate::location::{AttemptKey, Location};
use crate::phase::Phase;
use crate::run::{Effect, Inspection, Run};
use crate::turn::Deciding;

/// What a successful check has verified of its artifacts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VerifiedArtifacts {
    /// The entry that judged it.
    pub(crate) entry: u64,
    pub(crate) files: Arc<[ArtifactFile]>,
}

impl Deciding<'_> {
    /// Whether the files that an effect stands on were seen unchanged in this turn. If not, a look is asked for, unless
    /// one is under way.
    pub(crate) fn has_looked_again(&mut self, location: &Location) -> bool {
        let spec = self.state.plan.check(location.check);
        if spec.criticality != Criticality::External || self.agenda().seen_again.remove(location) {
            return true;
        }
        let expected = self.artifacts_to_see_again(location);
        let outer = self.state.options.outer_artifacts.clone();
        if expected.is_empty() && outer.is_empty() {
            return true;
        }
        if self.agenda().looking.insert(location.clone()) {
            let attempt = location.attempt(self.next_attempt(location.check, &location.scope));
            self.ask_for(Effect::Inspect { expected, outer, of: Inspection::Before(attempt) });
        }
        self.release_capacity(location);
        false
    }

    /// The answer to a look. One for a check that has moved on is dropped.
    pub(crate) fn take_second_look(&mut self, attempt: &AttemptKey, seen: &[InspectedArtifact]) {
        let of_outer_runs = seen.len().saturating_sub(self.state.options.outer_artifacts.len());
        let (own, outer) = seen.split_at(of_outer_runs);
        let changed =
            self.changed_artifact(&attempt.location(), own).or_else(|| self.changed_outer_artifact(outer));
        self.take_second_finding(attempt, changed);
    }

    pub(crate) fn take_second_finding(&mut self, attempt: &AttemptKey, changed: Option<ChangedArtifact>) {
        let location = attempt.location();
        self.agenda().looking.remove(&location);
        let Location { check, scope } = &location;
        let cell = self.cell(*check, scope);
        let awaited = cell.is_some_and(|cell| matches!(cell.phase, Phase::Pending | Phase::Due));
        if !awaited || self.next_attempt(*check, scope) != attempt.number || self.state.stopping.is_some() {
            return;
        }
        match changed {
            None => {
                self.agenda().seen_again.insert(location.clone());
                self.agenda().checks.insert(location);
            }
            Some(artifact) => {
                let name = self.state.plan.check(*check).name.clone();
                let detail = artifact.in_words();
                self.record(Event::ArtifactChanged { check: name, scope: scope.clone(), artifact });
                self.skip_check(*check, scope, SkipReason::ContractBlocked, detail);
            }
        }
    }
}

impl Run {
    /// The files that checks on the way to this one have verified, each with the check that did. Of several checks that
    /// list an artifact, the last one counts.
    pub(crate) fn verified_files(&self, location: &Location) -> Vec<(Location, &ProducedArtifact)> {
        self.verified_on_the_way(location).into_iter().map(|(gate, file)| (gate, &file.produced)).collect()
    }

    /// The same, as expressions read it.
    pub(crate) fn verified_artifacts(&self, location: &Location) -> VerifiedOnTheWay<'_> {
        let mut gates = Vec::new();
        let mut files: Vec<(ScopePath, &ArtifactFile)> = Vec::new();
        if self.state.checks.iter().any(|check| !check.verified.is_empty()) {
            for below in
                self.stands_on(location.check, &location.scope, self.cell(location.check, &location.scope))
            {
                let verified = &self.state.checks[below.check.place()].verified;
                if verified.keys().any(|at| at.touches(&below.scope)) {
                    gates.push(below.check);
                }
            }
            files = self
                .verified_on_the_way(location)
                .into_iter()
                .map(|(gate, file)| (gate.scope, file))
                .collect();
            files.sort_by(|(one, file), (other, second)| {
                (one, &file.produced.path).cmp(&(other, &second.produced.path))
            });
        }
        VerifiedOnTheWay { gates, files }
    }

    fn verified_on_the_way(&self, location: &Location) -> Vec<(Location, &ArtifactFile)> {
        let Location { check, scope } = location;
        let mut last: BTreeMap<&str, (u64, CheckIndex)> = BTreeMap::new();
        let mut all = Vec::new();
        if self.state.checks.iter().all(|check| check.verified.is_empty()) {
            return Vec::new();
        }
        for below in self.stands_on(*check, scope, self.cell(*check, scope)) {
            for (at, verified) in &self.state.checks[below.check.place()].verified {
                if !at.touches(&below.scope) {
                    continue;
                }
                for file in verified.files.iter() {
                    let newest =
                        last.entry(file.produced.id.as_str()).or_insert((verified.entry, below.check));
                    *newest = (*newest).max((verified.entry, below.check));
                    all.push((verified.entry, Location::new(below.check, at.clone()), file));
                }
            }
        }
        let mut files: BTreeMap<(&str, &str), (u64, Location, &ArtifactFile)> = BTreeMap::new();
        for (entry, gate, file) in all {
            let produced = &file.produced;
            if last.get(produced.id.as_str()).is_none_or(|(_, check)| *check != gate.check) {
                continue;
            }
            let key = (produced.id.as_str(), produced.path.as_str());
            if files.get(&key).is_none_or(|(earlier, ..)| *earlier <= entry) {
                files.insert(key, (entry, gate, file));
            }
        }
        files.into_values().map(|(_, gate, file)| (gate, file)).collect()
    }

    fn artifacts_to_see_again(&self, location: &Location) -> Vec<ExpectedArtifact> {
        let mut expected: Vec<ExpectedArtifact> = Vec::new();
        for (gate, file) in self.verified_files(location) {
            if expected.iter().any(|one| one.id == file.id) {
                continue;
            }
            let owed = self.artifacts_of(gate.check, &gate.scope);
            let of_file = owed.into_iter().filter(|one| one.id == file.id);
            // Only the digest matters here.
            expected.extend(of_file.map(|one| ExpectedArtifact { content_read: false, ..one }));
        }
        expected
    }

    /// What a run that this check nests stands on: what this run and those around it have verified.
    pub fn outer_artifacts(&self, check: CheckIndex, scope: &ScopePath) -> Vec<OuterArtifact> {
        let mut all = self.state.options.outer_artifacts.clone();
        let inherited = all.len();
        for (gate, file) in self.verified_files(&Location::new(check, scope.clone())) {
            let name = self.named(gate.check, &gate.scope).to_string();
            let file = ProducedArtifact { text: None, redacted: false, ..file.clone() };
            if let Some(known) =
                all[inherited..].iter_mut().find(|outer| outer.id == file.id && outer.gate == name)
            {
                known.files.push(file);
                continue;
            }
            let owed = self.artifacts_of(gate.check, &gate.scope);
            let Some(expected) = owed.into_iter().find(|expected| expected.id == file.id) else { continue };
            all.push(OuterArtifact {
                directory: self.state.options.artifacts.clone(),
                gate: name,
                id: file.id.clone(),
                location: expected.location,
                files: vec![file],
            });
        }
        all
    }

    /// The first file of a run around this one that is not what was verified there. A sighting that is missing counts as
    /// files that are gone.
    fn changed_outer_artifact(&self, seen: &[InspectedArtifact]) -> Option<ChangedArtifact> {
        let outer = self.state.options.outer_artifacts.iter().enumerate();
        outer.into_iter().find_map(|(at, artifact)| {
            let now = seen.get(at).map_or(&[][..], |sighting| &sighting.files);
            let changed = |path: &str, expected: &str, found: &str| ChangedArtifact {
                id: artifact.id.clone(),
                path: artifact.path_of(path),
                gate: artifact.gate.clone(),
                expected: expected.to_owned(),
                found: found.to_owned(),
            };
            let differs = artifact.files.iter().find_map(|then| {
                let found = now.iter().find(|file| file.path == then.path);
                let found = found.map_or("", |file| file.sha256.as_str());
                (found != then.sha256).then(|| changed(&then.path, &then.sha256, found))
            });
            differs.or_else(|| {
                let is_new = |path: &str| artifact.files.iter().all(|then| then.path != path);
                let new = now.iter().find(|file| is_new(&file.path))?;
                Some(changed(&new.path, "", &new.sha256))
            })
        })
    }

    /// The first file that is not what was verified, is gone, or was not there then.
    fn changed_artifact(&self, location: &Location, seen: &[InspectedArtifact]) -> Option<ChangedArtifact> {
        let verified = self.verified_files(location);
        let found = |id: &str| {
            let of_id = seen.iter().filter(|sighting| sighting.id == id);
            let files = of_id.flat_map(|sighting| &sighting.files);
            files.map(|file| (file.path.clone(), file.sha256.clone())).collect::<BTreeMap<String, String>>()
        };
        let changed = |gate: &Location, id: &str, path: &str, expected: &str, found: &str| ChangedArtifact {
            id: id.to_owned(),
            path: path.to_owned(),
            gate: self.named(gate.check, &gate.scope).to_string(),
            expected: expected.to_owned(),
            found: found.to_owned(),
        };
        for (gate, file) in &verified {
            let now = found(&file.id).remove(&file.path).unwrap_or_default();
            if now != file.sha256 {
                return Some(changed(gate, &file.id, &file.path, &file.sha256, &now));
            }
        }
        verified.iter().find_map(|(gate, file)| {
            let known =
                |path: &String| verified.iter().any(|(_, one)| one.id == file.id && one.path == *path);
            let (path, now) = found(&file.id).into_iter().find(|(path, _)| !known(path))?;
            Some(changed(gate, &file.id, &path, "", &now))
        })
    }

    /// The delivered files that are not what the last check that lists them has verified. Those that keep an effect from
    /// starting are reported with it.
    pub(crate) fn changed_since_verified(&self) -> Vec<ChangedArtifact> {
        let Some(delivery) = &self.state.delivery else { return Vec::new() };
        let mut last: BTreeMap<&str, (u64, CheckIndex)> = BTreeMap::new();
        for check in self.state.plan.indices() {
            for verified in self.state.checks[check.place()].verified.values() {
                for file in verified.files.iter() {
                    let newest = last.entry(file.produced.id.as_str()).or_insert((verified.entry, check));
                    *newest = (*newest).max((verified.entry, check));
                }
            }
        }
        let mut changed = Vec::new();
        for (id, (_, check)) in last {
            if self.blocked_by_changes().any(|(_, artifact)| artifact.id == id) {
                continue;
            }
            for (scope, verified) in &self.state.checks[check.place()].verified {
                for then in verified.files.iter().map(|file| &file.produced).filter(|file| file.id == id) {
                    let now = delivery.produced.iter().find(|now| now.id == then.id && now.path == then.path);
                    changed.extend(now.filter(|now| now.sha256 != then.sha256).map(|now| ChangedArtifact {
                        id: then.id.clone(),
                        path: then.path.clone(),
                        gate: self.named(check, scope).to_string(),
                        expected: then.sha256.clone(),
                        found: now.sha256.clone(),
                    }));
                }
            }
        }
        changed
    }

    /// Where a changed artifact keeps an effect from starting.
    pub(crate) fn blocked_by_changes(&self) -> impl Iterator<Item = (Location, &ChangedArtifact)> {
        self.state.plan.indices().flat_map(|check| {
            let nodes = self.state.checks[check.place()].nodes.iter();
            nodes.filter_map(move |(scope, node)| {
                let cell = node.cell()?;
                let blocked = cell.skipped() == Some(SkipReason::ContractBlocked);
                let artifact = cell.changed.as_deref().filter(|_| blocked)?;
                Some((Location::new(check, scope.clone()), artifact))
            })
        })
    }

    /// Keeps what a check has verified, once it has succeeded.
    pub(crate) fn note_verified(&mut self, check: CheckIndex, scope: &ScopePath, files: Arc<[ArtifactFile]>) {
        let entry = self.state.entries;
        let verified = VerifiedArtifacts { entry, files };
        self.state.checks[check.place()].verified.insert(scope.clone(), verified);
    }
}
