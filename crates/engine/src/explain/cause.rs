//! The entry that decided, with the expressions that decided it evaluated again.

use escrow_expr::Scope;
use escrow_model::{
    Assumption, CheckIndex, Ending, Event, Expression, IssueCode, Message, MissingArtifact, ReasonCode,
    ScopePath, SkipReason, Verdict, WaitKind,
};

use super::{Cause, Construct, Evaluation, JournalReader, decisive, resolution_in_words};
use crate::approval::{approval_in_words, denial_in_words};
use crate::location::Location;
use crate::run::{ReplayError, Run};
use crate::view::{BUDGET, View};

impl JournalReader<'_> {
    /// The entry that the run's reason goes back to, and the check that it is about.
    pub(super) fn run_cause(&self) -> Option<(usize, Option<Location>)> {
        let (ended, reason) = self.reason()?;
        if let Event::RunOverridden { .. } = self.entries[ended].event {
            return Some((ended, None));
        }
        let last = |wanted: &dyn Fn(&Event) -> bool| {
            self.entries[..ended].iter().rposition(|entry| wanted(&entry.event))
        };
        let of_run = |index: Option<usize>| Some((index.unwrap_or(ended), None));
        match reason.code {
            ReasonCode::FailedMissingArtifact => {
                of_run(last(&|event| matches!(event, Event::ArtifactsVerified { .. })))
            }
            ReasonCode::FailedLoopBudget => {
                of_run(last(&|event| matches!(event, Event::LoopBudgetExceeded { .. })))
            }
            ReasonCode::CancelledUser | ReasonCode::CancelledSystem => of_run(last(&|event| {
                matches!(
                    event,
                    Event::MessageDelivered { message: Message::Cancel { .. }, refused: None, .. }
                )
            })),
            ReasonCode::AbortedDenied => of_run(last(&|event| {
                matches!(event, Event::MessageDelivered { message: Message::Deny { .. }, refused: None, .. })
            })),
            ReasonCode::TimedOutDeadline => of_run(last(&|event| matches!(event, Event::DeadlinePassed {}))),
            _ => {
                let named = reason.evidence.iter().find(|evidence| evidence.kind == "check");
                let waited = || reason.evidence.first().and_then(|evidence| self.waits_at(&evidence.id));
                let name = named.map(|evidence| evidence.id.as_str()).or_else(waited);
                let check = name.and_then(|name| self.find(name));
                let Some(check) = check else { return of_run(None) };
                let decided = self.decision(check, &ScopePath::root(), ended);
                let Some(decided) = decided else { return of_run(None) };
                let scope = super::scope_of(&self.entries[decided].event).cloned().unwrap_or_default();
                Some((decided, Some(Location { check, scope })))
            }
        }
    }

    /// The check that waits under this id.
    fn waits_at(&self, wanted: &str) -> Option<&str> {
        self.entries.iter().rev().find_map(|entry| match &entry.event {
            Event::WaitStarted { check, id, .. } if id == wanted => Some(check.as_str()),
            _ => None,
        })
    }

    /// Who approved the last request of a check before an entry.
    fn approvals(&self, check: &str, scope: &ScopePath, before: usize) -> Vec<String> {
        let asked = self.entries[..before].iter().rev().find_map(|entry| match &entry.event {
            Event::WaitStarted { check: at, scope: here, kind: WaitKind::Approval, id, .. } => {
                (at == check && here == scope).then_some(id)
            }
            _ => None,
        });
        let Some(asked) = asked else { return Vec::new() };
        let given = self.entries[..before].iter().filter_map(|entry| match &entry.event {
            Event::MessageDelivered {
                message: Message::Approve { id, by, claim, note },
                refused: None,
                ..
            } => {
                let words = approval_in_words(by.as_deref(), claim.as_deref(), note.as_deref());
                (id == asked).then_some(words)
            }
            _ => None,
        });
        given.collect()
    }

    pub(super) fn cause(&self, index: usize) -> Result<Cause, ReplayError> {
        let event = &self.entries[index].event;
        let mut cause = self.bare_cause(index, self.summary(index));
        cause.check = event.check().map(str::to_owned);
        cause.scope = super::scope_of(event).cloned().unwrap_or_default();
        match event {
            Event::CheckJudged { attempt, issues, .. } => {
                cause.attempt = Some(*attempt).filter(|attempt| *attempt > 0);
                cause.issues.clone_from(issues);
            }
            Event::AttemptStarted { attempt, .. } => cause.attempt = Some(*attempt),
            _ => {}
        }
        let check = event.check().and_then(|name| self.find(name));
        if let Some(check) = check {
            cause.evaluations = self.evaluations(index, check, &cause.scope)?;
        }
        Ok(cause)
    }

    /// What was evaluated for a decision, over the state of that moment.
    fn evaluations(
        &self,
        index: usize,
        check: CheckIndex,
        scope: &ScopePath,
    ) -> Result<Vec<Evaluation>, ReplayError> {
        match &self.entries[index].event {
            Event::CheckSkipped { reason: SkipReason::IfCondition | SkipReason::Assume, .. } => {
                Ok(gates(&*self.before(index)?, check, scope))
            }
            Event::CheckJudged { verdict, issues, .. } => {
                let code = decisive(issues).map(|issue| &issue.code);
                if code == Some(&IssueCode::AssumeFailed) {
                    return Ok(gates(&*self.before(index)?, check, scope));
                }
                if let Some(found) = self.reconciled(index, check, scope)? {
                    return Ok(found);
                }
                if self.is_assumed(index) || code == Some(&IssueCode::TemplateError) {
                    return Ok(Vec::new());
                }
                let mut all = Vec::new();
                if *verdict == Verdict::Succeeded
                    && let Some(started) = self.started(check, scope, index)
                {
                    all.extend(gates(&*self.before(started)?, check, scope));
                }
                all.extend(contracts(&*self.before(index)?, check, scope));
                Ok(all)
            }
            Event::WaitStarted { .. } | Event::AttemptStarted { .. } | Event::ReconcileStarted { .. } => {
                if let Some(found) = self.reconciled(index, check, scope)? {
                    return Ok(found);
                }
                Ok(gates(&*self.before(index)?, check, scope))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The intent of the attempt that an entry judged.
    fn started(&self, check: CheckIndex, scope: &ScopePath, before: usize) -> Option<usize> {
        let name = &self.plan.check(check).name;
        self.entries[..before].iter().rposition(|entry| {
            matches!(&entry.event, Event::AttemptStarted { check, scope: at, .. } if check == name && at == scope)
        })
    }

    /// What was read from the answer of `reconcile`, where the entry before holds one.
    fn reconciled(
        &self,
        index: usize,
        check: CheckIndex,
        scope: &ScopePath,
    ) -> Result<Option<Vec<Evaluation>>, ReplayError> {
        let Some(Event::Reconciled { answer, .. }) = self.entry_before(index) else { return Ok(None) };
        let then = self.before(index - 1)?;
        let view = View::during(&then, check, scope, Some(answer));
        let reconcile = self.plan.check(check).reconcile.as_ref();
        let expressions = reconcile.into_iter().flat_map(|reconcile| reconcile.expressions());
        let found = expressions.map(|(finding, expression)| {
            let construct = match finding {
                Assumption::Done => Construct::ReconcileDone,
                Assumption::Failed => Construct::ReconcileFailed,
                Assumption::Retry => Construct::ReconcileRetry,
            };
            evaluate(construct, expression, &view, false)
        });
        Ok(Some(found.collect()))
    }

    pub(super) fn entry_before(&self, index: usize) -> Option<&Event> {
        Some(&self.entries.get(index.checked_sub(1)?)?.event)
    }

    /// Whether a person made the verdict.
    pub(super) fn is_assumed(&self, index: usize) -> bool {
        index > 0
            && matches!(
                self.entries[index - 1].event,
                Event::MessageDelivered { message: Message::Assume { .. }, refused: None, .. }
            )
    }

    /// The key of an effect that a run which has ended left unknown.
    fn left_unknown(&self, check: &str, scope: &ScopePath) -> Option<String> {
        let now = self.now().ok()?;
        let cell = now.cell(self.find(check)?, scope)?;
        let is_left = now.state.status.is_terminal() && cell.is_unknown();
        is_left.then(|| cell.last_key.clone()).flatten()
    }

    fn summary(&self, index: usize) -> String {
        match &self.entries[index].event {
            Event::CheckSkipped { check, scope, reason: SkipReason::ContractBlocked, detail, .. }
                if !detail.is_empty() =>
            {
                format!("`{check}{scope}` was blocked: {detail}")
            }
            Event::CheckSkipped { check, scope, reason, detail, request } => {
                let why = skip_sentence(*reason);
                let more = if detail.is_empty() { String::new() } else { format!(": {detail}") };
                let prevented = request.as_ref().zip(self.find(check));
                let prevented =
                    prevented.map(|(request, check)| format!(":{}", self.prevented(check, request)));
                format!("`{check}{scope}` was skipped, because {why}{more}{}", prevented.unwrap_or_default())
            }
            Event::CheckJudged { check, scope, verdict, issues, .. } => match verdict {
                Verdict::Succeeded if self.is_assumed(index) => {
                    format!("a person says that `{check}{scope}` was done")
                }
                Verdict::Succeeded
                    if let Some(Event::Reconciled { detail, .. }) = self.entry_before(index) =>
                {
                    format!("`{check}{scope}` was done, as `reconcile` found: {detail}")
                }
                Verdict::Succeeded
                    if let Some(Event::EffectReused { run, key, .. }) = self.entry_before(index) =>
                {
                    format!("`{check}{scope}` was already done: run {run} confirmed the effect `{key}`")
                }
                Verdict::Succeeded => {
                    let approved = self.approvals(check, scope, index);
                    let approved = approved.iter().map(|words| format!("; {words}")).collect::<String>();
                    format!("`{check}{scope}` ran and kept its contract{approved}")
                }
                Verdict::Failed => {
                    let message = decisive(issues).map_or("it failed", |issue| issue.message.as_str());
                    format!("`{check}{scope}` failed: {message}")
                }
            },
            Event::WaitStarted { check, scope, kind: WaitKind::UnknownEffect, .. }
                if let Some(key) = self.left_unknown(check, scope) =>
            {
                format!(
                    "it is unknown whether `{check}{scope}` happened: the run ended before a person said so. \
                     `escrow effects resolve KEY 'done|failed' --by NAME --why TEXT` settles it, where KEY is `{key}`"
                )
            }
            Event::WaitStarted { check, scope, kind, id, prompt, .. } => {
                let what = match kind {
                    WaitKind::Approval => "an approval",
                    WaitKind::Input => "an answer",
                    WaitKind::UnknownEffect => "a person who knows whether it took effect",
                    WaitKind::Nested => "a run inside it",
                };
                format!("`{check}{scope}` waits for {what} ({id}): {prompt}")
            }
            Event::AttemptStarted { check, scope, attempt, .. } => {
                format!("attempt {attempt} of `{check}{scope}` was started and has not been answered")
            }
            Event::EffectResolved { check, scope, state, by, why, .. } => {
                format!("`{check}{scope}`: {}", resolution_in_words(*state, by, why))
            }
            Event::ReconcileStarted { check, scope, attempt, .. } => {
                format!(
                    "it is unknown whether attempt {attempt} of `{check}{scope}` took effect; `reconcile` is asked"
                )
            }
            Event::LoopBudgetExceeded { check, scope, to, limit } => {
                format!("`{check}{scope}` routed to `{to}` once more than the loop budget of {limit} allows")
            }
            Event::ArtifactsVerified { delivery } => {
                let missing: Vec<String> =
                    delivery.missing_required.iter().map(MissingArtifact::in_words).collect();
                format!("required artifacts are missing: {}", missing.join(", "))
            }
            Event::MessageDelivered { message: Message::Cancel { successor: Some(other), .. }, .. } => {
                format!("run {other} of the same concurrency group cancelled the run")
            }
            Event::MessageDelivered { message: Message::Cancel { inside: Some(other), .. }, .. } => {
                format!("a command of run {other} cancelled the run")
            }
            Event::MessageDelivered { message: Message::Cancel { by, system, .. }, .. } => match (by, system)
            {
                (Some(by), _) => format!("{by} cancelled the run"),
                (None, true) => "a signal ended the run".into(),
                (None, false) => "a person cancelled the run".into(),
            },
            Event::MessageDelivered { message: Message::Deny { id, by, claim, note }, .. } => {
                let words = denial_in_words(by.as_deref(), claim.as_deref(), note.as_deref());
                match self.waits_at(id) {
                    Some(check) => format!("`{check}`: {words}"),
                    None => words,
                }
            }
            Event::DeadlinePassed {} => "the run's own time was up".into(),
            Event::RunOverridden { reason, .. } => {
                let earlier = reason.evidence.iter().find(|evidence| evidence.kind == "earlier_reason");
                let before = earlier.map(|one| format!("; before that, {}: {}", one.id, one.label));
                format!("{}{}", reason.summary, before.unwrap_or_default())
            }
            Event::RunEnded { reason } | Event::RunWaiting { reason } => reason.summary.clone(),
            _ => String::new(),
        }
    }
}

/// `if` and `assume`, up to the first that stood in the way.
fn gates(then: &Run, check: CheckIndex, scope: &ScopePath) -> Vec<Evaluation> {
    let plan = then.plan();
    let spec = plan.check(check);
    if then.cell(check, scope).is_none() {
        return Vec::new();
    }
    let view = View::before(then, check, scope);
    let mut all = Vec::new();
    if let Some(evaluation) = then.evaluate_condition(check, &view) {
        let stop = evaluation.decisive;
        all.push(evaluation);
        if stop {
            return all;
        }
    }
    let condition = spec.condition.iter().map(|expression| (Construct::If, expression));
    let assume = spec.assume.iter().map(|expression| (Construct::Assume, expression));
    for (construct, expression) in condition.chain(assume) {
        let evaluation = evaluate(construct, expression, &view, true);
        let stop = evaluation.decisive;
        all.push(evaluation);
        if stop {
            break;
        }
    }
    all
}

/// `guarantee` and `fail_if`, all of them.
fn contracts(then: &Run, check: CheckIndex, scope: &ScopePath) -> Vec<Evaluation> {
    let plan = then.plan();
    let spec = plan.check(check);
    let Some(answer) = then.cell(check, scope).and_then(|cell| cell.answer.clone()) else {
        return Vec::new();
    };
    let view = View::after(then, check, scope);
    let mut all = Vec::new();
    if answer.ending == Ending::Done {
        all.extend(
            spec.guarantee.iter().map(|guarantee| evaluate(Construct::Guarantee, guarantee, &view, true)),
        );
    }
    all.extend(spec.fail_if.iter().map(|fail_if| evaluate(Construct::FailIf, fail_if, &view, false)));
    all
}

pub(super) fn evaluate(
    construct: Construct,
    expression: &Expression,
    view: &dyn Scope,
    wanted: bool,
) -> Evaluation {
    let held = expression.test(view, BUDGET).ok();
    let (_, explanation) = expression.explain(view, BUDGET);
    Evaluation { construct, held, decisive: held != Some(wanted), explanation }
}

fn skip_sentence(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::IfCondition => "its condition is not met",
        SkipReason::Assume => "a precondition does not hold",
        SkipReason::DependencyFailed => "a dependency did not succeed",
        SkipReason::ForEachEmpty => "there are no items",
        SkipReason::ContractBlocked => {
            "a contract that it depends on is broken, or an item that it stands on is missing"
        }
        SkipReason::SafeMode => "the run is in safe mode",
        SkipReason::Event => "it listens to another event",
        SkipReason::Tags => "its tags leave it out",
        SkipReason::Only => "`--only` leaves it out",
        SkipReason::NotRouted => "nothing routed to it",
        SkipReason::LoopBudget => "the loop budget is spent",
        SkipReason::RunEnded => "the run was ending",
    }
}
