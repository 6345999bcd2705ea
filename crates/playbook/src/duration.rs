//! Lengths of time as people write them: `10m`, `1h30m`, `500ms`. A number is milliseconds.

use crate::yaml::Node;

/// Ten years: longer is a slip, and times stay far from overflowing.
const DURATION_MS_MAX: u64 = 10 * 365 * 86_400_000;

const UNITS: [(&str, u64); 5] = [("ms", 1), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];

/// The milliseconds, or why there are none.
pub(crate) fn milliseconds(node: &Node) -> Result<u64, &'static str> {
    let length = match (node.number(), node.string()) {
        (Some(number), _) => number.as_u64().ok_or("a number of milliseconds is whole and positive")?,
        (None, Some(text)) => parse_duration(text)?,
        (None, None) => return Err("this is not a length of time"),
    };
    match length {
        0 => Err("it must be longer than nothing"),
        1..=DURATION_MS_MAX => Ok(length),
        _ => Err("it is longer than ten years"),
    }
}

/// The milliseconds of a length of time as people write it, in a playbook or on the command line.
pub fn parse_duration(text: &str) -> Result<u64, &'static str> {
    const NOT_ONE: &str = "this is not a length of time";
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("it is empty");
    }
    if rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return rest.parse().map_err(|_| NOT_ONE);
    }
    let mut total: u64 = 0;
    let mut unit_before = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let amount: u64 = rest[..digits].parse().map_err(|_| NOT_ONE)?;
        rest = &rest[digits..];
        let (name, unit) = UNITS.into_iter().find(|(name, _)| rest.starts_with(name)).ok_or(NOT_ONE)?;
        if unit >= unit_before {
            return Err("its units go from large to small, each once");
        }
        unit_before = unit;
        rest = &rest[name.len()..];
        total = amount
            .checked_mul(unit)
            .and_then(|part| total.checked_add(part))
            .ok_or("it is longer than ten years")?;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_people_write_them() {
        for (text, expected) in [
            ("10m", 600_000),
            ("30s", 30_000),
            ("500ms", 500),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
            ("250", 250),
        ] {
            assert_eq!(parse_duration(text), Ok(expected), "{text}");
        }
        for text in ["", "m", "10", "10 m", "1.5h", "-3s", "10x", "30m1h", "1s1s", "99999999999999999999d"] {
            assert_eq!(parse_duration(text).is_ok(), text == "10", "{text}");
        }
    }
}
