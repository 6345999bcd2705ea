//! Formats values as Python does, for rule messages.

use serde_json::{Number, Value};

/// `repr` of a string: in single quotes, unless it contains single and no double quotes.
pub(super) fn repr(text: &str) -> String {
    // Fast path: most strings need no escapes.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'\'' && byte != b'\\') {
        let mut written = String::with_capacity(text.len() + 2);
        written.push('\'');
        written.push_str(text);
        written.push('\'');
        return written;
    }
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut written = String::with_capacity(text.len() + 2);
    written.push(quote);
    for character in text.chars() {
        match character {
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            quoted if quoted == quote => {
                written.push('\\');
                written.push(quoted);
            }
            printable if is_printable(printable) => written.push(printable),
            other => {
                let code = u32::from(other);
                written.push_str(&match code {
                    0..=0xff => format!("\\x{code:02x}"),
                    0x100..=0xffff => format!("\\u{code:04x}"),
                    _ => format!("\\U{code:08x}"),
                });
            }
        }
    }
    written.push(quote);
    written
}

/// `repr` of a string, truncated when it is very long, because messages are stored several times.
pub(super) fn truncated_repr(text: &str) -> String {
    const CHARACTERS_MAX: usize = 1_000;
    match text.char_indices().nth(CHARACTERS_MAX) {
        None => repr(text),
        Some((end, _)) => format!("{}… ({} characters)", repr(&text[..end]), text.chars().count()),
    }
}

/// Whether Python prints the character unescaped. Approximates its tables: control characters, white space other than
/// the space, direction marks, private and some unassigned code points are escaped.
fn is_printable(character: char) -> bool {
    let code = u32::from(character);
    let hidden = character.is_control()
        || (character.is_whitespace() && character != ' ')
        || matches!(code, 0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e)
        || matches!(code, 0x2060..=0x206f | 0xe000..=0xf8ff | 0xfeff | 0xfff9..=0xfffb | 0xe0000..=0xe0fff)
        || code & 0xfffe == 0xfffe
        || code >= 0xf_0000;
    !hidden
}

/// `type(value).__name__`
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    }
}

/// A number as Python prints it: `3.0` keeps its decimal point, and only very large or small values have exponents.
pub(super) fn number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => self::float(float),
        _ => number.to_string(),
    }
}

fn float(value: f64) -> String {
    // The shortest digits that parse to the same number, as in Python.
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{value}");
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn strings_are_quoted_like_python_repr() {
        for (text, written) in [
            ("age", "'age'"),
            ("it's", "\"it's\""),
            ("say \"it's\"", "'say \"it\\'s\"'"),
            ("a\nb\t\\", "'a\\nb\\t\\\\'"),
            ("\u{0}\u{1b}[2J", "'\\x00\\x1b[2J'"),
            ("grüße 漢 🎉", "'grüße 漢 🎉'"),
            ("\u{202e}", "'\\u202e'"),
            ("\u{10ffff}", "'\\U0010ffff'"),
            ("\u{a0}", "'\\xa0'"),
        ] {
            assert_eq!(repr(text), written);
        }
    }

    #[test]
    fn numbers_are_formatted_like_python() {
        for (value, written) in [
            (json!(-1), "-1"),
            (json!(150), "150"),
            (json!(18_446_744_073_709_551_615_u64), "18446744073709551615"),
            (json!(0.5), "0.5"),
            (json!(3.0), "3.0"),
            (json!(1e15), "1000000000000000.0"),
            (json!(1e16), "1e+16"),
            (json!(1.5e300), "1.5e+300"),
            (json!(0.0001), "0.0001"),
            (json!(0.00001), "1e-05"),
            (json!(-2.5e-7), "-2.5e-07"),
            (json!(-0.0), "-0.0"),
            (json!(0.1 + 0.2), "0.30000000000000004"),
        ] {
            let Value::Number(value) = value else { continue };
            assert_eq!(number(&value), written);
        }
    }
}
