//! Re-inspection: what a check has verified is inspected again just before an effect that stands on it.
//!
//! ```text
//!   attempt ──▶ Effect::Inspect(Before) ──▶ Input::SeenBefore ──┬─ the same ──▶ approval, intent
//!                                                               └─ changed ──▶ ArtifactChanged, contract_blocked
//! ```
//!
//! **Invariant:** an inspection counts only in the turn that brings it. If the check cannot start in that turn, the files are inspected again.

use std::collections::BTreeMap;
use std::sync::Arc;

use escrow_model::{
    ArtifactContract, ChangedArtifact, CheckIndex, Criticality, Event, ExpectedArtifact, InspectedArtifact,
    OuterArtifact, ProducedArtifact, ScopePath, SkipReason,
};

use crate::artifact_view::{ArtifactFile, VerifiedOnTheWay};
use crate::exchange::{Effect, Inspection};
use crate::location::{AttemptKey, Location};
use crate::phase::Phase;
use crate::run::Run;
use crate::turn::Deciding;

/// What a successful check has verified of its artifacts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VerifiedArtifacts {
    /// The entry that judged it.
    pub(crate) entry: u64,
    pub(crate) files: Arc<[ArtifactFile]>,
}

impl Deciding<'_> {
    /// Whether the files that an effect stands on were seen unchanged in this turn. If not, an inspection is asked for, unless
    /// one is under way.
    pub(crate) fn is_reinspected(&mut self, location: &Location) -> bool {
        let spec = self.state.plan.check(location.check);
        if spec.criticality != Criticality::External || self.agenda().reinspected.remove(location) {
            return true;
        }
        let expected: Vec<ExpectedArtifact> =
            self.artifacts_seen_before(location).into_iter().map(|(_, expected)| expected).collect();
        let outer = self.state.options.outer_artifacts.clone();
        if expected.is_empty() && outer.is_empty() {
            return true;
        }
        if self.agenda().reinspecting.insert(location.clone()) {
            let attempt = location.attempt(self.next_attempt(location.check, &location.scope));
            self.ask_for(Effect::Inspect { expected, outer, of: Inspection::Before(attempt) });
        }
        self.release_capacity(location);
        false
    }

    /// The answer to a look. One for a check that has moved on is dropped.
    pub(crate) fn take_reinspection(&mut self, attempt: &AttemptKey, seen: &[InspectedArtifact]) {
        let of_outer = self.state.options.outer_artifacts.len();
        debug_assert!(seen.len() >= of_outer, "each artifact of an outer run is inspected");
        let of_outer_runs = seen.len().saturating_sub(of_outer);
        let (own, outer) = seen.split_at(of_outer_runs);
        let changed =
            self.changed_artifact(&attempt.location(), own).or_else(|| self.changed_outer_artifact(outer));
        self.take_second_finding(attempt, changed);
    }

    pub(crate) fn take_second_finding(&mut self, attempt: &AttemptKey, changed: Option<ChangedArtifact>) {
        let location = attempt.location();
        self.agenda().reinspecting.remove(&location);
        let Location { check, scope } = &location;
        let cell = self.cell(*check, scope);
        let awaited = cell.is_some_and(|cell| matches!(cell.phase, Phase::Pending | Phase::Due));
        if !awaited
            || self.next_attempt(*check, scope) != attempt.number
            || self.state.admission.is_stopping()
        {
            return;
        }
        match changed {
            None => {
                self.agenda().reinspected.insert(location.clone());
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

    /// The successful checks on the way to this one that list artifacts, each with the entry that judged it.
    fn gates_on_the_way(&self, location: &Location) -> Vec<(u64, Location)> {
        if self.state.checks.iter().all(|check| check.verified.is_empty()) {
            return Vec::new();
        }
        let Location { check, scope } = location;
        let mut gates = Vec::new();
        for below in self.stands_on(*check, scope, self.cell(*check, scope)) {
            let verified = self.state.checks[below.check.place()].verified.iter();
            let of_check = verified.filter(|(at, _)| at.touches(&below.scope));
            gates.extend(of_check.map(|(at, one)| (one.entry, Location::new(below.check, at.clone()))));
        }
        gates
    }

    /// For each artifact the check that verified it last, also where it found no file.
    fn last_gates(&self, gates: &[(u64, Location)]) -> BTreeMap<String, (u64, CheckIndex)> {
        let mut last: BTreeMap<String, (u64, CheckIndex)> = BTreeMap::new();
        for (entry, gate) in gates {
            for owed in self.artifacts_of(gate.check, &gate.scope) {
                let newest = last.entry(owed.id).or_insert((*entry, gate.check));
                *newest = (*newest).max((*entry, gate.check));
            }
        }
        last
    }

    fn verified_on_the_way(&self, location: &Location) -> Vec<(Location, &ArtifactFile)> {
        let gates = self.gates_on_the_way(location);
        let last = self.last_gates(&gates);
        let mut files: BTreeMap<(&str, &str), (u64, Location, &ArtifactFile)> = BTreeMap::new();
        for (entry, gate) in gates {
            let verified = self.state.checks[gate.check.place()].verified.get(&gate.scope);
            for file in verified.iter().flat_map(|verified| verified.files.iter()) {
                let produced = &file.produced;
                if last.get(&produced.id).is_none_or(|(_, check)| *check != gate.check) {
                    continue;
                }
                let key = (produced.id.as_str(), produced.path.as_str());
                if files.get(&key).is_none_or(|(earlier, ..)| *earlier <= entry) {
                    files.insert(key, (entry, gate.clone(), file));
                }
            }
        }
        files.into_values().map(|(_, gate, file)| (gate, file)).collect()
    }

    /// What checks on the way have verified, present or absent, each with the check that looked at it last.
    fn artifacts_seen_before(&self, location: &Location) -> Vec<(Location, ExpectedArtifact)> {
        let gates = self.gates_on_the_way(location);
        let last = self.last_gates(&gates);
        let mut found: Vec<(Location, ExpectedArtifact)> = Vec::new();
        for (_, gate) in gates {
            let verified = self.state.checks[gate.check.place()].verified.get(&gate.scope);
            let has_file = |id: &str| {
                verified.is_some_and(|verified| verified.files.iter().any(|file| file.produced.id == id))
            };
            for owed in self.artifacts_of(gate.check, &gate.scope) {
                let is_last = last.get(&owed.id).is_some_and(|(_, check)| *check == gate.check);
                // An artifact whose `if` did not hold was not verified, so a file in its place is no change.
                let was_expected = owed.condition.is_none() || has_file(&owed.id);
                if is_last && was_expected && found.iter().all(|(_, one)| one.id != owed.id) {
                    // No expression reads the content of this look.
                    found.push((gate.clone(), ExpectedArtifact { content_read: false, ..owed }));
                }
            }
        }
        found
    }

    /// What a run that this check nests stands on: what this run and those around it have verified.
    pub fn outer_artifacts(&self, check: CheckIndex, scope: &ScopePath) -> Vec<OuterArtifact> {
        let location = Location::new(check, scope.clone());
        let verified = self.verified_files(&location);
        let mut all = self.state.options.outer_artifacts.clone();
        for (gate, expected) in self.artifacts_seen_before(&location) {
            let files = verified.iter().filter(|(_, file)| file.id == expected.id);
            let files =
                files.map(|(_, file)| ProducedArtifact { text: None, redacted: false, ..(*file).clone() });
            all.push(OuterArtifact {
                directory: self.state.options.artifacts.clone(),
                gate: self.named(gate.check, &gate.scope).to_string(),
                id: expected.id.clone(),
                location: expected.location,
                files: files.collect(),
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

    /// The first file that is not what was verified, is gone, or was not there then. A file that would not count as
    /// delivered does not count here either.
    fn changed_artifact(&self, location: &Location, seen: &[InspectedArtifact]) -> Option<ChangedArtifact> {
        let before = self.artifacts_seen_before(location);
        let expected = before.iter().map(|(_, expected)| expected.clone()).collect();
        let now = self.verify(&ArtifactContract { expected }, seen, self.state.latest_at).delivery.produced;
        let verified = self.verified_files(location);
        before.iter().find_map(|(gate, artifact)| {
            let id = &artifact.id;
            let changed = |gate: &Location, path: &str, expected: &str, found: &str| ChangedArtifact {
                id: id.clone(),
                path: path.to_owned(),
                gate: self.named(gate.check, &gate.scope).to_string(),
                expected: expected.to_owned(),
                found: found.to_owned(),
            };
            let then = || verified.iter().filter(|(_, file)| file.id == *id);
            let differs = then().find_map(|(gate, file)| {
                let is_same = |one: &&ProducedArtifact| one.id == *id && one.path == file.path;
                if now.iter().find(is_same).is_some_and(|one| one.sha256 == file.sha256) {
                    return None;
                }
                let sightings = seen.iter().filter(|sighting| sighting.id == *id);
                let mut files = sightings.flat_map(|sighting| &sighting.files);
                let found = files.find(|one| one.path == file.path);
                let found = found.map_or("", |one| one.sha256.as_str());
                Some(changed(gate, &file.path, &file.sha256, found))
            });
            differs.or_else(|| {
                let is_known = |one: &ProducedArtifact| then().any(|(_, file)| file.path == one.path);
                let new = now.iter().find(|one| one.id == *id && !is_known(one))?;
                Some(changed(gate, &new.path, "", &new.sha256))
            })
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
            // Several items may have verified one file after the other: the last of them counts.
            let mut newest: BTreeMap<&str, (u64, &ScopePath, &ProducedArtifact)> = BTreeMap::new();
            for (scope, verified) in &self.state.checks[check.place()].verified {
                for file in verified.files.iter().map(|file| &file.produced).filter(|file| file.id == id) {
                    let known = newest.entry(&file.path).or_insert((verified.entry, scope, file));
                    if known.0 <= verified.entry {
                        *known = (verified.entry, scope, file);
                    }
                }
            }
            for (_, scope, then) in newest.into_values() {
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
