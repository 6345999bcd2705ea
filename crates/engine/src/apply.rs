//! The single place where the state of a run changes, for live runs and for replay.
//!
//!   Entry ──> Run::apply ──> state, agenda
//!
//! **Invariant:** applying never decides. It records what an entry says and puts on the agenda what may follow from
//! it. An event that cannot follow from the entries before it is an error, so a journal that is corrupt or another
//! run's is refused instead of read as something else.

mod expect;
mod routes;
mod waits;

use std::sync::Arc;

use escrow_model::{
    Answer, ApprovalStatus, Assumption, CheckIndex, Ending, Entry, Event, FaultCode, Issue, IssueCode,
    Message, Millis, Plan, Reason, ReasonCode, RetryKind, RunStatus, ScopePath, SkipReason, Verdict,
    WaitKind,
};
use serde_json::Value;

use crate::admission::{Denial, StopCause};
use crate::apply_error::{ApplyError, PhaseName};
use crate::cut_output::CutOutput;
use crate::effect::EffectStanding;
use crate::location::Location;
use crate::phase::{Certainty, Phase};
use crate::run::Run;
use crate::state::{AnswerHistory, CheckFailure, RecordedAnswer, RunFailure, Wait};
use crate::verdict::failure_code;
use expect::expect_status;

impl Run {
    /// Records one entry. After an error the run has to be dropped: it may have taken in a part of the entry.
    pub(crate) fn apply(&mut self, entry: &Entry) -> Result<(), ApplyError> {
        self.check_run_status(&entry.event)?;
        self.state.entries += 1;
        let at = entry.at;
        self.state.latest_at = self.state.latest_at.max(at);
        match &entry.event {
            Event::RunStarted { title, group, .. } => {
                self.state.title.clone_from(title);
                self.state.group.clone_from(group);
                Ok(())
            }
            Event::CheckSkipped { check, scope, reason, request, .. } => {
                let check = self.index(check)?;
                self.skip(check, scope, *reason)?;
                if let Some(request) = request {
                    self.expect_cell_mut(check, scope)?.prevented = Some(request.clone());
                }
                Ok(())
            }
            Event::AttemptStarted { check, scope, attempt, request, effect, .. } => {
                let check = self.index(check)?;
                self.expect_phase(check, scope, &[PhaseName::Pending, PhaseName::Due])?;
                self.expect_attempt(check, scope, *attempt, self.next_attempt(check, scope))?;
                let state = &mut self.state.checks[check.place()];
                state.runs += 1;
                *state.attempts.get_or_default(scope.clone()) += 1;
                self.effect_intended(check, scope, effect.as_deref(), at)?;
                self.set_phase(check, scope, Phase::Running { request: Arc::clone(request) })?;
                let cell = self.expect_cell_mut(check, scope)?;
                cell.last_result.runs += 1;
                cell.is_repairing = false;
                cell.changed = None;
                cell.certainty = Certainty::Known;
                Ok(())
            }
            Event::LedgerAsked { check, scope, key, digest } => {
                let check = self.index(check)?;
                self.ledger_asked(check, scope, (key, digest))
            }
            Event::LedgerAnswered { check, scope, key, effect, refused } => {
                let check = self.index(check)?;
                self.ledger_answered(check, scope, key, effect.as_deref(), *refused)
            }
            Event::EffectReused { check, scope, key, run } => {
                let check = self.index(check)?;
                self.expect_phase(check, scope, &[PhaseName::Pending, PhaseName::Due])?;
                self.effect_reused(check, scope, key, run)
            }
            Event::EffectResolved { check, scope, key, state, .. } => {
                let check = self.index(check)?;
                self.effect_resolved(check, scope, key, *state)
            }
            Event::AttemptAnswered { check, scope, attempt, answer } => {
                let check = self.index(check)?;
                self.expect_last_attempt(check, scope, *attempt)?;
                self.answered(check, scope, answer)
            }
            Event::CheckJudged { check, scope, attempt, verdict, issues, fault, violation, settled } => {
                let check = self.index(check)?;
                if *attempt > 0 {
                    self.expect_last_attempt(check, scope, *attempt)?;
                }
                self.expect_judgeable(check, scope)?;
                let cell = self.expect_cell(check, scope)?;
                let delivered = cell.phase.delivery().and(cell.delivered.clone());
                if let (Verdict::Succeeded, Some(files)) = (verdict, delivered) {
                    self.note_verified(check, scope, files);
                }
                self.set_phase(check, scope, Phase::Judged { fault: *fault })?;
                self.judged(check, scope, *verdict, issues, *violation)?;
                if *settled { self.settle(check, scope) } else { Ok(()) }
            }
            Event::OutcomeStored { outcome } => {
                if let Some(check) = &outcome.check {
                    self.index(check)?;
                }
                self.state.outcomes.push((at, Arc::new((**outcome).clone())));
                Ok(())
            }
            Event::CheckSettled { check, scope } => {
                let check = self.index(check)?;
                let open = [PhaseName::Judged, PhaseName::RetryWait, PhaseName::Due, PhaseName::Waiting];
                self.expect_phase(check, scope, &open)?;
                self.settle(check, scope)
            }
            Event::RetryScheduled { check, scope, at, kind: RetryKind::Repair, .. } => {
                let check = self.index(check)?;
                self.expect_phase(check, scope, &[PhaseName::Judged])?;
                self.set_phase(check, scope, Phase::RetryWait { due: *at })?;
                let cell = self.expect_cell_mut(check, scope)?;
                cell.repairs += 1;
                cell.is_repairing = true;
                self.forget_route(check, scope);
                Ok(())
            }
            Event::RetryScheduled { check, scope, at, kind: RetryKind::Retry, .. } => {
                let check = self.index(check)?;
                // Without a verdict, the effect is unknown: `reconcile` looks for it before the retry.
                self.expect_phase(check, scope, &[PhaseName::Judged, PhaseName::Answered])?;
                let is_judged = matches!(self.expect_cell(check, scope)?.phase, Phase::Judged { .. });
                self.set_phase(check, scope, Phase::RetryWait { due: *at })?;
                let cell = self.expect_cell_mut(check, scope)?;
                cell.retries += 1;
                cell.retry_counted = true;
                if !is_judged {
                    cell.certainty = Certainty::Unknown;
                }
                self.forget_route(check, scope);
                Ok(())
            }
            Event::RetryDue { check, scope } => {
                let check = self.index(check)?;
                self.expect_phase(check, scope, &[PhaseName::RetryWait])?;
                self.mark_running();
                self.make_due(check, scope)
            }
            Event::Routed { check, scope, by, to, to_scope, goto_event, again, .. } => {
                let (source, target) = (self.index(check)?, self.index(to)?);
                if self.withdraws_open_attempt(source, scope, target) {
                    return Err(ApplyError::WithdrawsAttempt(to.clone()));
                }
                if *again {
                    *self.state.loops.entry(self.region(target, to_scope)).or_default() += 1;
                }
                let source = Location::new(source, scope.clone());
                self.invalidate_from(&source, target, to_scope, goto_event.as_deref())?;
                self.note_run_target(source, *by, Location::new(target, to_scope.clone()));
                Ok(())
            }
            Event::RoutingDone { check, scope, block } => {
                let check = self.index(check)?;
                self.routing_done(check, scope, *block)
            }
            Event::LoopBudgetExceeded { check, scope, to, limit } => {
                let (source, target) = (self.index(check)?, self.index(to)?);
                let message = format!("routing to `{to}` again would exceed the loop budget of {limit}");
                self.halt(target, scope);
                self.raise(source, scope, &Issue::error(IssueCode::LoopBudgetExceeded, message.clone()));
                self.fail_run(ReasonCode::FailedLoopBudget, source, message);
                Ok(())
            }
            Event::IssueRaised { check, scope, issue, fails_run } => {
                let check = self.index(check)?;
                self.raise(check, scope, issue);
                if let Some(code) = fails_run {
                    self.fail_run(*code, check, issue.message.clone());
                }
                Ok(())
            }
            Event::WarningRaised { warning } => {
                self.state.warnings.push(warning.clone());
                Ok(())
            }
            Event::FaultDetected { check, .. } | Event::FaultIsolated { check, .. } => {
                self.index(check).map(|_| ())
            }
            Event::RecoveryStarted { check, scope, .. } => {
                let check = self.index(check)?;
                self.expect_cell_mut(check, scope)?.recovering = true;
                Ok(())
            }
            Event::RecoverySucceeded { check, scope } | Event::RecoveryExhausted { check, scope } => {
                let check = self.index(check)?;
                self.expect_cell_mut(check, scope)?.recovering = false;
                Ok(())
            }
            Event::WaitStarted {
                check,
                scope,
                kind,
                id,
                digest,
                subject,
                replaces,
                nested_reason,
                prompt,
                choices,
                expires_at,
            } => {
                let check = self.index(check)?;
                let wait = Wait {
                    location: Location::new(check, scope.clone()),
                    kind: *kind,
                    digest: digest.clone(),
                    subject: subject.as_deref().cloned().map(Arc::new),
                    approved_by: Vec::new(),
                    nested_reason: *nested_reason,
                    prompt: prompt.clone(),
                    choices: choices.clone(),
                    expires_at: *expires_at,
                };
                self.wait(id, wait)?;
                if *kind == WaitKind::Approval {
                    let cell = self.expect_cell_mut(check, scope)?;
                    cell.approved = None;
                    cell.asked_anew += u32::from(replaces.is_some());
                }
                Ok(())
            }
            Event::NestedResumed { check, scope } => {
                let check = self.index(check)?;
                self.nested_resumed(check, scope)
            }
            Event::ReconcileStarted { check, scope, attempt, request } => {
                let check = self.index(check)?;
                self.expect_last_attempt(check, scope, *attempt)?;
                let cell = self.expect_cell(check, scope)?;
                if matches!(cell.phase, Phase::Settled { .. }) && cell.is_unknown() {
                    // A run that was opened again. It was counted as settled above, and is open again.
                    self.uncount(check, scope)?;
                } else {
                    let open = [PhaseName::Answered, PhaseName::Pending, PhaseName::Due];
                    self.expect_phase(check, scope, &open)?;
                }
                self.set_phase(check, scope, Phase::Reconciling { request: Arc::clone(request) })?;
                let elsewhere = self.asks_elsewhere(&Location::new(check, scope.clone()));
                let cell = self.expect_cell_mut(check, scope)?;
                cell.certainty = Certainty::Unknown;
                cell.asked_elsewhere = elsewhere;
                Ok(())
            }
            Event::Reconciled { check, scope, attempt, finding, output, effect, answer, .. } => {
                self.note_confirmation(*finding, effect.as_ref());
                self.state.redacted |= answer.is_redacted();
                let check = self.index(check)?;
                self.expect_last_attempt(check, scope, *attempt)?;
                self.expect_phase(check, scope, &[PhaseName::Reconciling])?;
                // The verdict or the wait follows as an entry of its own.
                match finding {
                    Some(Assumption::Retry) => {
                        self.set_standing(check, scope, EffectStanding::Failed);
                        let cell = self.expect_cell_mut(check, scope)?;
                        cell.repeats += u32::from(!cell.retry_counted);
                        self.repeat(check, scope)
                    }
                    Some(Assumption::Done) => {
                        let given = output.clone().map(Answer::confirmed_later);
                        self.effect_confirmed(check, scope, given)
                    }
                    Some(Assumption::Failed) => {
                        self.set_standing(check, scope, EffectStanding::Failed);
                        self.set_phase(check, scope, Phase::Answered)
                    }
                    None => self.set_phase(check, scope, Phase::Answered),
                }
            }
            Event::MessageDelivered { message, refused: None, refusal: _, effect, sent_at } => {
                if let Some(refused) = self.refusal(message) {
                    return Err(ApplyError::Refused(refused.to_string()));
                }
                self.mark_running();
                self.note_decision(sent_at.unwrap_or(at), message);
                self.note_answer(message);
                self.note_effect_elsewhere(message, effect.as_ref())?;
                self.message_delivered(message)
            }
            Event::MessageDelivered { message, refused: Some(_), .. } => {
                if matches!(message, Message::Cancel { patient: true, .. }) {
                    self.state.admission.drain(message);
                }
                Ok(())
            }
            Event::WaitExpired { id } => {
                let wait = self.state.waits.get_mut(id).ok_or_else(|| ApplyError::NoWait(id.clone()))?;
                wait.expires_at = None;
                self.decided(at, id, ApprovalStatus::Expired, [None, None, None]);
                self.mark_running();
                Ok(())
            }
            Event::WaitWithdrawn { check, scope, id } => {
                let check = self.index(check)?;
                if let Some(cell) = self.cell_mut(check, scope) {
                    cell.question = cell.question.take().filter(|asked| asked != id);
                }
                if self.state.waits.contains_key(id) {
                    return Err(ApplyError::WaitTwice(id.clone()));
                }
                Ok(())
            }
            Event::ArtifactChanged { check, scope, artifact } => {
                let check = self.index(check)?;
                self.expect_phase(check, scope, &[PhaseName::Pending, PhaseName::Due])?;
                self.expect_cell_mut(check, scope)?.changed = Some(Box::new(artifact.clone()));
                Ok(())
            }
            Event::MemoryChanged { namespace, key, value } => {
                self.change_memory(namespace, key, value.as_ref());
                Ok(())
            }
            Event::RunResumed { by } => {
                self.state.resumed_by.extend(by.iter().cloned());
                self.mark_running();
                Ok(())
            }
            Event::RunReopened { places, by, group } => {
                self.state.group.clone_from(group);
                self.state.resumed_by.extend(by.clone());
                self.apply_reopened(at, places)
            }
            Event::RunWaiting { reason } => {
                expect_status(reason, reason.code.status() == RunStatus::Waiting)?;
                self.state.status = RunStatus::Waiting;
                self.state.reason = Some(reason.clone());
                Ok(())
            }
            Event::DeadlinePassed {} => {
                if self.state.admission.is_stopping() {
                    return Err(ApplyError::AlreadyStopping);
                }
                self.stop(StopCause::Deadline);
                Ok(())
            }
            Event::CheckInspected { check, scope, attempt, delivery } => {
                let check = self.index(check)?;
                self.expect_last_attempt(check, scope, *attempt)?;
                self.expect_phase(check, scope, &[PhaseName::Inspecting])?;
                let missing = delivery.missing_required.iter().chain(&delivery.missing_optional);
                let missing = missing.cloned().collect();
                let files = self.artifact_files(&delivery.produced);
                self.state.redacted |= delivery.produced.iter().any(|file| file.redacted);
                let cell = self.expect_cell_mut(check, scope)?;
                cell.last_result.missing = missing;
                cell.delivered = Some(files);
                self.set_phase(check, scope, Phase::Inspecting { delivery: Some(delivery.clone()) })
            }
            Event::ArtifactsVerified { delivery } => {
                if self.state.delivery.is_some() {
                    return Err(ApplyError::AlreadyVerified);
                }
                self.state.delivery = Some(delivery.clone());
                Ok(())
            }
            Event::RunEnded { reason } => self.ended(at, reason),
            Event::RunOverridden { reason, by, why } => {
                let status = reason.code.status();
                expect_status(reason, ReasonCode::overridden(status) == Some(reason.code))?;
                self.apply_override(at, reason, by, why);
                Ok(())
            }
        }
    }

    /// Only these events may follow the end of a run, and they need it.
    fn check_run_status(&self, event: &Event) -> Result<(), ApplyError> {
        let ended = self.state.status.is_terminal();
        let needs_end = matches!(
            event,
            Event::RunReopened { .. } | Event::RunOverridden { .. } | Event::EffectResolved { .. }
        );
        match event {
            Event::RunStarted { .. } if self.state.entries > 0 => Err(ApplyError::AlreadyStarted),
            _ if needs_end && !ended => Err(ApplyError::NotEnded),
            _ if ended && !needs_end => Err(ApplyError::AfterEnd),
            _ => Ok(()),
        }
    }

    /// A run that waited for people runs on. If it still has to wait, a later entry says so again.
    fn mark_running(&mut self) {
        self.state.status = RunStatus::Running;
        self.state.reason = None;
    }

    fn ended(&mut self, at: Millis, reason: &Reason) -> Result<(), ApplyError> {
        expect_status(reason, reason.code.status().is_terminal())?;
        if self.state.busy > 0 {
            return Err(ApplyError::StillBusy);
        }
        self.state.status = reason.code.status();
        self.state.reason = Some(reason.clone());
        self.state.ended_at = Some(at);
        Ok(())
    }

    fn skip(&mut self, check: CheckIndex, scope: &ScopePath, reason: SkipReason) -> Result<(), ApplyError> {
        if scope.depth() < self.plan().check(check).fan.len() {
            return self.skip_group(check, scope, reason);
        }
        let cell = self.expect_cell(check, scope)?;
        let may_skip = match &cell.phase {
            Phase::Pending | Phase::Due | Phase::RetryWait { .. } | Phase::Judged { .. } => true,
            Phase::Waiting { request, .. } => request.is_none(),
            Phase::Running { .. }
            | Phase::Reconciling { .. }
            | Phase::Consulting { .. }
            | Phase::Inspecting { .. }
            | Phase::Answered
            | Phase::Settled { .. } => false,
        };
        if !may_skip {
            return Err(self.wrong_phase(check, scope));
        }
        self.set_phase(check, scope, Phase::Settled { skipped: Some(reason) })?;
        self.close(check, scope)
    }

    fn answered(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        answer: &Arc<Answer>,
    ) -> Result<(), ApplyError> {
        if !self.expect_cell(check, scope)?.phase.has_open_attempt() {
            return Err(self.wrong_phase(check, scope));
        }
        let entry = self.state.entries;
        self.state.redacted |= answer.is_redacted();
        self.count_spending(answer);
        for (name, value) in &answer.env {
            self.state.handed_env.insert(name.clone(), Value::String(value.clone()));
        }
        self.state.checks[check.place()].has_cut_output |= CutOutput::of(answer).stdout;
        let histories = &mut self.state.checks[check.place()].histories;
        for depth in 0..=scope.depth() {
            let AnswerHistory(recorded) = histories.get_or_default(scope.truncated(depth));
            recorded.push(RecordedAnswer { entry, answer: Arc::clone(answer) });
        }
        let inspects = self.inspects(check, answer);
        let phase = if inspects { Phase::Inspecting { delivery: None } } else { Phase::Answered };
        self.set_phase(check, scope, phase)?;
        self.release_capacity(check, scope);
        self.effect_answered(check, scope, answer);
        self.remember_nested(check, scope, answer);
        let cell = self.expect_cell_mut(check, scope)?;
        cell.last_result.missing.clear();
        cell.delivered = None;
        cell.answer = Some(Arc::clone(answer));
        cell.spent.add(answer);
        if let Some(conversation) = answer.record.get("conversation") {
            cell.conversation = Some(conversation.clone());
        }
        cell.pass_from = entry;
        self.forget_outputs(check, scope);
        let is_chain = self.state.plan.kind.chain().is_some();
        if let Ending::Fault(fault) = &answer.ending
            && let FaultCode::Nested(code) = &fault.code
            && (*code == ReasonCode::AbortedDenied || is_chain && code.status() == RunStatus::Aborted)
        {
            let reason =
                answer.output.get("reason").cloned().and_then(|told| serde_json::from_value(told).ok());
            let reason = reason.unwrap_or_else(|| Reason {
                code: *code,
                summary: fault.message.clone(),
                evidence: Vec::new(),
            });
            self.stop(StopCause::Denied(Denial::Nested(reason)));
        }
        Ok(())
    }

    fn judged(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        verdict: Verdict,
        issues: &[Issue],
        violation: bool,
    ) -> Result<(), ApplyError> {
        let entry = self.state.entries;
        let cell = self.expect_cell_mut(check, scope)?;
        cell.last_result.verdict = Some(verdict);
        cell.last_result.issues = issues.to_vec();
        cell.certainty = cell.certainty.once_answered();
        match verdict {
            Verdict::Succeeded => {
                self.effect_kept(check, scope);
                let state = &mut self.state.checks[check.place()];
                state.failures.remove(scope);
                if state.violations.remove(scope) {
                    self.count_violations(0, 1)?;
                }
            }
            Verdict::Failed => {
                let code = failure_code(issues);
                let message = issues.first().map(|issue| issue.message.clone()).unwrap_or_default();
                let state = &mut self.state.checks[check.place()];
                state.failures.insert(scope.clone(), CheckFailure { code, message, entry });
                if violation && state.violations.insert(scope.clone()) {
                    self.count_violations(1, 0)?;
                }
            }
        }
        if !self.state.admission.is_stopping() {
            self.open_route(check, scope, verdict);
        }
        Ok(())
    }

    fn change_memory(&mut self, namespace: &str, key: &str, value: Option<&Value>) {
        let space = self.state.memory.entry(namespace.to_owned());
        let space = space.or_insert_with(|| Value::Object(Default::default()));
        if let Value::Object(space) = space {
            match value {
                Some(value) => drop(space.insert(key.to_owned(), value.clone())),
                None => drop(space.shift_remove(key)),
            }
        }
    }

    /// An effect that did not happen is tried once more, past the gates.
    fn repeat(&mut self, check: CheckIndex, scope: &ScopePath) -> Result<(), ApplyError> {
        self.make_due(check, scope)?;
        let cell = self.expect_cell_mut(check, scope)?;
        cell.cleared = true;
        cell.cleared_elsewhere = cell.asked_elsewhere;
        // The ledger knows more by now.
        cell.ledger = None;
        Ok(())
    }

    pub(crate) fn make_due(&mut self, check: CheckIndex, scope: &ScopePath) -> Result<(), ApplyError> {
        self.set_phase(check, scope, Phase::Due)?;
        self.state.agenda.0.checks.insert(Location::new(check, scope.clone()));
        Ok(())
    }

    fn stop(&mut self, cause: StopCause) {
        self.state.admission.stop(cause);
        self.mark_running();
        self.put_everything_on_the_agenda();
    }

    fn raise(&mut self, check: CheckIndex, scope: &ScopePath, issue: &Issue) {
        self.state.issues.push((Location::new(check, scope.clone()), issue.clone()));
    }

    /// The causes rank: a loop budget beats an expression error, and the first of a kind stands.
    fn fail_run(&mut self, code: ReasonCode, check: CheckIndex, message: String) {
        let outranks = match &self.state.first_failure {
            None => true,
            Some(earlier) => {
                code == ReasonCode::FailedLoopBudget && earlier.code != ReasonCode::FailedLoopBudget
            }
        };
        if outranks {
            self.state.first_failure = Some(RunFailure { code, check, message });
        }
    }

    pub(crate) fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.state.plan.0)
    }
}
