//! What happened to one check: attempts, retries, routes from it and to it, waits.

use std::collections::BTreeSet;

use escrow_model::{
    CheckIndex, Ending, Event, FaultCode, Message, ProviderName, Request, RetryKind, RoutedBy, ScopePath,
    Verdict, rfc3339,
};

use serde_json::Value;

use super::cause::evaluate;
use super::{Construct, Evaluation, JournalReader, Moment, MomentKind, decisive, resolution_in_words};
use crate::approval::{approval_in_words, denial_in_words};
use crate::approved_playbook::approved_playbook;
use crate::pure;
use crate::retry_failed::INPUTS_KEPT;
use crate::run::ReplayError;
use crate::view::View;

/// Of a check that loops for long, only the latest moments are shown.
const MOMENTS_MAX: usize = 100;
/// Transitions that are evaluated again; each costs a replay.
const TRANSITIONS_MAX: usize = 3;

impl JournalReader<'_> {
    pub(super) fn timeline(&self, check: CheckIndex, scope: &ScopePath) -> Result<Vec<Moment>, ReplayError> {
        let name = self.plan.check(check).name.as_str();
        let mut moments = Vec::new();
        let mut asked = BTreeSet::new();
        let mut at_work = None;
        for (index, entry) in self.entries.iter().enumerate() {
            let here = entry.event.check() == Some(name)
                && super::scope_of(&entry.event).is_some_and(|at| at.touches(scope));
            if let (true, Event::WaitStarted { id, .. }) = (here, &entry.event) {
                asked.insert(id.as_str());
            }
            match &entry.event {
                Event::AttemptStarted { attempt, request, .. } if here => {
                    at_work = Some(*attempt).filter(|_| request.provider != ProviderName::NESTED);
                }
                Event::AttemptAnswered { .. } if here => at_work = None,
                _ => {}
            }
            let told = match &entry.event {
                Event::RunResumed { .. } if let Some(attempt) = at_work => {
                    let again =
                        format!("the process that ran attempt {attempt} was gone: it was started again");
                    (!self.is_given_up(index, name)).then_some(again)
                }
                Event::Routed { check: from, block, by, to, to_scope, .. }
                    if to == name && to_scope.touches(scope) && !here =>
                {
                    Some(format!("`{from}` routed here ({block}, {})", how(*by)))
                }
                event if here => tell(event, entry.at),
                Event::WaitExpired { id } if asked.contains(id.as_str()) => Some(format!("{id} expired")),
                Event::MessageDelivered { message, refused: None, .. } => decided(message, &asked),
                _ => None,
            };
            if let Some(what) = told {
                moments.push((index, what));
            }
        }
        let skipped = moments.len().saturating_sub(MOMENTS_MAX);
        let mut left = TRANSITIONS_MAX;
        let mut timeline = Vec::new();
        for (index, what) in moments.drain(skipped..) {
            let evaluation = match &self.entries[index].event {
                Event::Routed { by, check: from, .. }
                    if *by == RoutedBy::Transition && from == name && left > 0 =>
                {
                    left -= 1;
                    self.transition(index, check)?
                }
                _ => None,
            };
            let at = rfc3339(self.entries[index].at);
            let kind = kind(&self.entries[index].event);
            timeline.push(Moment { entry: index as u64 + 1, at, kind, what, evaluation });
        }
        Ok(timeline)
    }

    /// Whether the process that took the run over did not start an open attempt of a check again: its effect is unknown,
    /// or the run was stopping.
    fn is_given_up(&self, resumed: usize, name: &str) -> bool {
        let at = self.entries[resumed].at;
        let mut of_takeover = self.entries[resumed + 1..].iter().take_while(|entry| entry.at == at);
        of_takeover.any(|entry| {
            let Event::AttemptAnswered { check, answer, .. } = &entry.event else { return false };
            let Ending::Fault(fault) = &answer.ending else { return false };
            check == name && matches!(fault.code, FaultCode::Lost | FaultCode::Cancelled)
        })
    }

    /// What safe mode kept a check from doing: its request, and what a nested playbook can do outside.
    pub(super) fn prevented(&self, check: CheckIndex, request: &Request) -> String {
        let mut text = fields(request);
        if let Some(nested) = approved_playbook(&self.plan, self.plan.check(check)) {
            text.push_str(&format!("\n  nested: {} ({})", nested.name, nested.file));
            for effect in &nested.external {
                let command =
                    effect.command.as_ref().map(|command| format!(": {command}")).unwrap_or_default();
                text.push_str(&format!(
                    "\n  external: {} ({}){}",
                    effect.check,
                    effect.provider,
                    cut(&command)
                ));
            }
        }
        text
    }

    /// The `when` that was taken.
    fn transition(&self, index: usize, check: CheckIndex) -> Result<Option<Evaluation>, ReplayError> {
        let Event::Routed { scope, block, to, .. } = &self.entries[index].event else { return Ok(None) };
        let plan = &self.plan;
        let then = self.before(index)?;
        let view = View::routing(&then, check, scope, *block);
        let taken = block.of(plan.check(check)).transitions.iter().find_map(|transition| {
            let evaluation = evaluate(Construct::When, &transition.when, &view, false);
            let leads_there = transition.to.is_some_and(|target| plan.check(target).name == *to);
            (evaluation.held == Some(true) && leads_there).then_some(evaluation)
        });
        Ok(taken)
    }
}

/// Who decided about one of these waits, and why.
fn decided(message: &Message, asked: &BTreeSet<&str>) -> Option<String> {
    let (id, words) = match message {
        Message::Approve { id, by, claim, note } => {
            (id, approval_in_words(by.as_deref(), claim.as_deref(), note.as_deref()))
        }
        Message::Deny { id, by, claim, note } => {
            (id, denial_in_words(by.as_deref(), claim.as_deref(), note.as_deref()))
        }
        Message::Answer { id, text, by } => {
            (id, format!("{} answered: {text}", by.as_deref().unwrap_or("a person")))
        }
        Message::Assume { .. } | Message::Cancel { .. } => return None,
    };
    asked.contains(id.as_str()).then_some(words)
}

/// The request of a check that sends one, as the journal has it: a line for each field. Programs and nested runs have
/// more than a request, and are told elsewhere.
fn message(request: &Request) -> String {
    if [ProviderName::COMMAND, ProviderName::AI, ProviderName::NESTED].contains(&request.provider)
        || pure::PROVIDERS.iter().any(|spec| spec.is(&request.provider))
    {
        return String::new();
    }
    format!(", with this request:{}", fields(request))
}

/// The fields of a request, a line for each.
fn fields(request: &Request) -> String {
    let mut text = String::new();
    for (name, value) in &request.fields {
        let value = match value.get("shell") {
            Some(script) if name == "exec" => script_with_values(script, value.get("values")),
            _ => value.clone(),
        };
        let value = &value;
        let value = match value {
            Value::String(value) if value.is_empty() => continue,
            Value::String(value) => value.replace('\n', "\n    "),
            Value::Null => continue,
            other => other.to_string(),
        };
        text.push_str(&format!("\n  {name}: {}", cut(&value)));
    }
    text
}

/// A script, and below it the value of each variable that it refers to.
fn script_with_values(script: &Value, values: Option<&Value>) -> Value {
    let mut text = script.as_str().unwrap_or_default().trim_end().to_owned();
    for (name, value) in values.and_then(Value::as_object).into_iter().flatten() {
        text.push_str(&format!("\n{name} = {value}"));
    }
    Value::String(text)
}

/// The journal has the rest.
fn cut(value: &str) -> String {
    const CHARS_MAX: usize = 2_000;
    let mut shown: String = value.chars().take(CHARS_MAX).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    shown
}

fn kind(event: &Event) -> MomentKind {
    match event {
        Event::AttemptStarted { attempt: 1, .. } | Event::CheckJudged { attempt: 1, .. } => {
            MomentKind::FirstAttempt
        }
        Event::CheckSkipped { .. } => MomentKind::Skipped,
        _ => MomentKind::Other,
    }
}

fn tell(event: &Event, at: u64) -> Option<String> {
    Some(match event {
        Event::AttemptStarted { attempt, request, .. } if request.provider == ProviderName::AI => {
            let word = |key: &str| request.fields.get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
            format!(
                "attempt {attempt} started: {}, permission {}, with this prompt:\n{}",
                word("harness"),
                word("permission"),
                word("prompt")
            )
        }
        Event::AttemptStarted { attempt, request, .. } => {
            format!("attempt {attempt} started{}", message(request))
        }
        Event::AttemptAnswered { answer, .. } => answer.record.get(INPUTS_KEPT)?.as_str()?.to_owned(),
        Event::CheckJudged { attempt, verdict, issues, .. } => {
            let which = if *attempt > 0 { format!("attempt {attempt} ") } else { String::new() };
            match (verdict, decisive(issues)) {
                (Verdict::Succeeded, _) => format!("{which}succeeded"),
                (Verdict::Failed, None) => format!("{which}failed"),
                (Verdict::Failed, Some(issue)) => format!("{which}failed: {}", issue.message),
            }
        }
        Event::CheckInspected { attempt, delivery, .. } => {
            let conditions = delivery.not_expected.iter();
            let conditions = conditions
                .map(|one| format!("; `{}` is not expected: `{}` does not hold", one.id, one.condition));
            format!(
                "artifacts of attempt {attempt}: {}{}",
                delivery.status.as_str(),
                conditions.collect::<String>()
            )
        }
        Event::OutcomeStored { outcome } => {
            format!("stored as {}: {}", outcome.outcome.kind, outcome.outcome.summary)
        }
        Event::CheckSkipped { reason, .. } => format!("skipped: {}", reason.as_str()),
        Event::RetryScheduled { retry, kind: RetryKind::Repair, .. } => {
            format!("repair {retry}: the conversation continues with what is missing")
        }
        Event::RetryScheduled { retry, at: due, kind: RetryKind::Retry, .. } => {
            format!("retry {retry} in {} ms", due.saturating_sub(at))
        }
        Event::Routed { block, by, to, to_scope, .. } => {
            format!("routed to `{to}{to_scope}` ({block}, {})", how(*by))
        }
        Event::LoopBudgetExceeded { to, limit, .. } => {
            format!("the route to `{to}` would exceed the loop budget of {limit}")
        }
        Event::WaitStarted { id, prompt, .. } => format!("waits ({id}): {prompt}"),
        Event::WaitWithdrawn { id, .. } => format!("{id} is withdrawn: what it asked about has changed"),
        Event::ArtifactChanged { artifact, .. } => artifact.in_words(),
        Event::EffectResolved { state, by, why, .. } => resolution_in_words(*state, by, why),
        Event::ReconcileStarted { .. } => "effect unknown: `reconcile` runs".into(),
        Event::Reconciled { finding: Some(finding), detail, .. } => {
            format!("`reconcile` found `{}`: {detail}", finding.as_str())
        }
        Event::Reconciled { finding: None, detail, .. } => format!("`reconcile` does not know: {detail}"),
        Event::IssueRaised { issue, .. } => issue.message.clone(),
        Event::RecoveryExhausted { .. } => "no retry is left".into(),
        _ => return None,
    })
}

fn how(by: RoutedBy) -> String {
    // The key of a playbook is in the plural.
    format!("by `{}`", if by == RoutedBy::Transition { "transitions" } else { by.as_str() })
}
