//! Decides a recorded run again under another plan. Nothing is performed: recorded answers and messages are used,
//! after the times that they took.
//!
//! ```text
//!   recorded journal ──▶ answers, messages, delivery ─┐
//!   other plan ──▶ Run::start ──▶ effects, waits ────┴──▶ Run::handle ──▶ the journal that would have been
//! ```
//!
//! **Invariant:** what was never recorded is not invented. A check whose attempt has no recorded answer stays
//! pending, and the run is then not decidable here.
//!
//! The driver is not [`crate::play`]: its queue follows the order of the recorded entries and not of this run's
//! intents, messages and expiries come from the record too, and a recorded delivery is applied as it was judged, because
//! the files themselves are gone.

mod compare;
mod delivery;
mod record;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use escrow_model::{
    Answer, ArtifactContract, ChangedArtifact, Delivery, Entry, Event, ExpectedArtifact, FaultCode, Message,
    Millis, Plan, ProviderFault, Reason, Request, ScopePath, ScopedCheck, SkipReason, WaitKind,
};
use serde::Serialize;

use crate::exchange::{Effect, Input, Inspection, Turn};
use crate::location::{AttemptKey, Location};
use crate::phase::Phase;
use crate::run::{OpenWait, ReplayError, Run};
use crate::turn::Deciding;
use crate::withheld::withheld_in;
use record::{Afterwards, Moment, Record, Recorded, RecordedAsk, RecordedAttempt, Response, Said};

pub use compare::{Change, Comparison, Difference, RunSummary, compare};

/// Entries after which a run that will not end is given up.
const ENTRIES_MAX: usize = 1_000_000;

/// The run as the other plan decides it.
#[derive(Debug)]
pub struct Redecided {
    pub run: Run,
    pub entries: Vec<Entry>,
    /// What the recorded run cannot answer.
    pub unknown: Vec<Unknown>,
    /// Checks that would be asked something else than what was recorded: their recorded answer is used.
    pub assumed: BTreeSet<String>,
}

/// Something that was never recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unknown {
    pub check: Option<String>,
    pub scope: ScopePath,
    pub what: String,
}

/// Decides a recorded run again under another plan.
pub fn redecide(recorded: &[Entry], plan: Arc<Plan>) -> Result<Redecided, ReplayError> {
    // A journal that cannot be replayed cannot be decided again either.
    let before = Run::replay(recorded)?;
    let record = Record::of(recorded);
    let at = recorded.first().map_or(0, |entry| entry.at);
    let options = Arc::clone(&before.state.options.0);
    let facts = Arc::clone(&before.state.facts.0);
    let (run, turn) = match refused_start(recorded) {
        Some(reason) => Run::refuse(plan, options, facts, at, reason.clone()),
        None => Run::start_withholding(plan, options, facts, at, withheld_in(recorded)),
    };
    let mut driver = Driver {
        run,
        record,
        looks: BTreeMap::new(),
        recorded_plan: before.plan(),
        now: at,
        queue: BTreeMap::new(),
        serial: 0,
        entries: Vec::new(),
        asked: Vec::new(),
        expiring: BTreeSet::new(),
        unknown: Vec::new(),
        assumed: BTreeSet::new(),
    };
    driver.follow(turn);
    driver.drive();
    let Driver { run, entries, unknown, assumed, .. } = driver;
    Ok(Redecided { run, entries, unknown, assumed })
}

/// Why the recorded run ended before it decided anything, if it did. Another plan does not change that another run was in
/// its way.
fn refused_start(recorded: &[Entry]) -> Option<&Reason> {
    let decided = recorded.iter().skip(1);
    let mut decided = decided
        .skip_while(|entry| matches!(&entry.event, Event::CheckSkipped { reason: SkipReason::RunEnded, .. }));
    match &decided.next()?.event {
        Event::RunEnded { reason } => Some(reason),
        _ => None,
    }
}

struct Driver {
    run: Run,
    record: Record,
    /// The last look of `reconcile` for each attempt.
    looks: BTreeMap<RecordedAttempt, RecordedAsk>,
    recorded_plan: Arc<Plan>,
    now: Millis,
    /// What is scheduled, by its time.
    queue: BTreeMap<(Moment, u64), Due>,
    serial: u64,
    entries: Vec<Entry>,
    /// Waits of the last turn, in order, with what came of them then.
    asked: Vec<(String, Option<Response>)>,
    /// Waits that expired in the record.
    expiring: BTreeSet<String>,
    unknown: Vec<Unknown>,
    assumed: BTreeSet<String>,
}

/// Something that is scheduled.
enum Due {
    Input(Box<Input>),
    /// The artifacts were inspected, for an attempt or for the run.
    Seen(Delivery, Option<AttemptKey>),
    /// The artifacts that an effect stands on were looked at again.
    SeenBefore(AttemptKey, Option<Box<ChangedArtifact>>),
}

impl Driver {
    fn drive(&mut self) {
        for (moment, message) in std::mem::take(&mut self.record.cancellations) {
            self.schedule(moment, Input::Message(message));
        }
        while self.entries.len() < ENTRIES_MAX {
            if self.run.status().is_terminal() {
                let Some((at, afterwards)) = self.record.afterwards.pop_front() else { return };
                self.now = self.now.max(at);
                if !self.continue_after_the_end(afterwards) {
                    return;
                }
                continue;
            }
            let queued = self.queue.first_key_value().map(|(key, _)| *key);
            let wake = self.wake_at();
            match (queued, wake) {
                (None, None) => return,
                (Some((moment, _)), Some(wake)) if wake < moment => self.handle(wake.at, Input::Wake),
                (None, Some(wake)) => self.handle(wake.at, Input::Wake),
                (Some(key), _) => match self.queue.remove(&key) {
                    Some(Due::Input(input)) => self.handle(key.0.at, *input),
                    Some(Due::Seen(delivery, attempt)) => self.see(key.0.at, delivery, attempt),
                    Some(Due::SeenBefore(attempt, changed)) => self.see_again(key.0.at, &attempt, changed),
                    None => return,
                },
            }
        }
        self.unknown.push(Unknown {
            check: None,
            scope: ScopePath::root(),
            what: format!("the run does not end within {ENTRIES_MAX} entries"),
        });
    }

    /// Repeats what a person did after the end. Returns false when it is not possible for this run.
    fn continue_after_the_end(&mut self, afterwards: Afterwards) -> bool {
        match afterwards {
            Afterwards::Reopened { by } => match self.run.retry_failed(self.now, by) {
                Ok(turn) => self.follow(turn),
                Err(_) => return false,
            },
            // A word about another end says nothing about this one.
            Afterwards::Overridden { about, word } => {
                if about == self.run.reason().map(|reason| reason.code)
                    && let Ok(turn) = self.run.override_status(self.now, word)
                {
                    self.follow(turn);
                }
            }
        }
        true
    }

    /// Retries fall due, deadlines pass unless the run only waits for what was never recorded, and waits expire
    /// where the record has silence.
    fn wake_at(&self) -> Option<Moment> {
        let retry = self.run.state.retries.first().map(|(at, _)| *at);
        let deadline =
            if self.unknown.is_empty() && self.run.waits().is_empty() { self.run.deadline() } else { None };
        let waits = self.run.state.waits.iter().filter(|(id, _)| self.expiring.contains(*id));
        let expiry = waits.filter_map(|(_, wait)| wait.expires_at).min();
        let at = [retry, deadline, expiry].into_iter().flatten().min()?;
        Some(Moment { at, entry: self.record.wakes.get(&at).copied().unwrap_or(usize::MAX) })
    }

    fn handle(&mut self, at: Millis, input: Input) {
        self.now = self.now.max(at);
        let turn = self.run.handle(self.now, input);
        self.follow(turn);
    }

    fn schedule(&mut self, moment: Moment, input: Input) {
        self.serial += 1;
        self.queue.insert((moment, self.serial), Due::Input(Box::new(input)));
    }

    /// So long after now; among all that comes in the same millisecond, in the recorded order.
    fn later(&self, after_ms: Millis, entry: usize) -> Moment {
        Moment { at: self.now.saturating_add(after_ms), entry }
    }

    fn follow(&mut self, turn: Turn) {
        for entry in &turn.entries {
            if let Some(at) = record::starts_at(&entry.event)
                && let Some(starts) = self.record.starts.get_mut(&at)
            {
                starts.pop_front();
            }
            self.note_wait(&entry.event);
        }
        self.entries.extend(turn.entries);
        for effect in turn.effects {
            match effect {
                Effect::Perform { attempt, request } => match self.answer(&attempt, &request) {
                    Some((answer, moment)) => self.schedule(moment, Input::Answered { attempt, answer }),
                    None => {
                        let RecordedAttempt { check, scope, number } = self.recorded_key(&attempt);
                        self.unknown.push(Unknown {
                            what: format!("attempt {number} of `{check}{scope}` was never recorded"),
                            check: Some(check),
                            scope,
                        });
                    }
                },
                Effect::Reconcile { attempt, request } => {
                    let key = self.recorded_key(&attempt);
                    let recorded = self.record.reconciles.get_mut(&key).and_then(VecDeque::pop_front);
                    self.looks.remove(&key);
                    self.looks.extend(recorded.clone().map(|recorded| (key.clone(), recorded)));
                    if let Some(said) = recorded.as_ref().and_then(|recorded| recorded.overruled.clone()) {
                        self.say(said, "");
                        continue;
                    }
                    match recorded.and_then(|recorded| recorded.answered(&request)) {
                        Some(Recorded { answer, took_ms, entry, differs }) => {
                            if differs {
                                self.assumed.insert(key.check);
                            }
                            let input = Input::Reconciled { attempt, answer };
                            self.schedule(self.later(took_ms, entry), input);
                        }
                        None => {
                            let RecordedAttempt { check, scope, number } = key;
                            let what = format!(
                                "`reconcile` was never asked about attempt {number} of `{check}{scope}`"
                            );
                            self.unknown.push(Unknown { what, check: Some(check), scope });
                        }
                    }
                }
                Effect::Consult { check, scope, key, .. } => {
                    let name = &self.run.state.plan.check(check).name;
                    let recorded = self.record.ledger.get_mut(&ScopedCheck::new(name, &scope));
                    let (effect, entry) =
                        recorded.and_then(VecDeque::pop_front).unwrap_or((None, usize::MAX));
                    let input = Input::LedgerAnswered { check, scope, key, effect };
                    self.schedule(self.later(0, entry), input);
                }
                // What the nested run then did is recorded.
                Effect::MakeWay { .. } => {}
                Effect::Stop { attempt } => {
                    let cell = self.run.cell(attempt.check, &attempt.scope);
                    let looks = cell.is_some_and(|cell| matches!(cell.phase, Phase::Reconciling { .. }));
                    let asks = if looks { &self.looks } else { &self.record.attempts };
                    if asks.get(&self.recorded_key(&attempt)).is_some_and(RecordedAsk::was_stopped) {
                        // It was stopped then, and what came of that is on its way.
                        continue;
                    }
                    let fault = ProviderFault::transient(FaultCode::Cancelled, "the run was ending")
                        .with_unknown_effect();
                    let answer = Answer::fault(fault);
                    let input = if looks {
                        Input::Reconciled { attempt, answer }
                    } else {
                        Input::Answered { attempt, answer }
                    };
                    self.schedule(self.later(0, usize::MAX), input);
                }
                Effect::Inspect { expected, of: Inspection::Run, .. } => self.inspect(expected, None),
                Effect::Inspect { expected, of: Inspection::Attempt(attempt), .. } => {
                    self.inspect(expected, Some(attempt));
                }
                Effect::Inspect { of: Inspection::Before(attempt), .. } => self.reinspect(attempt),
            }
        }
        self.look_at_waits();
    }

    /// Schedules the recorded second look. Its answer is not recorded by itself, but what followed from it is.
    fn reinspect(&mut self, attempt: AttemptKey) {
        let key = self.recorded_key(&attempt);
        let starts = self.record.starts.get(&ScopedCheck::new(&key.check, &key.scope));
        let next = starts.and_then(VecDeque::front);
        let entry = next.map_or(usize::MAX, |start| start.entry);
        let changed = next.and_then(|start| start.changed.clone()).map(Box::new);
        self.serial += 1;
        self.queue.insert((self.later(0, entry), self.serial), Due::SeenBefore(attempt, changed));
    }

    fn see_again(&mut self, at: Millis, attempt: &AttemptKey, changed: Option<Box<ChangedArtifact>>) {
        self.now = self.now.max(at);
        let mut deciding = Deciding::new(&mut self.run, self.now);
        deciding.take_second_finding(attempt, changed.map(|changed| *changed));
        deciding.decide();
        let turn = deciding.into_turn();
        self.follow(turn);
    }

    fn answer(&mut self, attempt: &AttemptKey, request: &Request) -> Option<(Answer, Moment)> {
        let key = self.recorded_key(attempt);
        let recorded = self.record.attempts.get(&key)?;
        let Recorded { answer, took_ms, entry, differs } = recorded.answered(request)?;
        if differs {
            self.assumed.insert(key.check);
        }
        Some((answer, self.later(took_ms, entry)))
    }

    /// The attempt under the name that the record has for it.
    fn recorded_key(&self, attempt: &AttemptKey) -> RecordedAttempt {
        let AttemptKey { check, scope, number } = attempt;
        let check = self.run.state.plan.check(*check).name.clone();
        RecordedAttempt { check, scope: scope.clone(), number: *number }
    }

    /// Pairs a wait with the next recorded one of its check, even when the same turn ends it again.
    fn note_wait(&mut self, event: &Event) {
        if let Event::WaitStarted { check, scope, id, .. } = event {
            let key = ScopedCheck::new(check, scope);
            let response = self.record.messages.get_mut(&key).and_then(VecDeque::pop_front);
            self.asked.push((id.clone(), response));
        }
    }

    /// Schedules what people answered to the recorded waits.
    fn look_at_waits(&mut self) {
        for (id, response) in std::mem::take(&mut self.asked) {
            let Some(wait) = self.run.waits().into_iter().find(|wait| wait.id == id) else { continue };
            match response {
                Some(Response::Messages(all)) => {
                    for said in all {
                        self.say(said, &wait.id);
                    }
                }
                Some(Response::Silence) => drop(self.expiring.insert(wait.id)),
                Some(Response::None) | None if self.answer_question(&wait) => {}
                // It was not answered then either: the run waits.
                Some(Response::None) => {}
                None => {
                    let what = format!("no person was asked about `{}{}`", wait.check, wait.scope);
                    self.unknown.push(Unknown { check: Some(wait.check), scope: wait.scope, what });
                }
            }
        }
    }

    fn say(&mut self, Said { message, after_ms, entry }: Said, id: &str) {
        let moment = self.later(after_ms, entry);
        self.schedule(moment, Input::Message(addressed(message, id)));
    }

    fn answer_question(&mut self, wait: &OpenWait) -> bool {
        if wait.kind != WaitKind::Input {
            return false;
        }
        let Some(check) = self.run.graph.find(&wait.check) else { return false };
        let attempt = self.run.last_attempt(&Location::new(check, wait.scope.clone()));
        let Some(request) = self.run.cell(check, &wait.scope).and_then(|cell| cell.phase.request().cloned())
        else {
            return false;
        };
        let Some((answer, moment)) = self.answer(&attempt, &request) else {
            return false;
        };
        self.schedule(moment, Input::Answered { attempt, answer });
        true
    }

    /// Schedules the recorded inspection, as far as it applies to this contract.
    fn inspect(&mut self, expected: Vec<ExpectedArtifact>, attempt: Option<AttemptKey>) {
        let contract = ArtifactContract { expected };
        let seen = match &attempt {
            None => self.record.delivery.clone(),
            Some(attempt) => self.record.inspections.get(&self.recorded_key(attempt)).cloned(),
        };
        let moment =
            seen.as_ref().map_or(self.later(0, usize::MAX), |look| self.later(look.took_ms, look.entry));
        let seen = seen.as_ref().map(|look| &look.delivery);
        let mut recorded = self.recorded_artifacts();
        if attempt.is_some() {
            // An attempt was inspected only for the artifacts that its check names.
            recorded.expected.retain(|one| seen.is_some_and(|seen| seen.speaks_of(&one.id)));
        }
        match delivery::delivered(&contract, &recorded, seen, moment.at) {
            Ok(delivery) => {
                self.serial += 1;
                self.queue.insert((moment, self.serial), Due::Seen(delivery, attempt));
            }
            Err(ids) => self.unknown.extend(ids.into_iter().map(|id| Unknown {
                check: None,
                scope: ScopePath::root(),
                what: format!("artifact `{id}` was not looked for like this"),
            })),
        }
    }

    /// Delivers a recorded inspection, unless the run no longer awaits it.
    fn see(&mut self, at: Millis, mut delivery: Delivery, attempt: Option<AttemptKey>) {
        self.now = self.now.max(at);
        let awaited = match &attempt {
            None => self.run.state.delivery.is_none(),
            Some(attempt) => self.run.awaits_inspection(attempt),
        };
        if !awaited {
            return;
        }
        let (expected, reader) = match &attempt {
            None => (self.run.expected_artifacts(), None),
            Some(attempt) => (self.run.artifacts_of(attempt.check, &attempt.scope), Some(attempt.location())),
        };
        self.run.apply_conditions(&mut delivery, &expected, reader.as_ref());
        let mut deciding = Deciding::new(&mut self.run, self.now);
        match attempt {
            None => deciding.record(Event::ArtifactsVerified { delivery }),
            Some(attempt) => deciding.record_inspection(&attempt, delivery),
        }
        deciding.decide();
        let turn = deciding.into_turn();
        self.follow(turn);
    }

    /// What the recorded run promised, item by item as this one does.
    fn recorded_artifacts(&self) -> ArtifactContract {
        let mut expected = Vec::new();
        for one in &self.recorded_plan.artifacts.expected {
            match one.check.as_deref().and_then(|check| self.run.graph.find(check)) {
                None => expected.push(one.clone()),
                Some(check) => {
                    let scopes = self.run.state.checks[check.place()].nodes.keys();
                    expected.extend(scopes.map(|scope| one.in_scope(scope)));
                }
            }
        }
        ArtifactContract { expected }
    }
}

/// The same message, addressed to the wait that corresponds to the recorded one.
fn addressed(message: Message, id: &str) -> Message {
    let id = id.to_owned();
    match message {
        Message::Approve { by, claim, note, .. } => Message::Approve { id, by, claim, note },
        Message::Deny { by, claim, note, .. } => Message::Deny { id, by, claim, note },
        Message::Answer { text, by, .. } => Message::Answer { id, text, by },
        Message::Assume { .. } | Message::Cancel { .. } => message,
    }
}
