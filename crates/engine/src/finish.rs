//! The end of a run: settles what is left, verifies the delivery, names one cause.

use escrow_model::{
    CheckIndex, Criticality, Delivery, DeliveryStatus, Event, Evidence, Issue, IssueCode, MissingArtifact,
    Reason, ReasonCode, SkipReason, WaitKind, Warning,
};

use crate::admission::{Denial, StopCause};
use crate::approval::denial_in_words;
use crate::exchange::{Effect, Inspection};
use crate::location::Location;
use crate::phase::Phase;
use crate::run::Run;
use crate::state::{CheckFailure, Node};
use crate::turn::Deciding;

impl Deciding<'_> {
    /// The agenda is empty. Returns true when this settled something, so that more may follow.
    pub(crate) fn settle_the_rest(&mut self) -> bool {
        if !self.agenda().reinspecting.is_empty() {
            // An effect starts or is blocked when the look is answered.
            return false;
        }
        if self.state.busy > 0 {
            self.wait_for_people();
            return false;
        }
        let parked = std::mem::take(&mut self.agenda().parked);
        if parked.values().any(|locations| !locations.is_empty()) {
            self.agenda().checks.extend(parked.into_values().flatten());
            return true;
        }
        if let Some(location) = self
            .first_location(|node| node.cell().is_some_and(|cell| matches!(cell.phase, Phase::Judged { .. })))
        {
            // Its routing waits for a check that waits for it. Settling the verdict resolves the circle.
            let name = self.plan().check(location.check).name.clone();
            self.record(Event::CheckSettled { check: name, scope: location.scope.clone() });
            self.isolate(&location);
            return true;
        }
        if self.skip_the_rest() {
            return true;
        }
        if let Some(location) = self.state.routes.keys().next().cloned() {
            let route = &self.state.routes[&location];
            let block = route.block;
            let check = self.plan().check(location.check).name.clone();
            self.record(Event::RoutingDone { check, scope: location.scope, block });
            return true;
        }
        self.finish();
        false
    }

    /// Records, once, that the run can only continue when a person acts.
    fn wait_for_people(&mut self) {
        if self.state.admission.is_stopping() {
            // What is left are nested runs that are being ended.
            return;
        }
        // An item that is due and parked waits for the capacity of another item, or for an alternative to settle; not
        // for a time or an answer.
        let waiting = self.state.waits.len() + self.parked_and_due();
        if usize::try_from(self.state.busy).unwrap_or(usize::MAX) > waiting {
            return;
        }
        let Some((id, wait)) = self.state.waits.iter().min_by_key(|(_, wait)| rank(wait.kind)) else {
            return;
        };
        let code = match wait.kind {
            WaitKind::UnknownEffect => ReasonCode::WaitingUnknownEffect,
            WaitKind::Approval => ReasonCode::WaitingApproval,
            WaitKind::Input => ReasonCode::WaitingInput,
            // A reason travels unchanged from a nested run to the one around it.
            WaitKind::Nested => wait.nested_reason.unwrap_or(ReasonCode::WaitingInput),
        };
        let name = self.state.plan.check(wait.location.check).name.clone();
        let kind = match wait.kind {
            WaitKind::UnknownEffect => "check",
            WaitKind::Nested => "run",
            WaitKind::Approval | WaitKind::Input => "wait",
        };
        let evidence_id = if wait.kind == WaitKind::UnknownEffect { name.clone() } else { id.clone() };
        let summary = format!("`{name}` waits for a person: {}", wait.prompt);
        let mut evidence = vec![Evidence { kind: kind.into(), id: evidence_id, label: wait.prompt.clone() }];
        if let Some(effect) = self.effect_elsewhere(&wait.location) {
            let label = format!("the effect is {} there", effect.state.as_str());
            evidence.push(Evidence { kind: "run".into(), id: effect.run.to_string(), label });
        }
        let reason = Reason { code, summary, evidence };
        if self.state.reason.as_ref() != Some(&reason) {
            self.record(Event::RunWaiting { reason });
        }
    }

    fn parked_and_due(&self) -> usize {
        let agenda = &self.state.agenda.0;
        let parked = agenda.parked.values().flatten().chain(&agenda.undecided);
        let is_due = |location: &&Location| {
            let cell = self.cell(location.check, &location.scope);
            cell.is_some_and(|cell| matches!(cell.phase, Phase::Due))
        };
        parked.filter(is_due).count()
    }

    /// Skips checks that no route led to. If there are none, skips what can no longer be decided otherwise.
    fn skip_the_rest(&mut self) -> bool {
        let mut dormant = Vec::new();
        let mut stuck = Vec::new();
        for (position, check) in self.state.checks.iter().enumerate() {
            let index = CheckIndex::at(position);
            for (scope, node) in check.nodes.iter() {
                match node {
                    Node::Leaf(cell) if !cell.phase.is_settled() => {
                        if cell.activation.activated {
                            stuck.push(Location::new(index, scope.clone()));
                        } else {
                            dormant.push(Location::new(index, scope.clone()));
                        }
                    }
                    Node::Unexpanded(activation) if activation.activated => {
                        stuck.push(Location::new(index, scope.clone()))
                    }
                    Node::Unexpanded(_) => dormant.push(Location::new(index, scope.clone())),
                    Node::Leaf(_) | Node::Group(_) | Node::SkippedGroup(_) => {}
                }
            }
        }
        let (locations, reason) = if dormant.is_empty() {
            (stuck, SkipReason::DependencyFailed)
        } else {
            (dormant, SkipReason::NotRouted)
        };
        for Location { check, scope } in &locations {
            let reason = if self.is_halted(*check, scope) { SkipReason::LoopBudget } else { reason };
            self.skip_check(*check, scope, reason, String::new());
        }
        !locations.is_empty()
    }

    fn finish(&mut self) {
        if self.state.delivery.is_none() {
            let expected = self.expected_artifacts();
            if !expected.is_empty() {
                if !self.state.agenda.0.inspection_asked {
                    self.agenda().inspection_asked = true;
                    self.ask_for(Effect::Inspect { expected, outer: Vec::new(), of: Inspection::Run });
                }
                return;
            }
        }
        for location in self.still_recovering() {
            self.give_up_recovery(&location);
        }
        let warnings = self.closing_warnings();
        for warning in warnings {
            self.record(Event::WarningRaised { warning });
        }
        let reason = self.conclude();
        self.record(Event::RunEnded { reason });
    }
}

impl Run {
    /// Failures that a route went to mend, and that still stand.
    fn still_recovering(&self) -> Vec<Location> {
        let mut locations = Vec::new();
        for (position, check) in self.state.checks.iter().enumerate() {
            for scope in check.failures.keys() {
                if check.nodes.get(scope).and_then(Node::cell).is_some_and(|cell| cell.recovering) {
                    locations.push(Location::new(CheckIndex::at(position), scope.clone()));
                }
            }
        }
        locations
    }

    fn first_location(&self, wanted: impl Fn(&Node) -> bool) -> Option<Location> {
        self.state.checks.iter().enumerate().find_map(|(position, check)| {
            let (scope, _) = check.nodes.iter().find(|(_, node)| wanted(node))?;
            Some(Location::new(CheckIndex::at(position), scope.clone()))
        })
    }

    /// What failed and was allowed to, decisions that could not be evaluated, and optional artifacts that are
    /// missing.
    fn closing_warnings(&self) -> Vec<Warning> {
        let mut warnings: Vec<Warning> =
            self.changed_since_verified().iter().map(Warning::artifact_changed).collect();
        for index in self.state.plan.indices() {
            let spec = self.state.plan.check(index);
            if let Some(failure) = self.state.checks[index.place()].failures.values().next()
                && self.is_tolerated(index)
            {
                warnings.push(Warning {
                    code: "check_failed".into(),
                    message: format!("`{}` failed and was allowed to: {}", spec.name, failure.message),
                    check: Some(spec.name.clone()),
                });
            }
            if self.nested_endings(index).any(|code| code == ReasonCode::CompletedWithWarnings) {
                warnings.push(Warning {
                    code: "nested_warnings".into(),
                    message: format!("the nested run of `{}` completed with warnings", spec.name),
                    check: Some(spec.name.clone()),
                });
            }
            // On a critical check it has failed the run already.
            if let Some(issue) = self.undecided(index)
                && !spec.is_critical()
            {
                warnings.push(Warning {
                    code: "expression_error".into(),
                    message: format!("`{}`: {}", spec.name, issue.message),
                    check: Some(spec.name.clone()),
                });
            }
        }
        if let Some(delivery) = &self.state.delivery {
            for missing in &delivery.missing_optional {
                warnings.push(Warning {
                    code: "optional_artifact_missing".into(),
                    message: format!("optional artifact {}", missing.in_words()),
                    check: None,
                });
            }
        }
        let started = !self.state.admission.is_stopping();
        if started && self.has_run_nothing() {
            warnings.push(Warning {
                code: "nothing_ran".into(),
                message: "no check ran, so nothing was delivered".into(),
                check: None,
            });
        }
        warnings
    }

    /// The first `if`, `assume`, `when` or block of a check that could not be evaluated.
    fn undecided(&self, check: CheckIndex) -> Option<&Issue> {
        let raised = self.state.issues.iter().filter(|(at, _)| at.check == check);
        raised.map(|(_, issue)| issue).find(|issue| issue.code == IssueCode::ExpressionError)
    }

    /// An effect that was confirmed before counts as having run.
    fn has_run_nothing(&self) -> bool {
        self.state.checks.iter().all(|check| check.runs == 0 && check.reused == 0)
    }

    /// An `info` check that may fail leaves a warning.
    pub(crate) fn is_tolerated(&self, check: CheckIndex) -> bool {
        let spec = self.state.plan.check(check);
        spec.continue_on_failure && spec.criticality == Criticality::Info
    }

    /// One cause: cancelled, timed out, budget, loop budget, expression error, check failed, missing artifact.
    fn conclude(&self) -> Reason {
        if let Some(cause) = self.state.admission.stop_cause() {
            return self.stop_reason(cause);
        }
        if let (Some(failure), Some(problem)) = (&self.state.first_failure, &self.surroundings.start_problem)
        {
            // No check has started, so none is to blame.
            return Reason { code: failure.code, summary: problem.clone(), evidence: Vec::new() };
        }
        let of_budget = |(_, failure): &(CheckIndex, &CheckFailure)| failure.code == ReasonCode::FailedBudget;
        if let Some((check, failure)) = self.decisive_failures().filter(of_budget).min_by_key(entry_of) {
            let name = &self.state.plan.check(check).name;
            return Reason {
                code: failure.code,
                summary: format!("`{name}` failed: {}", failure.message),
                evidence: self.failed_checks(),
            };
        }
        if let Some(failure) = &self.state.first_failure {
            let name = &self.state.plan.check(failure.check).name;
            return Reason {
                code: failure.code,
                summary: format!("`{name}`: {}", failure.message),
                evidence: vec![Evidence::check(name, failure.message.clone())],
            };
        }
        if let Some((check, failure)) = self.first_decisive_failure() {
            if let Some(reason) = self.reason_of_step(check) {
                return reason;
            }
            let name = &self.state.plan.check(check).name;
            let mut evidence = self.failed_checks();
            if failure.code == ReasonCode::FailedMissingArtifact {
                evidence.extend(self.missing_artifacts());
            }
            return Reason {
                code: failure.code,
                summary: format!("`{name}` failed: {}", failure.message),
                evidence,
            };
        }
        if let Some((location, artifact)) = self.blocked_by_changes().next() {
            let name = self.named(location.check, &location.scope).to_string();
            let words = artifact.in_words();
            return Reason {
                code: ReasonCode::FailedArtifactChanged,
                summary: format!("`{name}` was blocked: {words}"),
                evidence: vec![
                    Evidence::check(&self.state.plan.check(location.check).name, words),
                    Evidence::expected_artifact(&artifact.id, &artifact.path),
                ],
            };
        }
        if let Some(delivery) = self.state.delivery.as_ref().filter(|d| d.status == DeliveryStatus::Failed) {
            let missing = &delivery.missing_required;
            let names: Vec<String> =
                missing.iter().map(|artifact| format!("{} ({})", artifact.id, artifact.path)).collect();
            return Reason {
                code: ReasonCode::FailedMissingArtifact,
                summary: format!("missing required artifacts: {}", names.join(", ")),
                evidence: self.missing_artifacts(),
            };
        }
        self.completed()
    }

    /// Nothing went wrong. What was left out says more than a warning does.
    fn completed(&self) -> Reason {
        let nothing_ran = self.has_run_nothing();
        if nothing_ran {
            let summary = "no check ran".to_owned();
            return Reason { code: ReasonCode::CompletedNothingRan, summary, evidence: Vec::new() };
        }
        let held_back = self.held_back();
        if let [first, rest @ ..] = held_back.as_slice() {
            let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
            let summary = format!("not everything happened: `{}` ({}){more}", first.id, first.label);
            return Reason { code: ReasonCode::CompletedWithSkips, summary, evidence: held_back };
        }
        if let [first, rest @ ..] = self.state.warnings.as_slice() {
            let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
            let summary = format!("completed with warnings: {}{more}", first.message);
            // In the order of the warnings: the first is what the summary is about.
            let mut evidence: Vec<Evidence> = Vec::new();
            for warning in &self.state.warnings {
                if let Some(check) = &warning.check
                    && !evidence.iter().any(|one| one.id == *check)
                {
                    evidence.push(Evidence::check(check, warning.message.clone()));
                }
            }
            evidence.extend(self.missing(|delivery| &delivery.missing_optional));
            return Reason { code: ReasonCode::CompletedWithWarnings, summary, evidence };
        }
        let summary = "every contract was met".to_owned();
        Reason { code: ReasonCode::CompletedOk, summary, evidence: Vec::new() }
    }

    /// The reason of a failed check, as that of a run which fails by it.
    pub(crate) fn failure_of(&self, check: CheckIndex) -> Option<Reason> {
        let failure =
            self.state.checks[check.place()].failures.values().min_by_key(|failure| failure.entry)?;
        let name = &self.state.plan.check(check).name;
        Some(Reason {
            code: failure.code,
            summary: format!("`{name}` failed: {}", failure.message),
            evidence: vec![Evidence::check(name, failure.message.clone())],
        })
    }

    fn stop_reason(&self, cause: &StopCause) -> Reason {
        let mut evidence = self.failed_checks();
        let (code, summary) = match cause {
            StopCause::Denied(denial) => return self.denied_reason(denial),
            StopCause::CancelledBySystem { successor: Some(successor) } => {
                evidence.push(Evidence::run(successor.as_str(), "the run that it made way for"));
                let what = match &self.state.group {
                    Some(group) => format!("of the concurrency group `{group}`"),
                    // A newer fire of a chain with `concurrency: replace`.
                    None => "of the same chain".to_owned(),
                };
                (ReasonCode::CancelledSystem, format!("cancelled to make way for run {successor} {what}"))
            }
            StopCause::CancelledBySystem { successor: None } => match &self.state.options.parent {
                // Nothing else sends a nested run the cancellation of the system.
                Some(around) => {
                    evidence.push(Evidence {
                        kind: "run".into(),
                        id: around.to_string(),
                        label: "the run around it".into(),
                    });
                    (ReasonCode::CancelledSystem, format!("cancelled with run {around} around it"))
                }
                None => (ReasonCode::CancelledSystem, "cancelled by a signal".to_owned()),
            },
            StopCause::CancelledByUser { inside: Some(inside) } => {
                evidence.push(Evidence::run(inside.as_str(), "the run whose command cancelled it"));
                (ReasonCode::CancelledUser, format!("cancelled by a command of run {inside}"))
            }
            StopCause::CancelledByUser { inside: None } => {
                (ReasonCode::CancelledUser, "cancelled by a person".to_owned())
            }
            StopCause::Deadline => (ReasonCode::TimedOutDeadline, "the run's own time was up".to_owned()),
        };
        Reason { code, summary, evidence }
    }

    /// Who denied what, and why. A reason travels unchanged from a nested run to the one around it.
    fn denied_reason(&self, denial: &Denial) -> Reason {
        match denial {
            Denial::Nested(reason) => reason.clone(),
            Denial::Here { check, by, claim, note } => {
                let words = denial_in_words(by.as_deref(), claim.as_deref(), note.as_deref());
                let mut evidence = self.failed_checks();
                if let Some(by) = by {
                    evidence.push(Evidence::person(by, note.as_deref().unwrap_or_default()));
                }
                let name = &self.state.plan.check(*check).name;
                Reason { code: ReasonCode::AbortedDenied, summary: format!("`{name}`: {words}"), evidence }
            }
        }
    }

    fn missing_artifacts(&self) -> Vec<Evidence> {
        self.missing(|delivery| &delivery.missing_required)
    }

    fn missing(&self, which: impl Fn(&Delivery) -> &Vec<MissingArtifact>) -> Vec<Evidence> {
        let missing = self.state.delivery.as_ref().map(which).into_iter().flatten();
        missing.map(|artifact| Evidence::expected_artifact(&artifact.id, &artifact.path)).collect()
    }

    /// An expression that could not be evaluated comes before every other failure of a check, then the earliest.
    fn first_decisive_failure(&self) -> Option<(CheckIndex, &CheckFailure)> {
        self.decisive_failures().min_by_key(|one| (one.1.code != ReasonCode::FailedExpression, entry_of(one)))
    }

    fn decisive_failures(&self) -> impl Iterator<Item = (CheckIndex, &CheckFailure)> {
        self.state.plan.indices().filter(|index| !self.is_tolerated(*index)).flat_map(|index| {
            self.state.checks[index.place()].failures.values().map(move |failure| (index, failure))
        })
    }

    fn failed_checks(&self) -> Vec<Evidence> {
        let mut failed: Vec<(u64, Evidence)> = Vec::new();
        for index in self.state.plan.indices().filter(|index| !self.is_tolerated(*index)) {
            let name = &self.state.plan.check(index).name;
            let first =
                self.state.checks[index.place()].failures.values().min_by_key(|failure| failure.entry);
            if let Some(failure) = first {
                failed.push((failure.entry, Evidence::check(name, failure.message.clone())));
            }
        }
        failed.sort_by_key(|(entry, _)| *entry);
        failed.into_iter().map(|(_, evidence)| evidence).collect()
    }
}

/// The entry at which a failure was judged.
fn entry_of((_, failure): &(CheckIndex, &CheckFailure)) -> u64 {
    failure.entry
}

/// Which wait a person should see first: the lowest.
fn rank(kind: WaitKind) -> u8 {
    match kind {
        WaitKind::UnknownEffect => 0,
        WaitKind::Approval => 1,
        WaitKind::Input => 2,
        WaitKind::Nested => 3,
    }
}
