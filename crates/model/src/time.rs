//! Times as the journal has them: milliseconds since the epoch, given from outside.

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type Millis = u64;

/// The time as people and tools read it: RFC 3339 in UTC, to the millisecond.
pub fn rfc3339(at_ms: Millis) -> String {
    let days = at_ms / 86_400_000;
    let in_day = at_ms % 86_400_000;
    let (year, month, day) = civil_date(days);
    let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
    let (second, milli) = (in_day / 1_000 % 60, in_day % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The proleptic Gregorian date of a day since the epoch, by counting in 400-year cycles from a 1 March.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let cycle = shifted / 146_097;
    let day_of_cycle = shifted % 146_097;
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = cycle * 400 + year_of_cycle + u64::from(month <= 2);
    (year, month, day)
}

/// Reads an RFC 3339 time: `2026-03-29T01:00:00Z`, with fractions of a second and offsets.
pub fn parse_rfc3339(text: &str) -> Option<Millis> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let number = |text: &str, digits: usize| -> Option<i64> {
        (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
    };
    let [year, month, day] = date.split('-').collect::<Vec<_>>()[..] else { return None };
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    let zone_at = time.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = time.split_at(zone_at);
    let [hour, minute, second] = clock.split(':').collect::<Vec<_>>()[..] else { return None };
    let (second, fraction) = second.split_once('.').unwrap_or((second, "0"));
    let (hour, minute, second) = (number(hour, 2)?, number(minute, 2)?, number(second, 2)?);
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let milli: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let offset_minutes = match zone.split_at(1) {
        ("Z" | "z", "") => 0,
        (sign, rest) => {
            let (hours, minutes) = rest.split_once(':')?;
            let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 60 + minutes) * if sign == "-" { -1 } else { 1 }
        }
    };
    let days = days_of(year, month, day)?;
    // A leap second counts as the second before.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days * 86_400 + hour * 3_600 + (minute - offset_minutes) * 60 + second.min(59);
    u64::try_from(seconds * 1_000 + milli).ok()
}

/// Days since the epoch, if there is such a date.
fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let year_from_march = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let cycle = year_from_march.div_euclid(400);
    let year_of_cycle = year_from_march.rem_euclid(400);
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    Some(cycle * 146_097 + day_of_cycle - 719_468)
}

#[cfg(test)]
mod tests {
    use super::{parse_rfc3339, rfc3339};

    #[test]
    fn times_read_as_rfc_3339() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_400_123), "2000-02-29T00:00:00.123Z");
        assert_eq!(rfc3339(1_794_700_799_999), "2026-11-14T23:59:59.999Z");
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        for at in [0, 951_782_400_123, 1_794_700_799_999, 253_402_300_799_000] {
            assert_eq!(parse_rfc3339(&rfc3339(at)), Some(at));
        }
        assert_eq!(parse_rfc3339("2026-03-29T03:00:00+02:00"), parse_rfc3339("2026-03-29T01:00:00Z"));
        assert_eq!(parse_rfc3339("2026-03-28 22:30:00.5-02:30"), parse_rfc3339("2026-03-29T01:00:00.500Z"));
        for bad in [
            "",
            "2026-03-29",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00Z",
            "2026-1-1T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+0200",
            "2026-01-01T00:00:00Zé",
            "é-01-01T00:00:00Z",
        ] {
            assert_eq!(parse_rfc3339(bad), None, "{bad}");
        }
    }
}
