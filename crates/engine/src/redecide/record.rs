//! What a journal remembers of the world: answers with the time they took, and what people said.

use std::collections::{BTreeMap, VecDeque};

use escrow_model::{Answer, Delivery, Entry, Event, Letter, Millis, ReasonCode, Request, ScopePath};

use crate::overridden::Override;

type Asked = (String, ScopePath);

#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) attempts: BTreeMap<(String, ScopePath, u32), RecordedAttempt>,
    /// For each check that people were asked about: what they said, and how long after they were asked.
    pub(super) letters: BTreeMap<Asked, VecDeque<(Letter, Millis)>>,
    pub(super) cancellations: Vec<(Millis, Letter)>,
    /// What people did with the run after it had ended.
    pub(super) afterwards: VecDeque<(Millis, Afterwards)>,
    /// The last look at the artifacts.
    pub(super) delivery: Option<Delivery>,
}

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

#[derive(Debug)]
pub(super) struct RecordedAttempt {
    pub(super) request: Request,
    started_at: Millis,
    pub(super) answer: Option<Answer>,
    pub(super) took_ms: Millis,
}

impl Record {
    pub(super) fn of(entries: &[Entry]) -> Record {
        let mut record = Record::default();
        let mut waits: BTreeMap<&str, (Asked, Millis)> = BTreeMap::new();
        for entry in entries {
            match &entry.event {
                Event::AttemptStarted { check, scope, attempt, request, .. } => {
                    let started = RecordedAttempt {
                        request: (**request).clone(),
                        started_at: entry.at,
                        answer: None,
                        took_ms: 0,
                    };
                    record.attempts.insert((check.clone(), scope.clone(), *attempt), started);
                }
                Event::AttemptAnswered { check, scope, attempt, answer } => {
                    let key = (check.clone(), scope.clone(), *attempt);
                    if let Some(started) = record.attempts.get_mut(&key) {
                        started.took_ms = entry.at.saturating_sub(started.started_at);
                        started.answer = Some((**answer).clone());
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
                Event::RunReopened { by, .. } => {
                    record.afterwards.push_back((entry.at, Afterwards::Reopened { by: by.clone() }));
                }
                Event::RunOverridden { reason, by, why } => {
                    let earlier = reason.evidence.iter().find(|evidence| evidence.kind == "earlier_reason");
                    let about = earlier.and_then(|evidence| ReasonCode::parse(&evidence.id));
                    let word = Override { status: reason.code.status(), by: by.clone(), why: why.clone() };
                    record.afterwards.push_back((entry.at, Afterwards::Overridden { about, word }));
                }
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
