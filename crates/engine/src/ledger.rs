//! The ledger of effects: asked before an effect that another check or run may have had.
//!
//! ```text
//!   LedgerAsked ──▶ Consult ──▶ LedgerAnswered ──▶ free · takes over · reuses · reconcile · waits
//! ```
//!
//! A run that does not know the result of an effect of its own learns when it is resumed what the ledger has heard since,
//! before `reconcile` or a person is asked: the question may have been answered in another run.
//!
//! **Invariant:** an answer counts until the next intent of its key, and until this run learns that the effect happened. An
//! intent that was decided on an older answer is refused by the transaction that would commit it.

use escrow_model::{
    Assumption, CheckIndex, Criticality, EffectInQuestion, EffectIntent, EffectState, Event, FaultClass,
    Issue, IssueCode, LedgerEffect, Millis, ProviderName, ScopePath, WaitKind,
};

use crate::apply_error::{ApplyError, PhaseName};
use crate::effect::EffectStanding;
use crate::exchange::{Effect, Turn};
use crate::location::Location;
use crate::phase::Phase;
use crate::run::Run;
use crate::turn::Deciding;
use crate::verdict::Judgement;
use crate::view::View;

/// What the ledger answered a check.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LedgerAnswer {
    key: String,
    pub(crate) effect: Option<LedgerEffect>,
    /// How many intents of the key this run had by then.
    intents: u32,
    /// How often this run had learned by then that the effect happened.
    confirmations: u32,
    /// It came with the refusal of an intent.
    refused: bool,
}

/// The effect of another check or run, as it was when `reconcile` or a person was asked about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AskedElsewhere {
    pub(crate) attempts: u32,
    pub(crate) confirmed: bool,
}

/// An effect that this run attempted itself, does not know the result of, and shares with other runs.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenEffect {
    pub check: CheckIndex,
    pub scope: ScopePath,
    pub key: String,
    /// The question that a person is asked about it; `None` where the run was cut off at work, or `reconcile`
    /// looks for it.
    pub wait: Option<String>,
}

/// An effect of another check or run that this one waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct AwaitedEffect {
    pub key: String,
    /// The question that a person is asked about it.
    pub wait: String,
}

/// What the ledger has about such an effect.
#[derive(Clone, Debug)]
pub struct LedgerNews {
    pub about: OpenEffect,
    pub effect: LedgerEffect,
}

/// What the ledger means for an attempt.
enum LedgerDecision {
    /// It may begin.
    Free,
    /// It may begin, and takes over an effect of another check or run that was attempted this often.
    TakesOver(u32),
    /// Something else was decided or asked.
    Decided,
}

impl AskedElsewhere {
    fn of(effect: &LedgerEffect) -> AskedElsewhere {
        AskedElsewhere { attempts: effect.attempts, confirmed: effect.state == EffectState::Confirmed }
    }
}

impl Deciding<'_> {
    /// Consults the ledger about an effect. True when the attempt may continue.
    pub(crate) fn is_admitted(&mut self, location: &Location, intent: &mut EffectIntent) -> bool {
        match self.ledger_decision(location, intent) {
            LedgerDecision::Free => true,
            LedgerDecision::TakesOver(attempts) => {
                intent.takes_over = Some(attempts);
                true
            }
            LedgerDecision::Decided => false,
        }
    }

    fn ledger_decision(&mut self, location: &Location, intent: &EffectIntent) -> LedgerDecision {
        let Location { check, scope } = location;
        let Some(known) = self.known_effect(location, &intent.key) else {
            if !self.asks_ledger(*check) {
                return LedgerDecision::Free;
            }
            self.ask_ledger(location, &intent.key, &intent.digest);
            return LedgerDecision::Decided;
        };
        let Some(effect) = known else { return LedgerDecision::Free };
        let cell = self.cell(*check, scope);
        // The word of `reconcile` or of a person counts for the effect that they were asked about, not for one that
        // was attempted since.
        let may_take_over =
            cell.is_some_and(|cell| cell.cleared_elsewhere == Some(AskedElsewhere::of(&effect)));
        let plan = self.plan();
        let spec = plan.check(*check);
        let is_named = intent.generation.is_none();
        if effect.digest != intent.digest && is_named {
            self.fail_with_conflict(location, intent, &effect);
            return LedgerDecision::Decided;
        }
        let is_own = self.is_own(&effect, location);
        // `reconcile` is asked about an effect that broke its contract. Where that said `retry`, and the ledger has heard
        // since that the effect happened, what happened counts.
        let refused =
            self.cell(*check, scope).and_then(|cell| cell.ledger.as_ref()).is_some_and(|one| one.refused);
        let broke_contract =
            is_own && !refused && self.standing(*check, scope) == Some(EffectStanding::Confirmed);
        match effect.state {
            EffectState::Failed => LedgerDecision::Free,
            // This run's own effect: its own journal has the result.
            EffectState::Intended | EffectState::Unknown if is_own => LedgerDecision::Free,
            EffectState::Confirmed if broke_contract && spec.reconcile.is_some() && !spec.idempotent => {
                LedgerDecision::Free
            }
            EffectState::Confirmed | EffectState::Unknown if may_take_over => {
                LedgerDecision::TakesOver(effect.attempts)
            }
            EffectState::Confirmed if effect.digest == intent.digest => {
                self.reuse(location, &intent.key, &effect.run);
                LedgerDecision::Decided
            }
            EffectState::Unknown if spec.idempotent => LedgerDecision::TakesOver(effect.attempts),
            EffectState::Unknown | EffectState::Confirmed if spec.reconcile.is_some() => {
                let attempt = self.last_attempt(location).number;
                self.find_out(location, attempt);
                LedgerDecision::Decided
            }
            EffectState::Intended | EffectState::Unknown | EffectState::Confirmed => {
                self.wait_for_elsewhere(location, &effect);
                LedgerDecision::Decided
            }
        }
    }

    fn ask_ledger(&mut self, location: &Location, key: &str, digest: &str) {
        let Location { check, scope } = location;
        self.record(Event::LedgerAsked {
            check: self.plan().check(*check).name.clone(),
            scope: scope.clone(),
            key: key.to_owned(),
            digest: digest.to_owned(),
        });
        self.issue_consultation(location);
    }

    /// Asks the ledger, for the first time or again.
    pub(crate) fn issue_consultation(&mut self, location: &Location) {
        let Location { check, scope } = location.clone();
        let phase = self.cell(check, &scope).map(|cell| cell.phase.clone());
        let Some(Phase::Consulting { key, digest, .. }) = phase else {
            return;
        };
        self.ask_for(Effect::Consult { check, scope, key, digest });
    }

    /// The ledger's answer. A late or repeated one changes nothing. One that was read before this run learned that the
    /// effect happened is asked for again.
    pub(crate) fn take_ledger_answer(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        key: String,
        effect: Option<Box<LedgerEffect>>,
    ) {
        let phase = self.cell(check, scope).map(|cell| cell.phase.clone());
        match phase {
            Some(Phase::Consulting { key: asked, digest, confirmations }) if asked == key => {
                if confirmations == self.confirmations_of(&key) {
                    self.keep_ledger_answer(check, scope, key, effect, false);
                } else {
                    self.ask_ledger(&Location::new(check, scope.clone()), &key, &digest);
                }
            }
            _ => {}
        }
    }

    fn keep_ledger_answer(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        key: String,
        effect: Option<Box<LedgerEffect>>,
        refused: bool,
    ) {
        let effect = self.newer_than(check, scope, &key, effect.as_deref()).map(Box::new).or(effect);
        let question = self.cell(check, scope).and_then(|cell| cell.question.clone());
        let check = self.plan().check(check).name.clone();
        let scope_of = scope.clone();
        self.record(Event::LedgerAnswered { check: check.clone(), scope: scope_of, key, effect, refused });
        if let Some(id) = question {
            // Where the effect is still in question, it is asked about anew.
            self.record(Event::WaitWithdrawn { check, scope: scope.clone(), id });
        }
    }

    fn fail_with_conflict(&mut self, location: &Location, intent: &EffectIntent, effect: &LedgerEffect) {
        let message = format!(
            "`effect_key` is `{}`, which run `{}` used for another request: {} there, {} here",
            intent.key,
            effect.run,
            shortened(&effect.digest),
            shortened(&intent.digest)
        );
        let issue = Issue::error(IssueCode::EffectKeyConflict, message);
        self.judge_as(location, Judgement::without_attempt(vec![issue], Some(FaultClass::Logical)));
    }

    /// Another run is at work on the effect, or left it unknown.
    pub(crate) fn wait_for_elsewhere(&mut self, location: &Location, effect: &LedgerEffect) {
        let cell = self.cell(location.check, &location.scope);
        let key = cell.and_then(|cell| cell.ledger.as_ref()).map_or("", |answer| answer.key.as_str());
        let spec = self.state.plan.check(location.check);
        let (name, is_nested) = (&spec.name, spec.provider == ProviderName::NESTED);
        let run = &effect.run;
        let prompt = match effect.state {
            EffectState::Intended => {
                format!("`{name}` has the effect `{key}`, which is under way in run `{run}`")
            }
            // A nested run that was left at work goes on where it was left.
            EffectState::Unknown if is_nested && effect.answer.is_none() => format!(
                "`{name}` has the effect `{key}`, which is unknown in run `{run}`: \
                 `escrow resume {run}` continues it"
            ),
            EffectState::Unknown => {
                format!("`{name}` has the effect `{key}`, which is unknown in run `{run}`")
            }
            EffectState::Confirmed | EffectState::Failed => {
                format!("`{name}` has the effect `{key}`, which run `{run}` confirmed for another request")
            }
        };
        self.ask_about_effect(location, prompt);
    }

    /// Another run may have settled the effects that this one waits for.
    pub(crate) fn ask_ledger_again(&mut self) {
        for (location, key, digest) in self.waits_for_elsewhere() {
            self.ask_ledger(&location, &key, &digest);
        }
    }

    /// Takes what the ledger has about an effect whose result this run does not know. A question is withdrawn, and the ledger
    /// counts: an effect that happened is not repeated, and one that did not happen fails the check, as a person's
    /// decision would. False when the ledger does not have the result.
    pub(crate) fn take_ledger_news(&mut self, location: &Location) -> bool {
        let Location { check, scope } = location;
        let check = *check;
        let place = self.ledger_news.iter().position(|LedgerNews { about, effect }| {
            about.check == check
                && about.scope == *scope
                && self.open_key(location) == Some(about.key.as_str())
                && self.is_settled_by(location, effect)
        });
        let Some(place) = place else { return false };
        let LedgerNews { about: OpenEffect { key, .. }, effect } = self.ledger_news.swap_remove(place);
        let (state, run) = (effect.state, effect.run.clone());
        self.record(Event::LedgerAsked {
            check: self.plan().check(check).name.clone(),
            scope: scope.clone(),
            key: key.clone(),
            digest: effect.digest.clone(),
        });
        self.keep_ledger_answer(check, scope, key.clone(), Some(Box::new(effect)), false);
        match state {
            EffectState::Failed => {
                let message = format!("the ledger says that `{key}` did not happen");
                let issue = Issue::error(IssueCode::EffectAssumedFailed, message);
                let attempt = self.last_attempt(location).number;
                self.judge_as(location, Judgement::of_absent_effect(attempt, issue));
            }
            EffectState::Confirmed | EffectState::Intended | EffectState::Unknown => {
                self.reuse(location, &key, &run);
            }
        }
        true
    }

    /// Takes what the ledger has about effects that a person is asked about, or that `reconcile` is still to look for.
    pub(crate) fn take_remaining_ledger_news(&mut self) {
        let locations: Vec<Location> = self
            .ledger_news
            .iter()
            .map(|LedgerNews { about, .. }| Location::new(about.check, about.scope.clone()))
            .collect();
        for location in locations {
            self.take_ledger_news(&location);
        }
        self.ledger_news.clear();
    }

    /// A check of this run has settled an effect that others of its checks wait for.
    pub(crate) fn tell_waiting_effects(&mut self, settled: &Location) {
        let cell = self.cell(settled.check, &settled.scope);
        let Some(key) = cell.and_then(|cell| cell.last_key.clone()) else { return };
        if self.state.waits.is_empty() || self.state.admission.is_stopping() {
            return;
        }
        for (location, awaited, digest) in self.waits_for_elsewhere() {
            if awaited == key {
                self.ask_ledger(&location, &awaited, &digest);
            }
        }
    }
}

impl Run {
    fn asks_ledger(&self, check: CheckIndex) -> bool {
        let is_shared = self.state.options.effect_origin.as_ref().is_some_and(|origin| origin.shared);
        self.state.plan.check(check).effect_key.is_some() || is_shared
    }

    /// Effects of other runs that this one waits for.
    fn waits_for_elsewhere(&self) -> Vec<(Location, String, String)> {
        let waits = self.state.waits.values().filter(|wait| {
            // An approval is asked when the ledger has let the check pass.
            wait.kind == WaitKind::UnknownEffect && self.is_elsewhere(&wait.location)
        });
        let questions = waits.filter_map(|wait| {
            let Location { check, scope } = &wait.location;
            let (_, intent) = self.render(*check, scope).ok()?;
            let intent = intent?;
            Some((wait.location.clone(), intent.key, intent.digest))
        });
        questions.collect()
    }

    /// The effects of this run that other runs share and whose result it does not know: it asks a person about them,
    /// `reconcile` looks for them, or it was cut off while it was at work on them.
    pub fn open_effects(&self) -> Vec<OpenEffect> {
        let mut open = Vec::new();
        for (position, state) in self.state.checks.iter().enumerate() {
            let check = CheckIndex::at(position);
            if !self.asks_ledger(check) {
                continue;
            }
            for (scope, _) in state.nodes.iter() {
                let location = Location::new(check, scope.clone());
                let question = self.own_question(&location).map(|(key, wait)| (key, Some(wait)));
                let found = question.or_else(|| {
                    let key = self.cut_off_key(&location).or_else(|| self.unknown_key(&location))?;
                    Some((key, None))
                });
                if let Some((key, wait)) = found {
                    let (key, wait) = (key.to_owned(), wait.map(str::to_owned));
                    open.push(OpenEffect { check, scope: scope.clone(), key, wait });
                }
            }
        }
        open
    }

    /// The key of the effect of its own that a check asks a person about, and the question.
    fn own_question(&self, location: &Location) -> Option<(&str, &str)> {
        let cell = self.cell(location.check, &location.scope)?;
        let Phase::Waiting { id, .. } = &cell.phase else { return None };
        let is_asked = self.state.waits.get(id)?.kind == WaitKind::UnknownEffect;
        let key = cell.last_key.as_deref()?;
        (is_asked && !self.is_elsewhere(location)).then_some((key, id))
    }

    /// The key of the effect that a check is at work on, and that is unknown once its process is gone.
    fn cut_off_key(&self, location: &Location) -> Option<&str> {
        let spec = self.state.plan.check(location.check);
        let cell = self.cell(location.check, &location.scope)?;
        let becomes_unknown = spec.criticality == Criticality::External
            && !spec.idempotent
            && spec.provider != ProviderName::NESTED
            && matches!(cell.phase, Phase::Running { .. });
        becomes_unknown.then_some(cell.last_key.as_deref()).flatten()
    }

    /// The key of the unknown effect that `reconcile` looks for, or is to look for before a person is asked.
    fn unknown_key(&self, location: &Location) -> Option<&str> {
        let Location { check, scope } = location;
        let cell = self.cell(*check, scope)?;
        let is_looked_for = match cell.phase {
            // `Answered`: the attempt has just been found to be cut off.
            Phase::Answered | Phase::Reconciling { .. } | Phase::RetryWait { .. } | Phase::Due => true,
            _ => false,
        };
        let is_unknown = self.standing_of_cell(*check, scope) == Some(EffectStanding::Unknown)
            && !cell.cleared
            && !self.is_elsewhere(location);
        (is_looked_for && is_unknown).then_some(cell.last_key.as_deref()).flatten()
    }

    /// The key of the effect that a check asks a person about, or that `reconcile` looks for.
    fn open_key(&self, location: &Location) -> Option<&str> {
        let asked = self.own_question(location).map(|(key, _)| key);
        asked.or_else(|| self.unknown_key(location))
    }

    /// Whether the ledger has the result of the last effect of a check, which the run itself does not know.
    pub fn is_settled(&self, open: &OpenEffect, effect: &LedgerEffect) -> bool {
        self.is_settled_by(&Location::new(open.check, open.scope.clone()), effect)
    }

    fn is_settled_by(&self, Location { check, scope }: &Location, effect: &LedgerEffect) -> bool {
        match (self.standing_of_cell(*check, scope), effect.state) {
            (Some(EffectStanding::Unknown | EffectStanding::UnderWay), state) => {
                matches!(state, EffectState::Confirmed | EffectState::Failed)
            }
            // It failed here, `reconcile` had no answer, and another run has had the effect since.
            (Some(EffectStanding::Failed), state) => state == EffectState::Confirmed,
            (Some(EffectStanding::Confirmed | EffectStanding::Fulfilled) | None, _) => false,
        }
    }

    /// The effects of other runs that this one waits for.
    pub fn awaited_effects(&self) -> Vec<AwaitedEffect> {
        let awaited =
            self.waits_for_elsewhere().into_iter().filter_map(|(Location { check, scope }, key, _)| {
                match &self.cell(check, &scope)?.phase {
                    Phase::Waiting { id, .. } => Some(AwaitedEffect { key, wait: id.clone() }),
                    _ => None,
                }
            });
        awaited.collect()
    }

    /// Whether the ledger has the effect that a check is about to have for another run, which is not done with it.
    pub(crate) fn is_elsewhere(&self, location: &Location) -> bool {
        self.effect_elsewhere(location).is_some()
    }

    pub(crate) fn effect_elsewhere(&self, location: &Location) -> Option<&LedgerEffect> {
        let answer = self.cell(location.check, &location.scope)?.ledger.as_ref()?;
        let effect = answer.effect.as_ref()?;
        (effect.state != EffectState::Failed && !self.is_own(effect, location)).then_some(effect)
    }

    /// Whether this check attempted the effect last.
    fn is_own(&self, effect: &LedgerEffect, Location { check, scope }: &Location) -> bool {
        effect.run == self.state.options.run
            && effect.check == self.state.plan.check(*check).name
            && effect.scope == *scope
    }

    pub(crate) fn asks_elsewhere(&self, location: &Location) -> Option<AskedElsewhere> {
        self.effect_elsewhere(location).map(AskedElsewhere::of)
    }

    /// The effect that a person is asked about at a check: its own, or that of another check or run.
    pub fn effect_in_doubt(&self, check: &str, scope: &ScopePath) -> Option<EffectInQuestion> {
        let check = self.graph.find(check)?;
        let cell = self.cell(check, scope)?;
        let rendered = self.effect_key(check, scope, &View::before(self, check, scope));
        let key = rendered.ok().map(|(key, _)| key).or_else(|| cell.last_key.clone())?;
        let asked = cell.asked_elsewhere;
        let confirmed = asked.map_or_else(|| self.would_repeat(check, scope), |asked| asked.confirmed);
        Some(EffectInQuestion { key, attempts_elsewhere: asked.map(|asked| asked.attempts), confirmed })
    }

    /// What the ledger did not have yet when it was read: another check of this run is at work on the effect. Once
    /// that has settled, the ledger is asked again.
    fn newer_than(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        key: &str,
        known: Option<&LedgerEffect>,
    ) -> Option<LedgerEffect> {
        let Phase::Consulting { digest, .. } = &self.cell(check, scope)?.phase else { return None };
        let mut others =
            self.state.checks.iter().zip(self.state.plan.indices()).filter_map(|(state, other)| {
                let record = state.effects.get(key)?;
                let is_here = other == check && record.scope == *scope;
                (!is_here && record.standing == EffectStanding::UnderWay)
                    .then(|| (other, record.scope.clone()))
            });
        let (other, scope) = others.next()?;
        let (is_known, before) = known.map_or((false, 0), |known| {
            let is_known = known.state == EffectState::Intended
                && self.is_own(known, &Location::new(other, scope.clone()));
            (is_known, known.attempts)
        });
        Some(LedgerEffect {
            run: self.state.options.run.clone(),
            check: self.state.plan.check(other).name.clone(),
            scope,
            attempts: if is_known { before } else { before.saturating_add(1) },
            state: EffectState::Intended,
            digest: digest.clone(),
            answer: None,
        })
    }

    /// What the ledger answered about a key; outer `None` when it must be asked, for the first time or again.
    fn known_effect(&self, Location { check, scope }: &Location, key: &str) -> Option<Option<LedgerEffect>> {
        let answer = self.cell(*check, scope)?.ledger.as_ref()?;
        let is_current = answer.key == key
            && answer.intents == self.intents_of(key)
            && answer.confirmations == self.confirmations_of(key)
            && !answer.effect.as_ref().is_some_and(|effect| self.has_settled(effect, key));
        is_current.then(|| answer.effect.clone())
    }

    /// Whether another check of this run was at work on an effect when the ledger answered, and is no longer. The
    /// answer may have waited for a slot that this other check had.
    fn has_settled(&self, effect: &LedgerEffect, key: &str) -> bool {
        if effect.state != EffectState::Intended || effect.run != self.state.options.run {
            return false;
        }
        let Some(check) = self.graph.find(&effect.check) else { return false };
        let record = self.state.checks[check.place()].effects.get(key);
        !record
            .is_some_and(|record| record.scope == effect.scope && record.standing == EffectStanding::UnderWay)
    }

    /// Whether a check awaits the ledger's answer about a key.
    fn is_consulting(&self, check: CheckIndex, scope: &ScopePath, key: &str) -> bool {
        let phase = self.cell(check, scope).map(|cell| &cell.phase);
        matches!(phase, Some(Phase::Consulting { key: asked, .. }) if asked == key)
    }

    fn intents_of(&self, key: &str) -> u32 {
        self.state.intents.get(key).copied().unwrap_or(0)
    }

    fn confirmations_of(&self, key: &str) -> u32 {
        self.state.confirmations.get(key).copied().unwrap_or(0)
    }

    /// Counts how often `reconcile` or a person said that an effect happened.
    pub(crate) fn note_confirmation(&mut self, word: Option<Assumption>, effect: Option<&EffectInQuestion>) {
        if let (Some(Assumption::Done), Some(effect)) = (word, effect) {
            *self.state.confirmations.entry(effect.key.clone()).or_default() += 1;
        }
    }

    /// Applies `LedgerAsked`.
    pub(crate) fn ledger_asked(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        (key, digest): (&str, &str),
    ) -> Result<(), ApplyError> {
        let phases = [
            PhaseName::Pending,
            PhaseName::Due,
            PhaseName::Waiting,
            PhaseName::Consulting,
            // The effect is unknown, and the ledger may have the result.
            PhaseName::Answered,
            PhaseName::Reconciling,
            PhaseName::RetryWait,
        ];
        self.expect_phase(check, scope, &phases)?;
        let cell = self.expect_cell(check, scope)?;
        let asked = match &cell.phase {
            Phase::Waiting { id, .. } => Some(id.clone()),
            Phase::Consulting { .. } => cell.question.clone(),
            _ => None,
        };
        let confirmations = self.confirmations_of(key);
        let phase = Phase::Consulting { key: key.to_owned(), digest: digest.to_owned(), confirmations };
        self.set_phase(check, scope, phase)?;
        let cell = self.expect_cell_mut(check, scope)?;
        cell.ledger = None;
        cell.question = asked;
        // It may have been started because its group had room, which it does not take while it waits.
        self.release_capacity(check, scope);
        Ok(())
    }

    /// Applies `LedgerAnswered`.
    pub(crate) fn ledger_answered(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        key: &str,
        effect: Option<&LedgerEffect>,
        refused: bool,
    ) -> Result<(), ApplyError> {
        let (intents, confirmations) = (self.intents_of(key), self.confirmations_of(key));
        let is_asked = self.is_consulting(check, scope, key);
        let is_absent = effect.is_some_and(|effect| effect.state == EffectState::Failed);
        if is_absent && self.standing_of_cell(check, scope) == Some(EffectStanding::Unknown) {
            self.set_standing(check, scope, EffectStanding::Failed);
        }
        if let Some(cell) = self.cell_mut(check, scope) {
            cell.ledger = Some(Box::new(LedgerAnswer {
                key: key.to_owned(),
                effect: effect.cloned(),
                intents,
                confirmations,
                refused,
            }));
        }
        if is_asked { self.make_due(check, scope) } else { Ok(()) }
    }

    /// Takes in why a commit was refused: another run has the key of an effect. Decides nothing; the inputs of the
    /// refused turn are handled again.
    pub fn learn(
        &mut self,
        at: Millis,
        check: &str,
        scope: &ScopePath,
        key: String,
        effect: LedgerEffect,
    ) -> Turn {
        let Some(index) = self.graph.find(check) else { return Turn::default() };
        let mut deciding = Deciding::new(self, at);
        deciding.keep_ledger_answer(index, scope, key, Some(Box::new(effect)), true);
        deciding.into_turn()
    }
}

fn shortened(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}
