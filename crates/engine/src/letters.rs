//! Letters, time and a new driver: what reaches a run from outside its providers.

use std::collections::{BTreeMap, BTreeSet};

use escrow_model::{
    Answer, Assumption, CheckIndex, Criticality, Event, Issue, Letter, Millis, ProviderFault, SkipReason,
    Verdict, WaitKind,
};
use serde_json::{Value, json};

use crate::apply::wait_of;
use crate::run::{Effect, Run, Turn};
use crate::state::{Node, Phase, Place};

impl Run {
    pub(crate) fn open_letter(&mut self, turn: &mut Turn, at: Millis, letter: Letter) {
        let refused = self.refusal(&letter);
        let opened = refused.is_none();
        self.record(turn, at, Event::LetterOpened { letter: letter.clone(), refused });
        if !opened {
            return;
        }
        match letter {
            Letter::Approve { .. } => {}
            Letter::Deny { .. } | Letter::Cancel { .. } => self.stop_running(turn),
            Letter::Answer { id, text, by } => self.answer_question(turn, at, &id, &text, by.as_deref()),
            Letter::Assume { check, scope, assumption, by } => {
                let Some(index) = self.graph.find(&check) else { return };
                self.assume(turn, at, &(index, scope), assumption, by.as_deref());
            }
        }
    }

    /// Why a letter changes nothing.
    fn refusal(&self, letter: &Letter) -> Option<String> {
        let waiting = |id: &String, kinds: &[WaitKind]| match self.state.waits.get(id) {
            None => Some(format!("nothing waits for `{id}`")),
            Some(wait) if !kinds.contains(&wait.kind) => Some(format!("`{id}` waits for something else")),
            Some(_) => None,
        };
        match letter {
            Letter::Approve { id, .. } => waiting(id, &[WaitKind::Approval]),
            Letter::Deny { id, .. } => waiting(id, &[WaitKind::Approval, WaitKind::Input]),
            Letter::Answer { id, text, .. } => waiting(id, &[WaitKind::Input]).or_else(|| {
                let choices = &self.state.waits.get(id)?.choices;
                (!choices.is_empty() && !choices.contains(text))
                    .then(|| format!("`{text}` is none of: {}", choices.join(", ")))
            }),
            Letter::Assume { check, scope, .. } => {
                let Some(index) = self.graph.find(check) else {
                    return Some(format!("no check is called `{check}`"));
                };
                match wait_of(&self.state.waits, index, scope) {
                    Some((_, wait)) if wait.kind == WaitKind::UnknownEffect => None,
                    Some(_) | None => Some(format!("the effect of `{check}{scope}` is not unknown")),
                }
            }
            Letter::Cancel { .. } => {
                self.state.stopping.is_some().then(|| "the run is already stopping".to_owned())
            }
        }
    }

    fn answer_question(&mut self, turn: &mut Turn, at: Millis, id: &str, text: &str, by: Option<&str>) {
        let Some(place) = self.state.waits.get(id).map(|wait| wait.place.clone()) else { return };
        let attempt = self.next_attempt(place.0, &place.1) - 1;
        let mut answer = Answer::done(Value::String(text.to_owned()));
        answer.record.insert("by".into(), json!(by));
        self.take_answer(turn, at, &place, attempt, answer);
    }

    fn assume(
        &mut self,
        turn: &mut Turn,
        at: Millis,
        place: &Place,
        assumption: Assumption,
        by: Option<&str>,
    ) {
        let who = by.unwrap_or("a person");
        match assumption {
            Assumption::Retry => {}
            Assumption::Done => {
                self.record_verdict(turn, at, place, Verdict::Succeeded, Vec::new(), None, false);
            }
            Assumption::Failed => {
                let issue =
                    Issue::error("effect/assumed_failed", format!("{who} says that it did not happen"));
                self.record_verdict(turn, at, place, Verdict::Failed, vec![issue], None, false);
            }
        }
    }

    /// Ends every attempt that runs; the answers are still awaited.
    fn stop_running(&mut self, turn: &mut Turn) {
        for (place, check) in self.state.checks.iter().enumerate() {
            for (scope, node) in &check.nodes {
                if let Node::Leaf(cell) = node
                    && cell.phase == Phase::Running
                {
                    let attempt = check.attempts.get(scope).copied().unwrap_or(0);
                    turn.effects.push(Effect::Stop {
                        check: CheckIndex::at(place),
                        scope: scope.clone(),
                        attempt,
                    });
                }
            }
        }
    }

    pub(crate) fn wake(&mut self, turn: &mut Turn, at: Millis) {
        let plan = self.plan();
        while let Some((due, check, scope)) = self.state.retries.first().cloned() {
            if due > at {
                break;
            }
            self.record(turn, at, Event::RetryDue { check: plan.check(check).name.clone(), scope });
        }
        let expired: Vec<String> = self
            .state
            .waits
            .iter()
            .filter(|(_, wait)| wait.expires_at.is_some_and(|expiry| expiry <= at))
            .map(|(id, _)| id.clone())
            .collect();
        for id in expired {
            self.expire(turn, at, id);
        }
        if self.deadline().is_some_and(|deadline| deadline <= at) {
            self.record(turn, at, Event::DeadlinePassed {});
            self.stop_running(turn);
        }
    }

    /// Silence is a denial, unless the question has a default.
    fn expire(&mut self, turn: &mut Turn, at: Millis, id: String) {
        self.record(turn, at, Event::WaitExpired { id: id.clone() });
        let Some(wait) = self.state.waits.get(&id).cloned() else { return };
        let default = self
            .cell(wait.place.0, &wait.place.1)
            .and_then(|cell| cell.request.as_ref())
            .and_then(|request| request.fields.get("default"))
            .and_then(Value::as_str)
            .map(str::to_owned);
        match (wait.kind, default) {
            (WaitKind::Input, Some(text)) => self.answer_question(turn, at, &id, &text, None),
            (WaitKind::Input, None) => {
                let attempt = self.next_attempt(wait.place.0, &wait.place.1) - 1;
                let fault = ProviderFault::logical("expired", "nobody answered in time");
                self.take_answer(turn, at, &wait.place, attempt, Answer::fault(fault));
            }
            (WaitKind::Approval | WaitKind::UnknownEffect, _) => {
                let letter = Letter::Deny { id, by: None, note: Some("nobody answered in time".into()) };
                self.open_letter(turn, at, letter);
            }
        }
    }

    /// Another process drives the run: what was started and left unanswered is issued again, but for
    /// external effects, of which nobody knows whether they happened.
    pub(crate) fn take_over(&mut self, turn: &mut Turn, at: Millis) {
        self.record(turn, at, Event::RunResumed {});
        self.state.agenda.0.inspection_asked = false;
        let plan = self.plan();
        let mut running = Vec::new();
        for (place, check) in self.state.checks.iter().enumerate() {
            for (scope, node) in &check.nodes {
                if let Node::Leaf(cell) = node
                    && cell.phase == Phase::Running
                    && let Some(request) = &cell.request
                {
                    let attempt = check.attempts.get(scope).copied().unwrap_or(0);
                    running.push(((CheckIndex::at(place), scope.clone()), attempt, request.clone()));
                }
            }
        }
        for (place, attempt, request) in running {
            let spec = plan.check(place.0);
            let external = spec.criticality == Criticality::External;
            if self.state.stopping.is_some() || (external && !spec.idempotent) {
                let fault =
                    ProviderFault::transient("lost", "Escrow was ended while this ran").with_unknown_effect();
                self.take_answer(turn, at, &place, attempt, Answer::fault(fault));
            } else {
                let (check, scope) = place;
                turn.effects.push(Effect::Perform { check, scope, attempt, request });
            }
        }
        self.put_everything_on_the_agenda();
    }

    /// What `--only` and `--tags` leave out. Both bring dependencies along.
    pub(crate) fn filtered(&self) -> BTreeMap<CheckIndex, SkipReason> {
        let options = &self.state.options;
        let plan = &self.state.plan;
        let mut left_out = BTreeMap::new();
        let tagged =
            |index: CheckIndex, tags: &[String]| plan.check(index).tags.iter().any(|tag| tags.contains(tag));
        if !options.only.is_empty() {
            let wanted = self.with_dependencies(
                plan.indices().filter(|index| options.only.contains(&plan.check(*index).name)),
            );
            left_out.extend(
                plan.indices().filter(|index| !wanted.contains(index)).map(|index| (index, SkipReason::Only)),
            );
        }
        if !options.tags.is_empty() {
            let wanted = self.with_dependencies(plan.indices().filter(|index| tagged(*index, &options.tags)));
            for index in plan.indices().filter(|index| !wanted.contains(index)) {
                left_out.entry(index).or_insert(SkipReason::Tags);
            }
        }
        if !options.exclude_tags.is_empty() {
            for index in plan.indices().filter(|index| tagged(*index, &options.exclude_tags)) {
                left_out.entry(index).or_insert(SkipReason::Tags);
            }
        }
        left_out
    }

    fn with_dependencies(&self, checks: impl Iterator<Item = CheckIndex>) -> BTreeSet<CheckIndex> {
        let mut wanted: BTreeSet<CheckIndex> = checks.collect();
        let mut open: Vec<CheckIndex> = wanted.iter().copied().collect();
        while let Some(check) = open.pop() {
            let spec = self.state.plan.check(check);
            for dependency in spec.needs.iter().flat_map(|need| &need.any_of).chain(&spec.after) {
                if wanted.insert(*dependency) {
                    open.push(*dependency);
                }
            }
        }
        wanted
    }
}
