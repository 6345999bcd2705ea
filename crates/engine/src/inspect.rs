//! Inspection of the artifact directory.
//!
//! It happens after each attempt of a check that names artifacts, before its dependents start, and once for the whole
//! run before it ends. The effect runner looks at the files, and `contract` judges.

use escrow_contract::outcome::Kind;
use escrow_contract::{DeliveredOutcome, Verified, judge_delivery};
use escrow_model::{
    Answer, ArtifactContract, CheckIndex, Delivery, Ending, Event, Expectation, ExpectedArtifact,
    InspectedArtifact, Millis, ScopePath, Verdict, Warning,
};

use crate::exchange::{Effect, Inspection};
use crate::location::{AttemptKey, Location};
use crate::phase::Phase;
use crate::run::Run;
use crate::state::Node;
use crate::turn::Deciding;
use crate::view::{BUDGET, View};

impl Deciding<'_> {
    /// Asks for an inspection of what an answered attempt delivered.
    pub(crate) fn inspect_for(&mut self, attempt: &AttemptKey) {
        let expected = self.artifacts_of(attempt.check, &attempt.scope);
        self.ask_for(Effect::Inspect {
            expected,
            outer: Vec::new(),
            of: Inspection::Attempt(attempt.clone()),
        });
    }

    /// The inspection that `inspect_for` asked for. One for an attempt that is over came twice and is dropped.
    pub(crate) fn take_inspection(&mut self, attempt: &AttemptKey, seen: &[InspectedArtifact]) {
        if !self.awaits_inspection(attempt) {
            return;
        }
        let AttemptKey { check, scope, .. } = attempt;
        let contract = ArtifactContract { expected: self.artifacts_of(*check, scope) };
        let Verified { mut delivery, outcomes } = self.verify(&contract, seen, self.at);
        self.apply_conditions(&mut delivery, &contract.expected, Some(&attempt.location()));
        for delivered in outcomes {
            self.store_delivered(delivered);
        }
        self.record_inspection(attempt, delivery);
    }

    pub(crate) fn record_inspection(&mut self, attempt: &AttemptKey, delivery: Delivery) {
        let AttemptKey { check, scope, number } = attempt;
        let name = self.plan().check(*check).name.clone();
        self.record(Event::CheckInspected { check: name, scope: scope.clone(), attempt: *number, delivery });
        let judgement = self.judge(*check, scope, *number);
        self.judge_as(&attempt.location(), judgement);
    }

    /// The inspection of the whole run, before its end.
    pub(crate) fn take_run_inspection(&mut self, seen: &[InspectedArtifact]) {
        if self.state.delivery.is_some() {
            return;
        }
        let contract = ArtifactContract { expected: self.expected_artifacts() };
        let Verified { mut delivery, outcomes } = self.verify(&contract, seen, self.at);
        self.apply_conditions(&mut delivery, &contract.expected, None);
        let warnings = secrets_delivered(&delivery, seen);
        for delivered in outcomes {
            self.store_delivered(delivered);
        }
        self.record(Event::ArtifactsVerified { delivery });
        for warning in warnings {
            self.record(Event::WarningRaised { warning });
        }
    }
}

impl Deciding<'_> {
    /// A file may be inspected several times: at a gate, at the end, and again when the run is opened again. It is
    /// stored once for each version that differs from the one before.
    fn store_delivered(&mut self, delivered: DeliveredOutcome) {
        let DeliveredOutcome { id, path, outcome } = delivered;
        let mut newest_first = self.state.outcomes.iter().rev().map(|(_, stored)| stored);
        let latest =
            newest_first.find(|stored| stored.name == id && stored.file_path.as_deref() == Some(&path));
        if latest.is_none_or(|latest| latest.outcome != outcome) {
            self.store_outcome(id, outcome, None, Some(path));
        }
    }
}

impl Run {
    /// Judges the files that were seen.
    pub(crate) fn verify(
        &self,
        contract: &ArtifactContract,
        seen: &[InspectedArtifact],
        at: Millis,
    ) -> Verified {
        let plan = self.plan();
        let kinds = |name: &str| Kind::find(name, |own| plan.outcome_kinds.get(own));
        judge_delivery(contract, &kinds, &self.state.facts.before, seen, at)
    }

    /// Whether a check is judged only after an inspection of its artifacts.
    pub(crate) fn inspects(&self, check: CheckIndex, answer: &Answer) -> bool {
        matches!(answer.ending, Ending::Done) && !self.state.plan.check(check).artifacts.is_empty()
    }

    /// Whether this attempt is the last one of its location and awaits its inspection.
    pub(crate) fn awaits_inspection(&self, attempt: &AttemptKey) -> bool {
        let AttemptKey { check, scope, number } = attempt;
        self.cell(*check, scope).is_some_and(|cell| matches!(cell.phase, Phase::Inspecting { .. }))
            // An effect that was done already has no attempt here.
            && self.state.checks[check.place()].attempts.get(scope).copied().unwrap_or(0) == *number
    }

    /// Attempts that await their inspection.
    pub(crate) fn inspecting(&self) -> Vec<AttemptKey> {
        let mut waiting = Vec::new();
        for (position, check) in self.state.checks.iter().enumerate() {
            for (scope, node) in check.nodes.iter() {
                if node.cell().is_some_and(|cell| matches!(cell.phase, Phase::Inspecting { .. })) {
                    let location = Location::new(CheckIndex::at(position), scope.clone());
                    waiting.push(self.last_attempt(&location));
                }
            }
        }
        waiting
    }

    /// Everything that this run owes, item by item. A check that did not run owes nothing; one that may fail and
    /// did owes nothing that the run would fail for.
    pub fn expected_artifacts(&self) -> Vec<ExpectedArtifact> {
        let plan = self.plan();
        let mut owed = Vec::new();
        for expected in &plan.artifacts.expected {
            // No expression reads the content at the end of the run.
            let expected = &ExpectedArtifact { content_read: false, ..expected.clone() };
            let Some(check) = expected.check.as_deref() else {
                owed.push(expected.clone());
                continue;
            };
            let Some(index) = self.graph.find(check) else { continue };
            for (scope, verdict) in self.scopes_that_ran(index) {
                let mut one = expected.in_scope(&scope);
                one.required &= !(verdict == Some(Verdict::Failed) && self.is_tolerated(index));
                owed.push(one);
            }
        }
        owed
    }

    /// Decides which of the artifacts with an `if` were expected: at a check's own look as the check sees the run, at
    /// the end over the whole run.
    pub(crate) fn apply_conditions(
        &self,
        delivery: &mut Delivery,
        expected: &[ExpectedArtifact],
        reader: Option<&Location>,
    ) {
        for one in expected {
            let Some(condition) = &one.condition else { continue };
            let view = match reader {
                Some(Location { check, scope }) => View::before(self, *check, scope),
                None => View::of_run(self),
            };
            let expectation = match condition.test(&view, BUDGET) {
                Ok(true) => Expectation::Expected,
                Ok(false) => Expectation::NotExpected,
                Err(error) => Expectation::Undecided(self.surroundings.in_words(&error).to_string()),
            };
            delivery.apply_condition(&one.id, condition.source(), &expectation);
        }
    }

    fn scopes_that_ran(&self, check: CheckIndex) -> Vec<(ScopePath, Option<Verdict>)> {
        let state = &self.state.checks[check.place()];
        let nodes = state.nodes.iter().filter_map(|(scope, node)| match node {
            Node::Leaf(cell) if cell.last_result.runs > 0 => Some((scope.clone(), cell.last_result.verdict)),
            Node::Leaf(_) | Node::Group(_) | Node::SkippedGroup(_) | Node::Unexpanded(_) => None,
        });
        nodes.collect()
    }

    /// What one attempt owes: of its check's own artifacts those of its item, of all others everything.
    pub(crate) fn artifacts_of(&self, check: CheckIndex, scope: &ScopePath) -> Vec<ExpectedArtifact> {
        let plan = self.plan();
        let spec = plan.check(check);
        let mut owed = Vec::new();
        for expected in plan.artifacts.expected.iter().filter(|one| spec.artifacts.contains(&one.id)) {
            match expected.check.as_deref() {
                None => owed.push(expected.clone()),
                Some(own) if own == spec.name => owed.push(expected.in_scope(scope)),
                Some(other) => {
                    let Some(index) = self.graph.find(other) else { continue };
                    let scopes = self.scopes_that_ran(index);
                    owed.extend(scopes.iter().map(|(scope, _)| expected.in_scope(scope)));
                }
            }
        }
        owed
    }
}

fn secrets_delivered(delivery: &Delivery, seen: &[InspectedArtifact]) -> Vec<Warning> {
    let holds = |id: &str, path: &str| {
        let mut files = seen.iter().filter(|sighting| sighting.id == id).flat_map(|sighting| &sighting.files);
        files.any(|file| file.path == path && file.holds_secret)
    };
    delivery
        .produced
        .iter()
        .filter(|produced| holds(&produced.id, &produced.path))
        .map(Warning::secret_in_artifact)
        .collect()
}
