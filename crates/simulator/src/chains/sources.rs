//! What makes chains fire: definitions, webhooks, the clock and the feed, each with its troubles.

use escrow_model::{ChainRules, PlanKind, TriggerEvent, TriggerRule, TriggerSource};
use escrow_runtime::cancellation;
use escrow_runtime::config::Settings;
use escrow_runtime::triggers::run_completed::RunCompleted;
use escrow_runtime::triggers::schedule::recording;
use escrow_runtime::triggers::{Origin, PollContext, TriggerKind as _, offer};
use escrow_store::{ArmChain, ArmSource, DefineChain, Delivery, Fires as _, Recorded, Recording};
use serde_json::{Map, json};

use super::definitions::{Definition, Listens};
use super::{ChainWorld, DELIVERY_MS_MAX, MINUTE_MS, told};
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

    /// A delivery comes: a new one, an old one again, or an old one under another id.
    pub(super) fn receive(&mut self) -> Result<(), String> {
        // What is older is refused before it is recorded.
        let oldest = self.latest.saturating_sub(DELIVERY_MS_MAX);
        let young: Vec<&Delivery> = self.sent.iter().filter(|delivery| delivery.at > oldest).collect();
        let repeated = !young.is_empty() && self.rng.chance(30);
        let delivery = if repeated {
            let mut old = (*self.rng.pick(&young)).clone();
            if self.rng.chance(30) {
                old.id = format!("forged-{}", self.rng.next_u64());
            }
            old
        } else {
            let id = format!("d-{}", self.sent.len() + 1);
            let (digest, at) = (format!("of {id}"), self.clock.now_ms());
            Delivery { hook: "github".into(), digest, id, subject: None, at }
        };
        let fields =
            Map::from_iter([("base".to_owned(), json!("main")), ("n".to_owned(), json!(self.rng.below(8)))]);
        let key = format!("delivery:{}", delivery.id);
        let event = TriggerEvent { name: "pr.opened".into(), fields, key, at: self.clock.now_ms() };
        let listeners = self.store.blocking().listeners(&event.name).map_err(told)?;
        let occurrences = offer(&event, &Origin::default(), &listeners);
        let recording = Recording { deliveries: vec![delivery.clone()], occurrences, ..Recording::default() };
        match (block_on(self.store.record(&recording)).map_err(told)?, repeated) {
            (Recorded::Done(new), false) => {
                let wait = self.chains.iter().filter(|chain| chain.listens == Listens::Webhook).count();
                if new.len() != wait {
                    return Err(format!("a delivery fired {} of {wait} chains", new.len()));
                }
                self.accepted.insert(event.key);
                self.sent.push(delivery);
                Ok(())
            }
            (Recorded::Duplicate, true) => {
                self.played.repeated += 1;
                Ok(())
            }
            (answer, _) => Err(format!("delivery `{}` was answered with {answer:?}", delivery.id)),
        }
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
        let (_canceller, cancellation) = cancellation();
        let settings = Settings::default();
        let context = PollContext {
            fires: &*self.store,
            queries: &*self.store,
            project: std::path::Path::new("/nowhere"),
            settings: &settings,
            now_ms: self.clock.now_ms(),
            cancellation: &cancellation,
        };
        let found = block_on(RunCompleted.poll(&context)).map_err(|error| error.to_string())?;
        for _ in 0..self.polls() {
            for recording in &found {
                block_on(self.store.record(recording)).map_err(told)?;
            }
        }
        Ok(())
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
