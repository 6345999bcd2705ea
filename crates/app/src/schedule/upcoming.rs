//! When the schedules of chains fire next. Events cannot be foretold.

use std::collections::BTreeMap;

use escrow_model::{Millis, TriggerRule, TriggerSource};
use escrow_playbook::ScheduleClock;
use escrow_store::ArmedTrigger;

use super::arm::would_be_armed;
use crate::app::App;
use crate::error::Error;

/// Ticks of one chain that are listed.
const TICKS_MAX: usize = 60;

/// Later than any schedule is due: the store keeps times as signed numbers.
const FAR: Millis = i64::MAX as u64;

/// The ticks of one chain, in their order.
#[derive(Debug, Default)]
pub struct Upcoming {
    /// The first one, also when it lies behind the span.
    pub next: Option<Millis>,
    /// Those within the span.
    pub ticks: Vec<Millis>,
    /// The span has more ticks than are listed.
    pub is_cut: bool,
    /// Each fire is delayed by less than this.
    pub jitter_ms: u64,
    /// The time zone of its first schedule.
    pub timezone: String,
}

/// The ticks of every active chain from `from` to `until`. A schedule that must come together with other triggers has
/// none of its own.
pub async fn upcoming(app: &App, from: Millis, until: Millis) -> Result<BTreeMap<String, Upcoming>, Error> {
    let fires = app.fires()?;
    let mut armed = fires.due_schedules(FAR).await?;
    for row in fires.unarmed_chains().await? {
        armed.retain(|one| one.chain_id != row.id);
        armed.extend(would_be_armed(&row));
    }
    let mut found: BTreeMap<String, Upcoming> = BTreeMap::new();
    for one in &armed {
        add(one, from, until, &mut found);
    }
    for of_chain in found.values_mut() {
        of_chain.ticks.sort_unstable();
        of_chain.ticks.dedup();
        of_chain.is_cut |= of_chain.ticks.len() > TICKS_MAX;
        of_chain.ticks.truncate(TICKS_MAX);
    }
    Ok(found)
}

fn add(armed: &ArmedTrigger, from: Millis, until: Millis, found: &mut BTreeMap<String, Upcoming>) {
    let TriggerSource::Schedule(schedule) = &armed.source else { return };
    let needs_others = armed.sources > 1 && !matches!(armed.rule, TriggerRule::Any);
    let Some(clock) = ScheduleClock::new(schedule, armed.anchor).filter(|_| !needs_others) else { return };
    let of_chain = found.entry(armed.chain.clone()).or_default();
    if of_chain.timezone.is_empty() {
        of_chain.timezone.clone_from(&schedule.timezone);
    }
    of_chain.jitter_ms = of_chain.jitter_ms.max(schedule.jitter_ms);
    let mut at = from;
    for number in 0..=TICKS_MAX {
        let Some(tick) = clock.next_after(at) else { break };
        of_chain.next = Some(of_chain.next.map_or(tick, |next| next.min(tick)));
        if tick > until {
            break;
        }
        if number == TICKS_MAX {
            of_chain.is_cut = true;
            break;
        }
        of_chain.ticks.push(tick);
        at = tick;
    }
}
