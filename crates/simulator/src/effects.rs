//! The ledger of effects in memory, by the rules of the store's table.

use std::collections::BTreeMap;

use escrow_model::{EffectInQuestion, EffectState, Entry, Event, Message, RunId, ScopePath};
use escrow_store::{Attempter, EffectRow, TakenEffect, found_by};

#[derive(Default)]
pub(crate) struct Effects(BTreeMap<String, EffectRow>);

impl Effects {
    pub(crate) fn find(&self, key: &str) -> Option<EffectRow> {
        self.0.get(key).cloned()
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &EffectRow> {
        self.0.values()
    }

    /// The first effect that these entries intend and another run, or another check of this one, has.
    pub(crate) fn taken(&self, run: &RunId, entries: &[Entry]) -> Option<TakenEffect> {
        entries.iter().find_map(|entry| {
            let Event::AttemptStarted { check, scope, effect: Some(intent), .. } = &entry.event else {
                return None;
            };
            let effect = self.0.get(&intent.key)?;
            let attempter = Attempter { run: run.as_str(), check, scope };
            effect.refuses(attempter, intent).then(|| TakenEffect {
                check: check.clone(),
                scope: scope.clone(),
                effect: effect.clone(),
            })
        })
    }

    /// The effect that was asked about, as long as it was neither attempted nor found done since.
    fn in_question(
        &mut self,
        run: &RunId,
        (check, scope): (&str, &ScopePath),
        asked: &EffectInQuestion,
    ) -> Option<&mut EffectRow> {
        let attempter = Attempter { run: run.as_str(), check, scope };
        self.0.get_mut(&asked.key).filter(|row| row.is_as_asked(attempter, asked))
    }

    pub(crate) fn apply(&mut self, run: &RunId, entry: &Entry) {
        match &entry.event {
            Event::AttemptStarted { check, scope, effect: Some(intent), .. } => {
                let attempts = self.0.get(&intent.key).map_or(0, |effect| effect.attempts);
                let row = EffectRow {
                    key: intent.key.clone(),
                    run: run.clone(),
                    check: check.clone(),
                    scope: scope.clone(),
                    steps: intent.scope.clone(),
                    generation: intent.generation,
                    state: EffectState::Intended,
                    attempts: attempts + 1,
                    intended_at: entry.at,
                    answered_at: None,
                    request_digest: intent.digest.clone(),
                    answer: None,
                };
                self.0.insert(intent.key.clone(), row);
            }
            Event::AttemptAnswered { check, scope, answer, .. } => {
                let attempter = Attempter { run: run.as_str(), check, scope };
                let own = self.0.values_mut().filter(|row| row.is_of(attempter));
                if let Some(row) = own.max_by_key(|row| (row.state == EffectState::Intended, row.intended_at))
                {
                    row.take_answer(entry.at, answer);
                }
            }
            Event::Reconciled {
                check,
                scope,
                finding: Some(finding),
                effect: Some(asked),
                output,
                answer,
                ..
            } => {
                if let Some(row) = self.in_question(run, (check, scope), asked) {
                    let given = output.clone().map(|output| found_by(answer, output));
                    row.settle(entry.at, (*finding).into(), given);
                }
            }
            Event::MessageDelivered {
                message: Message::Assume { check, scope, assumption, .. },
                refused: None,
                effect: Some(asked),
                ..
            } => {
                if let Some(row) = self.in_question(run, (check, scope), asked) {
                    row.settle(entry.at, (*assumption).into(), None);
                }
            }
            Event::EffectResolved { key, state, .. } => {
                if let Some(row) = self.0.get_mut(key) {
                    row.settle(entry.at, *state, None);
                }
            }
            _ => {}
        }
    }
}
