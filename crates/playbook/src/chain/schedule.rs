//! The times of a schedule: cron patterns on the clock of a time zone, and fixed intervals.
//!
//! ```text
//!   pattern ──croner──▶ local times ──time zone──▶ instants
//! ```
//!
//! A local time that occurs twice is one tick, at its first occurrence. A local time that does not exist is a tick at the
//! moment the clock is moved forward, shared by all local times that were skipped. A pattern for every hour follows real
//! time instead: each hour that passes has its ticks.
//!
//! **Invariant:** the time zones are those that were compiled in. Two processes with different system databases would
//! disagree about ticks, and one tick would fire twice.

use std::sync::OnceLock;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use escrow_model::{Cadence, Millis, Schedule};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};

/// A schedule that can be asked for its ticks.
#[derive(Clone, Debug)]
pub struct ScheduleClock(Ticks);

#[derive(Clone, Debug)]
enum Ticks {
    Cron { pattern: Box<Cron>, zone: TimeZone, hours: Hours },
    Every { period_ms: u64, anchor_ms: Millis },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hours {
    /// Every hour of the day.
    Every,
    Some,
}

/// Why a schedule has no ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScheduleError {
    Pattern(String),
    Zone,
    /// No date matches.
    Never,
}

/// The first instant that patterns are asked for when they are checked: 2024-01-01, a leap year.
const CHECKED_FROM_MS: Millis = 1_704_067_200_000;

/// Changes of a zone's offset that a search passes before it gives up: more than forty years of them.
const SEGMENTS_MAX: usize = 96;

impl ScheduleClock {
    /// `anchor_ms` is the time of the definition, which intervals are counted from. A schedule that was read from a
    /// chain is valid.
    pub fn new(schedule: &Schedule, anchor_ms: Millis) -> Option<ScheduleClock> {
        ScheduleClock::checked(schedule, anchor_ms).ok()
    }

    pub(crate) fn checked(schedule: &Schedule, anchor_ms: Millis) -> Result<ScheduleClock, ScheduleError> {
        let zone = zone(&schedule.timezone).ok_or(ScheduleError::Zone)?;
        let text = match &schedule.cadence {
            Cadence::EveryMs(period_ms) => {
                return Ok(ScheduleClock(Ticks::Every { period_ms: (*period_ms).max(1), anchor_ms }));
            }
            Cadence::Cron(text) => text,
        };
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let pattern = parser.parse(text).map_err(|error| ScheduleError::Pattern(error.to_string()))?;
        let hours = if pattern.pattern.hours.values().len() == 24 { Hours::Every } else { Hours::Some };
        let clock = ScheduleClock(Ticks::Cron { pattern: Box::new(pattern), zone, hours });
        clock.next_after(CHECKED_FROM_MS).ok_or(ScheduleError::Never)?;
        Ok(clock)
    }

    /// The first tick after this instant.
    pub fn next_after(&self, instant_ms: Millis) -> Option<Millis> {
        match &self.0 {
            Ticks::Every { period_ms, anchor_ms } => {
                let passed = instant_ms.saturating_sub(*anchor_ms) / period_ms;
                (passed + 1).checked_mul(*period_ms)?.checked_add(*anchor_ms)
            }
            Ticks::Cron { pattern, zone, hours } => {
                let seconds = i64::try_from(instant_ms / 1000).ok()?;
                let instant = Timestamp::from_second(seconds).ok()?;
                let tick = match hours {
                    Hours::Every => next_in_real_time(pattern, zone, instant),
                    Hours::Some => next_on_the_clock(pattern, zone, instant),
                };
                u64::try_from(tick?.as_millisecond()).ok()
            }
        }
    }
}

/// Walks the stretches of constant offset: within one, local time passes as real time does.
fn next_in_real_time(pattern: &Cron, zone: &TimeZone, instant: Timestamp) -> Option<Timestamp> {
    let mut from = instant;
    let mut inclusive = false;
    for _ in 0..SEGMENTS_MAX {
        let offset = zone.to_offset(from);
        let end = zone.following(from).next().map(|change| change.timestamp());
        let local = pattern.find_next_occurrence(&offset.to_datetime(from), inclusive).ok();
        let tick = local.and_then(|local: DateTime| offset.to_timestamp(local).ok());
        match (tick, end) {
            (Some(tick), Some(end)) if tick < end => return Some(tick),
            (tick, None) => return tick,
            (_, Some(end)) => (from, inclusive) = (end, true),
        }
    }
    None
}

/// Walks the local times, and finds the one instant of each.
fn next_on_the_clock(pattern: &Cron, zone: &TimeZone, instant: Timestamp) -> Option<Timestamp> {
    let mut local = zone.to_datetime(instant);
    // Local times that are repeated had their tick; a repeated stretch is hours, a search that is longer has no end.
    for _ in 0..=2 * 24 * 60 {
        local = pattern.find_next_occurrence(&local, false).ok()?;
        let tick = instant_of(zone, local)?;
        if tick > instant {
            return Some(tick);
        }
    }
    None
}

/// The first occurrence of a local time; of one that does not exist, the moment the clock was moved past it.
fn instant_of(zone: &TimeZone, local: DateTime) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(local).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(local).ok(),
        AmbiguousOffset::Gap { before, .. } => {
            // With the offset from before, the time lies after the change, by less than the clock was moved.
            let after = before.to_timestamp(local).ok()?;
            if zone.to_offset(after) == before {
                return Some(after);
            }
            let just_after = Timestamp::from_second(after.as_second() + 1).ok()?;
            zone.preceding(just_after).next().map(|change| change.timestamp())
        }
    }
}

pub(crate) fn zone(name: &str) -> Option<TimeZone> {
    zones().get(name).ok()
}

fn zones() -> &'static TimeZoneDatabase {
    static ZONES: OnceLock<TimeZoneDatabase> = OnceLock::new();
    ZONES.get_or_init(TimeZoneDatabase::bundled)
}

/// Names of zones, for suggestions.
pub(crate) fn zone_names() -> Vec<String> {
    zones().available().map(|name| name.as_str().to_owned()).collect()
}
