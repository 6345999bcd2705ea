//! The recorded world of a journal: answers and messages, with the times that they took.

use std::collections::{BTreeMap, VecDeque};

use escrow_model::{
    Answer, ChangedArtifact, Delivery, Ending, Entry, Event, FaultCode, LedgerEffect, Message, Millis,
    ReasonCode, Request, RunStatus, ScopePath, ScopedCheck, WaitKind,
};

use crate::overridden::Override;

/// An attempt as the journal names it: unlike an `AttemptKey`, it means the same under another plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RecordedAttempt {
    pub(super) check: String,
    pub(super) scope: ScopePath,
    pub(super) number: u32,
}

impl RecordedAttempt {
    fn location(&self) -> ScopedCheck {
        ScopedCheck::new(&self.check, &self.scope)
    }
}

fn key(check: &str, scope: &ScopePath, number: u32) -> RecordedAttempt {
    RecordedAttempt { check: check.to_owned(), scope: scope.clone(), number }
}

#[derive(Debug, Default)]
pub(super) struct Record {
    /// What the ledger answered, in order.
    pub(super) ledger: BTreeMap<ScopedCheck, VecDeque<LedgerAnswer>>,
    pub(super) attempts: BTreeMap<RecordedAttempt, RecordedAsk>,
    /// What `reconcile` was asked about the effects of attempts, in order: a run that is opened again asks again.
    pub(super) reconciles: BTreeMap<RecordedAttempt, VecDeque<RecordedAsk>>,
    /// For each wait of a check, in order: the response.
    pub(super) messages: BTreeMap<ScopedCheck, VecDeque<Response>>,
    pub(super) cancellations: Vec<(Moment, Message)>,
    /// Times at which a retry or a deadline became due, each with the first entry of that time.
    pub(super) wakes: BTreeMap<Millis, usize>,
    /// What people did with the run after its end.
    pub(super) afterwards: VecDeque<(Millis, Afterwards)>,
    /// What attempts had delivered when they were done.
    pub(super) inspections: BTreeMap<RecordedAttempt, RecordedInspection>,
    /// Where each check starts, asks for approval or is kept from starting by a changed artifact, in order.
    pub(super) starts: BTreeMap<ScopedCheck, VecDeque<RecordedStart>>,
    /// The last inspection of the run's artifacts.
    pub(super) delivery: Option<RecordedInspection>,
}

/// An entry that follows from a second look, if there was one.
#[derive(Clone, Debug)]
pub(super) struct RecordedStart {
    pub(super) entry: usize,
    pub(super) changed: Option<ChangedArtifact>,
}

/// The check that an entry starts, asks about or keeps from starting.
pub(super) fn starts_at(event: &Event) -> Option<ScopedCheck> {
    match event {
        Event::AttemptStarted { check, scope, .. }
        | Event::WaitStarted { check, scope, kind: WaitKind::Approval | WaitKind::UnknownEffect, .. }
        | Event::ReconcileStarted { check, scope, .. }
        | Event::EffectReused { check, scope, .. }
        | Event::ArtifactChanged { check, scope, .. } => Some(ScopedCheck::new(check, scope)),
        _ => None,
    }
}

/// An inspection of artifacts: the result, and how long it took.
#[derive(Clone, Debug)]
pub(super) struct RecordedInspection {
    pub(super) delivery: Delivery,
    pub(super) took_ms: Millis,
    pub(super) entry: usize,
}

/// When something came in: its time and, because much may happen in one millisecond, its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    pub(super) at: Millis,
    pub(super) entry: usize,
}

/// The response to a wait.
#[derive(Clone, Debug)]
pub(super) enum Response {
    /// The run still waits, or what it waited for was decided otherwise.
    None,
    /// In the order in which they came: several people may have to approve.
    Messages(Vec<Said>),
    /// It expired.
    Silence,
}

/// A message, and how long after the question it came.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) message: Message,
    pub(super) after_ms: Millis,
    pub(super) entry: usize,
}

/// What a person did with a run that had ended.
#[derive(Debug)]
pub(super) enum Afterwards {
    Reopened {
        by: Option<String>,
    },
    /// The word was about a run that had ended for this reason.
    Overridden {
        about: Option<ReasonCode>,
        word: Override,
    },
}

/// A request to the world, and what came back.
#[derive(Clone, Debug)]
pub(super) struct RecordedAsk {
    request: Request,
    started_at: Millis,
    answer: Option<Answer>,
    took_ms: Millis,
    entry: usize,
    /// A person answered before `reconcile` did.
    pub(super) overruled: Option<Said>,
}

/// What the ledger knew about a key, and where the journal has it.
type LedgerAnswer = (Option<Box<LedgerEffect>>, usize);

/// A recorded answer to a request.
pub(super) struct Recorded {
    pub(super) answer: Answer,
    pub(super) took_ms: Millis,
    /// Where the journal has it.
    pub(super) entry: usize,
    /// It answered another request than the one that is asked now.
    pub(super) differs: bool,
}

impl RecordedAsk {
    fn new(request: &Request, started_at: Millis) -> RecordedAsk {
        RecordedAsk {
            request: request.clone(),
            started_at,
            answer: None,
            took_ms: 0,
            entry: 0,
            overruled: None,
        }
    }

    fn take(&mut self, answer: &Answer, moment: Moment) {
        self.took_ms = moment.at.saturating_sub(self.started_at);
        self.entry = moment.entry;
        self.answer = Some(answer.clone());
    }

    pub(super) fn answered(&self, request: &Request) -> Option<Recorded> {
        let differs = self.request.provider != request.provider || self.request.fields != request.fields;
        let (answer, took_ms, entry) = (self.answer.clone()?, self.took_ms, self.entry);
        Some(Recorded { answer, took_ms, entry, differs })
    }

    /// Whether it was stopped before it was done.
    pub(super) fn was_stopped(&self) -> bool {
        let ending = self.answer.as_ref().map(|answer| &answer.ending);
        let Some(Ending::Fault(fault)) = ending else { return false };
        match &fault.code {
            FaultCode::Cancelled => true,
            FaultCode::Nested(reason) => reason.status() == RunStatus::Cancelled,
            _ => false,
        }
    }
}

/// The place whose artifacts are inspected because of an event: its attempt was answered, or is known to have happened.
fn asks_for_artifacts(event: &Event) -> Option<ScopedCheck> {
    match event {
        Event::AttemptAnswered { check, scope, .. }
        | Event::Reconciled { check, scope, .. }
        | Event::LedgerAnswered { check, scope, .. }
        | Event::MessageDelivered { message: Message::Assume { check, scope, .. }, refused: None, .. } => {
            Some(ScopedCheck::new(check, scope))
        }
        _ => None,
    }
}

impl Record {
    pub(super) fn of(entries: &[Entry]) -> Record {
        let mut record = Record::default();
        let mut open = Open::default();
        // The time of the last entry that is not a message.
        let mut decided_at = entries.first().map_or(0, |entry| entry.at);
        // When the artifacts of a place were last asked for.
        let mut inspect_at: BTreeMap<ScopedCheck, Millis> = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let moment = Moment { at: entry.at, entry: index };
            if let Some(at) = starts_at(&entry.event) {
                let changed = match &entry.event {
                    Event::ArtifactChanged { artifact, .. } => Some(artifact.clone()),
                    _ => None,
                };
                record.starts.entry(at).or_default().push_back(RecordedStart { entry: index, changed });
            }
            if let Some(at) = asks_for_artifacts(&entry.event) {
                inspect_at.insert(at, entry.at);
            }
            match &entry.event {
                Event::AttemptStarted { check, scope, attempt, request, .. } => {
                    let key = key(check, scope, *attempt);
                    record.attempts.insert(key, RecordedAsk::new(request, entry.at));
                }
                Event::ReconcileStarted { check, scope, attempt, request } => {
                    let key = key(check, scope, *attempt);
                    open.looks.insert(key.location(), key.number);
                    let looks = record.reconciles.entry(key).or_default();
                    looks.push_back(RecordedAsk::new(request, entry.at));
                }
                Event::Reconciled { check, scope, attempt, answer, .. } => {
                    let key = key(check, scope, *attempt);
                    open.looks.remove(&key.location());
                    if let Some(asked) = record.reconciles.get_mut(&key).and_then(VecDeque::back_mut) {
                        asked.take(answer, moment);
                    }
                }
                Event::AttemptAnswered { check, scope, attempt, answer } => {
                    let key = key(check, scope, *attempt);
                    if let Some(asked) = record.attempts.get_mut(&key) {
                        asked.take(answer, moment);
                    }
                }
                Event::LedgerAnswered { check, scope, effect, .. } => {
                    let answers = record.ledger.entry(ScopedCheck::new(check, scope)).or_default();
                    answers.push_back((effect.clone(), index));
                }
                // The answer of a nested run is an attempt's answer; it is found there.
                Event::WaitStarted { kind: WaitKind::Nested, .. } => {}
                Event::WaitStarted { check, scope, id, .. } => {
                    let asked = ScopedCheck::new(check, scope);
                    let times = record.messages.entry(asked.clone()).or_default();
                    times.push_back(Response::None);
                    open.waits.insert(id, Wait { asked, time: times.len() - 1, at: entry.at });
                }
                Event::MessageDelivered { message, refused: None, .. } => {
                    record.note_message(message, moment, &mut open);
                }
                // Too late then; under another plan it may come in time.
                Event::MessageDelivered {
                    message: message @ Message::Cancel { .. },
                    refused: Some(_),
                    ..
                } => {
                    record.cancellations.push((moment, message.clone()));
                }
                Event::RetryDue { .. } | Event::DeadlinePassed {} => {
                    record.wakes.entry(entry.at).or_insert(index);
                }
                Event::WaitExpired { id } => {
                    record.wakes.entry(entry.at).or_insert(index);
                    if let Some(wait) = open.waits.remove(id.as_str()) {
                        record.note_response(&wait, Response::Silence);
                    }
                }
                Event::RunReopened { by, .. } => {
                    record.afterwards.push_back((entry.at, Afterwards::Reopened { by: by.clone() }));
                }
                Event::RunOverridden { reason, by, why } => {
                    let earlier = reason.evidence.iter().find(|evidence| evidence.kind == "earlier_reason");
                    let about = earlier.and_then(|evidence| ReasonCode::parse(&evidence.id));
                    let word = Override { status: reason.code.status(), by: by.clone(), why: why.clone() };
                    record.afterwards.push_back((entry.at, Afterwards::Overridden { about, word }));
                }
                Event::CheckInspected { check, scope, attempt, delivery } => {
                    let key = key(check, scope, *attempt);
                    let asked_at = inspect_at.get(&ScopedCheck::new(check, scope)).copied();
                    let took_ms = entry.at.saturating_sub(asked_at.unwrap_or(entry.at));
                    let look = RecordedInspection { delivery: delivery.clone(), took_ms, entry: index };
                    record.inspections.insert(key, look);
                }
                Event::ArtifactsVerified { delivery } => {
                    let took_ms = entry.at.saturating_sub(decided_at);
                    record.delivery =
                        Some(RecordedInspection { delivery: delivery.clone(), took_ms, entry: index });
                }
                _ => {}
            }
            if !matches!(entry.event, Event::MessageDelivered { .. }) {
                decided_at = entry.at;
            }
        }
        record
    }

    fn note_message(&mut self, message: &Message, moment: Moment, open: &mut Open<'_>) {
        let said = |since: Millis| Said {
            message: message.clone(),
            after_ms: moment.at.saturating_sub(since),
            entry: moment.entry,
        };
        let wait = match message {
            Message::Approve { id, .. } | Message::Deny { id, .. } => open.waits.get(id.as_str()),
            Message::Assume { check, scope, .. } => {
                let asked = ScopedCheck::new(check, scope);
                if let Some(attempt) = open.looks.remove(&asked)
                    && let Some(looks) = self.reconciles.get_mut(&key(check, scope, attempt))
                    && let Some(look) = looks.back_mut()
                {
                    look.overruled = Some(said(look.started_at));
                    return;
                }
                open.waits.values().filter(|wait| wait.asked == asked).max_by_key(|wait| wait.time)
            }
            // The answer is an attempt's answer; it is found there.
            Message::Answer { .. } => None,
            Message::Cancel { .. } => {
                self.cancellations.push((moment, message.clone()));
                None
            }
        };
        if let Some(wait) = wait {
            let mut all = match self.messages.get(&wait.asked).and_then(|times| times.get(wait.time)) {
                Some(Response::Messages(earlier)) => earlier.clone(),
                Some(Response::None | Response::Silence) | None => Vec::new(),
            };
            all.push(said(wait.at));
            self.note_response(wait, Response::Messages(all));
        }
    }

    fn note_response(&mut self, wait: &Wait, response: Response) {
        let times = self.messages.get_mut(&wait.asked);
        if let Some(time) = times.and_then(|times| times.get_mut(wait.time)) {
            *time = response;
        }
    }
}

/// Open waits and open `reconcile` commands at one entry of the journal.
#[derive(Default)]
struct Open<'a> {
    waits: BTreeMap<&'a str, Wait>,
    looks: BTreeMap<ScopedCheck, u32>,
}

/// A wait: its check, its number among the waits of that check, and its start.
struct Wait {
    asked: ScopedCheck,
    time: usize,
    at: Millis,
}
