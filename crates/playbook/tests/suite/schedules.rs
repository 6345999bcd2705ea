//! The ticks of schedules, against a second implementation: `tests/schedules/ticks.py` made the table.

use escrow_model::{Cadence, CatchUp, Schedule, rfc3339};
use escrow_playbook::ScheduleClock;

const TABLE: &str = include_str!("../schedules/ticks.tsv");

fn cron(pattern: &str, zone: &str) -> Schedule {
    Schedule {
        cadence: Cadence::Cron(pattern.into()),
        timezone: zone.into(),
        catch_up: CatchUp::Skip,
        jitter_ms: 0,
    }
}

/// `2026-03-29T01:00`, in UTC.
fn millis(stamp: &str) -> u64 {
    let at: jiff::civil::DateTime = format!("{stamp}:00").parse().expect("a date and a time");
    let at = at.to_zoned(jiff::tz::TimeZone::UTC).expect("UTC has every time").timestamp().as_millisecond();
    u64::try_from(at).expect("after 1970")
}

fn stamp(at_ms: u64) -> String {
    rfc3339(at_ms)[..16].to_owned()
}

#[test]
fn ticks_are_those_that_another_implementation_finds() {
    let mut cases = 0;
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let [pattern, zone, start, expected] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let clock = ScheduleClock::new(&cron(pattern, zone), 0).unwrap_or_else(|| panic!("{line}"));
        let mut at = millis(start);
        let mut found = Vec::new();
        for _ in expected.split(' ') {
            at = clock.next_after(at).unwrap_or_else(|| panic!("no tick after {}: {line}", stamp(at)));
            found.push(stamp(at));
        }
        assert_eq!(found.join(" "), expected, "{pattern} in {zone}");
        cases += 1;
    }
    assert!(cases > 40);
}

#[test]
fn a_tick_does_not_depend_on_where_the_search_begins() {
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split('\t').collect();
        let clock = ScheduleClock::new(&cron(parts[0], parts[1]), 0).unwrap();
        let ticks: Vec<u64> = parts[3].split(' ').map(millis).collect();
        for pair in ticks.windows(2) {
            let step = ((pair[1] - pair[0]) / 40).max(1);
            for from in (pair[0]..pair[1]).step_by(usize::try_from(step).unwrap()) {
                assert_eq!(clock.next_after(from), Some(pair[1]), "{line} from {}", rfc3339(from));
            }
        }
    }
}

#[test]
fn an_interval_is_counted_from_the_definition() {
    let every = Schedule { cadence: Cadence::EveryMs(6 * 3_600_000), ..cron("", "UTC") };
    let defined = millis("2026-03-28T21:17") + 123;
    let clock = ScheduleClock::new(&every, defined).unwrap();
    assert_eq!(clock.next_after(defined), Some(defined + 6 * 3_600_000));
    assert_eq!(clock.next_after(defined - 5), Some(defined + 6 * 3_600_000));
    // A process that starts later finds the same ticks.
    let again = ScheduleClock::new(&every, defined).unwrap();
    assert_eq!(again.next_after(defined + 100 * 3_600_000), Some(defined + 102 * 3_600_000));
    assert_eq!(again.next_after(defined + 102 * 3_600_000), Some(defined + 108 * 3_600_000));
}
