//! What really happened in the simulated world, next to what the journals say.
//!
//! A promise that is broken is recorded the moment it breaks: an effect without its committed intent, a confirmed
//! effect that happens again, a commit by a process that no longer holds the run, a nested result that reaches the
//! parent changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use escrow_model::{
    Answer, Criticality, EffectInQuestion, EffectState, Entry, Event, Message, Plan, ProviderName, Reason,
    RunId, ScopePath, ScopedCheck, WaitKind,
};
use escrow_store::MessageId;
use serde_json::json;

/// One attempt of one check in one scope of one run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Attempted {
    pub(crate) run: RunId,
    pub(crate) check: String,
    pub(crate) scope: ScopePath,
    pub(crate) number: u32,
}

impl fmt::Display for Attempted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Attempted { run, check, scope, number } = self;
        write!(formatter, "{check}{scope} #{number} of {run}")
    }
}

#[derive(Default)]
pub(crate) struct Ledger {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    runs: BTreeMap<RunId, RunRecord>,
    /// Committed intents; true once their answer is committed too.
    intents: BTreeMap<Attempted, bool>,
    /// By the process that performs them; true once the effect has happened.
    in_flight: BTreeMap<(u32, Attempted), bool>,
    happened: BTreeMap<Attempted, u32>,
    /// What the journals say about each effect, in the order of their commits.
    effects: BTreeMap<String, KnownEffect>,
    /// The key of the last attempt of a check.
    keys: BTreeMap<(RunId, ScopedCheck), String>,
    /// The key that a check has asked the ledger about.
    asked: BTreeMap<(RunId, ScopedCheck), String>,
    /// The effects of others that a person is asked about, with their attempts at that time.
    in_question: BTreeMap<(RunId, ScopedCheck), (String, u32)>,
    /// Those that they let a check take over.
    released: BTreeMap<(RunId, ScopedCheck), (String, u32)>,
    /// Processes that live and hold their run.
    living: BTreeSet<u32>,
    /// Everything that earlier processes than this one started has been ended.
    ended_before: u32,
    /// What processes up to this one started for a run has been ended.
    orphans_ended: BTreeSet<(RunId, u32)>,
    problems: Vec<String>,
    log: Vec<String>,
}

/// An effect, with its last attempt.
#[derive(Clone, Debug)]
struct KnownEffect {
    state: EffectState,
    by: Attempted,
    /// How often it was intended.
    attempts: u32,
}

impl KnownEffect {
    fn is_of(&self, run: &RunId, place: &ScopedCheck) -> bool {
        self.by.run == *run && self.by.check == place.check && self.by.scope == place.scope
    }
}

/// What the journal of one run says.
#[derive(Clone, Default)]
pub(crate) struct RunRecord {
    pub(crate) plan: Option<Arc<Plan>>,
    pub(crate) parent: Option<RunId>,
    pub(crate) entries: u64,
    /// Ids of all waits, open and resolved.
    pub(crate) waits: Vec<String>,
    /// Messages that a commit delivered; true when the run ended with it or had ended before.
    pub(crate) delivered: BTreeMap<MessageId, bool>,
    /// How it ended, until it is reopened.
    pub(crate) ended: Option<Reason>,
    holder: Option<Vec<u8>>,
}

impl RunRecord {
    fn may_repeat(&self, check: &str) -> bool {
        let Some(plan) = &self.plan else { return false };
        plan.find(check).is_some_and(|index| {
            let spec = plan.check(index);
            spec.idempotent || spec.criticality != Criticality::External
        })
    }
}

impl Ledger {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line to the report of a failing case.
    pub(crate) fn log(&self, line: impl Into<String>) {
        self.state().log.push(line.into());
    }

    pub(crate) fn problem(&self, problem: impl Into<String>) {
        self.state().problem(problem.into());
    }

    pub(crate) fn problems(&self) -> Vec<String> {
        self.state().problems.clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.state().log.clone()
    }

    /// Every run that was created, in the order of their ids.
    pub(crate) fn runs(&self) -> Vec<RunId> {
        self.state().runs.keys().cloned().collect()
    }

    pub(crate) fn run(&self, run: &RunId) -> RunRecord {
        self.state().runs.get(run).cloned().unwrap_or_default()
    }

    /// A process took the run: from now on no other may write.
    pub(crate) fn held_by(&self, run: &RunId, token: &[u8]) {
        self.state().runs.entry(run.clone()).or_default().holder = Some(token.to_vec());
    }

    /// Entries are on the disk, whether or not the process learns of it.
    pub(crate) fn written(&self, run: &RunId, token: &[u8], entries: &[Entry], delivered: &[MessageId]) {
        let mut state = self.state();
        let record = state.runs.entry(run.clone()).or_default();
        record.entries += entries.len() as u64;
        if record.holder.as_deref() != Some(token) {
            state.problem(format!("a fenced holder has written to {run}"));
        }
        for entry in entries {
            state.entry(run, &entry.event);
        }
        for message in delivered {
            let record = state.runs.entry(run.clone()).or_default();
            let has_ended = record.ended.is_some();
            if record.delivered.insert(*message, has_ended).is_some() {
                state.problem(format!("{message:?} is delivered twice"));
            }
        }
    }

    /// A provider is called.
    pub(crate) fn begins(&self, life: u32, attempted: &Attempted) {
        let mut state = self.state();
        if !state.intents.contains_key(attempted) {
            state.problem(format!("{attempted} is performed before its intent is committed"));
        }
        state.log.push(format!("process {life}: {attempted} begins"));
        state.in_flight.insert((life, attempted.clone()), false);
    }

    /// The effect of an attempt happens, unless the process that performs it has been ended.
    pub(crate) fn happens(&self, life: u32, attempted: &Attempted) {
        let mut state = self.state();
        let key = (life, attempted.clone());
        if state.is_ended(life, &attempted.run) || state.in_flight.get(&key) == Some(&true) {
            return;
        }
        match state.intents.get(attempted) {
            None => state.problem(format!("{attempted} has an effect and no committed intent")),
            Some(true) => state.problem(format!("{attempted} was answered, and is done again")),
            Some(false) => {}
        }
        state.in_flight.insert(key, true);
        state.log.push(format!("process {life}: {attempted} happens"));
        let times = state.happened.entry(attempted.clone()).or_default();
        *times += 1;
        let repeated = *times > 1;
        let may_repeat = state.runs.get(&attempted.run).is_some_and(|run| run.may_repeat(&attempted.check));
        if repeated && !may_repeat {
            state.problem(format!("the effect of {attempted} happens twice"));
        }
    }

    /// A provider has answered.
    pub(crate) fn is_over(&self, life: u32, attempted: &Attempted) {
        self.state().in_flight.remove(&(life, attempted.clone()));
    }

    /// Effects of a run that processes before this one started and that have not happened yet.
    pub(crate) fn pending(&self, run: &RunId, before: u32) -> Vec<(u32, Attempted)> {
        let state = self.state();
        let pending = state
            .in_flight
            .iter()
            .filter(|((life, attempted), done)| *life < before && attempted.run == *run && !**done);
        pending.map(|(key, _)| key.clone()).collect()
    }

    /// A process that takes a run over ends what earlier processes left running for it.
    pub(crate) fn end_orphans(&self, run: &RunId, before: u32) {
        let mut state = self.state();
        state.orphans_ended.extend((0..before).map(|life| (run.clone(), life)));
        state.in_flight.retain(|(life, attempted), _| *life >= before || attempted.run != *run);
    }

    pub(crate) fn is_living(&self, life: u32) -> bool {
        self.state().living.contains(&life)
    }

    pub(crate) fn begins_to_live(&self, life: u32) {
        self.state().living.insert(life);
    }

    /// The process has ended, or its run was taken from it.
    pub(crate) fn is_gone(&self, life: u32) {
        self.state().living.remove(&life);
    }

    /// A process that leaves in good order ends everything it started first.
    pub(crate) fn end_all(&self, before: u32) {
        let mut state = self.state();
        state.ended_before = state.ended_before.max(before);
        state.in_flight.retain(|(life, _), _| *life >= before);
    }

    /// One process among several leaves in good order.
    pub(crate) fn leaves(&self, life: u32) {
        self.state().in_flight.retain(|(of, _), _| *of != life);
    }

    pub(crate) fn is_ended(&self, life: u32, run: &RunId) -> bool {
        self.state().is_ended(life, run)
    }
}

impl State {
    fn problem(&mut self, problem: String) {
        self.log.push(format!("PROBLEM {problem}"));
        self.problems.push(problem);
    }

    fn is_ended(&self, life: u32, run: &RunId) -> bool {
        life < self.ended_before || self.orphans_ended.contains(&(run.clone(), life))
    }

    fn entry(&mut self, run: &RunId, event: &Event) {
        let record = self.runs.entry(run.clone()).or_default();
        match event {
            Event::RunStarted { plan, options, .. } => {
                record.plan = Some(Arc::clone(plan));
                record.parent.clone_from(&options.parent);
            }
            Event::AttemptStarted { check, scope, attempt, effect, .. } => {
                let may_repeat = record.may_repeat(check);
                let attempted = attempted(run, check, scope, *attempt);
                if let Some(intent) = effect {
                    self.intends(&attempted, &intent.key, may_repeat);
                }
                self.intents.insert(attempted, false);
            }
            Event::AttemptAnswered { check, scope, attempt, answer, .. } => {
                let attempted = attempted(run, check, scope, *attempt);
                let plan = record.plan.clone();
                let state = answer.effect_state();
                let place = ScopedCheck::new(check, scope);
                // "Unknown" after a crash comes late: another run may have found out meanwhile.
                if self.standing(run, &place) == Some(EffectState::Intended) {
                    self.settles(run, &place, state);
                }
                if self.intents.insert(attempted.clone(), true) == Some(true) {
                    self.problem(format!("{attempted} is answered twice"));
                }
                let spec = plan.as_ref().and_then(|plan| Some(plan.check(plan.find(check)?)));
                if spec.is_some_and(|spec| spec.provider == ProviderName::NESTED) {
                    self.result_is_unchanged(&attempted, answer);
                }
            }
            Event::LedgerAsked { check, scope, key, .. } => {
                self.asked.insert((run.clone(), ScopedCheck::new(check, scope)), key.clone());
            }
            Event::Reconciled { check, scope, finding: Some(finding), effect: Some(asked), .. } => {
                self.answers(run, &ScopedCheck::new(check, scope), asked, (*finding).into());
            }
            Event::MessageDelivered {
                message: Message::Assume { check, scope, assumption, .. },
                refused: None,
                effect,
                ..
            } => {
                let place = ScopedCheck::new(check, scope);
                if let Some(asked) = effect {
                    self.answers(run, &place, asked, (*assumption).into());
                }
                let place = (run.clone(), place);
                if let Some(effect) = self.in_question.remove(&place) {
                    self.released.insert(place, effect);
                }
            }
            Event::EffectResolved { key, state, .. } => {
                if let Some(effect) = self.effects.get_mut(key) {
                    effect.state = *state;
                }
            }
            Event::WaitStarted { check, scope, kind, id, .. } => {
                record.waits.push(id.clone());
                let place = (run.clone(), ScopedCheck::new(check, scope));
                let asked = self.asked.get(&place).filter(|_| *kind == WaitKind::UnknownEffect);
                if let Some((key, effect)) = asked.and_then(|key| Some((key, self.effects.get(key)?))) {
                    self.in_question.insert(place, (key.clone(), effect.attempts));
                }
            }
            Event::RunEnded { reason } => {
                record.ended = Some(reason.clone());
                self.log.push(format!("{run} ends: {}", reason.code.as_str()));
            }
            Event::RunReopened { .. } => record.ended = None,
            _ => {}
        }
    }

    /// An intent is committed: the effect must not have happened, nor perhaps be happening, unless it may be repeated.
    fn intends(&mut self, attempted: &Attempted, key: &str, may_repeat: bool) {
        let place = (attempted.run.clone(), ScopedCheck::new(&attempted.check, &attempted.scope));
        let known = self.effects.get(key).cloned();
        let attempts = known.as_ref().map_or(0, |effect| effect.attempts);
        let is_released = self.released.remove(&place) == Some((key.to_owned(), attempts));
        if let Some(KnownEffect { state, by, .. }) =
            known.filter(|effect| effect.state != EffectState::Failed)
            && !may_repeat
            && !is_released
        {
            self.problem(format!("{attempted} has the effect `{key}`, which is {} by {by}", state.as_str()));
        }
        let (state, by) = (EffectState::Intended, attempted.clone());
        self.effects.insert(key.to_owned(), KnownEffect { state, by, attempts: attempts + 1 });
        self.keys.insert(place, key.to_owned());
    }

    /// Where the last effect of a check stands.
    fn standing(&self, run: &RunId, place: &ScopedCheck) -> Option<EffectState> {
        let key = self.keys.get(&(run.clone(), place.clone()))?;
        self.effects.get(key).map(|effect| effect.state)
    }

    /// An answer, or the decision of a person, about the last effect of a check.
    fn settles(&mut self, run: &RunId, place: &ScopedCheck, state: EffectState) {
        let Some(key) = self.keys.get(&(run.clone(), place.clone())) else { return };
        if let Some(effect) = self.effects.get_mut(key).filter(|effect| effect.is_of(run, place)) {
            effect.state = state;
        }
    }

    /// What `reconcile` or a person found out about an effect, unless it was attempted or confirmed since it was asked.
    fn answers(&mut self, run: &RunId, place: &ScopedCheck, asked: &EffectInQuestion, state: EffectState) {
        if let Some(effect) = self.effects.get_mut(&asked.key)
            && asked.attempts_elsewhere.map_or(effect.is_of(run, place), |at| at == effect.attempts)
            && (effect.state != EffectState::Confirmed || asked.confirmed)
        {
            effect.state = state;
        }
    }

    /// An answer that names a nested run repeats its status and reason.
    fn result_is_unchanged(&mut self, attempted: &Attempted, answer: &Answer) {
        let Some(child) = answer.record.get("run_id").and_then(|id| id.as_str()) else { return };
        let child = self.runs.get(&RunId::from_stored(child));
        let Some(reason) = child.and_then(|child| child.ended.clone()) else {
            return self.problem(format!("{attempted} is answered by a nested run that has not ended"));
        };
        let expected = (json!(reason.code.status()), json!(reason));
        let found = (answer.output["status"].clone(), answer.output["reason"].clone());
        if expected != found {
            self.problem(format!("{attempted} is answered {found:?}, its nested run ended {expected:?}"));
        }
    }
}

fn attempted(run: &RunId, check: &str, scope: &ScopePath, number: u32) -> Attempted {
    Attempted { run: run.clone(), check: check.to_owned(), scope: scope.clone(), number }
}
