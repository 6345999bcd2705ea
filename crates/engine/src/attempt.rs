//! From an open gate to an intent, and from an answer to a verdict.

use std::collections::BTreeMap;

use escrow_model::{
    Answer, AssumeMode, CheckIndex, Ending, Event, FaultClass, Field, Issue, Millis, Request, ScopePath,
    SkipReason, Tree, Verdict, WaitKind,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::graph::BlockName;
use crate::pure;
use crate::run::{Effect, Run, Turn};
use crate::state::{Phase, Place};
use crate::view::{BUDGET, View};

impl Run {
    /// `assume`, templates, safe mode, approval, and then the intent.
    pub(crate) fn attempt(&mut self, turn: &mut Turn, at: Millis, place: &Place) {
        let (check, scope) = place;
        let plan = self.plan();
        let spec = plan.check(*check);
        if self.is_assumption_broken(turn, at, place) {
            return;
        }
        let request = match self.render(*check, scope) {
            Ok(request) => request,
            Err(message) => {
                let issue = Issue::error("system/template_error", message);
                self.record_verdict(
                    turn,
                    at,
                    place,
                    Verdict::Failed,
                    vec![issue],
                    Some(FaultClass::Logical),
                    false,
                );
                return;
            }
        };
        if self.state.options.safe_mode && spec.mutating {
            let event = Event::CheckSkipped {
                check: spec.name.clone(),
                scope: scope.clone(),
                reason: SkipReason::SafeMode,
                detail: "it would have changed the world".into(),
                request: Some(Box::new(request)),
            };
            self.record(turn, at, event);
            return;
        }
        if spec.requires_approval {
            let digest = digest_of(&request);
            let approved = self.cell(*check, scope).and_then(|cell| cell.approved.clone());
            if approved.as_deref() != Some(&digest) {
                let changed = approved.is_some();
                self.ask_approval(turn, at, place, digest, changed);
                return;
            }
        }
        self.begin_attempt(turn, at, place, request);
    }

    fn is_assumption_broken(&mut self, turn: &mut Turn, at: Millis, place: &Place) -> bool {
        let (check, scope) = place;
        let plan = self.plan();
        let spec = plan.check(*check);
        for assumption in &spec.assume {
            let answer = assumption.test(&View::before(self, *check, scope), BUDGET);
            let message = match answer {
                Ok(true) => continue,
                Ok(false) => format!("`{}` does not hold", assumption.source()),
                Err(fault) => {
                    let message = format!("`assume` could not be evaluated: {fault}");
                    if spec.assume_mode == AssumeMode::Skip {
                        self.skip_for_error(turn, at, place, SkipReason::Assume, message);
                        return true;
                    }
                    message
                }
            };
            match spec.assume_mode {
                AssumeMode::Skip => self.skip_check(turn, at, *check, scope, SkipReason::Assume, message),
                AssumeMode::Fail => {
                    let issue = Issue::error("contract/assume_failed", message);
                    let class = Some(FaultClass::Logical);
                    self.record_verdict(turn, at, place, Verdict::Failed, vec![issue], class, false);
                }
            }
            return true;
        }
        false
    }

    fn begin_attempt(&mut self, turn: &mut Turn, at: Millis, place: &Place, request: Request) {
        let (check, scope) = place;
        let plan = self.plan();
        let spec = plan.check(*check);
        let attempt = self.next_attempt(*check, scope);
        let external = spec.criticality == escrow_model::Criticality::External;
        self.record(
            turn,
            at,
            Event::AttemptStarted {
                check: spec.name.clone(),
                scope: scope.clone(),
                attempt,
                external,
                request: Box::new(request),
            },
        );
        if let Some((answer, memory)) = pure::answer(self, *check, scope) {
            for change in memory {
                self.record(turn, at, change);
            }
            self.take_answer(turn, at, place, attempt, answer);
            return;
        }
        let Some(request) = self.cell(*check, scope).and_then(|cell| cell.request.clone()) else { return };
        if spec.provider == "human-input" {
            self.ask_input(turn, at, place, &request);
            return;
        }
        let scope = scope.clone();
        turn.effects.push(Effect::Perform { check: *check, scope, attempt, request });
    }

    pub(crate) fn next_attempt(&self, check: CheckIndex, scope: &ScopePath) -> u32 {
        self.state.checks[check.place()].attempts.get(scope).copied().unwrap_or(0) + 1
    }

    /// A provider's answer: an answer to an attempt that is not running came late or twice, and is dropped.
    pub(crate) fn take_answer(
        &mut self,
        turn: &mut Turn,
        at: Millis,
        place: &Place,
        attempt: u32,
        answer: Answer,
    ) {
        let (check, scope) = place;
        let current = self.state.checks[check.place()].attempts.get(scope).copied();
        let awaited = self.cell(*check, scope).is_some_and(|cell| {
            matches!(cell.phase, Phase::Running | Phase::Waiting(_)) && cell.request.is_some()
        });
        if !awaited || current != Some(attempt) {
            return;
        }
        let plan = self.plan();
        let spec = plan.check(*check);
        let unknown = match &answer.ending {
            Ending::Fault(fault) => {
                fault.effect_unknown
                    && spec.criticality == escrow_model::Criticality::External
                    && !spec.idempotent
            }
            Ending::Done => false,
        };
        let event = Event::AttemptAnswered {
            check: spec.name.clone(),
            scope: scope.clone(),
            attempt,
            answer: Box::new(answer),
        };
        self.record(turn, at, event);
        if unknown {
            self.ask_about_unknown_effect(turn, at, place);
            return;
        }
        let judgement = self.judge(*check, scope);
        self.record_verdict(
            turn,
            at,
            place,
            judgement.verdict,
            judgement.issues,
            judgement.fault,
            judgement.violation,
        );
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "a verdict is one thing with these parts, recorded in one place"
    )]
    pub(crate) fn record_verdict(
        &mut self,
        turn: &mut Turn,
        at: Millis,
        place: &Place,
        verdict: Verdict,
        issues: Vec<Issue>,
        fault: Option<FaultClass>,
        violation: bool,
    ) {
        let (check, scope) = place;
        let plan = self.plan();
        let spec = plan.check(*check);
        let name = spec.name.clone();
        let recovering = self.cell(*check, scope).is_some_and(|cell| cell.recovering);
        if let (Verdict::Failed, Some(class)) = (verdict, fault) {
            let code = issues.first().map(|issue| issue.rule_id.clone()).unwrap_or_default();
            let event = Event::FaultDetected { check: name.clone(), scope: scope.clone(), class, code };
            self.record(turn, at, event);
        }
        let settled = self.state.stopping.is_some() || !self.stays_open(*check, scope, verdict, fault);
        let attempt = self.state.checks[check.place()].attempts.get(scope).copied().unwrap_or(0);
        let event = Event::CheckJudged {
            check: name.clone(),
            scope: scope.clone(),
            attempt,
            verdict,
            issues,
            fault,
            violation,
            settled,
        };
        self.record(turn, at, event);
        match verdict {
            Verdict::Succeeded if recovering => {
                self.record(turn, at, Event::RecoverySucceeded { check: name, scope: scope.clone() });
            }
            Verdict::Failed if settled && !self.graph.dependents(*check).is_empty() => {
                self.record(turn, at, Event::FaultIsolated { check: name, scope: scope.clone() });
            }
            Verdict::Succeeded | Verdict::Failed => {}
        }
    }

    /// Dependents wait while a check's routing may re-run it or something it depends on.
    fn stays_open(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        verdict: Verdict,
        fault: Option<FaultClass>,
    ) -> bool {
        let spec = self.state.plan.check(check);
        let block = match verdict {
            Verdict::Succeeded => BlockName::Success,
            Verdict::Failed => BlockName::Fail,
        };
        let retries = verdict == Verdict::Failed && self.may_retry(check, scope, fault);
        let finish = !spec.for_each && self.graph.may_loop(check, BlockName::Finish);
        retries || self.graph.may_loop(check, block) || finish
    }

    pub(crate) fn may_retry(&self, check: CheckIndex, scope: &ScopePath, fault: Option<FaultClass>) -> bool {
        let spec = self.state.plan.check(check);
        let Some(retry) = spec.retry else { return false };
        let used = self.cell(check, scope).map_or(0, |cell| cell.retries);
        let wanted = match fault {
            Some(FaultClass::Transient) => spec.retry_transient,
            Some(FaultClass::Logical) => spec.retry_logical,
            None => false,
        };
        wanted && used < retry.max
    }

    /// The request, exactly as it would be performed; or why it cannot be rendered.
    fn render(&self, check: CheckIndex, scope: &ScopePath) -> Result<Request, String> {
        let plan = &self.state.plan;
        let spec = plan.check(check);
        let view = View::before(self, check, scope);
        let mut fields = Map::new();
        for (name, field) in &spec.fields {
            let value = render_field(field, &view).map_err(|fault| format!("`{name}`: {fault}"))?;
            fields.insert(name.clone(), value);
        }
        let mut env = BTreeMap::new();
        for (name, value) in &self.state.env {
            env.insert(name.clone(), value.as_str().unwrap_or_default().to_owned());
        }
        for (name, text) in &spec.env {
            let value = text.render(&view).map_err(|fault| format!("`env.{name}`: {fault}"))?;
            env.insert(name.clone(), value);
        }
        Ok(Request {
            provider: spec.provider.clone(),
            fields,
            env,
            timeout_ms: spec.timeout_ms,
            idempotency_key: self.idempotency_key(check, scope),
            item: self.item(check, scope).cloned(),
        })
    }

    /// The same for every retry of one decision, so that the other side can tell a repeat.
    fn idempotency_key(&self, check: CheckIndex, scope: &ScopePath) -> String {
        let retries = self.cell(check, scope).map_or(0, |cell| cell.retries);
        let decision = self.next_attempt(check, scope).saturating_sub(retries);
        let name = &self.state.plan.check(check).name;
        let text = format!("{}\0{name}\0{scope}\0{decision}", self.state.options.run);
        hex(&Sha256::digest(text.as_bytes())[..16])
    }

    fn ask_approval(&mut self, turn: &mut Turn, at: Millis, place: &Place, digest: String, changed: bool) {
        let (check, scope) = place;
        let plan = self.plan();
        let spec = plan.check(*check);
        let prompt = if changed {
            format!("approve `{}` again: what it would do has changed", spec.name)
        } else {
            format!("approve `{}`", spec.name)
        };
        let id = self.wait_id("a", place, &digest);
        let event = Event::WaitStarted {
            check: spec.name.clone(),
            scope: scope.clone(),
            kind: WaitKind::Approval,
            id,
            digest,
            prompt,
            choices: Vec::new(),
            expires_at: Some(at.saturating_add(DAY_MS)),
        };
        self.record(turn, at, event);
    }

    fn ask_input(&mut self, turn: &mut Turn, at: Millis, place: &Place, request: &Request) {
        let (check, scope) = place;
        let text = |key: &str| request.fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let choices = match request.fields.get("choices") {
            Some(Value::Array(choices)) => {
                choices.iter().filter_map(|choice| choice.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        let digest = digest_of(request);
        let event = Event::WaitStarted {
            check: self.plan().check(*check).name.clone(),
            scope: scope.clone(),
            kind: WaitKind::Input,
            id: self.wait_id("q", place, &digest),
            digest,
            prompt: text("prompt"),
            choices,
            expires_at: Some(at.saturating_add(request.timeout_ms)),
        };
        self.record(turn, at, event);
    }

    pub(crate) fn ask_about_unknown_effect(&mut self, turn: &mut Turn, at: Millis, place: &Place) {
        let (check, scope) = place;
        let name = self.plan().check(*check).name.clone();
        let event = Event::WaitStarted {
            prompt: format!("`{name}` may or may not have taken effect"),
            check: name,
            scope: scope.clone(),
            kind: WaitKind::UnknownEffect,
            id: self.wait_id("u", place, ""),
            digest: String::new(),
            choices: Vec::new(),
            expires_at: None,
        };
        self.record(turn, at, event);
    }

    /// Short enough to type, and the same in every replay.
    fn wait_id(&self, kind: &str, place: &Place, digest: &str) -> String {
        let name = &self.state.plan.check(place.0).name;
        let attempt = self.next_attempt(place.0, &place.1);
        let text = format!("{}\0{name}\0{}\0{attempt}\0{digest}", self.state.options.run, place.1);
        format!("{kind}_{}", hex(&Sha256::digest(text.as_bytes())[..6]))
    }
}

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn digest_of(request: &Request) -> String {
    let text = serde_json::to_string(request).unwrap_or_default();
    hex(&Sha256::digest(text.as_bytes()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn render_field(field: &Field, view: &View<'_>) -> Result<Value, String> {
    let text = |text: &escrow_model::Text| text.render(view).map_err(|fault| fault.to_string());
    Ok(match field {
        Field::Text(template) => Value::String(text(template)?),
        Field::Texts(templates) | Field::Argv(templates) => {
            let rendered: Result<Vec<Value>, String> =
                templates.iter().map(|template| text(template).map(Value::String)).collect();
            match field {
                Field::Argv(_) => json!({ "argv": rendered? }),
                _ => Value::Array(rendered?),
            }
        }
        Field::Tree(tree) => render_tree(tree, view)?,
        Field::Shell(shell) => {
            let values = shell.render(view).map_err(|fault| fault.to_string())?;
            let values: Map<String, Value> =
                values.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
            json!({ "shell": shell.script(), "values": values })
        }
        Field::Block(block) => Value::String(block.source().to_owned()),
        Field::Plain(value) => value.clone(),
    })
}

fn render_tree(tree: &Tree, view: &View<'_>) -> Result<Value, String> {
    Ok(match tree {
        Tree::Leaf(value) => value.clone(),
        Tree::Text(template) => template.value(view).map_err(|fault| fault.to_string())?,
        Tree::List(items) => {
            Value::Array(items.iter().map(|item| render_tree(item, view)).collect::<Result<_, _>>()?)
        }
        Tree::Map(members) => {
            let mut object = Map::new();
            for (name, member) in members {
                object.insert(name.clone(), render_tree(member, view)?);
            }
            Value::Object(object)
        }
    })
}
