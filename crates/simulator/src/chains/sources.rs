//! What makes chains fire inside: definitions, the clock and the feed, each with its troubles.

use escrow_model::{ChainRules, PlanKind, TriggerRule, TriggerSource};
use escrow_runtime::cancellation;
use escrow_runtime::config::Settings;
use escrow_runtime::triggers::run_completed::RunCompleted;
use escrow_runtime::triggers::schedule::recording;
use escrow_runtime::triggers::{PollContext, TriggerKind as _};
use escrow_store::{ArmChain, ArmSource, DefineChain, Fires as _};
use serde_json::json;

use super::definitions::Definition;
use super::{ChainWorld, MINUTE_MS, told};
use crate::block_on::block_on;

impl ChainWorld {
    pub(super) fn define(&mut self, place: usize) -> Result<(), String> {
        let chain = &self.chains[place];
        let Definition { text, plan } = chain.active();
        let wanted = DefineChain {
            name: chain.name.clone(),
            definition: json!({ "name": chain.name }),
            text: text.clone(),
            sha256: format!("{}", chain.active),
            file: String::new(),
            directory: String::new(),
            by: None,
            at: self.clock.now_ms(),
        };
        let row = self.store.blocking().define_chain(&wanted).map_err(told)?.row().clone();
        let PlanKind::Chain(ChainRules { trigger: Some(trigger), .. }) = &plan.kind else {
            return Err(format!("`{}` has no trigger", chain.name));
        };
        let sources = trigger.sources.iter().map(|source| {
            let event = match source {
                TriggerSource::Schedule(_) => None,
                TriggerSource::Event(event) => Some(event.event.clone()),
            };
            ArmSource { source: source.clone(), event }
        });
        let arm =
            ArmChain { row, rule: TriggerRule::Any, sources: sources.collect(), at: self.clock.now_ms() };
        block_on(self.store.arm(&arm)).map_err(told)
    }

    pub(super) fn set_clock(&mut self) {
        self.played.jumps += 1;
        let minutes = match self.rng.below(3) {
            // Set back.
            0 => -i64::try_from(self.rng.below(3 * 60)).unwrap_or(0),
            // A laptop that slept.
            1 => i64::try_from(self.rng.below(30 * 60)).unwrap_or(0),
            _ => i64::try_from(self.rng.below(20)).unwrap_or(0),
        };
        self.ledger.log(format!("the clock jumps by {minutes} minutes"));
        self.clock.jump(minutes * i64::try_from(MINUTE_MS).unwrap_or(0));
        self.latest = self.latest.max(self.clock.now_ms());
    }

    /// Two daemons may look at once: what the second one finds recorded is not recorded again.
    pub(super) fn poll_the_clock(&mut self) -> Result<(), String> {
        let now = self.clock.now_ms();
        for armed in self.store.blocking().due_schedules(now).map_err(told)? {
            let Some(found) = recording(&armed, now) else { continue };
            for _ in 0..self.polls() {
                block_on(self.store.record(&found)).map_err(told)?;
            }
        }
        Ok(())
    }

    pub(super) fn poll_the_feed(&mut self) -> Result<(), String> {
        let found =
            self.polling(|context| block_on(RunCompleted.poll(context)).map_err(|error| error.to_string()))?;
        for _ in 0..self.polls() {
            for recording in &found {
                block_on(self.store.record(recording)).map_err(told)?;
            }
        }
        Ok(())
    }

    pub(super) fn polling<T>(&self, poll: impl FnOnce(&PollContext<'_>) -> T) -> T {
        let (_canceller, cancellation) = cancellation();
        poll(&PollContext {
            fires: &*self.store,
            queries: &*self.store,
            project: &self.project,
            settings: &Settings::default(),
            now_ms: self.clock.now_ms(),
            cancellation: &cancellation,
        })
    }

    /// How often a look is recorded: not at all when its daemon dies before, twice when two look at once.
    pub(super) fn polls(&mut self) -> u32 {
        match self.rng.below(20) {
            0 | 1 => 0,
            2..=7 => 2,
            _ => 1,
        }
    }
}
