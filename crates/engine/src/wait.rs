//! Waits for a person: approvals before an intent, questions, unknown effects; and for nested runs.

use escrow_model::{
    Answer, ApprovalRule, ApprovalSubject, Event, FaultClass, FaultCode, Issue, IssueCode, Message, Millis,
    ProviderFault, Reason, Request, RunId, WaitKind, hex,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::approval::ASKED_ANEW_MAX;
use crate::exchange::NestedLease;
use crate::location::{AttemptKey, Location};
use crate::phase::Phase;
use crate::request::digest_of;
use crate::retry_failed::LASTING_EFFECTS;
use crate::run::Run;
use crate::turn::Deciding;
use crate::verdict::Judgement;
use crate::view::View;

/// What is asked of a person.
#[derive(Default)]
struct Question {
    digest: String,
    subject: Option<Box<ApprovalSubject>>,
    replaces: Option<String>,
    prompt: String,
    choices: Vec<String>,
    expires_at: Option<Millis>,
}

impl Deciding<'_> {
    /// `stale`: the approval that was given for something else. After too many of them this one is denied at once.
    pub(crate) fn ask_approval(
        &mut self,
        location: &Location,
        rule: &ApprovalRule,
        subject: ApprovalSubject,
        digest: String,
        stale: Option<String>,
    ) {
        let Location { check, scope } = location;
        let mut prompt = match &rule.prompt {
            None => format!("approve `{}`", self.state.plan.check(*check).name),
            Some(prompt) => match prompt.render(&View::before(self, *check, scope)) {
                Ok(prompt) => prompt,
                Err(fault) => {
                    let message =
                        format!("`requires_approval.prompt`: {}", self.surroundings.in_words(&fault));
                    let issue = Issue::error(IssueCode::TemplateError, message);
                    let judgement = Judgement::without_attempt(vec![issue], Some(FaultClass::Logical));
                    self.judge_as(location, judgement);
                    return;
                }
            },
        };
        if stale.is_some() {
            prompt.push_str(" again: what it would do has changed");
        }
        let asked_anew = self.cell(*check, scope).map_or(0, |cell| cell.asked_anew);
        let denied = stale.is_some() && asked_anew >= ASKED_ANEW_MAX;
        let expires_at = Some(self.at.saturating_add(rule.expires_ms));
        let subject = Some(Box::new(subject));
        let question = Question { digest, subject, replaces: stale, prompt, expires_at, choices: Vec::new() };
        let id = self.ask(location, WaitKind::Approval, question);
        if denied {
            let note = format!("what it would do has changed after each of {} approvals", ASKED_ANEW_MAX + 1);
            self.deliver_message(Message::Deny { id, by: None, claim: None, note: Some(note) }, None);
        }
    }

    pub(crate) fn ask_input(&mut self, location: &Location, request: &Request) {
        let choices = match request.fields.get("choices") {
            Some(Value::Array(choices)) => {
                choices.iter().filter_map(|choice| choice.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        let prompt = request.fields.get("prompt").and_then(Value::as_str).unwrap_or_default().to_owned();
        let expires_at = Some(self.at.saturating_add(request.timeout_ms));
        let digest = digest_of(request);
        let question = Question { digest, prompt, choices, expires_at, ..Question::default() };
        self.ask(location, WaitKind::Input, question);
    }

    /// `detail`: why `reconcile` did not know either; empty when it was not asked.
    pub(crate) fn ask_about_unknown_effect(&mut self, location: &Location, detail: &str) {
        let mut prompt =
            format!("`{}` may or may not have taken effect", self.state.plan.check(location.check).name);
        if !detail.is_empty() {
            prompt = format!("{prompt}: {detail}");
        }
        self.ask(location, WaitKind::UnknownEffect, Question { prompt, ..Question::default() });
    }

    /// An attempt would repeat an effect, or has to wait for another run.
    pub(crate) fn ask_about_effect(&mut self, location: &Location, prompt: String) {
        self.ask(location, WaitKind::UnknownEffect, Question { prompt, ..Question::default() });
    }

    /// A nested run waits, so the check waits for it. Repeated, it changes nothing.
    pub(crate) fn wait_with_nested(
        &mut self,
        attempt: &AttemptKey,
        child: &RunId,
        reason: &Reason,
        lease: NestedLease,
    ) {
        let AttemptKey { check, scope, number } = attempt;
        let location = attempt.location();
        let current = self.state.checks[check.place()].attempts.get(scope);
        let running =
            self.cell(*check, scope).is_some_and(|cell| matches!(cell.phase, Phase::Running { .. }));
        if current != Some(number) || !(running || self.waits_with_nested(&location)) {
            return;
        }
        if self.state.admission.is_stopping() {
            match lease {
                // Its holder has the cancellation in its inbox and will end it. This run does not wait for that, but
                // remembers which run it was: `resume --failed` opens it again.
                NestedLease::HeldElsewhere => {
                    let fault = ProviderFault::logical(
                        FaultCode::Cancelled,
                        "the run ended while another process drove the nested run",
                    );
                    let mut answer = Answer::fault(fault);
                    answer.record.insert("run_id".into(), json!(child));
                    // What it has done, and will do until it ends, is not known here.
                    answer.record.insert(LASTING_EFFECTS.into(), json!(true));
                    self.take_answer(attempt, answer);
                }
                // It began to wait just before this run stopped, so it has not been asked to end.
                NestedLease::Free => {
                    let request = self.cell(*check, scope).and_then(|cell| cell.phase.request()).cloned();
                    let request = request.expect("a check that runs or waits keeps its request");
                    self.call_nested(attempt.clone(), request);
                }
            }
            return;
        }
        if !running {
            return;
        }
        self.record(Event::WaitStarted {
            check: self.state.plan.check(*check).name.clone(),
            scope: scope.clone(),
            kind: WaitKind::Nested,
            id: child.to_string(),
            digest: String::new(),
            subject: None,
            replaces: None,
            nested_reason: Some(reason.code),
            prompt: reason.summary.clone(),
            choices: Vec::new(),
            expires_at: None,
        });
    }

    /// Returns the id of the wait.
    fn ask(&mut self, location: &Location, kind: WaitKind, question: Question) -> String {
        let id = self.wait_id(kind, location, &question.digest);
        let event = Event::WaitStarted {
            check: self.state.plan.check(location.check).name.clone(),
            scope: location.scope.clone(),
            kind,
            id: id.clone(),
            digest: question.digest,
            subject: question.subject,
            replaces: question.replaces,
            nested_reason: None,
            prompt: question.prompt,
            choices: question.choices,
            expires_at: question.expires_at,
        };
        self.record(event);
        id
    }
}

impl Run {
    /// Short enough to type, and the same in every replay. Two waits of one check differ by the entry at which
    /// they began.
    fn wait_id(&self, kind: WaitKind, location: &Location, digest: &str) -> String {
        let prefix = match kind {
            WaitKind::Approval => 'a',
            WaitKind::Input => 'q',
            WaitKind::UnknownEffect => 'u',
            WaitKind::Nested => 'n',
        };
        let name = &self.state.plan.check(location.check).name;
        let (run, entry) = (&self.state.options.run, self.state.entries);
        let text = format!("{run}\0{name}\0{}\0{entry}\0{digest}", location.scope);
        format!("{prefix}_{}", hex(&Sha256::digest(text.as_bytes())[..6]))
    }
}
