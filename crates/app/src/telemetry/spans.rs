//! Builds spans: one per run, attempt, wait and `reconcile`.
//!
//! **Invariant:** pure. The same journal gives the same spans with the same ids, so a run that several
//! processes drove one after the other is one trace.

use std::collections::BTreeMap;

use escrow_model::{Ending, Millis, Reason, RunStatus, ScopedCheck, Verdict, WaitKind, hex};
use escrow_runtime::telemetry::Parent;
use sha2::{Digest, Sha256};

use crate::timeline::{CheckScope, Item, Judged, Retry, What};

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

/// Follows a timeline and keeps the spans that are complete.
#[derive(Debug)]
pub(super) struct Spans {
    pub(super) trace: [u8; 16],
    parent: Option<[u8; 8]>,
    run: Option<Span>,
    /// How often the run was reopened. Each pass is another span.
    passes: u32,
    attempts: BTreeMap<ScopedCheck, Span>,
    /// By the id of the wait.
    waits: BTreeMap<String, Span>,
    reconciles: BTreeMap<ScopedCheck, Span>,
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
            reconciles: BTreeMap::new(),
            finished: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, item: &Item<'_>) {
        let at = item.at;
        match &item.what {
            What::RunStarted { plan, options } => {
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
            What::RunReopened { .. } => self.reopen(at),
            What::AttemptStarted { of, attempt, external, provider, .. } => {
                let attributes = vec![
                    ("escrow.check", text(of.check)),
                    ("escrow.scope", text(&of.scope.to_string())),
                    ("escrow.attempt", Attribute::Number(i64::from(*attempt))),
                    ("escrow.provider", text(provider)),
                    ("escrow.external", Attribute::Flag(*external)),
                ];
                let opened = self.below(*of, &format!("#{attempt}"), at, attributes);
                self.attempts.insert(of.scoped_check(), opened);
            }
            What::AttemptAnswered { of, answer, .. } => {
                if let Some(open) = self.attempts.get_mut(&of.scoped_check()) {
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
            What::Judged(judged) => {
                self.judged(judged, at);
                if let Some(retry) = judged.retry {
                    self.retry(judged.of, retry, at);
                }
            }
            What::RetryScheduled { of, retry } => self.retry(*of, *retry, at),
            What::Skipped { of, reason, .. } => {
                let attributes =
                    vec![("escrow.check", text(&of.to_string())), ("escrow.reason", text(reason.as_str()))];
                self.note_of_run(SpanEvent { at, name: "skipped", attributes });
            }
            What::Routed { from, to, .. } => {
                let attributes =
                    vec![("escrow.check", text(&from.to_string())), ("escrow.to", text(&to.to_string()))];
                self.note_of_run(SpanEvent { at, name: "routed", attributes });
            }
            What::WaitStarted { of, kind, id, .. } => {
                if *kind == WaitKind::UnknownEffect {
                    self.unknown(*of, at);
                }
                let attributes = vec![
                    ("escrow.check", text(of.check)),
                    ("escrow.scope", text(&of.scope.to_string())),
                    ("escrow.wait", text(id)),
                    ("escrow.kind", text(kind_word(*kind))),
                ];
                let mut opened = self.below(*of, id, at, attributes);
                opened.name = format!("wait {}", kind_word(*kind));
                self.waits.insert((*id).to_owned(), opened);
            }
            What::WaitResolved { id, how } => {
                if let Some(mut wait) = self.waits.remove(id) {
                    wait.attributes.push(("escrow.status", text(how.as_str())));
                    self.close(wait, at);
                }
            }
            What::CancelRequested => {
                self.note_of_run(SpanEvent { at, name: "cancelled", attributes: Vec::new() });
            }
            What::ReconcileStarted { of, attempt } => {
                self.unknown(*of, at);
                let attributes = vec![
                    ("escrow.check", text(of.check)),
                    ("escrow.scope", text(&of.scope.to_string())),
                    ("escrow.attempt", Attribute::Number(i64::from(*attempt))),
                ];
                let mut opened = self.below(*of, &format!("?{attempt}"), at, attributes);
                opened.name = format!("reconcile {}", opened.name);
                self.reconciles.insert(of.scoped_check(), opened);
            }
            What::Reconciled { of, finding, .. } => {
                if let Some(mut reconcile) = self.reconciles.remove(&of.scoped_check()) {
                    let found = finding.map_or("unknown", |finding| finding.as_str());
                    reconcile.attributes.push(("escrow.status", text(found)));
                    self.close(reconcile, at);
                }
            }
            What::RunEnded { reason } => self.end(reason, at),
            What::RunResumed
            | What::DeadlinePassed
            | What::ArtifactsVerified { .. }
            | What::FanSettled { .. }
            | What::LoopBudgetExceeded { .. }
            | What::IssueRaised { .. }
            | What::EffectReused { .. }
            | What::MessageRefused { .. }
            | What::NestedStarted { .. } => {}
        }
    }

    fn judged(&mut self, judged: &Judged<'_>, at: Millis) {
        let Some(mut open) = self.attempts.remove(&judged.of.scoped_check()) else { return };
        let first = judged.issues.first();
        let (status, outcome) = match judged.verdict {
            Verdict::Succeeded => ("succeeded", Outcome::Ok),
            Verdict::Failed => {
                let message = first.map(|issue| issue.message.clone()).unwrap_or_default();
                ("failed", Outcome::Error(message))
            }
        };
        open.attributes.push(("escrow.status", text(status)));
        open.attributes.extend(first.map(|issue| ("escrow.reason", text(&issue.code.text()))));
        open.outcome = outcome;
        self.close(open, at);
    }

    /// A note on the attempt that was judged last.
    fn retry(&mut self, of: CheckScope<'_>, retry: Retry, at: Millis) {
        let attributes = vec![
            ("escrow.retry", Attribute::Number(i64::from(retry.number))),
            ("escrow.delay_ms", number(retry.delay_ms)),
        ];
        let name = of.to_string();
        if let Some(span) = self.finished.iter_mut().rev().find(|span| span.name == name) {
            span.events.push(SpanEvent { at, name: "retry", attributes });
        }
    }

    fn end(&mut self, reason: &Reason, at: Millis) {
        let mut left: Vec<Span> = std::mem::take(&mut self.waits).into_values().collect();
        left.extend(std::mem::take(&mut self.reconciles).into_values());
        left.extend(std::mem::take(&mut self.attempts).into_values());
        left.into_iter().for_each(|span| self.close(span, at));
        if let Some(mut run) = self.run.clone() {
            let status = reason.code.status();
            run.attributes.push(("escrow.status", text(status.as_str())));
            run.attributes.push(("escrow.reason", text(reason.code.as_str())));
            run.outcome = match status {
                RunStatus::Completed => Outcome::Ok,
                RunStatus::Running
                | RunStatus::Waiting
                | RunStatus::Failed
                | RunStatus::TimedOut
                | RunStatus::Aborted
                | RunStatus::Cancelled => Outcome::Error(reason.summary.clone()),
            };
            self.close(run, at);
        }
    }

    /// A reopened run continues in another span.
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

    /// A span below the run's, named after its check.
    fn below(&self, of: CheckScope<'_>, what: &str, at: Millis, attributes: Attributes) -> Span {
        let run = self.run.as_ref();
        let id = digest_of(&run.map_or([0; 8], |run| run.id), &format!("{of}\0{what}"));
        span(id, run.map(|run| run.id), of.to_string(), at, attributes)
    }

    /// The attempt is over, and its effect is unknown.
    fn unknown(&mut self, of: CheckScope<'_>, at: Millis) {
        if let Some(mut open) = self.attempts.remove(&of.scoped_check()) {
            open.attributes.push(("escrow.status", text("unknown")));
            open.outcome = Outcome::Error("it may or may not have taken effect".into());
            let end = open.end.max(open.start);
            self.close(open, if end > 0 { end } else { at });
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

/// An id derived from what it identifies.
fn digest<const SIZE: usize>(parts: &[&str]) -> [u8; SIZE] {
    let digest = Sha256::digest(parts.join("\0").as_bytes());
    let mut id = [0; SIZE];
    id.copy_from_slice(&digest[..SIZE]);
    id
}

fn digest_of(above: &[u8; 8], what: &str) -> [u8; 8] {
    digest(&[&hex(above), what])
}
