//! What a journal remembers of the world: answers with the time they took, and what people said.

use std::collections::{BTreeMap, VecDeque};

use escrow_model::{Answer, Delivery, Entry, Event, Letter, Millis, Request, ScopePath};

type Asked = (String, ScopePath);

#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) attempts: BTreeMap<(String, ScopePath, u32), RecordedAsk>,
    /// What `reconcile` was asked about the effects of attempts.
    pub(super) reconciles: BTreeMap<(String, ScopePath, u32), RecordedAsk>,
    /// For each check that people were asked about: what they said, and how long after they were asked.
    pub(super) letters: BTreeMap<Asked, VecDeque<(Letter, Millis)>>,
    pub(super) cancellations: Vec<(Millis, Letter)>,
    pub(super) reopenings: VecDeque<(Millis, Option<String>)>,
    /// The last look at the artifacts.
    pub(super) delivery: Option<Delivery>,
}

/// A request to the world, and what came back.
#[derive(Debug)]
pub(super) struct RecordedAsk {
    request: Request,
    started_at: Millis,
    answer: Option<Answer>,
    took_ms: Millis,
}

/// A recorded answer to a request.
pub(super) struct Recorded {
    pub(super) answer: Answer,
    pub(super) took_ms: Millis,
    /// It answered another request than the one that is asked now.
    pub(super) differs: bool,
}

impl RecordedAsk {
    fn new(request: &Request, started_at: Millis) -> RecordedAsk {
        RecordedAsk { request: request.clone(), started_at, answer: None, took_ms: 0 }
    }

    fn take(&mut self, answer: &Answer, at: Millis) {
        self.took_ms = at.saturating_sub(self.started_at);
        self.answer = Some(answer.clone());
    }

    pub(super) fn answered(&self, request: &Request) -> Option<Recorded> {
        let differs = self.request.provider != request.provider || self.request.fields != request.fields;
        Some(Recorded { answer: self.answer.clone()?, took_ms: self.took_ms, differs })
    }
}

impl Record {
    pub(super) fn of(entries: &[Entry]) -> Record {
        let mut record = Record::default();
        let mut waits: BTreeMap<&str, (Asked, Millis)> = BTreeMap::new();
        for entry in entries {
            match &entry.event {
                Event::AttemptStarted { check, scope, attempt, request, .. } => {
                    let key = (check.clone(), scope.clone(), *attempt);
                    record.attempts.insert(key, RecordedAsk::new(request, entry.at));
                }
                Event::ReconcileStarted { check, scope, attempt, request } => {
                    let key = (check.clone(), scope.clone(), *attempt);
                    record.reconciles.insert(key, RecordedAsk::new(request, entry.at));
                }
                Event::Reconciled { check, scope, attempt, answer, .. } => {
                    let key = (check.clone(), scope.clone(), *attempt);
                    if let Some(asked) = record.reconciles.get_mut(&key) {
                        asked.take(answer, entry.at);
                    }
                }
                Event::AttemptAnswered { check, scope, attempt, answer } => {
                    let key = (check.clone(), scope.clone(), *attempt);
                    if let Some(asked) = record.attempts.get_mut(&key) {
                        asked.take(answer, entry.at);
                    }
                }
                Event::WaitStarted { check, scope, id, .. } => {
                    let asked = (check.clone(), scope.clone());
                    record.letters.entry(asked.clone()).or_default();
                    waits.insert(id, (asked, entry.at));
                }
                Event::LetterOpened { letter, refused: None } => {
                    record.note_letter(letter, entry.at, &waits);
                }
                Event::RunReopened { by, .. } => record.reopenings.push_back((entry.at, by.clone())),
                Event::ArtifactsVerified { delivery } => record.delivery = Some(delivery.clone()),
                _ => {}
            }
        }
        record
    }

    fn note_letter(&mut self, letter: &Letter, at: Millis, waits: &BTreeMap<&str, (Asked, Millis)>) {
        let wait = match letter {
            Letter::Approve { id, .. } | Letter::Deny { id, .. } => waits.get(id.as_str()),
            Letter::Assume { check, scope, .. } => waits
                .values()
                .filter(|((name, at), _)| name == check && at == scope)
                .max_by_key(|(_, at)| *at),
            // The answer is an attempt's answer; it is found there.
            Letter::Answer { .. } => None,
            Letter::Cancel { .. } => {
                self.cancellations.push((at, letter.clone()));
                None
            }
        };
        if let Some((asked, since)) = wait {
            let after = at.saturating_sub(*since);
            self.letters.entry(asked.clone()).or_default().push_back((letter.clone(), after));
        }
    }
}
