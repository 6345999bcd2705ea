//! Effects of external checks: where each stands, which decides when it may be attempted again.
//!
//! ```text
//!   intent ──▶ UnderWay ──▶ Confirmed ──contracts kept──▶ Fulfilled ──route──▶ the next generation
//!                  ├──────▶ Failed ──────────────────────────────route──▶ the next generation
//!                  └──────▶ Unknown
//! ```
//!
//! **Invariant:** an effect that may have happened is not attempted again, unless the check is idempotent, `reconcile`
//! says that it did not happen, or a person says so. Items are identified by their values, because a list may come back
//! in another order.

use std::sync::Arc;

use escrow_model::{
    Answer, Assumption, CheckIndex, Criticality, EffectIntent, EffectState, Ending, Event, Millis,
    ProviderName, RunId, ScopePath,
};
use serde_json::{Value, json};

use crate::apply_error::ApplyError;
use crate::cut_output::CutOutput;
use crate::exchange::Turn;
use crate::items::Items;
use crate::location::Location;
use crate::phase::{Certainty, Phase};
use crate::run::Run;
use crate::state::Lost;
use crate::turn::Deciding;
use crate::verdict::Judgement;
use crate::view::View;

/// An effect of a check, as its run knows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EffectRecord {
    /// Where it was last attempted.
    pub(crate) scope: ScopePath,
    /// The items that it was last attempted for.
    pub(crate) items: Items,
    /// 0 under an `effect_key`.
    pub(crate) generation: u32,
    pub(crate) standing: EffectStanding,
    /// A route leads to the check again: its next attempt begins a new generation.
    pub(crate) superseded: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectStanding {
    UnderWay,
    /// It did not happen.
    Failed,
    /// It happened. Its contracts are broken, or not judged yet.
    Confirmed,
    /// It happened, and its contracts were kept.
    Fulfilled,
    Unknown,
}

impl EffectRecord {
    /// Whether a route may begin the next generation: nothing about this one is open.
    fn is_closed(&self) -> bool {
        match self.standing {
            EffectStanding::Failed | EffectStanding::Fulfilled => true,
            EffectStanding::UnderWay | EffectStanding::Confirmed | EffectStanding::Unknown => false,
        }
    }
}

impl Deciding<'_> {
    /// Judges the recorded output of an effect that is confirmed already.
    pub(crate) fn reuse(&mut self, location: &Location, key: &str, run: &RunId) {
        let Location { check, scope } = location;
        let name = self.plan().check(*check).name.clone();
        let (key, run) = (key.to_owned(), run.clone());
        self.record(Event::EffectReused { check: name, scope: scope.clone(), key, run });
        self.judge_recorded(location);
    }

    /// Judges an effect that was found done. One that was confirmed before keeps its verdict.
    pub(crate) fn judge_found(&mut self, location: &Location, before: Option<EffectStanding>) {
        let Location { check, scope } = location;
        match before {
            Some(EffectStanding::Confirmed | EffectStanding::Fulfilled) => {
                let attempt = self.last_attempt(location).number;
                let judgement = self.earlier_judgement(*check, scope, attempt);
                self.judge_as(location, judgement);
            }
            Some(EffectStanding::UnderWay | EffectStanding::Failed | EffectStanding::Unknown) | None => {
                self.judge_recorded(location);
            }
        }
    }

    /// Judges what a confirmed effect gave, after an inspection if the check names artifacts. Trying again would
    /// repeat the effect, so the verdict is not a fault that a retry mends.
    fn judge_recorded(&mut self, location: &Location) {
        let Location { check, scope } = location;
        let attempt = self.last_attempt(location);
        if self.cell(*check, scope).is_some_and(|cell| matches!(cell.phase, Phase::Inspecting { .. })) {
            self.inspect_for(&attempt);
            return;
        }
        let judgement = Judgement { fault: None, ..self.judge(*check, scope, attempt.number) };
        self.judge_as(location, judgement);
    }

    /// Whether `reconcile` or a person must be asked before this check may be attempted. If so, they are.
    pub(crate) fn must_find_out(&mut self, location: &Location) -> bool {
        let Location { check, scope } = location;
        let plan = self.plan();
        let spec = plan.check(*check);
        let is_exempt = spec.criticality != Criticality::External
            || spec.idempotent
            || spec.provider == ProviderName::NESTED
            || self.cell(*check, scope).is_some_and(|cell| cell.cleared);
        if is_exempt {
            return false;
        }
        let attempt = self.last_attempt(location).number;
        match self.standing(*check, scope) {
            None => false,
            Some(EffectStanding::Failed) if spec.reconcile.is_none() => false,
            Some(EffectStanding::Failed | EffectStanding::UnderWay | EffectStanding::Unknown) => {
                self.find_out(location, attempt);
                true
            }
            Some(EffectStanding::Confirmed | EffectStanding::Fulfilled) => {
                let resolved = self.cell(*check, scope).filter(|cell| cell.resolved.is_some());
                if let Some(key) = resolved.and_then(|cell| cell.last_key.clone()) {
                    let run = self.state.options.run.clone();
                    self.reuse(location, &key, &run);
                } else if spec.reconcile.is_some() {
                    self.find_out(location, attempt);
                } else {
                    let prompt = format!(
                        "`{}` has taken effect already: an attempt would repeat it",
                        self.named(*check, scope)
                    );
                    self.ask_about_effect(location, prompt);
                }
                true
            }
        }
    }
}

/// How a person settles an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettledAs {
    /// It happened.
    Done,
    /// It did not happen.
    Failed,
}

impl From<SettledAs> for EffectState {
    fn from(settled_as: SettledAs) -> EffectState {
        match settled_as {
            SettledAs::Done => EffectState::Confirmed,
            SettledAs::Failed => EffectState::Failed,
        }
    }
}

impl From<SettledAs> for Assumption {
    fn from(settled_as: SettledAs) -> Assumption {
        match settled_as {
            SettledAs::Done => Assumption::Done,
            SettledAs::Failed => Assumption::Failed,
        }
    }
}

/// What a person says about an effect.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectResolution {
    pub check: String,
    pub scope: ScopePath,
    pub key: String,
    pub settled_as: SettledAs,
    pub by: String,
    pub why: String,
}

impl Run {
    /// Where the effect stands that the next attempt would repeat; `None` when it would begin one.
    pub(crate) fn standing(&self, check: CheckIndex, scope: &ScopePath) -> Option<EffectStanding> {
        let spec = self.state.plan.check(check);
        let effects = &self.state.checks[check.place()].effects;
        let id = match &spec.effect_key {
            Some(_) => self.effect_key(check, scope, &View::before(self, check, scope)).ok()?.0,
            None => self.items(check, scope).identity(),
        };
        effects.get(&id).filter(|record| !record.superseded).map(|record| record.standing)
    }

    /// Applies the intent of an attempt.
    pub(crate) fn effect_intended(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        intent: Option<&EffectIntent>,
        at: Millis,
    ) -> Result<(), ApplyError> {
        if !self.has_effect(check) {
            return Ok(());
        }
        let items = self.items(check, scope);
        let named = intent.filter(|intent| intent.generation.is_none());
        let (id, generation) = match named {
            Some(intent) => (intent.key.clone(), 0),
            None => {
                let generation = intent.and_then(|intent| intent.generation);
                (items.identity(), generation.unwrap_or_else(|| self.next_generation(check, scope)))
            }
        };
        if let Some(intent) = named {
            *self.state.intents.entry(intent.key.clone()).or_default() += 1;
        }
        let is_nested = self.state.plan.check(check).provider == ProviderName::NESTED;
        let state = &mut self.state.checks[check.place()];
        if let Some(before) = state.nested.get_mut(&items) {
            before.attempted_at = at;
            before.scope.clone_from(scope);
        }
        let standing = EffectStanding::UnderWay;
        let record = EffectRecord { scope: scope.clone(), items, generation, standing, superseded: false };
        let before = state.effects.insert(id.clone(), record);
        // An earlier generation is forgotten here, and so is what became of it.
        let has_lasted =
            before.is_some_and(|before| before.superseded && before.standing != EffectStanding::Failed);
        state.has_lasted |= has_lasted && !is_nested;
        let cell = self.expect_cell_mut(check, scope)?;
        cell.effect = Some(id);
        cell.last_key = intent.map(|intent| intent.key.clone());
        cell.resolved = None;
        cell.cleared = false;
        cell.asked_elsewhere = None;
        cell.cleared_elsewhere = None;
        cell.ledger = None;
        cell.retry_counted = false;
        cell.lost = Lost::Nothing;
        Ok(())
    }

    pub(crate) fn set_standing(&mut self, check: CheckIndex, scope: &ScopePath, standing: EffectStanding) {
        let Some(id) = self.cell(check, scope).and_then(|cell| cell.effect.clone()) else { return };
        if let Some(record) = self.state.checks[check.place()].effects.get_mut(&id) {
            record.standing = standing;
        }
    }

    /// Applies the answer of an attempt.
    pub(crate) fn effect_answered(&mut self, check: CheckIndex, scope: &ScopePath, answer: &Answer) {
        let standing = match answer.effect_state() {
            EffectState::Confirmed => EffectStanding::Confirmed,
            EffectState::Intended | EffectState::Unknown => EffectStanding::Unknown,
            EffectState::Failed => EffectStanding::Failed,
        };
        self.set_standing(check, scope, standing);
    }

    /// Applies a verdict that the contracts were kept.
    pub(crate) fn effect_kept(&mut self, check: CheckIndex, scope: &ScopePath) {
        let Some(id) = self.cell(check, scope).and_then(|cell| cell.effect.clone()) else { return };
        if let Some(record) = self.state.checks[check.place()].effects.get_mut(&id)
            && record.standing == EffectStanding::Confirmed
        {
            record.standing = EffectStanding::Fulfilled;
        }
    }

    /// Applies a route: the effects below this scope are followed by a new generation, as far as they are closed.
    pub(crate) fn supersede_effects(&mut self, check: CheckIndex, base: &ScopePath) {
        for record in self.state.checks[check.place()].effects.values_mut() {
            // A named effect has no generations: the ledger answers.
            if record.generation > 0 && record.scope.starts_with(base) && record.is_closed() {
                record.superseded = true;
            }
        }
    }

    /// Applies that an effect happened, with the output if `reconcile` gave it. The output of a failed attempt
    /// does not count.
    pub(crate) fn effect_confirmed(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        given: Option<Answer>,
    ) -> Result<(), ApplyError> {
        // What was confirmed before has its output, and what was judged of it stays.
        if self.has_confirmed(check, scope) {
            return self.set_phase(check, scope, Phase::Answered);
        }
        if self.has_failed_inside(check, scope) {
            self.set_standing(check, scope, EffectStanding::Confirmed);
            return self.set_phase(check, scope, Phase::Answered);
        }
        // Of the attempt of another run, the ledger may have kept why its nested run did not complete.
        let elsewhere = self.effect_elsewhere(&Location::new(check, scope.clone()));
        let inside = elsewhere.and_then(|effect| effect.answer.as_deref());
        let is_nested = self.state.plan.check(check).provider == ProviderName::NESTED;
        let (answer, lost) = found_done(inside.filter(|_| is_nested).cloned().or(given));
        self.take_recorded(check, scope, answer, lost)?;
        if self.next_attempt(check, scope) == 1 {
            // The effect of another run was found done.
            self.state.checks[check.place()].reused += 1;
        }
        self.set_standing(check, scope, EffectStanding::Confirmed);
        Ok(())
    }

    /// Whether a check has a nested run that did not complete. That has not kept its contracts, whatever happened outside:
    /// its own reason stands.
    fn has_failed_inside(&self, check: CheckIndex, scope: &ScopePath) -> bool {
        let is_nested = self.state.plan.check(check).provider == ProviderName::NESTED;
        let answer = self.cell(check, scope).and_then(|cell| cell.answer.as_deref());
        is_nested && answer.is_some_and(|answer| matches!(answer.ending, Ending::Fault(_)))
    }

    /// Whether the next attempt of a check would repeat an effect that has happened.
    pub(crate) fn would_repeat(&self, check: CheckIndex, scope: &ScopePath) -> bool {
        let standing = self.standing(check, scope);
        self.has_confirmed(check, scope)
            || matches!(standing, Some(EffectStanding::Confirmed | EffectStanding::Fulfilled))
    }

    /// Whether the last effect of a check has happened.
    pub(crate) fn has_confirmed(&self, check: CheckIndex, scope: &ScopePath) -> bool {
        matches!(
            self.standing_of_cell(check, scope),
            Some(EffectStanding::Confirmed | EffectStanding::Fulfilled)
        )
    }

    pub(crate) fn standing_of_cell(&self, check: CheckIndex, scope: &ScopePath) -> Option<EffectStanding> {
        let id = self.cell(check, scope)?.effect.as_ref()?;
        self.state.checks[check.place()].effects.get(id).map(|record| record.standing)
    }

    /// Whether the next attempt repeats one of this check that had no effect and was not judged.
    pub(crate) fn is_repeat(&self, Location { check, scope }: &Location) -> bool {
        self.cell(*check, scope).is_some_and(|cell| cell.cleared && cell.is_unknown())
            && self.standing_of_cell(*check, scope) == Some(EffectStanding::Failed)
    }

    /// Applies `EffectResolved`: a person's decision about an effect of a run that has ended.
    pub(crate) fn effect_resolved(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        key: &str,
        state: EffectState,
    ) -> Result<(), ApplyError> {
        let standing = match state {
            EffectState::Confirmed => EffectStanding::Confirmed,
            EffectState::Failed => EffectStanding::Failed,
            EffectState::Intended | EffectState::Unknown => {
                return Err(ApplyError::Unresolved(key.to_owned()));
            }
        };
        // Only the last effect of a cell has anything left to decide.
        let is_last = self.cell(check, scope).is_some_and(|cell| cell.last_key.as_deref() == Some(key));
        if is_last {
            self.set_standing(check, scope, standing);
            let cell = self.expect_cell_mut(check, scope)?;
            cell.certainty = Certainty::Known;
            cell.resolved = Some(state);
        }
        Ok(())
    }

    /// What a person says about an effect of a run that has ended. `None` when the run has no such effect, or has not
    /// ended.
    pub fn resolve_effect(&mut self, at: Millis, resolution: EffectResolution) -> Option<Turn> {
        let EffectResolution { check, scope, key, settled_as, by, why } = resolution;
        self.graph.find(&check)?;
        if !self.state.status.is_terminal() {
            return None;
        }
        let mut deciding = Deciding::new(self, at);
        let state = settled_as.into();
        deciding.record(Event::EffectResolved { check, scope, key, state, by, why });
        Some(deciding.into_turn())
    }

    /// Applies `EffectReused`.
    pub(crate) fn effect_reused(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        key: &str,
        run: &RunId,
    ) -> Result<(), ApplyError> {
        let known = self.expect_cell_mut(check, scope)?.ledger.take();
        if *run == self.state.options.run && self.has_failed_inside(check, scope) {
            self.set_standing(check, scope, EffectStanding::Confirmed);
            return self.set_phase(check, scope, Phase::Answered);
        }
        let recorded = known.and_then(|known| known.effect).and_then(|effect| effect.answer);
        let recorded = recorded.filter(|answer| answer.outlasts_doubt()).map(Arc::unwrap_or_clone);
        let (mut answer, lost) = found_done(recorded);
        // Its variables were admitted to the environment of another run.
        answer.env.clear();
        let notes = [ALREADY_DONE, EFFECT_KEY, EFFECT_RUN].into_iter();
        for (name, value) in notes.zip([json!(true), json!(key), json!(run)]) {
            answer.record.insert(name.to_owned(), value);
        }
        self.state.checks[check.place()].reused += 1;
        self.take_recorded(check, scope, answer, lost)?;
        let items = self.items(check, scope);
        let is_named = self.state.plan.check(check).effect_key.is_some();
        let (id, generation) = match is_named {
            true => (key.to_owned(), 0),
            false => (items.identity(), self.next_generation(check, scope)),
        };
        let standing = EffectStanding::Confirmed;
        let record = EffectRecord { scope: scope.clone(), items, generation, standing, superseded: false };
        self.state.checks[check.place()].effects.insert(id.clone(), record);
        let cell = self.expect_cell_mut(check, scope)?;
        cell.effect = Some(id);
        cell.last_key = Some(key.to_owned());
        Ok(())
    }

    /// Takes an answer that no attempt gave here: it is judged like one.
    fn take_recorded(
        &mut self,
        check: CheckIndex,
        scope: &ScopePath,
        answer: Answer,
        lost: Lost,
    ) -> Result<(), ApplyError> {
        let answer = Arc::new(answer);
        self.state.redacted |= answer.is_redacted();
        self.state.checks[check.place()].has_cut_output |= CutOutput::of(&answer).stdout;
        let phase = if self.inspects(check, &answer) {
            Phase::Inspecting { delivery: None }
        } else {
            Phase::Answered
        };
        self.set_phase(check, scope, phase)?;
        let cell = self.expect_cell_mut(check, scope)?;
        cell.answer = Some(answer);
        cell.lost = lost;
        self.forget_outputs(check, scope);
        Ok(())
    }
}

const ALREADY_DONE: &str = "already_done";
const EFFECT_KEY: &str = "effect_key";
const EFFECT_RUN: &str = "effect_run";

/// Members of the record that Escrow adds when an effect is found done. They are known although the attempt is not.
pub(crate) const NOTES: [&str; 4] = [ALREADY_DONE, EFFECT_KEY, EFFECT_RUN, Answer::CONFIRMED_LATER];

/// What an effect that was found done is judged on, and what of it is not known.
fn found_done(recorded: Option<Answer>) -> (Answer, Lost) {
    match recorded {
        Some(answer) if answer.is_confirmed_later() => (answer, Lost::Record),
        Some(answer) => (answer, Lost::Nothing),
        None => (Answer::confirmed_later(Value::Null), Lost::Everything),
    }
}
