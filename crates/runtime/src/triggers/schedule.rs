//! Which ticks of a schedule are due, and which were missed.
//!
//! **Invariant:** a function of the schedule, the last tick that was handled and the time. It has no clock.

use escrow_model::{
    CatchUp, EventTrigger, FireCode, Millis, Schedule, TICK_ON_TIME_MS, TriggerSource, rfc3339,
};
use escrow_playbook::ScheduleClock;
use escrow_store::{ArmedTrigger, Handled, NewFire, Occurrence, Recording};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{PollContext, PollFuture, TriggerKind};

pub struct ScheduleTrigger;

impl TriggerKind for ScheduleTrigger {
    fn name(&self) -> &'static str {
        "schedule"
    }

    fn poll<'a>(&'a self, context: &'a PollContext<'a>) -> PollFuture<'a> {
        Box::pin(async move {
            let due = context.fires.due_schedules(context.now_ms).await?;
            Ok(due.iter().filter_map(|armed| recording(armed, context.now_ms)).collect())
        })
    }

    fn is_outside(&self) -> bool {
        true
    }
}

/// The ticks of one schedule that are due, and when to poll again.
pub fn recording(armed: &ArmedTrigger, now_ms: Millis) -> Option<Recording> {
    let TriggerSource::Schedule(schedule) = &armed.source else { return None };
    let timetable = Timetable {
        chain: armed.chain_id.as_str(),
        schedule,
        anchor_ms: armed.anchor,
        after_ms: armed.after,
    };
    let due = timetable.due(now_ms)?;
    let fire = |key: String, at: Millis, fields: Map<String, Value>, refused| NewFire {
        chain_id: armed.chain_id.clone(),
        chain: armed.chain.clone(),
        key,
        at,
        event: EventTrigger::SCHEDULE.to_owned(),
        payload: fields,
        depth: 1,
        refused,
    };
    let fields = |scheduled: Millis| {
        let mut fields = Map::new();
        fields.insert("scheduled_at".into(), json!(rfc3339(scheduled)));
        fields.insert("timezone".into(), json!(schedule.timezone));
        fields
    };
    let missed = due.missed.as_ref().map(|missed| {
        let mut about = fields(missed.last_ms);
        about.insert("count".into(), json!(missed.count));
        let refused = Some((FireCode::MissedLate, missed.summary()));
        Occurrence { fire: fire(missed.key(), now_ms, about, refused), together: armed.together() }
    });
    let ticks = due.ticks.iter().map(|tick| {
        let mut about = fields(tick.at_ms);
        about.insert("late".into(), json!(tick.is_late));
        Occurrence { fire: fire(tick.key(), now_ms, about, None), together: armed.together() }
    });
    let handled = Handled {
        chain_id: armed.chain_id.clone(),
        position: armed.position,
        after: due.after_ms,
        next_at: due.next_at_ms,
        at: now_ms,
    };
    Some(Recording {
        occurrences: missed.into_iter().chain(ticks).collect(),
        handled: vec![handled],
        ..Recording::default()
    })
}

/// Missed ticks that are counted one by one. After a longer sleep the number is a lower bound.
const COUNTED_MAX: usize = 10_000;

/// Ticks that fire at once under `catch_up: all`. The next poll fires the others.
pub const BATCH_MAX: usize = 500;

/// A schedule of a chain, and how far its ticks were handled.
#[derive(Clone, Debug)]
pub struct Timetable<'s> {
    pub chain: &'s str,
    pub schedule: &'s Schedule,
    /// The time of the definition.
    pub anchor_ms: Millis,
    /// The last tick that was handled, or the time since which there are ticks.
    pub after_ms: Millis,
}

/// What a poll of a schedule found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// Ticks that fire, oldest first.
    pub ticks: Vec<Tick>,
    /// Ticks that do not fire any more.
    pub missed: Option<Missed>,
    /// The last tick that is handled now.
    pub after_ms: Millis,
    /// When to poll again; `None` when there is no further tick.
    pub next_at_ms: Option<Millis>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Its time by the schedule, without jitter.
    pub at_ms: Millis,
    pub is_late: bool,
}

impl Tick {
    /// The key of its fire.
    pub fn key(&self) -> String {
        tick_key(self.at_ms)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    pub first_ms: Millis,
    pub last_ms: Millis,
    pub count: usize,
    /// Whether there were more than were counted.
    pub or_more: bool,
    /// The tick that makes up for them.
    pub made_up_by: Option<Millis>,
}

impl Missed {
    pub fn key(&self) -> String {
        format!("missed:{}", rfc3339(self.last_ms))
    }

    pub fn summary(&self) -> String {
        let first = rfc3339(self.first_ms);
        let more = if self.or_more { "at least " } else { "" };
        let mut summary = match self.count {
            1 if !self.or_more => format!("the tick of {first} was missed"),
            count => format!("{more}{count} ticks from {first} to {} were missed", rfc3339(self.last_ms)),
        };
        if let Some(tick) = self.made_up_by {
            summary.push_str(&format!("; the tick of {} makes up for them", rfc3339(tick)));
        }
        summary
    }
}

/// The key of a tick: its time, so that every process names it alike.
fn tick_key(at_ms: Millis) -> String {
    format!("tick:{}", rfc3339(at_ms))
}

impl Timetable<'_> {
    /// `None` when the schedule cannot be read any more.
    pub fn due(&self, now_ms: Millis) -> Option<Due> {
        let clock = ScheduleClock::new(self.schedule, self.anchor_ms)?;
        // A clock that was set back must not silence the schedule until the later time comes again. Keys keep the
        // ticks that have fired from firing twice.
        let mut after = self.after_ms.min(now_ms);
        let mut due = Due::default();
        // The last two that are late.
        let (mut last_late, mut before_last) = (None, None);
        let (mut late_count, mut or_more) = (0_usize, false);
        let mut first_late = None;
        // Ticks are handled in their order: jitter may delay one past the next.
        let mut latest_due_ms = 0;
        let next = loop {
            let Some(tick) = clock.next_after(after) else { break None };
            latest_due_ms = latest_due_ms.max(tick.saturating_add(self.jitter_ms(tick)));
            if latest_due_ms > now_ms {
                break Some(latest_due_ms);
            }
            let is_late = now_ms - latest_due_ms > TICK_ON_TIME_MS;
            match (is_late, self.schedule.catch_up) {
                (true, CatchUp::All) | (false, CatchUp::All) if due.ticks.len() >= BATCH_MAX => {
                    // The others are due at once.
                    break Some(now_ms);
                }
                (true, CatchUp::Skip | CatchUp::Once) => {
                    first_late.get_or_insert(tick);
                    late_count += 1;
                    before_last = last_late.replace(tick);
                    if late_count >= COUNTED_MAX {
                        // Too many to count: the newest are found by looking from just before they can be on time.
                        or_more = true;
                        let recent = now_ms.saturating_sub(TICK_ON_TIME_MS + self.schedule.jitter_ms + 1);
                        after = after.max(tick).max(recent);
                        latest_due_ms = 0;
                        late_count = COUNTED_MAX - 1;
                        continue;
                    }
                }
                (true, CatchUp::All) | (false, CatchUp::Skip | CatchUp::Once | CatchUp::All) => {
                    due.ticks.push(Tick { at_ms: tick, is_late });
                }
            }
            after = tick;
        };
        due.after_ms = after;
        due.next_at_ms = next;
        let (Some(first_ms), Some(last_ms)) = (first_late, last_late) else { return Some(due) };
        let mut missed = Missed { first_ms, last_ms, count: late_count, or_more, made_up_by: None };
        match (self.schedule.catch_up, due.ticks.first()) {
            (CatchUp::Skip, _) => due.missed = Some(missed),
            (CatchUp::Once, Some(on_time)) => {
                missed.made_up_by = Some(on_time.at_ms);
                due.missed = Some(missed);
            }
            (CatchUp::Once, None) => {
                due.ticks.push(Tick { at_ms: last_ms, is_late: true });
                if missed.count > 1 || or_more {
                    missed.made_up_by = Some(last_ms);
                    missed.count -= 1;
                    missed.last_ms = before_last.unwrap_or(first_ms);
                    due.missed = Some(missed);
                }
            }
            (CatchUp::All, _) => {}
        }
        Some(due)
    }

    /// The first time at which something of the schedule is due.
    pub fn next_at_ms(&self) -> Option<Millis> {
        let tick = ScheduleClock::new(self.schedule, self.anchor_ms)?.next_after(self.after_ms)?;
        Some(tick.saturating_add(self.jitter_ms(tick)))
    }

    /// The delay of a tick. It comes from the chain and the tick, so that every process delays it alike.
    fn jitter_ms(&self, tick: Millis) -> u64 {
        if self.schedule.jitter_ms == 0 {
            return 0;
        }
        let digest = Sha256::digest(format!("{}\0{tick}", self.chain));
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&digest[..8]);
        u64::from_be_bytes(bytes) % self.schedule.jitter_ms
    }
}

#[cfg(test)]
mod tests {
    use escrow_model::{Cadence, parse_rfc3339};

    use super::*;

    fn at(text: &str) -> Millis {
        parse_rfc3339(&format!("2026-11-{text}:00Z")).unwrap()
    }

    fn hourly(catch_up: CatchUp) -> Schedule {
        let cadence = Cadence::Cron("0 * * * *".into());
        Schedule { cadence, timezone: "UTC".into(), catch_up, jitter_ms: 0 }
    }

    fn due(schedule: &Schedule, after: Millis, now: Millis) -> Due {
        Timetable { chain: "c_1", schedule, anchor_ms: 0, after_ms: after }.due(now).unwrap()
    }

    fn times(due: &Due) -> Vec<String> {
        due.ticks.iter().map(|tick| rfc3339(tick.at_ms)[8..16].to_owned()).collect()
    }

    #[test]
    fn a_tick_is_on_time_for_fifteen_minutes() {
        let hourly = hourly(CatchUp::Skip);
        let after = at("16T09:30");
        assert_eq!(due(&hourly, after, at("16T09:59")).ticks, []);
        assert_eq!(due(&hourly, after, at("16T09:59")).next_at_ms, Some(at("16T10:00")));
        for now in ["16T10:00", "16T10:01", "16T10:15"] {
            let found = due(&hourly, after, at(now));
            assert_eq!((times(&found), found.missed), (vec!["16T10:00".to_owned()], None), "{now}");
        }
        let late = due(&hourly, after, at("16T10:15") + 1);
        assert_eq!(late.ticks, []);
        assert_eq!(late.missed.unwrap().summary(), "the tick of 2026-11-16T10:00:00.000Z was missed");
        assert_eq!(late.after_ms, at("16T10:00"));
    }

    #[test]
    fn a_day_asleep_is_skipped_made_up_for_once_or_whole() {
        let (slept, woke) = (at("16T09:30"), at("17T09:40"));
        let skipped = due(&hourly(CatchUp::Skip), slept, woke);
        assert_eq!(skipped.ticks, []);
        let missed = skipped.missed.unwrap();
        assert_eq!((missed.count, missed.made_up_by), (24, None));
        assert_eq!((missed.first_ms, missed.last_ms), (at("16T10:00"), at("17T09:00")));

        let once = due(&hourly(CatchUp::Once), slept, woke);
        assert_eq!((times(&once), once.ticks[0].is_late), (vec!["17T09:00".to_owned()], true));
        let missed = once.missed.unwrap();
        assert_eq!((missed.last_ms, missed.made_up_by), (at("17T08:00"), Some(at("17T09:00"))));

        let all = due(&hourly(CatchUp::All), slept, woke);
        assert_eq!((all.ticks.len(), all.missed), (24, None));
        for (catch_up, after) in [(CatchUp::Skip, skipped.after_ms), (CatchUp::Once, once.after_ms)] {
            assert_eq!(due(&hourly(catch_up), after, woke).ticks, [], "nothing is due twice");
        }
    }

    #[test]
    fn a_tick_that_is_on_time_makes_up_for_those_that_are_not() {
        let once = due(&hourly(CatchUp::Once), at("16T09:30"), at("17T09:05"));
        assert_eq!(times(&once), ["17T09:00"]);
        assert!(!once.ticks[0].is_late);
        assert_eq!(once.missed.unwrap().count, 23);
        let single = due(&hourly(CatchUp::Once), at("16T09:30"), at("16T10:20"));
        assert_eq!((times(&single), single.missed), (vec!["16T10:00".to_owned()], None));
    }

    #[test]
    fn a_year_of_minutes_is_not_counted_one_by_one() {
        let minutes = Schedule { cadence: Cadence::Cron("* * * * *".into()), ..hourly(CatchUp::Skip) };
        let now = at("16T09:30");
        let found = due(&minutes, now - 365 * 86_400_000, now);
        let missed = found.missed.unwrap();
        assert!(missed.or_more && missed.summary().starts_with("at least "), "{}", missed.summary());
        assert_eq!((found.ticks.len(), found.after_ms), (16, now));
    }

    #[test]
    fn a_long_catch_up_comes_in_parts_and_loses_nothing() {
        let minutes = Schedule { cadence: Cadence::Cron("* * * * *".into()), ..hourly(CatchUp::All) };
        let now = at("16T09:30");
        let (mut after, mut ticks) = (now - 1_234 * 60_000, Vec::new());
        loop {
            let found = due(&minutes, after, now);
            after = found.after_ms;
            ticks.extend(found.ticks.iter().map(|tick| tick.at_ms));
            if found.next_at_ms != Some(now) {
                break;
            }
            assert_eq!(found.ticks.len(), BATCH_MAX);
        }
        assert_eq!(ticks.len(), 1_234);
        assert!(ticks.windows(2).all(|pair| pair[1] - pair[0] == 60_000));
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_silence_a_schedule() {
        let found = due(&hourly(CatchUp::Skip), at("20T10:00"), at("16T09:30"));
        assert_eq!((found.ticks.len(), found.next_at_ms), (0, Some(at("16T10:00"))));
    }

    #[test]
    fn jitter_delays_a_tick_by_the_same_time_everywhere() {
        let jittered = Schedule { jitter_ms: 10 * 60_000, ..hourly(CatchUp::Skip) };
        let after = at("16T09:30");
        let due_at = due(&jittered, after, after).next_at_ms.unwrap();
        assert!((at("16T10:00")..at("16T10:10")).contains(&due_at));
        assert_eq!(due(&jittered, after, due_at - 1).ticks, []);
        let found = due(&jittered, after, due_at);
        assert_eq!(found.ticks[0].key(), "tick:2026-11-16T10:00:00.000Z", "the key has no jitter");
        assert_eq!(times(&due(&jittered, after, due_at + TICK_ON_TIME_MS)), ["16T10:00"]);
        let of = |chain| Timetable { chain, schedule: &jittered, anchor_ms: 0, after_ms: after }.next_at_ms();
        assert_ne!(of("c_1"), of("c_2"), "chains spread");
    }
}
