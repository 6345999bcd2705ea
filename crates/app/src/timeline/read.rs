//! The one `match` over events for display.

use std::sync::Arc;

use escrow_engine::approved_playbook;
use escrow_model::{
    CheckIndex, Entry, Event, Facts, IssueCode, Message, Millis, Plan, ProviderName, RunOptions, ScopePath,
    Verdict,
};
use serde_json::Value;

use super::fan::{Fan, Retained};
use super::item::{CheckScope, Item, Judged, Resolution, Retry, What};
use super::{OpenAttempt, Timeline};
use crate::words::Evaluated;

/// What a run was started with: the first entry of its journal.
#[derive(Clone, Copy, Debug)]
pub struct RunStart<'e> {
    pub plan: &'e Arc<Plan>,
    pub options: &'e RunOptions,
    pub facts: &'e Facts,
}

impl<'e> RunStart<'e> {
    /// `None` for an empty journal, and for entries from the middle of one.
    pub fn of(entries: impl IntoIterator<Item = &'e Entry>) -> Option<RunStart<'e>> {
        let Event::RunStarted { plan, options, facts, .. } = &entries.into_iter().next()?.event else {
            return None;
        };
        Some(RunStart { plan, options, facts })
    }
}

impl Timeline {
    /// The items of a batch of entries. Batches follow each other in the order of the journal.
    pub fn read<'e>(&mut self, entries: impl IntoIterator<Item = &'e Entry>) -> Vec<Item<'e>> {
        let mut items = Vec::new();
        for entry in entries {
            self.read_one(entry, &mut items);
        }
        items
    }

    fn read_one<'e>(&mut self, entry: &'e Entry, items: &mut Vec<Item<'e>>) {
        let at = entry.at;
        // A gate that cannot be evaluated raises an issue, and the next entry skips the check.
        let unevaluated = self.unevaluated.take();
        let what = match &entry.event {
            Event::RunStarted { plan, options, .. } => {
                self.shows_prompts = options.safe_mode;
                What::RunStarted { plan, options }
            }
            Event::RunResumed { .. } => What::RunResumed,
            Event::RunReopened { places, .. } => {
                self.fans.values_mut().for_each(Fan::reopen);
                self.reopened = true;
                What::RunReopened { places }
            }
            Event::DeadlinePassed {} => What::DeadlinePassed,
            Event::ArtifactsVerified { delivery } => What::ArtifactsVerified { delivery },
            Event::RunEnded { reason } => What::RunEnded { reason },

            Event::AttemptStarted { check, scope, attempt, external, request, .. } => {
                let of = CheckScope { check, scope };
                self.start(of, at);
                let (attempt, external, provider) = (*attempt, *external, request.provider.as_str());
                let is_shown = self.shows_prompts && request.provider == ProviderName::AI;
                let prompt = request.fields.get("prompt").and_then(Value::as_str).filter(|_| is_shown);
                What::AttemptStarted { of, attempt, external, provider, item: request.item.as_ref(), prompt }
            }
            Event::AttemptAnswered { check, scope, attempt, answer } => {
                let of = CheckScope { check, scope };
                let duration_ms = self.answer(of, &answer.output, answer.duration_ms(), at);
                What::AttemptAnswered { of, attempt: *attempt, answer, duration_ms }
            }
            Event::CheckJudged { check, scope, verdict, issues, settled, .. } => {
                let of = CheckScope { check, scope };
                let began = self.attempts.remove(&of.scoped_check()).map(|open| open.began);
                if !scope.is_root() {
                    self.fans.entry(check.clone()).or_default().judge(scope, *verdict);
                }
                let duration_ms = began.map(|began| at.saturating_sub(began));
                let retried = if *verdict == Verdict::Succeeded || *settled {
                    self.retried.remove(&of.scoped_check()).unwrap_or(0)
                } else {
                    self.retried.get(&of.scoped_check()).copied().unwrap_or(0)
                };
                let judged = Judged { of, verdict: *verdict, issues, duration_ms, retry: None, retried };
                items.push(Item { at, what: What::Judged(judged) });
                if *settled {
                    items.extend(self.settle(of, at));
                }
                return;
            }
            Event::CheckSettled { check, scope } | Event::RoutingDone { check, scope, .. } => {
                items.extend(self.settle(CheckScope { check, scope }, at));
                return;
            }
            Event::CheckSkipped { check, scope, reason, detail, request } => {
                let of = CheckScope { check, scope };
                let request = request.as_deref();
                let spec = request.and_then(|_| self.plan.checks.iter().find(|spec| spec.name == *check));
                let nested = spec.and_then(|spec| approved_playbook(&self.plan, spec)).map(Box::new);
                let is_evaluated = unevaluated.is_none_or(|check| check != of.scoped_check());
                let evaluated = if is_evaluated { Evaluated::Yes } else { Evaluated::No };
                let what = What::Skipped { of, reason: *reason, detail, evaluated, request, nested };
                items.push(Item { at, what });
                if !scope.is_root() && scope.depth() == self.depth(check) {
                    self.fans.entry(check.clone()).or_default().skip(scope);
                    items.extend(self.settled_fan(check, at));
                }
                return;
            }
            Event::RetryScheduled { check, scope, retry, at: due, kind } => {
                let of = CheckScope { check, scope };
                if !scope.is_root() {
                    self.fans.entry(check.clone()).or_default().retry(scope);
                }
                *self.retried.entry(of.scoped_check()).or_default() += 1;
                let retry = Retry { number: *retry, delay_ms: due.saturating_sub(at), kind: *kind };
                match verdict_in(items, of) {
                    Some(judged) => {
                        judged.retry = Some(retry);
                        return;
                    }
                    None => What::RetryScheduled { of, retry },
                }
            }
            Event::Routed { check, scope, block, to, to_scope, goto_event, .. } => {
                // A route repeats what succeeded before.
                self.reopened = false;
                What::Routed {
                    from: CheckScope { check, scope },
                    block: *block,
                    to: CheckScope { check: to, scope: to_scope },
                    goto_event: goto_event.as_deref(),
                }
            }
            Event::LoopBudgetExceeded { check, scope, to, limit } => {
                What::LoopBudgetExceeded { from: CheckScope { check, scope }, to, limit: *limit }
            }
            Event::IssueRaised { check, scope, issue, .. } => {
                let of = CheckScope { check, scope };
                if issue.code == IssueCode::ExpressionError {
                    self.unevaluated = Some(of.scoped_check());
                    if !scope.is_root() && scope.depth() == self.depth(check) {
                        self.fans.entry(check.clone()).or_default().fail_to_evaluate(scope);
                    }
                }
                What::IssueRaised { of, issue }
            }

            Event::WaitStarted { check, scope, kind, id, prompt, subject, .. } => {
                let of = CheckScope { check, scope };
                if let Some(open) = self.attempts.get_mut(&of.scoped_check()) {
                    open.waiting = true;
                }
                if !scope.is_root() {
                    self.fans.entry(check.clone()).or_default().wait(scope);
                }
                self.waits.insert(id.clone(), of.scoped_check());
                if let Some(subject) = subject {
                    self.approvals_left.insert(id.clone(), subject.terms.count);
                }
                What::WaitStarted { of, kind: *kind, id, prompt }
            }
            Event::NestedResumed { check, scope } => {
                let of = CheckScope { check, scope }.scoped_check();
                self.waits.retain(|_, waiting| *waiting != of);
                if let Some(open) = self.attempts.get_mut(&of) {
                    open.waiting = false;
                }
                return;
            }
            Event::WaitExpired { id } => self.resolve(id, Resolution::Expired),
            Event::WaitWithdrawn { id, .. } => self.resolve(id, Resolution::Stale),
            Event::MessageDelivered { refused: Some(why), .. } => What::MessageRefused { why },
            Event::MessageDelivered { message, refused: None, .. } => match self.deliver(message) {
                Some(what) => what,
                None => return,
            },
            Event::ReconcileStarted { check, scope, attempt, .. } => {
                What::ReconcileStarted { of: CheckScope { check, scope }, attempt: *attempt }
            }
            Event::EffectReused { check, scope, key, run } => {
                What::EffectReused { of: CheckScope { check, scope }, key, run }
            }
            Event::Reconciled { check, scope, finding, detail, .. } => {
                What::Reconciled { of: CheckScope { check, scope }, finding: *finding, detail }
            }

            // Causes and details of what other items say.
            Event::RetryDue { .. }
            | Event::OutcomeStored { .. }
            | Event::WarningRaised { .. }
            | Event::FaultDetected { .. }
            | Event::FaultIsolated { .. }
            | Event::RecoveryStarted { .. }
            | Event::RecoverySucceeded { .. }
            | Event::RecoveryExhausted { .. }
            | Event::MemoryChanged { .. }
            | Event::RunWaiting { .. }
            | Event::CheckInspected { .. }
            | Event::LedgerAsked { .. }
            | Event::LedgerAnswered { .. }
            | Event::EffectResolved { .. }
            | Event::ArtifactChanged { .. }
            | Event::RunOverridden { .. } => return,
        };
        items.push(Item { at, what });
    }

    fn start(&mut self, of: CheckScope<'_>, at: Millis) {
        self.attempts.insert(of.scoped_check(), OpenAttempt { began: at, answered: false, waiting: false });
        if !of.scope.is_root() {
            self.fans.entry(of.check.to_owned()).or_default().start(of.scope, at);
        }
    }

    /// How long the attempt took, as its provider measured it: an attempt that was issued again by another process began
    /// long after its entry.
    fn answer(&mut self, of: CheckScope<'_>, output: &Value, measured: Option<u64>, at: Millis) -> u64 {
        if let Some(index) = self.plan.find(of.check).filter(|index| self.plan.check(*index).for_each) {
            let given = output.as_array().map(Vec::len);
            self.forget_former_items(index, of.scope, given.unwrap_or(0));
            if let Some(given) = given {
                self.sizes.entry(of.check.to_owned()).or_default().insert(of.scope.clone(), given);
            }
        }
        let began = at.saturating_sub(measured.unwrap_or(0));
        let unseen = OpenAttempt { began, answered: false, waiting: false };
        let open = self.attempts.entry(of.scoped_check()).or_insert(unseen);
        if open.answered {
            return 0;
        }
        open.answered = true;
        if measured.is_some() {
            open.began = began;
        }
        at.saturating_sub(open.began)
    }

    /// A list was computed: the items that it gave before no longer exist.
    fn forget_former_items(&mut self, list: CheckIndex, scope: &ScopePath, given: usize) {
        let retained = if self.reopened { Retained::Succeeded } else { Retained::None };
        let plan = Arc::clone(&self.plan);
        for mapped in plan.checks.iter().filter(|check| check.fan.contains(&list)) {
            if let Some(fan) = self.fans.get_mut(&mapped.name) {
                fan.recompute(scope, given, retained);
            }
            if let Some(sizes) = self.sizes.get_mut(&mapped.name) {
                sizes.retain(|at, _| !at.starts_with(scope));
            }
            self.retried.retain(|at, _| at.check != mapped.name || !at.scope.starts_with(scope));
        }
    }

    /// The verdict of a check or an item stands.
    fn settle(&mut self, of: CheckScope<'_>, at: Millis) -> Option<Item<'static>> {
        self.fans.get_mut(of.check)?.settle(of.scope);
        self.settled_fan(of.check, at)
    }

    fn deliver<'e>(&mut self, message: &'e Message) -> Option<What<'e>> {
        Some(match message {
            Message::Approve { id, .. } => {
                let left = self.approvals_left.entry(id.clone()).or_insert(1);
                *left = left.saturating_sub(1);
                if *left > 0 {
                    return None;
                }
                self.resolve(id, Resolution::Approved)
            }
            Message::Deny { id, .. } => self.resolve(id, Resolution::Denied),
            Message::Answer { id, .. } => self.resolve(id, Resolution::Answered),
            Message::Assume { check, scope, assumption, .. } => {
                let id = self.wait_at(check, scope)?;
                self.resolve(&id, Resolution::Assumed(*assumption))
            }
            Message::Cancel { .. } => What::CancelRequested,
        })
    }

    fn wait_at(&self, check: &str, scope: &ScopePath) -> Option<String> {
        let mut waits = self.waits.iter();
        waits.find(|(_, at)| at.check == check && at.scope == *scope).map(|(id, _)| id.clone())
    }

    fn resolve(&mut self, id: &str, how: Resolution) -> What<'static> {
        self.waits.remove(id);
        self.approvals_left.remove(id);
        What::WaitResolved { id: id.to_owned(), how }
    }

    fn depth(&self, check: &str) -> usize {
        self.plan.find(check).map_or(0, |index| self.plan.check(index).fan.len())
    }
}

/// The verdict of the same batch that led to a retry: one item says both.
fn verdict_in<'i, 'e>(items: &'i mut [Item<'e>], of: CheckScope<'_>) -> Option<&'i mut Judged<'e>> {
    items.iter_mut().rev().find_map(|item| {
        let What::Judged(judged) = &mut item.what else { return None };
        (judged.of == of).then_some(judged)
    })
}
