//! Durations: `10m`, `1h30m`, `500ms`. A bare number is milliseconds.

use crate::yaml::Node;

/// Ten years. A longer duration is a mistake, and the limit keeps time arithmetic from overflowing.
const DURATION_MS_MAX: u64 = 10 * 365 * 86_400_000;

const UNITS: [(&str, u64); 5] = [("ms", 1), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];

/// The duration of a YAML value in milliseconds, or why it is invalid.
pub(crate) fn milliseconds(node: &Node) -> Result<u64, &'static str> {
    let length = match (node.number(), node.string()) {
        (Some(number), _) => number.as_u64().ok_or("milliseconds must be a positive whole number")?,
        (None, Some(text)) => parse_duration(text)?,
        (None, None) => return Err("not a duration"),
    };
    match length {
        0 => Err("must be longer than zero"),
        1..=DURATION_MS_MAX => Ok(length),
        _ => Err("longer than ten years"),
    }
}

/// The number of a duration without a unit.
pub(crate) fn bare_number(node: &Node) -> Option<u64> {
    match (node.number(), node.string()) {
        (Some(number), _) => number.as_u64(),
        (None, Some(text)) => text.trim().parse().ok(),
        (None, None) => None,
    }
}

/// Parses a duration as written in a playbook or on the command line, into milliseconds.
pub fn parse_duration(text: &str) -> Result<u64, &'static str> {
    const INVALID: &str = "not a duration";
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("empty");
    }
    if rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return rest.parse().map_err(|_| INVALID);
    }
    let mut total: u64 = 0;
    let mut unit_before = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let amount: u64 = rest[..digits].parse().map_err(|_| INVALID)?;
        rest = &rest[digits..];
        let (name, unit) = UNITS.into_iter().find(|(name, _)| rest.starts_with(name)).ok_or(INVALID)?;
        if unit >= unit_before {
            return Err("units must go from large to small, each used once");
        }
        unit_before = unit;
        rest = &rest[name.len()..];
        total = amount
            .checked_mul(unit)
            .and_then(|part| total.checked_add(part))
            .ok_or("longer than ten years")?;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed() {
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
