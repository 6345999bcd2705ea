//! Resolves plain scalars by the YAML 1.2 core schema. `on`, `yes` and `no` are strings.

use granit_parser::ScalarStyle;
use serde_json::Number;

use super::node::ScalarValue;

pub(super) fn resolve(text: &str, style: ScalarStyle) -> ScalarValue {
    if style != ScalarStyle::Plain {
        return ScalarValue::Text;
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => ScalarValue::Null,
        "true" | "True" | "TRUE" => ScalarValue::Bool(true),
        "false" | "False" | "FALSE" => ScalarValue::Bool(false),
        _ => number(text).map_or(ScalarValue::Text, ScalarValue::Number),
    }
}

/// A decimal, octal (`0o`) or hexadecimal (`0x`) integer, or a float. Infinity and NaN stay strings: JSON
/// has no such values.
fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(plain_digits(digits)?, 16).ok().map(Number::from);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return u64::from_str_radix(plain_digits(digits)?, 8).ok().map(Number::from);
    }
    if !unsigned.bytes().any(|byte| byte.is_ascii_digit())
        || !unsigned.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte))
    {
        return None;
    }
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        let positive = text.strip_prefix('+').unwrap_or(text);
        if let Ok(integer) = positive.parse::<i64>() {
            return Some(Number::from(integer));
        }
        if let Ok(integer) = positive.parse::<u64>() {
            return Some(Number::from(integer));
        }
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}

/// `from_str_radix` accepts a sign; YAML does not.
fn plain_digits(digits: &str) -> Option<&str> {
    (!digits.starts_with(['+', '-'])).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        for text in
            ["on", "off", "yes", "No", "1.2.3", "12e", "0x", "-", ".inf", ".nan", "1_000", "10m", "0x-1"]
        {
            assert_eq!(resolve(text, ScalarStyle::Plain), ScalarValue::Text, "{text}");
        }
        for (text, number) in [("12", 12), ("+3", 3), ("-7", -7), ("0x1F", 31), ("0o17", 15), ("007", 7)] {
            assert_eq!(resolve(text, ScalarStyle::Plain), ScalarValue::Number(number.into()), "{text}");
        }
        assert_eq!(
            resolve("1.5e3", ScalarStyle::Plain),
            ScalarValue::Number(Number::from_f64(1500.0).unwrap())
        );
        assert_eq!(resolve("~", ScalarStyle::Plain), ScalarValue::Null);
        assert_eq!(resolve("true", ScalarStyle::DoubleQuoted), ScalarValue::Text);
    }
}
