//! `Retry-After`: how long a server asks to wait.

/// The pause in milliseconds: a number of seconds, or a date. The caller bounds it. A number that does not fit is a very
/// long pause, not none.
pub(crate) fn pause_ms(header: &str, now_ms: u64) -> Option<u64> {
    let header = header.trim();
    if !header.is_empty() && header.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(header.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(1000));
    }
    Some(date_ms(header)?.saturating_sub(now_ms))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, in milliseconds since the epoch. The two obsolete forms of a date are not read.
fn date_ms(text: &str) -> Option<u64> {
    let (_, text) = text.split_once(", ")?;
    let mut words = text.split_ascii_whitespace();
    let day: u64 = words.next()?.parse().ok()?;
    let month = MONTHS.iter().position(|name| Some(*name) == words.clone().next())?;
    words.next();
    let year: u64 = words.next()?.parse().ok()?;
    let mut time = words.next()?.splitn(3, ':').map(|part| part.parse::<u64>().ok());
    let (hours, minutes, seconds) = (time.next()??, time.next()??, time.next()??);
    if words.next() != Some("GMT") || !(1970..=9999).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    if hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let leap_days = (1970..year).filter(|year| is_leap(*year)).count() as u64;
    let before: u64 = DAYS[..month].iter().sum();
    let leap_day = u64::from(month > 1 && is_leap(year));
    let days = (year - 1970) * 365 + leap_days + before + leap_day + day - 1;
    Some((days * 86_400 + hours * 3600 + minutes * 60 + seconds) * 1000)
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_a_number_of_seconds_or_a_date() {
        assert_eq!(pause_ms("120", 5), Some(120_000));
        assert_eq!(pause_ms("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000 - 1_500), Some(1_500));
        assert_eq!(pause_ms("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_778_000), Some(0));
        assert_eq!(date_ms("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800_000));
        assert_eq!(pause_ms("99999999999999999999", 0), Some(u64::MAX));
        assert_eq!(pause_ms("Fri, 31 Dec 9999 23:59:59 GMT", 0), Some(253_402_300_799_000));
        assert_eq!(pause_ms("18446744073709551615", 0), Some(u64::MAX));
        for text in ["", "-1", "soon", "Sun, 06 Nov 1994", "Sun, 99 Nov 1994 08:49:37 GMT", "1.5"] {
            assert_eq!(pause_ms(text, 0), None, "{text}");
        }
    }
}
