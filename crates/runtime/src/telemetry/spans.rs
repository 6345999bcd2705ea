//! From entries of the journal to spans: one per run, per attempt, per wait and per look of `reconcile`.
//!
//! **Invariant:** pure. The same journal gives the same spans with the same ids, so that a run which several
//! processes drove one after the other is one trace.

use std::collections::BTreeMap;

use escrow_model::{Ending, Entry, Event, Message, Millis, ScopePath, ScopedCheck, Verdict, WaitKind, hex};
use sha2::{Digest, Sha256};

use super::settings::Parent;

/// More events than this are counted, not kept.
const EVENTS_MAX: usize = 128;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) id: [u8; 8],
    pub(super) parent: Option<[u8; 8]>,
    pub(super) name: String,
    pub(super) start: Millis,
    pub(super) end: Millis,
    pub(super) attributes: Attributes,
    pub(super) events: Vec<SpanEvent>,
    pub(super) events_dropped: usize,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpanEvent {
    pub(super) at: Millis,
    pub(super) name: &'static str,
    pub(super) attributes: Attributes,
}

pub(super) type Attributes = Vec<(&'static str, Attribute)>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Attribute {
    Text(String),
    Number(i64),
    Flag(bool),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Unset,
    Ok,
    Error(String),
}

/// Follows a journal and keeps the spans that are complete.
#[derive(Debug)]
pub(super) struct Spans {
    pub(super) trace: [u8; 16],
    parent: Option<[u8; 8]>,
    run: Option<Span>,
    /// How often the run was opened again; each time it is another span.
    passes: u32,
    attempts: BTreeMap<ScopedCheck, Span>,
    waits: BTreeMap<String, (ScopedCheck, Span)>,
    looks: BTreeMap<ScopedCheck, Span>,
    pub(super) finished: Vec<Span>,
}

impl Spans {
    pub(super) fn new(parent: Option<&Parent>) -> Spans {
        Spans {
            trace: parent.map_or([0; 16], |parent| parent.trace),
            parent: parent.map(|parent| parent.span),
            run: None,
            passes: 0,
            attempts: BTreeMap::new(),
            waits: BTreeMap::new(),
            looks: BTreeMap::new(),
            finished: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, entry: &Entry) {
        let at = entry.at;
        match &entry.event {
            Event::RunStarted { plan, options, .. } => {
                let id = options.run.as_str();
                if self.parent.is_none() {
                    self.trace = digest(&[id]);
                }
                let mut attributes = vec![
                    ("escrow.run", text(id)),
                    ("escrow.playbook", text(&plan.name)),
                    ("escrow.event", text(options.event.as_deref().unwrap_or("manual"))),
                ];
                if let Some(invocation) = &options.invocation {
                    attributes.push(("escrow.invocation", text(invocation)));
                }
                let name = format!("run {}", plan.name);
                self.run = Some(span(digest(&[id, "run"]), self.parent, name, at, attributes));
            }
            Event::RunReopened { .. } => self.reopen(at),
            Event::AttemptStarted { check, scope, attempt, external, request } => {
                let attributes = vec![
                    ("escrow.check", text(check)),
                    ("escrow.scope", text(&scope.to_string())),
                    ("escrow.attempt", Attribute::Number(i64::from(*attempt))),
                    ("escrow.provider", text(request.provider.as_str())),
                    ("escrow.external", Attribute::Flag(*external)),
                ];
                let opened = self.below(check, scope, &format!("#{attempt}"), at, attributes);
                self.attempts.insert(ScopedCheck::new(check, scope), opened);
            }
            Event::AttemptAnswered { check, scope, answer, .. } => {
                if let Some(open) = self.attempts.get_mut(&ScopedCheck::new(check, scope)) {
                    open.end = at;
                    if let Ending::Fault(fault) = &answer.ending {
                        open.attributes.push(("escrow.fault", text(fault.code.as_str())));
                        open.attributes
                            .push(("escrow.effect_unknown", Attribute::Flag(fault.effect_unknown)));
                    }
                    if let Some(code) = answer.record.get("exitCode").and_then(serde_json::Value::as_i64) {
                        open.attributes.push(("process.exit.code", Attribute::Number(code)));
                    }
                }
            }
            Event::CheckJudged { check, scope, verdict, issues, .. } => {
                let Some(mut open) = self.attempts.remove(&ScopedCheck::new(check, scope)) else { return };
                let (status, outcome) = match verdict {
                    Verdict::Succeeded => ("succeeded", Outcome::Ok),
                    Verdict::Failed => {
                        let message = issues.first().map(|issue| issue.message.clone()).unwrap_or_default();
                        ("failed", Outcome::Error(message))
                    }
                };
                open.attributes.push(("escrow.status", text(status)));
                open.attributes
                    .extend(issues.first().map(|issue| ("escrow.reason", text(&issue.code.text()))));
                open.outcome = outcome;
                self.close(open, at);
            }
            Event::RetryScheduled { check, scope, retry, at: due } => {
                let attributes = vec![
                    ("escrow.retry", Attribute::Number(i64::from(*retry))),
                    ("escrow.delay_ms", number(due.saturating_sub(at))),
                ];
                self.note(check, scope, SpanEvent { at, name: "retry", attributes });
            }
            Event::CheckSkipped { check, scope, reason, .. } => {
                let attributes = vec![
                    ("escrow.check", text(&format!("{check}{scope}"))),
                    ("escrow.reason", text(reason.as_str())),
                ];
                self.note_of_run(SpanEvent { at, name: "skipped", attributes });
            }
            Event::Routed { check, scope, to, to_scope, .. } => {
                let attributes = vec![
                    ("escrow.check", text(&format!("{check}{scope}"))),
                    ("escrow.to", text(&format!("{to}{to_scope}"))),
                ];
                self.note_of_run(SpanEvent { at, name: "routed", attributes });
            }
            Event::WaitStarted { check, scope, kind, id, .. } => {
                let location = ScopedCheck::new(check, scope);
                if *kind == WaitKind::UnknownEffect {
                    self.unknown(&location, at);
                }
                let attributes = vec![
                    ("escrow.check", text(check)),
                    ("escrow.scope", text(&scope.to_string())),
                    ("escrow.wait", text(id)),
                    ("escrow.kind", text(kind_word(*kind))),
                ];
                let mut opened = self.below(check, scope, id, at, attributes);
                opened.name = format!("wait {}", kind_word(*kind));
                self.waits.insert(id.clone(), (location, opened));
            }
            Event::MessageDelivered { message, refused: None } => self.message(message, at),
            Event::WaitExpired { id } => self.resolve(id, "expired", at),
            Event::ReconcileStarted { check, scope, attempt, .. } => {
                let location = ScopedCheck::new(check, scope);
                self.unknown(&location, at);
                let attributes = vec![
                    ("escrow.check", text(check)),
                    ("escrow.scope", text(&scope.to_string())),
                    ("escrow.attempt", Attribute::Number(i64::from(*attempt))),
                ];
                let mut opened = self.below(check, scope, &format!("?{attempt}"), at, attributes);
                opened.name = format!("reconcile {}", opened.name);
                self.looks.insert(location, opened);
            }
            Event::Reconciled { check, scope, finding, .. } => {
                if let Some(mut look) = self.looks.remove(&ScopedCheck::new(check, scope)) {
                    let found = finding.map_or("unknown", |finding| finding.as_str());
                    look.attributes.push(("escrow.status", text(found)));
                    self.close(look, at);
                }
            }
            Event::RunEnded { reason } => {
                let left: Vec<Span> = self
                    .waits
                    .values()
                    .map(|(_, span)| span)
                    .chain(self.looks.values())
                    .chain(self.attempts.values())
                    .cloned()
                    .collect();
                self.waits.clear();
                self.looks.clear();
                self.attempts.clear();
                left.into_iter().for_each(|span| self.close(span, at));
                if let Some(mut run) = self.run.clone() {
                    let status = reason.code.status();
                    run.attributes.push(("escrow.status", text(status.as_str())));
                    run.attributes.push(("escrow.reason", text(reason.code.as_str())));
                    run.outcome = match status {
                        escrow_model::RunStatus::Completed => Outcome::Ok,
                        _ => Outcome::Error(reason.summary.clone()),
                    };
                    self.close(run, at);
                }
            }
            _ => {}
        }
    }

    /// A resumed run gets a span of its own.
    fn reopen(&mut self, at: Millis) {
        self.passes += 1;
        let passes = self.passes.to_string();
        if let Some(run) = &mut self.run {
            run.id = digest_of(&run.id, &passes);
            run.start = at;
            run.events.clear();
            run.events_dropped = 0;
        }
    }

    /// A span below the run's, called after its check.
    fn below(&self, check: &str, scope: &ScopePath, what: &str, at: Millis, attributes: Attributes) -> Span {
        let run = self.run.as_ref();
        let id = digest_of(&run.map_or([0; 8], |run| run.id), &format!("{check}{scope}\0{what}"));
        span(id, run.map(|run| run.id), format!("{check}{scope}"), at, attributes)
    }

    /// The attempt is over, and its effect is unknown.
    fn unknown(&mut self, location: &ScopedCheck, at: Millis) {
        if let Some(mut open) = self.attempts.remove(location) {
            open.attributes.push(("escrow.status", text("unknown")));
            open.outcome = Outcome::Error("it may or may not have taken effect".into());
            let end = open.end.max(open.start);
            self.close(open, if end > 0 { end } else { at });
        }
    }

    fn message(&mut self, message: &Message, at: Millis) {
        match message {
            Message::Approve { id, .. } => self.resolve(id, "approved", at),
            Message::Deny { id, .. } => self.resolve(id, "denied", at),
            Message::Answer { id, .. } => self.resolve(id, "answered", at),
            Message::Assume { check, scope, assumption, .. } => {
                let location = ScopedCheck::new(check, scope);
                let id = self.waits.iter().find(|(_, (at, _))| *at == location).map(|(id, _)| id.clone());
                if let Some(id) = id {
                    self.resolve(&id, assumption.as_str(), at);
                }
            }
            Message::Cancel { .. } => {
                self.note_of_run(SpanEvent { at, name: "cancelled", attributes: Vec::new() });
            }
        }
    }

    fn resolve(&mut self, id: &str, how: &str, at: Millis) {
        if let Some((_, mut wait)) = self.waits.remove(id) {
            wait.attributes.push(("escrow.status", text(how)));
            self.close(wait, at);
        }
    }

    /// On the attempt that has just been judged.
    fn note(&mut self, check: &str, scope: &ScopePath, event: SpanEvent) {
        let name = format!("{check}{scope}");
        if let Some(span) = self.finished.iter_mut().rev().find(|span| span.name == name) {
            span.events.push(event);
        }
    }

    fn note_of_run(&mut self, event: SpanEvent) {
        if let Some(run) = &mut self.run {
            if run.events.len() < EVENTS_MAX {
                run.events.push(event);
            } else {
                run.events_dropped += 1;
            }
        }
    }

    fn close(&mut self, mut span: Span, at: Millis) {
        span.end = at.max(span.start);
        self.finished.push(span);
    }
}

fn span(id: [u8; 8], parent: Option<[u8; 8]>, name: String, start: Millis, attributes: Attributes) -> Span {
    Span {
        id,
        parent,
        name,
        start,
        end: 0,
        attributes,
        events: Vec::new(),
        events_dropped: 0,
        outcome: Outcome::Unset,
    }
}

fn text(text: &str) -> Attribute {
    Attribute::Text(text.to_owned())
}

fn number(number: u64) -> Attribute {
    Attribute::Number(i64::try_from(number).unwrap_or(i64::MAX))
}

pub(super) fn kind_word(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Approval => "approval",
        WaitKind::Input => "input",
        WaitKind::UnknownEffect => "unknown_effect",
        WaitKind::Nested => "nested",
    }
}

/// An id that follows from what it is for.
fn digest<const SIZE: usize>(parts: &[&str]) -> [u8; SIZE] {
    let digest = Sha256::digest(parts.join("\0").as_bytes());
    let mut id = [0; SIZE];
    id.copy_from_slice(&digest[..SIZE]);
    id
}

fn digest_of(above: &[u8; 8], what: &str) -> [u8; 8] {
    digest(&[&hex(above), what])
}
