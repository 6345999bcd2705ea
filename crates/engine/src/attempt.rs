//! Attempts: from an open gate to a committed intent, and from an answer to a verdict.

use std::sync::Arc;

use escrow_model::{
    Answer, AssumeMode, CheckIndex, Criticality, EffectIntent, Ending, Event, FaultClass, Issue, IssueCode,
    Request, RoutingBlock, ScopePath, SkipReason, Verdict,
};

use crate::ai::repairs_of;
use crate::approval::digest_of_subject;
use crate::exchange::Effect;
use crate::location::{AttemptKey, Location};
use crate::phase::{Certainty, Phase};
use crate::pure;
use crate::run::Run;
use crate::state::Cell;
use crate::turn::Deciding;
use crate::verdict::Judgement;
use crate::view::{BUDGET, View};

impl Deciding<'_> {
    /// `assume`, templates, safe mode, approval, and then the intent.
    pub(crate) fn attempt(&mut self, location: &Location) {
        let Location { check, scope } = location;
        let plan = self.plan();
        let spec = plan.check(*check);
        // An `assume` that no longer holds must not hide an effect that may have happened.
        if self.cell(*check, scope).is_some_and(Cell::is_unknown) && self.must_find_out(location) {
            return;
        }
        if self.is_assumption_broken(location) {
            return;
        }
        let (request, mut effect) = match self.render(*check, scope) {
            Ok(rendered) => rendered,
            Err(message) => {
                let issue = Issue::error(IssueCode::TemplateError, message);
                self.judge_as(location, Judgement::without_attempt(vec![issue], Some(FaultClass::Logical)));
                return;
            }
        };
        if let Some(place) = self.stars_in(*check, &request, effect.as_ref()) {
            let message =
                format!("{place} contains `***`, which stands for a secret: the world does not get it");
            let issue = Issue::error(IssueCode::RedactedValue, message);
            self.judge_as(location, Judgement::without_attempt(vec![issue], Some(FaultClass::Logical)));
            return;
        }
        if self.withholds_attempt(location) {
            let message = "a template puts a secret together: the value does not leave the run";
            let issue = Issue::error(IssueCode::SecretRendered, message);
            self.judge_as(location, Judgement::without_attempt(vec![issue], Some(FaultClass::Logical)));
            return;
        }
        if self.state.options.safe_mode && spec.mutating {
            self.record(Event::CheckSkipped {
                check: spec.name.clone(),
                scope: scope.clone(),
                reason: SkipReason::SafeMode,
                detail: "it would have changed the world".into(),
                request: Some(Box::new(request)),
            });
            return;
        }
        // A contract may have been broken since the gates were passed: while a person was asked, or during a backoff.
        if self.lacks_footing(location) {
            return;
        }
        if self.cell(*check, scope).is_some_and(|cell| cell.certainty == Certainty::Suspected) {
            self.find_out_about_item(location);
            return;
        }
        if let Some(intent) = &mut effect
            && !self.is_admitted(location, intent)
        {
            return;
        }
        if !self.is_reinspected(location) {
            return;
        }
        if let Some(rule) = &spec.requires_approval {
            let subject = self.approval_subject(location, &request);
            let digest = digest_of_subject(&subject);
            let approved = self.cell(*check, scope).and_then(|cell| cell.approved.clone());
            if approved.as_ref().is_none_or(|approved| approved.digest != digest) {
                let stale = approved.map(|approved| approved.wait);
                self.ask_approval(location, rule, subject, digest, stale);
                return;
            }
        }
        // Right before the attempt, after a backoff and an approval: the answer must not be older than they are.
        if self.must_find_out(location) {
            return;
        }
        self.begin_attempt(location, request, effect);
    }

    fn is_assumption_broken(&mut self, location: &Location) -> bool {
        let Location { check, scope } = location;
        let plan = self.plan();
        let spec = plan.check(*check);
        for assumption in &spec.assume {
            let answer = assumption.test(&View::before(self, *check, scope), BUDGET);
            let (message, error) = match answer {
                Ok(true) => continue,
                Ok(false) => (format!("`{}` does not hold", assumption.source()), false),
                Err(fault) => {
                    let fault = self.surroundings.in_words(&fault);
                    (format!("`assume` could not be evaluated: {fault}"), true)
                }
            };
            if self.is_repeat(location) {
                let attempt = self.last_attempt(location).number;
                let issue = Issue::error(IssueCode::AssumeFailed, message);
                let judgement = Judgement::of_absent_effect(attempt, issue).with_broken_contract();
                self.judge_as(location, judgement);
                return true;
            }
            match (spec.assume_mode, error) {
                (AssumeMode::Skip, false) => self.skip_check(*check, scope, SkipReason::Assume, message),
                (AssumeMode::Skip, true) => self.skip_for_error(location, SkipReason::Assume, message),
                (AssumeMode::Fail, error) => {
                    let mut issues = vec![Issue::error(IssueCode::AssumeFailed, message.clone())];
                    if error {
                        issues.insert(0, Issue::error(IssueCode::ExpressionError, message));
                    }
                    let judgement = Judgement::without_attempt(issues, Some(FaultClass::Logical));
                    self.judge_as(location, judgement.with_broken_contract());
                }
            }
            return true;
        }
        false
    }

    fn begin_attempt(&mut self, location: &Location, request: Request, effect: Option<EffectIntent>) {
        let Location { check, scope } = location;
        let plan = self.plan();
        let spec = plan.check(*check);
        let attempt = location.attempt(self.next_attempt(*check, scope));
        self.record(Event::AttemptStarted {
            check: spec.name.clone(),
            scope: scope.clone(),
            attempt: attempt.number,
            external: spec.criticality == Criticality::External,
            request: Arc::new(request),
            effect: effect.map(Box::new),
        });
        if let Some((answer, memory)) = pure::answer(self, *check, scope) {
            for change in memory {
                self.record(change);
            }
            self.take_answer(&attempt, answer);
            return;
        }
        let Some(request) = self.cell(*check, scope).and_then(|cell| cell.phase.request().cloned()) else {
            return;
        };
        if pure::HUMAN_INPUT.is(&spec.provider) {
            self.ask_input(location, &request);
        } else {
            self.ask_for(Effect::Perform { attempt, request });
        }
    }

    /// A provider's answer. One to an attempt that is not open came late or twice, and is dropped.
    pub(crate) fn take_answer(&mut self, attempt: &AttemptKey, mut answer: Answer) {
        let AttemptKey { check, scope, number } = attempt;
        let current = self.state.checks[check.place()].attempts.get(scope);
        let awaited = self.cell(*check, scope).is_some_and(|cell| cell.phase.has_open_attempt());
        if !awaited || current != Some(number) {
            return;
        }
        let plan = self.plan();
        let spec = plan.check(*check);
        self.admit_env(*check, &mut answer);
        self.warn_of_login(*check, &answer);
        let unknown = match &answer.ending {
            Ending::Fault(fault) => {
                fault.effect_unknown && spec.criticality == Criticality::External && !spec.idempotent
            }
            Ending::Done => false,
        };
        let was_stopping = self.state.admission.is_stopping();
        self.record(Event::AttemptAnswered {
            check: spec.name.clone(),
            scope: scope.clone(),
            attempt: *number,
            answer: Arc::new(answer),
        });
        let location = attempt.location();
        if self.state.admission.is_stopping() && !was_stopping {
            // A nested run was denied, so everything around it ends.
            self.stop_running();
        }
        if unknown {
            if !self.take_ledger_news(&location) && !self.schedule_look(&location) {
                self.find_out(&location, *number);
            }
            if self.state.admission.is_stopping() {
                self.wind_up(&location);
            }
            return;
        }
        if self.cell(*check, scope).is_some_and(|cell| matches!(cell.phase, Phase::Inspecting { .. })) {
            self.inspect_for(attempt);
            return;
        }
        let judgement = self.judge(*check, scope, *number);
        self.judge_as(&location, judgement);
    }

    /// Records a verdict, and what it means for the fault behind it.
    pub(crate) fn judge_as(&mut self, location: &Location, judgement: Judgement) {
        let Location { check, scope } = location;
        let plan = self.plan();
        let spec = plan.check(*check);
        let Judgement { attempt, verdict, issues, fault, violation, outcome } = judgement;
        if let Some(outcome) = outcome {
            let name = format!("{}{scope}", spec.name);
            self.store_outcome(name, outcome, Some(location), None);
        }
        if let (Verdict::Failed, Some(class), Some(issue)) = (verdict, fault, issues.first()) {
            let code = issue.code.clone();
            self.record(Event::FaultDetected { check: spec.name.clone(), scope: scope.clone(), class, code });
        }
        let settled =
            self.state.admission.is_stopping() || !self.stays_open(*check, scope, verdict, fault, &issues);
        self.record(Event::CheckJudged {
            check: spec.name.clone(),
            scope: scope.clone(),
            attempt,
            verdict,
            issues,
            fault,
            violation,
            settled,
        });
        self.tell_waiting_effects(location);
        match verdict {
            Verdict::Succeeded => self.recovered(location),
            Verdict::Failed => {
                if settled && spec.on_fail.is_empty() && repairs_of(spec) == 0 {
                    self.give_up_recovery(location);
                }
                self.isolate(location);
            }
        }
    }

    fn recovered(&mut self, location: &Location) {
        let Location { check, scope } = location;
        if self.cell(*check, scope).is_some_and(|cell| cell.recovering) {
            let name = self.plan().check(*check).name.clone();
            self.record(Event::RecoverySucceeded { check: name, scope: scope.clone() });
        }
    }

    /// Records that recovery was tried and failed.
    pub(crate) fn give_up_recovery(&mut self, location: &Location) {
        let Location { check, scope } = location;
        let failed =
            self.cell(*check, scope).is_some_and(|cell| cell.recovering && cell.has_verdict(Verdict::Failed));
        if failed && !self.state.admission.is_stopping() {
            let name = self.plan().check(*check).name.clone();
            self.record(Event::RecoveryExhausted { check: name, scope: scope.clone() });
        }
    }

    /// Records that a settled failure keeps dependents from running, unless the check may fail.
    pub(crate) fn isolate(&mut self, location: &Location) {
        let Location { check, scope } = location;
        let stands = self
            .cell(*check, scope)
            .is_some_and(|cell| cell.phase.is_settled() && cell.has_verdict(Verdict::Failed));
        let plan = self.plan();
        let spec = plan.check(*check);
        let keeps_back = !spec.continue_on_failure && !self.graph.dependents(*check).is_empty();
        if stands && keeps_back && !self.state.admission.is_stopping() {
            self.record(Event::FaultIsolated { check: spec.name.clone(), scope: scope.clone() });
        }
    }
}

impl Run {
    pub(crate) fn next_attempt(&self, check: CheckIndex, scope: &ScopePath) -> u32 {
        self.state.checks[check.place()].attempts.get(scope).copied().unwrap_or(0) + 1
    }

    /// The attempt that was started last. Its number is 0 where none was: a confirmed effect may have come here
    /// with its item, and `reconcile` or a person may be asked about it.
    pub(crate) fn last_attempt(&self, location: &Location) -> AttemptKey {
        location.attempt(self.next_attempt(location.check, &location.scope) - 1)
    }

    /// Dependents wait while a check's routing may re-run it or something it depends on.
    fn stays_open(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        verdict: Verdict,
        fault: Option<FaultClass>,
        issues: &[Issue],
    ) -> bool {
        let spec = self.state.plan.check(check);
        let block = match verdict {
            Verdict::Succeeded => RoutingBlock::Success,
            Verdict::Failed => RoutingBlock::Fail,
        };
        let retries = verdict == Verdict::Failed
            && (self.may_retry(check, scope, fault) || self.may_repair(check, scope, issues));
        let finish = !spec.for_each && self.graph.may_loop(check, RoutingBlock::Finish);
        retries || self.graph.may_loop(check, block) || finish
    }
}
