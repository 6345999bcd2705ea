//! The ledger of effects in memory, by the rules of the store's table.

use std::collections::BTreeMap;

use escrow_model::{
    Assumption, EffectInQuestion, EffectState, Ending, Entry, Event, Message, RunId, ScopePath,
};
use escrow_store::{Attempter, EffectRow, TakenEffect};

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
                    output: None,
                };
                self.0.insert(intent.key.clone(), row);
            }
            Event::AttemptAnswered { check, scope, answer, .. } => {
                for row in self.0.values_mut() {
                    if row.run == *run
                        && row.check == *check
                        && row.scope == *scope
                        && row.state == EffectState::Intended
                    {
                        (row.state, row.output) = match &answer.ending {
                            Ending::Done => (EffectState::Confirmed, Some(answer.output.clone())),
                            Ending::Fault(fault) if fault.effect_unknown => (EffectState::Unknown, None),
                            Ending::Fault(_) => (EffectState::Failed, None),
                        };
                        row.answered_at = Some(entry.at);
                    }
                }
            }
            Event::Reconciled {
                check, scope, finding: Some(finding), effect: Some(asked), output, ..
            } => {
                if let Some(row) = self.in_question(run, (check, scope), asked) {
                    settle(row, *finding);
                    if row.state == EffectState::Confirmed && output.is_some() {
                        row.output = output.clone();
                    }
                }
            }
            Event::MessageDelivered {
                message: Message::Assume { check, scope, assumption, .. },
                refused: None,
                effect: Some(asked),
                ..
            } => {
                if let Some(row) = self.in_question(run, (check, scope), asked) {
                    settle(row, *assumption);
                }
            }
            Event::EffectResolved { key, state, .. } => {
                if let Some(row) = self.0.get_mut(key) {
                    row.state = *state;
                    row.answered_at = Some(entry.at);
                }
            }
            _ => {}
        }
    }
}

fn settle(row: &mut EffectRow, word: Assumption) {
    row.state = word.into();
    if row.state != EffectState::Confirmed {
        row.output = None;
    }
}
