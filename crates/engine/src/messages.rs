//! Messages and time: the inputs that do not come from providers.

use std::sync::Arc;

use escrow_model::{
    Answer, Assumption, CheckIndex, Event, FaultCode, Issue, IssueCode, Message, Millis, ProviderFault,
    ProviderName, RefusalCode, Request, RunId, ScopePath, WaitKind,
};
use serde_json::{Value, json};

use crate::apply_error::PhaseName;
use crate::approval::{Refusal, denial_in_words};
use crate::effect::EffectStanding;
use crate::exchange::{Effect, Input};
use crate::location::{AttemptKey, Location};
use crate::phase::Phase;
use crate::run::Run;
use crate::state::{Node, Wait};
use crate::turn::Deciding;
use crate::verdict::Judgement;

impl Deciding<'_> {
    pub(crate) fn deliver_message(&mut self, message: Message, sent_at: Option<Millis>) {
        let refusal = self.refusal(&message).or_else(|| self.nested_come_first(&message));
        let (refused, refusal) =
            (refusal.as_ref().map(Refusal::to_string), refusal.as_ref().map(Refusal::code));
        let (opened, is_to_wait) = (refused.is_none(), refusal == Some(RefusalCode::EffectUnderWay));
        let looked_for = match &message {
            Message::Assume { check, scope, .. } if opened => self.reconciling_at(check, scope),
            _ => None,
        };
        let before = match &message {
            Message::Assume { check, scope, .. } => {
                self.graph.find(check).and_then(|check| self.standing_of_cell(check, scope))
            }
            _ => None,
        };
        let effect = match &message {
            Message::Assume { check, scope, .. } if opened => self.effect_in_doubt(check, scope),
            _ => None,
        };
        self.record(Event::MessageDelivered { message: message.clone(), refused, refusal, effect, sent_at });
        if !opened {
            if is_to_wait && matches!(message, Message::Cancel { patient: true, .. }) {
                self.nested_make_way();
            }
            return;
        }
        if let Some(attempt) = looked_for {
            // The answer makes the probe unnecessary.
            self.ask_for(Effect::Stop { attempt });
        }
        match message {
            Message::Approve { .. } => {}
            Message::Deny { id, by, claim, note } => {
                let words = denial_in_words(by.as_deref(), claim.as_deref(), note.as_deref());
                self.deny(&id, words);
            }
            Message::Cancel { .. } => self.stop_running(),
            Message::Answer { id, text, by } => self.answer_question(&id, &text, by.as_deref()),
            Message::Assume { check, scope, assumption, by, .. } => {
                let Some(index) = self.graph.find(&check) else { return };
                self.assume(&Location::new(index, scope), assumption, by.as_deref(), before);
            }
        }
    }

    /// Fails what was denied, and stops the run.
    fn deny(&mut self, id: &str, words: String) {
        let Some(wait) = self.state.waits.get(id).cloned() else { return };
        match wait.kind {
            WaitKind::Approval | WaitKind::UnknownEffect | WaitKind::Nested => {
                let issue = Issue::error(IssueCode::ApprovalDenied, words);
                self.judge_as(&wait.location, Judgement::without_attempt(vec![issue], None));
            }
            WaitKind::Input => {
                let attempt = self.last_attempt(&wait.location);
                let fault = ProviderFault::logical(FaultCode::Denied, words);
                self.take_answer(&attempt, Answer::fault(fault));
            }
        }
        self.stop_running();
    }

    fn answer_question(&mut self, id: &str, text: &str, by: Option<&str>) {
        let Some(location) = self.state.waits.get(id).map(|wait| wait.location.clone()) else { return };
        let attempt = self.last_attempt(&location);
        let mut answer = Answer::done(Value::String(text.to_owned()));
        answer.record.insert("by".into(), json!(by));
        self.take_answer(&attempt, answer);
    }

    fn assume(
        &mut self,
        location: &Location,
        assumption: Assumption,
        by: Option<&str>,
        before: Option<EffectStanding>,
    ) {
        match assumption {
            Assumption::Retry => {}
            Assumption::Done => self.judge_found(location, before),
            Assumption::Failed => {
                let who = by.unwrap_or("a person");
                let message = format!("{who} says that it did not happen");
                let issue = Issue::error(IssueCode::EffectAssumedFailed, message);
                let attempt = self.last_attempt(location).number;
                self.judge_as(location, Judgement::of_absent_effect(attempt, issue));
            }
        }
    }

    /// Stops every open attempt and every nested run that waits. Their answers are still awaited.
    pub(crate) fn stop_running(&mut self) {
        for (attempt, request) in self.nested_waits() {
            self.resume_nested(attempt, request);
        }
        for (attempt, _) in
            self.at_work(PhaseName::Running).into_iter().chain(self.at_work(PhaseName::Reconciling))
        {
            self.ask_for(Effect::Stop { attempt });
        }
    }

    /// A run that is to make way stays while a nested run is open, which may have an effect under way or in doubt. The nested
    /// run makes way first, by the same rule.
    fn nested_come_first(&self, message: &Message) -> Option<Refusal> {
        let is_patient = matches!(message, Message::Cancel { patient: true, .. });
        (is_patient && self.has_open_nested()).then_some(Refusal::EffectUnderWay)
    }

    fn has_open_nested(&self) -> bool {
        let is_nested = |(_, request): &(AttemptKey, Arc<Request>)| request.provider == ProviderName::NESTED;
        !self.nested_waits().is_empty() || self.at_work(PhaseName::Running).iter().any(is_nested)
    }

    /// Nested runs have effects of their own, and make way by the same rule.
    fn nested_make_way(&mut self) {
        let running = self.at_work(PhaseName::Running);
        for (attempt, request) in self.nested_waits() {
            self.resume_nested(attempt, request);
        }
        for (attempt, request) in running {
            if request.provider == ProviderName::NESTED {
                self.ask_for(Effect::MakeWay { attempt });
            }
        }
    }

    /// Whether something that would begin must wait, because the run makes way as soon as its effects have ended.
    pub(crate) fn is_held_back(&mut self, location: &Location) -> bool {
        let is_held = self.state.admission.drain_request().is_some();
        if is_held {
            self.agenda().held_back.insert(location.clone());
        }
        is_held
    }

    /// Stops a run that makes way once no effect is under way. A run that has nothing left to do completes.
    pub(crate) fn makes_way(&mut self) -> bool {
        let Some(request) = self.state.admission.drain_request().cloned() else {
            return false;
        };
        let is_open = |node: &Node| match node {
            Node::Unexpanded(activation) => activation.activated,
            Node::Group(_) | Node::SkippedGroup(_) => false,
            Node::Leaf(cell) => match cell.phase {
                Phase::Pending => cell.activation.activated,
                Phase::Settled { .. } => false,
                _ => true,
            },
        };
        let has_work = self.state.checks.iter().any(|check| check.nodes.values().any(is_open));
        if !has_work || self.has_effect_under_way() || self.has_open_nested() {
            return false;
        }
        self.deliver_message(request, None);
        true
    }

    pub(crate) fn wake(&mut self) {
        let plan = self.plan();
        while let Some((due, Location { check, scope })) = self.state.retries.first().cloned() {
            if due > self.at {
                break;
            }
            self.record(Event::RetryDue { check: plan.check(check).name.clone(), scope });
        }
        let expired: Vec<String> = self
            .state
            .waits
            .iter()
            .filter(|(_, wait)| wait.expires_at.is_some_and(|expiry| expiry <= self.at))
            .map(|(id, _)| id.clone())
            .collect();
        for id in expired {
            self.expire(id);
        }
        if self.is_overdue() {
            self.pass_deadline();
        }
    }

    /// A message that is delivered after the deadline starts nothing, even if the deadline was not noticed before.
    pub(crate) fn is_too_late_for(&self, input: &Input) -> bool {
        let (Input::Message(message) | Input::Sent { message, .. }) = input else { return false };
        !matches!(message, Message::Cancel { .. }) && self.is_overdue()
    }

    fn is_overdue(&self) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= self.at)
    }

    pub(crate) fn pass_deadline(&mut self) {
        self.record(Event::DeadlinePassed {});
        self.stop_running();
    }

    /// An expired wait counts as denied, unless the question has a default that is a valid answer.
    fn expire(&mut self, id: String) {
        self.record(Event::WaitExpired { id: id.clone() });
        let Some(wait) = self.state.waits.get(&id).cloned() else { return };
        let default = self
            .cell(wait.location.check, &wait.location.scope)
            .and_then(|cell| cell.phase.request())
            .and_then(|request| request.fields.get("default"))
            .and_then(Value::as_str)
            .map(str::to_owned)
            .filter(|text| wait.choices.is_empty() || wait.choices.contains(text));
        match (wait.kind, default) {
            (WaitKind::Input, Some(text)) => self.answer_question(&id, &text, None),
            (WaitKind::Input | WaitKind::Approval | WaitKind::UnknownEffect | WaitKind::Nested, _) => {
                let message = Message::Deny {
                    id,
                    by: None,
                    claim: None,
                    note: Some("the time to answer ran out".into()),
                };
                self.deliver_message(message, None);
            }
        }
    }

    /// A nested run that this one waits for has ended, or a message has come for it or for a run inside it.
    pub(crate) fn resume_nested_run(&mut self, run: &RunId) {
        let is_of = |wait: &&Wait| wait.kind == WaitKind::Nested;
        let Some(location) =
            self.state.waits.get(run.as_str()).filter(is_of).map(|wait| wait.location.clone())
        else {
            return;
        };
        let request =
            self.cell(location.check, &location.scope).and_then(|cell| cell.phase.request().cloned());
        if let Some(request) = request {
            self.resume_nested(self.last_attempt(&location), request);
        }
    }

    fn resume_nested(&mut self, attempt: AttemptKey, request: Arc<Request>) {
        self.no_longer_wait(&attempt);
        self.call_nested(attempt, request);
    }

    pub(crate) fn no_longer_wait(&mut self, AttemptKey { check, scope, .. }: &AttemptKey) {
        let check = self.state.plan.check(*check).name.clone();
        self.record(Event::NestedResumed { check, scope: scope.clone() });
    }

    /// Issues a nested run again: it may have ended meanwhile. If this run is stopping, the nested one is ended too,
    /// because nothing else would ever end it.
    pub(crate) fn call_nested(&mut self, attempt: AttemptKey, request: Arc<Request>) {
        self.ask_for(Effect::Perform { attempt: attempt.clone(), request });
        if self.state.admission.is_stopping() {
            self.ask_for(Effect::Stop { attempt });
        } else if self.state.admission.drain_request().is_some() {
            self.ask_for(Effect::MakeWay { attempt });
        }
    }
}

impl Run {
    /// Open attempts, or open commands of `reconcile`, by phase.
    pub(crate) fn at_work(&self, phase: PhaseName) -> Vec<(AttemptKey, Arc<Request>)> {
        let mut running = Vec::new();
        if self.state.busy == 0 {
            return running;
        }
        for (position, check) in self.state.checks.iter().enumerate() {
            for (scope, node) in check.nodes.iter() {
                if let Node::Leaf(cell) = node
                    && PhaseName::of(&cell.phase) == phase
                    && let Some(request) = cell.phase.request()
                {
                    let location = Location::new(CheckIndex::at(position), scope.clone());
                    running.push((self.last_attempt(&location), Arc::clone(request)));
                }
            }
        }
        running
    }

    fn reconciling_at(&self, check: &str, scope: &ScopePath) -> Option<AttemptKey> {
        let check = self.graph.find(check)?;
        self.cell(check, scope).filter(|cell| matches!(cell.phase, Phase::Reconciling { .. }))?;
        Some(self.last_attempt(&Location::new(check, scope.clone())))
    }

    /// Attempts that wait with a nested run.
    pub(crate) fn nested_waits(&self) -> Vec<(AttemptKey, Arc<Request>)> {
        let nested = self.state.waits.values().filter(|wait| wait.kind == WaitKind::Nested);
        nested
            .filter_map(|wait| {
                let Location { check, scope } = &wait.location;
                let request = self.cell(*check, scope)?.phase.request().cloned()?;
                Some((self.last_attempt(&wait.location), request))
            })
            .collect()
    }

    /// Whether this location waits for a nested run.
    pub(crate) fn waits_with_nested(&self, Location { check, scope }: &Location) -> bool {
        match self.cell(*check, scope).map(|cell| &cell.phase) {
            Some(Phase::Waiting { id, .. }) => {
                self.state.waits.get(id).is_some_and(|wait| wait.kind == WaitKind::Nested)
            }
            _ => false,
        }
    }
}
