//! Drives a run in virtual time, with answers that the caller makes up.
//!
//! ```text
//!   Run::handle ──▶ Turn ──▶ journal
//!        ▲           └─effects─▶ AnswerSource ──▶ queue by time ──┐
//!        └──────────── answer, inspection or wake, next in time ◀─┘
//! ```
//!
//! **Invariant:** deterministic. Answers arrive at the time they take, then in the order of their intents in the
//! journal, so that a crash does not change their order. No clock, no I/O, no async: a run of a day takes no time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use escrow_model::{
    Answer, CheckIndex, Entry, Event, ExpectedArtifact, FaultCode, InspectedArtifact, LedgerEffect, Millis,
    ProviderFault, Request, ScopePath,
};

use crate::exchange::{Effect, Input, Inspection, Turn};
use crate::location::AttemptKey;
use crate::run::{ReplayError, Run};

/// Answers in place of providers and of the artifact directory.
pub trait AnswerSource {
    /// A repeated call must get the same reply, or a play that is resumed after a crash could not be compared.
    fn reply(&mut self, call: &ProviderCall<'_>) -> Reply;

    fn inspect(&mut self, expected: &[ExpectedArtifact]) -> Vec<InspectedArtifact>;

    /// What the ledger knows about a key. Other runs have none, unless the source says so.
    fn ledger(&mut self, _key: &str, _digest: &str) -> Option<LedgerEffect> {
        None
    }
}

/// A request to a provider, or to the command of `reconcile`.
#[derive(Clone, Debug)]
pub struct ProviderCall<'a> {
    pub check: &'a str,
    pub scope: &'a ScopePath,
    pub attempt: u32,
    pub request: &'a Request,
    /// The call asks whether the attempt took effect.
    pub reconcile: bool,
    /// The entries so far.
    pub journal: &'a [Entry],
}

/// An answer and the time it takes. `None`: it never comes, unless the attempt is stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub answer: Option<Answer>,
    pub after_ms: u64,
}

/// A run with its journal, its clock and everything that is under way.
#[derive(Debug)]
pub struct VirtualDrive {
    pub run: Run,
    pub journal: Vec<Entry>,
    pub now_ms: Millis,
    /// The length of the journal after each turn: the places where a crash can happen.
    pub commits: Vec<usize>,
    inspections: VecDeque<(Vec<ExpectedArtifact>, Inspection)>,
    /// Keys that are to be looked up in the ledger.
    consultations: VecDeque<(CheckIndex, ScopePath, String, String)>,
    /// By time, then by the position of the intent in the journal.
    answers: BTreeMap<(Millis, usize), (Pending, Answer)>,
    /// Attempts that answer only when they are stopped.
    silent: Vec<Pending>,
}

/// An effect under way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pending {
    attempt: AttemptKey,
    kind: EffectKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EffectKind {
    Attempt,
    Reconcile,
}

impl VirtualDrive {
    /// A run that was just begun, with its first turn.
    pub fn begin((run, turn): (Run, Turn), at: Millis, source: &mut dyn AnswerSource) -> VirtualDrive {
        let mut drive = VirtualDrive::with(run, Vec::new(), at);
        drive.act(turn, source);
        drive
    }

    /// A run as its journal has it, taken over at the time of its last entry.
    pub fn resume(journal: &[Entry], source: &mut dyn AnswerSource) -> Result<VirtualDrive, ReplayError> {
        let run = Run::replay(journal)?;
        let at = journal.last().map_or(0, |entry| entry.at);
        let mut drive = VirtualDrive::with(run, journal.to_vec(), at);
        drive.handle(Input::Resume { by: Vec::new(), ledger: Vec::new() }, source);
        Ok(drive)
    }

    fn with(run: Run, journal: Vec<Entry>, now_ms: Millis) -> VirtualDrive {
        VirtualDrive {
            run,
            journal,
            now_ms,
            commits: Vec::new(),
            inspections: VecDeque::new(),
            consultations: VecDeque::new(),
            answers: BTreeMap::new(),
            silent: Vec::new(),
        }
    }

    /// Loses everything but the journal, and takes the run over from it.
    pub fn crash(&mut self, source: &mut dyn AnswerSource) -> Result<(), ReplayError> {
        self.run = Run::replay(&self.journal)?;
        self.answers.clear();
        self.silent.clear();
        self.inspections.clear();
        self.consultations.clear();
        self.handle(Input::Resume { by: Vec::new(), ledger: Vec::new() }, source);
        Ok(())
    }

    /// Lets the next thing happen that is due by then. False when nothing is. Takes one turn at most.
    pub fn advance(&mut self, until: Millis, source: &mut dyn AnswerSource) -> bool {
        if self.run.status().is_terminal() {
            return false;
        }
        if self.inspect_next(source) || self.consult_next(source) {
            return true;
        }
        let wake = self.run.wake_at().filter(|wake| *wake <= until);
        let answer = self.next_answer_at().filter(|at| *at <= until);
        match (answer, wake) {
            (Some(at), wake) if wake.is_none_or(|wake| at <= wake) => self.take_answer(source),
            (_, Some(wake)) => {
                self.wake(wake, source);
                true
            }
            (Some(_) | None, None) => false,
        }
    }

    /// Performs the first inspection that was asked for. Inspections take no time.
    pub fn inspect_next(&mut self, source: &mut dyn AnswerSource) -> bool {
        let Some((expected, of)) = self.inspections.pop_front() else { return false };
        let seen = source.inspect(&expected);
        self.handle(of.answered(seen), source);
        true
    }

    /// Looks up the first key that was asked about. The ledger takes no time.
    pub fn consult_next(&mut self, source: &mut dyn AnswerSource) -> bool {
        let Some((check, scope, key, digest)) = self.consultations.pop_front() else { return false };
        let effect = source.ledger(&key, &digest).map(Box::new);
        self.handle(Input::LedgerAnswered { check, scope, key, effect }, source);
        true
    }

    pub fn next_answer_at(&self) -> Option<Millis> {
        self.answers.first_key_value().map(|((at, _), _)| *at)
    }

    /// Delivers the next answer, at its time.
    pub fn take_answer(&mut self, source: &mut dyn AnswerSource) -> bool {
        let Some(((at, _), (Pending { attempt, kind }, answer))) = self.answers.pop_first() else {
            return false;
        };
        self.now_ms = self.now_ms.max(at);
        let input = match kind {
            EffectKind::Attempt => Input::Answered { attempt, answer },
            EffectKind::Reconcile => Input::Reconciled { attempt, answer },
        };
        self.handle(input, source);
        true
    }

    pub fn wake(&mut self, at: Millis, source: &mut dyn AnswerSource) {
        self.now_ms = self.now_ms.max(at);
        self.handle(Input::Wake, source);
    }

    pub fn handle(&mut self, input: Input, source: &mut dyn AnswerSource) {
        let turn = self.run.handle(self.now_ms, input);
        self.act(turn, source);
    }

    /// Commits a turn of this run and asks for its effects.
    pub fn act(&mut self, turn: Turn, source: &mut dyn AnswerSource) {
        self.journal.extend(turn.entries);
        self.commits.push(self.journal.len());
        for effect in turn.effects {
            match effect {
                Effect::Perform { attempt, request } => {
                    self.call(Pending { attempt, kind: EffectKind::Attempt }, &request, source);
                }
                Effect::Reconcile { attempt, request } => {
                    self.call(Pending { attempt, kind: EffectKind::Reconcile }, &request, source);
                }
                Effect::Consult { check, scope, key, digest } => {
                    self.consultations.push_back((check, scope, key, digest));
                }
                Effect::Stop { attempt } => self.stop(&attempt),
                // A scripted nested run is one answer.
                Effect::MakeWay { .. } => {}
                Effect::Inspect { expected, of, .. } => self.inspections.push_back((expected, of)),
            }
        }
    }

    /// How many answers are awaited.
    pub fn pending(&self) -> usize {
        self.answers.len() + self.silent.len()
    }

    fn call(&mut self, pending: Pending, request: &Request, source: &mut dyn AnswerSource) {
        let plan = Arc::clone(self.run.plan_of());
        let reply = source.reply(&ProviderCall {
            check: &plan.check(pending.attempt.check).name,
            scope: &pending.attempt.scope,
            attempt: pending.attempt.number,
            request,
            reconcile: pending.kind == EffectKind::Reconcile,
            journal: &self.journal,
        });
        match reply.answer {
            Some(answer) => self.schedule(pending, answer, reply.after_ms),
            None => self.silent.push(pending),
        }
    }

    fn stop(&mut self, attempt: &AttemptKey) {
        let mut pending = self.answers.values().map(|(one, _)| one).chain(&self.silent);
        let Some(pending) = pending.find(|one| one.attempt == *attempt).cloned() else { return };
        self.silent.retain(|one| *one != pending);
        self.answers.retain(|_, (one, _)| *one != pending);
        let fault = ProviderFault::transient(FaultCode::Cancelled, "it was stopped").with_unknown_effect();
        self.schedule(pending, Answer::fault(fault), 0);
    }

    fn schedule(&mut self, pending: Pending, answer: Answer, after_ms: u64) {
        let at = self.now_ms.saturating_add(after_ms);
        let intent = self.intent_of(&pending);
        self.answers.insert((at, intent), (pending, answer));
    }

    fn intent_of(&self, Pending { attempt: key, kind }: &Pending) -> usize {
        let name = &self.run.plan_of().check(key.check).name;
        let is_intent = |entry: &Entry| match &entry.event {
            Event::AttemptStarted { check, scope, attempt, .. } if *kind == EffectKind::Attempt => {
                *attempt == key.number && *scope == key.scope && check == name
            }
            Event::ReconcileStarted { check, scope, attempt, .. } if *kind == EffectKind::Reconcile => {
                *attempt == key.number && *scope == key.scope && check == name
            }
            _ => false,
        };
        let position = self.journal.iter().rposition(is_intent);
        position.expect("an effect is performed only after its intent is in the journal")
    }
}
