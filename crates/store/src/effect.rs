//! The ledger of effects: what external attempts of all runs did to the world, by key.

use std::sync::Arc;

use escrow_model::{
    Answer, EffectInQuestion, EffectIntent, EffectState, LedgerEffect, Millis, RunId, ScopePath, ScopeStep,
};
use serde_json::Value;

/// An effect, as the run that attempted it last left it.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectRow {
    pub key: String,
    pub run: RunId,
    pub check: String,
    pub scope: ScopePath,
    /// The items of the scope, with the checks that gave them.
    pub steps: Vec<ScopeStep>,
    /// `None` under an `effect_key`.
    pub generation: Option<u32>,
    pub state: EffectState,
    /// Attempts over all runs.
    pub attempts: u32,
    pub intended_at: Millis,
    pub answered_at: Option<Millis>,
    pub request_digest: String,
    /// What is known of the attempt that had it, or `None` when it was confirmed without anything.
    pub answer: Option<Arc<Answer>>,
}

/// A check in a scope of a run.
#[derive(Clone, Copy, Debug)]
pub struct Attempter<'a> {
    pub run: &'a str,
    pub check: &'a str,
    pub scope: &'a ScopePath,
}

impl EffectRow {
    /// The output of a confirmed effect.
    pub fn output(&self) -> Option<&Value> {
        let answer = self.answer.as_ref().filter(|_| self.state == EffectState::Confirmed)?;
        Some(&answer.output)
    }

    /// A later word: of `reconcile`, which may give an output, or of a person. What is known of an attempt that
    /// outlasts doubt stays.
    pub fn settle(&mut self, at: Millis, state: EffectState, given: Option<Answer>) {
        self.state = state;
        self.answered_at = Some(at);
        if state != EffectState::Confirmed {
            self.answer = None;
        } else if self.answer.is_none() {
            self.answer = given.map(Arc::new);
        }
    }

    /// The answer of its last attempt. Another run may have said meanwhile that the effect happened: that stands, and
    /// the attempt tells the rest.
    pub fn take_answer(&mut self, at: Millis, answer: &Arc<Answer>) {
        let is_intended = self.state == EffectState::Intended;
        let is_bare = self.state == EffectState::Confirmed && self.answer.is_none();
        if is_intended || is_bare {
            self.answer = answer.outlasts_doubt().then(|| Arc::clone(answer));
        }
        if is_intended {
            self.state = answer.effect_state();
            self.answered_at = Some(at);
        }
    }

    /// Whether this check attempted the effect last.
    pub fn is_of(&self, attempter: Attempter<'_>) -> bool {
        let Attempter { run, check, scope } = attempter;
        self.run.as_str() == run && self.check == check && self.scope == *scope
    }

    /// Whether an intent cannot be committed, because another check or run has the effect.
    pub fn refuses(&self, attempter: Attempter<'_>, intent: &EffectIntent) -> bool {
        let is_confirmed = self.state == EffectState::Confirmed;
        // What became of an own effect, the run knows itself; but another run may have found it done.
        let is_known = self.is_of(attempter) && (!is_confirmed || intent.generation.is_some());
        let is_free = self.state == EffectState::Failed || intent.takes_over == Some(self.attempts);
        !is_known && !is_free
    }

    /// Whether this is still the effect that `reconcile` or a person was asked about: an attempt that began since then
    /// may have had it. Where two answers contradict each other, the one that it happened counts.
    pub fn is_as_asked(&self, attempter: Attempter<'_>, asked: &EffectInQuestion) -> bool {
        let is_same = match asked.attempts_elsewhere {
            Some(attempts) => self.attempts == attempts,
            None => self.is_of(attempter),
        };
        is_same && (self.state != EffectState::Confirmed || asked.confirmed)
    }
}

/// What `reconcile` has told of an effect that it found done.
pub fn found_by(said: &Answer, output: Value) -> Answer {
    let mut found = Answer::confirmed_later(output);
    if said.is_redacted() {
        found.mark_redacted();
    }
    found
}

/// The effect as a run sees it.
impl From<&EffectRow> for LedgerEffect {
    fn from(row: &EffectRow) -> LedgerEffect {
        LedgerEffect {
            run: row.run.clone(),
            check: row.check.clone(),
            scope: row.scope.clone(),
            attempts: row.attempts,
            state: row.state,
            digest: row.request_digest.clone(),
            answer: row.answer.clone(),
        }
    }
}

/// Which effects are asked for; all when empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectFilter {
    /// Effects of these runs. Empty: of every run.
    pub runs: Vec<RunId>,
    pub key: Option<String>,
    /// At most so many.
    pub limit: Option<usize>,
}

/// Why a commit with an intent was refused: another run has the key.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenEffect {
    /// The check and the scope of the refused intent.
    pub check: String,
    pub scope: ScopePath,
    pub effect: EffectRow,
}
