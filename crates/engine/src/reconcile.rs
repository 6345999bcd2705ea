//! `reconcile`, a command or the provider itself, is asked before an effect is attempted again, and before a person is asked.
//!
//! ```text
//!   unknown ──▶ ReconcileStarted ──▶ command ──▶ Reconciled ──▶ done · failed · retry
//!                                                    └─ anything else: a person is asked
//! ```
//!
//! **Invariant:** only a clear answer counts. A command that was cut off, that contradicts itself or whose answer
//! cannot be read leaves the effect unknown.

use std::sync::Arc;

use escrow_model::{
    Answer, Assumption, CheckIndex, EffectInQuestion, Ending, Event, Expression, FaultCode, Field, Issue,
    IssueCode, ProviderName, Reconcile, Request, Sandbox, ScopePath,
};
use serde_json::{Map, Value};

use crate::effect_key;
use crate::exchange::Effect;
use crate::location::{AttemptKey, Location};
use crate::phase::Phase;
use crate::run::Run;
use crate::turn::Deciding;
use crate::verdict::Judgement;
use crate::view::{BUDGET, View};

/// How often `reconcile` may have one decision repeated before a person is asked.
const REPEATS_MAX: u32 = 3;

impl Deciding<'_> {
    /// Asks `reconcile` about the attempt that just ended, or a person if the check has none.
    pub(crate) fn find_out(&mut self, location: &Location, attempt: u32) {
        let Location { check, scope } = location;
        let plan = self.plan();
        let spec = plan.check(*check);
        let Some(reconcile) = spec.reconcile.as_ref().filter(|_| !self.state.admission.is_stopping()) else {
            return self.ask_about_unknown_effect(location, "");
        };
        let rendered = self.render_reconcile(*check, scope, reconcile).and_then(|request| {
            if self.withholds_reconcile(location) {
                return Err("a template of `reconcile` puts a secret together".to_owned());
            }
            match self.stars_in_reconcile(*check, &request) {
                Some(place) => {
                    Err(format!("{place} of `reconcile` contains `***`, which stands for a secret"))
                }
                None => Ok(request),
            }
        });
        match rendered {
            Ok(request) => {
                self.record(Event::ReconcileStarted {
                    check: spec.name.clone(),
                    scope: scope.clone(),
                    attempt,
                    request: Arc::new(request),
                });
                self.issue_reconcile(location);
            }
            Err(message) => self.ask_about_unknown_effect(location, &message),
        }
    }

    /// The effect is confirmed for an item that is no longer in the list, which may have been this one.
    pub(crate) fn find_out_about_item(&mut self, location: &Location) {
        if self.state.plan.check(location.check).reconcile.is_some() {
            let AttemptKey { number, .. } = self.last_attempt(location);
            return self.find_out(location, number);
        }
        self.ask_about_unknown_effect(
            location,
            "it was done for an item that is no longer in the list, which may have been this one",
        );
    }

    /// Asks for the command, for the first time or again. It changes nothing, so repeating it is safe.
    pub(crate) fn issue_reconcile(&mut self, location: &Location) {
        let Location { check, scope } = location;
        let Some(request) = self.cell(*check, scope).and_then(|cell| cell.phase.request().cloned()) else {
            return;
        };
        let attempt = self.last_attempt(location);
        self.ask_for(Effect::Reconcile { attempt, request });
    }

    /// Takes the answer of `reconcile`. A late or repeated one changes nothing.
    pub(crate) fn take_finding(&mut self, attempt: &AttemptKey, mut answer: Answer) {
        let AttemptKey { check, scope, number } = attempt;
        let asked =
            self.cell(*check, scope).is_some_and(|cell| matches!(cell.phase, Phase::Reconciling { .. }));
        if !asked || self.next_attempt(*check, scope) != number + 1 {
            return;
        }
        // `reconcile` must not change anything, including the environment of later checks.
        answer.env.clear();
        let (finding, detail) = self.finding(*check, scope, &answer);
        let output = finding.filter(|finding| *finding == Assumption::Done);
        let output = output.and_then(|_| self.output_found(*check, scope, &answer));
        let effect = self.effect_in_question(*check, scope);
        let before = self.standing_of_cell(*check, scope);
        self.record(Event::Reconciled {
            check: self.state.plan.check(*check).name.clone(),
            scope: scope.clone(),
            attempt: *number,
            answer: Box::new(answer),
            finding,
            detail: detail.clone(),
            output,
            effect,
        });
        let location = attempt.location();
        match finding {
            Some(Assumption::Retry) => {}
            Some(Assumption::Done) => self.judge_found(&location, before),
            Some(Assumption::Failed) => {
                let message = format!("`reconcile` says that it did not happen: {detail}");
                let issue = Issue::error(IssueCode::EffectReconciledFailed, message);
                self.judge_as(&location, Judgement::of_absent_effect(*number, issue));
            }
            None => {
                match self.effect_elsewhere(&location).cloned() {
                    Some(effect) => self.wait_for_elsewhere(&location, &effect),
                    None => self.ask_about_unknown_effect(&location, &detail),
                }
                if self.state.admission.is_stopping() {
                    self.wind_up(&location);
                }
            }
        }
    }
}

impl Run {
    fn render_reconcile(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        reconcile: &Reconcile,
    ) -> Result<Request, String> {
        let Some(exec) = &reconcile.exec else {
            let (request, _) = self.render(check, scope)?;
            return Ok(Request { timeout_ms: reconcile.timeout_ms, ..request });
        };
        let view = View::during(self, check, scope, None);
        let exec = crate::request::render_field(exec, &view, &[])
            .map_err(|fault| format!("`reconcile`: {}", self.surroundings.in_words(&fault)))?;
        let mut fields = Map::from_iter([("exec".to_owned(), exec)]);
        if let Some(Field::Plain(sandbox)) = self.state.plan.check(check).fields.get(Sandbox::FIELD) {
            fields.insert(Sandbox::FIELD.to_owned(), sandbox.clone());
        }
        Ok(Request {
            provider: ProviderName::COMMAND,
            fields,
            env: self.render_env(check, &view)?,
            environment: self.captured_environment(check),
            handed_env: self.handed_env(check),
            timeout_ms: reconcile.timeout_ms,
            idempotency_key: effect_key::idempotency_key(&self.effect_key(check, scope, &view)?.0),
            item: self.item(check, scope).cloned(),
        })
    }

    /// The finding, and why. Pure, so that a replay finds the same.
    fn finding(&self, check: CheckIndex, scope: &ScopePath, answer: &Answer) -> (Option<Assumption>, String) {
        let Some(reconcile) = &self.state.plan.check(check).reconcile else {
            return (None, "there is no `reconcile`".into());
        };
        let speaks = reconcile.expressions().next().is_some();
        if let Ending::Fault(fault) = &answer.ending
            && !(speaks && fault.code == FaultCode::ExitNonzero)
        {
            return (None, fault.message.clone());
        }
        let (finding, detail) = if speaks {
            let view = View::during(self, check, scope, Some(answer));
            self.by_expressions(reconcile.expressions(), &view)
        } else if reconcile.exec.is_none() && answer.output.is_object() {
            by_provider(&answer.output)
        } else {
            by_word(&answer.output)
        };
        let max = self.state.plan.check(check).retry.map_or(REPEATS_MAX, |retry| retry.max);
        // A retry that was waited for is counted already.
        let cell = self.cell(check, scope).filter(|cell| !cell.retry_counted);
        let used = cell.map_or(0, |cell| cell.repeats + cell.retries);
        if finding == Some(Assumption::Retry) && cell.is_some() && used >= max {
            let times = if used == 1 { "once".to_owned() } else { format!("{used} times") };
            return (None, format!("{detail}, but it was tried again {times} already"));
        }
        (finding, detail)
    }

    /// The output of an effect that was found done, if `reconcile` can tell it.
    fn output_found(&self, check: CheckIndex, scope: &ScopePath, answer: &Answer) -> Option<Value> {
        let reconcile = self.state.plan.check(check).reconcile.as_ref()?;
        if reconcile.exec.is_none() {
            return answer.output.get("output").cloned();
        }
        let output = reconcile.output.as_ref()?;
        let view = View::during(self, check, scope, Some(answer));
        output.evaluate(&view, BUDGET).ok()?.into_json()
    }

    /// The effect that `reconcile` was asked about.
    fn effect_in_question(&self, check: CheckIndex, scope: &ScopePath) -> Option<EffectInQuestion> {
        let (key, _) = self.effect_key(check, scope, &View::during(self, check, scope, None)).ok()?;
        let asked = self.cell(check, scope)?.asked_elsewhere;
        let confirmed = asked.map_or_else(|| self.would_repeat(check, scope), |asked| asked.confirmed);
        Some(EffectInQuestion { key, attempts_elsewhere: asked.map(|asked| asked.attempts), confirmed })
    }

    /// The one expression that holds. None or several, or one that cannot be evaluated, say nothing.
    fn by_expressions<'a>(
        &self,
        expressions: impl Iterator<Item = (Assumption, &'a Expression)>,
        view: &View<'_>,
    ) -> (Option<Assumption>, String) {
        let mut holding = Vec::new();
        for (finding, expression) in expressions {
            match expression.test(view, BUDGET) {
                Ok(true) => holding.push((finding, expression.source())),
                Ok(false) => {}
                Err(fault) => {
                    let fault = self.surroundings.in_words(&fault);
                    let word = finding.as_str();
                    return (None, format!("`{word}` of `reconcile` cannot be evaluated: {fault}"));
                }
            }
        }
        match holding.as_slice() {
            [(finding, source)] => (Some(*finding), format!("`{source}` holds")),
            [] => (None, "`reconcile` found neither".into()),
            [(one, _), (other, _), ..] => {
                (None, format!("`reconcile` found both `{}` and `{}`", one.as_str(), other.as_str()))
            }
        }
    }
}

/// What a provider that looks for its effects itself has found.
fn by_provider(output: &Value) -> (Option<Assumption>, String) {
    let word = |name: &str| output.get(name).and_then(Value::as_str).unwrap_or_default();
    (Assumption::parse(word("finding")), word("detail").to_owned())
}

/// The one word that the command printed.
fn by_word(output: &Value) -> (Option<Assumption>, String) {
    let word = output.as_str().map(str::trim).and_then(Assumption::parse);
    match word {
        Some(finding) => (Some(finding), format!("`reconcile` printed `{}`", finding.as_str())),
        None => (None, "`reconcile` printed neither `done`, `failed` nor `retry`".into()),
    }
}
