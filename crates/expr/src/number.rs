//! Numbers as JavaScript writes and reads them.

/// The shortest text that reads back as the same number.
pub fn to_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.fract() == 0.0 && value.abs() < 1e15 {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number below 1e15 is exact in i64")]
        return (value as i64).to_string();
    }
    let (sign, digits, exponent) = decimal(value);
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // `point` is the position of the decimal point, counted from the first digit.
    let point = exponent + 1;
    let body = if (count..=21).contains(&point) {
        digits + &"0".repeat(usize::try_from(point - count).unwrap_or(0))
    } else if (1..=21).contains(&point) {
        let (whole, part) = digits.split_at(usize::try_from(point).unwrap_or(0));
        format!("{whole}.{part}")
    } else if (-5..=0).contains(&point) {
        format!("0.{}{digits}", "0".repeat(usize::try_from(-point).unwrap_or(0)))
    } else {
        let (first, part) = digits.split_at(1);
        let dot = if part.is_empty() { "" } else { "." };
        let plus = if exponent < 0 { "-" } else { "+" };
        format!("{first}{dot}{part}e{plus}{}", exponent.abs())
    };
    format!("{sign}{body}")
}

/// Sign, shortest digits and decimal exponent of a finite number.
fn decimal(value: f64) -> (&'static str, String, i32) {
    let text = format!("{:e}", value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = mantissa.replace('.', "");
    (if value < 0.0 { "-" } else { "" }, digits, exponent.parse().unwrap_or(0))
}

/// The result of `Number(text)`.
pub(crate) fn from_text(text: &str) -> f64 {
    let text = trim(text);
    if text.is_empty() {
        return 0.0;
    }
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return checked_whole(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o").or_else(|| text.strip_prefix("0O")) {
        return checked_whole(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0b").or_else(|| text.strip_prefix("0B")) {
        return checked_whole(digits, 2);
    }
    if decimal_prefix(text) == text.len() { parse_decimal(text) } else { f64::NAN }
}

/// The result of `parseFloat(text)`: the longest prefix that is a number.
pub(crate) fn parse_float(text: &str) -> f64 {
    let text = trim(text);
    let end = decimal_prefix(text);
    if end == 0 { f64::NAN } else { parse_decimal(&text[..end]) }
}

/// The result of `parseInt(text, radix)`.
pub(crate) fn parse_int(text: &str, radix: f64) -> f64 {
    let text = trim(text);
    let (sign, text) = match text.as_bytes().first() {
        Some(b'-') => (-1.0, &text[1..]),
        Some(b'+') => (1.0, &text[1..]),
        Some(_) | None => (1.0, text),
    };
    let mut radix = to_int32(radix);
    let hex = text.starts_with("0x") || text.starts_with("0X");
    let text = if hex && (radix == 0 || radix == 16) {
        radix = 16;
        &text[2..]
    } else {
        text
    };
    let Ok(radix @ 2..=36) = u32::try_from(if radix == 0 { 10 } else { radix }) else { return f64::NAN };
    let end = text.bytes().position(|byte| !char::from(byte).is_digit(radix)).unwrap_or(text.len());
    if end == 0 { f64::NAN } else { sign * parse_whole(&text[..end], radix) }
}

fn checked_whole(digits: &str, radix: u32) -> f64 {
    let valid = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    if valid { parse_whole(digits, radix) } else { f64::NAN }
}

/// Digits that are known to be digits.
pub(crate) fn parse_whole(digits: &str, radix: u32) -> f64 {
    if radix == 10 {
        return digits.parse().unwrap_or(f64::NAN);
    }
    digits
        .chars()
        .fold(0.0, |sum, digit| sum * f64::from(radix) + f64::from(digit.to_digit(radix).unwrap_or(0)))
}

fn parse_decimal(text: &str) -> f64 {
    match text.trim_start_matches(['+', '-']) {
        "Infinity" => {
            if text.starts_with('-') {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }
        _ => text.parse().unwrap_or(f64::NAN),
    }
}

/// The length in bytes of the longest prefix that is a decimal number.
fn decimal_prefix(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let start = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    if text[start..].starts_with("Infinity") {
        return start + "Infinity".len();
    }
    let whole_end = digits(start);
    let mut end = whole_end;
    let mut found = whole_end > start;
    if bytes.get(end) == Some(&b'.') {
        let part_end = digits(end + 1);
        found |= part_end > end + 1;
        if found {
            end = part_end;
        }
    }
    if !found {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent_end = digits(end + 1 + sign);
        if exponent_end > end + 1 + sign {
            end = exponent_end;
        }
    }
    end
}

/// The white space that JavaScript trims.
pub(crate) fn is_blank(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}'
    )
}

pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_blank)
}

/// The 32 bits that the bit operators work on.
pub(crate) fn to_int32(value: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "wrapping into 32 bits is what the bit operators do")]
    if value.is_finite() { (value % 4_294_967_296.0) as i64 as i32 } else { 0 }
}

pub(crate) fn to_uint32(value: f64) -> u32 {
    to_int32(value).cast_unsigned()
}

/// Truncated towards zero, with NaN as 0, kept inside `i64`.
pub(crate) fn to_integer(value: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "`as` saturates, which is what a clamp would do")]
    if value.is_nan() { 0 } else { value.trunc() as i64 }
}

/// A count or index as a number. Budgets keep counts far below 2^53.
pub(crate) fn from_count(count: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "lengths stay far below 2^53")]
    {
        count as f64
    }
}

/// `value.toFixed(digits)`: exact ties round away from zero, unlike Rust's.
pub(crate) fn to_fixed(value: f64, digits: usize) -> String {
    if !value.is_finite() || value.abs() >= 1e21 {
        return to_text(value);
    }
    // More decimals than any double has, so the text is exact.
    let exact = format!("{:.*}", 1080, value.abs());
    let (whole, part) = exact.split_once('.').unwrap_or((&exact, ""));
    let kept = format!("{whole}{}", &part[..digits]);
    let rounded = if part.as_bytes()[digits] >= b'5' { increment(&kept) } else { kept };
    let (whole, part) = rounded.split_at(rounded.len() - digits);
    let sign = if value < 0.0 { "-" } else { "" };
    if digits == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

/// Adds one to a text of digits.
fn increment(digits: &str) -> String {
    let mut bytes = digits.as_bytes().to_vec();
    for byte in bytes.iter_mut().rev() {
        if *byte == b'9' {
            *byte = b'0';
        } else {
            *byte += 1;
            return String::from_utf8(bytes).unwrap_or_default();
        }
    }
    format!("1{}", String::from_utf8(bytes).unwrap_or_default())
}

/// `value.toPrecision(digits)` for 1 to 100 digits.
pub(crate) fn to_precision(value: f64, precision: usize) -> String {
    if !value.is_finite() {
        return to_text(value);
    }
    let text = format!("{:.*e}", precision - 1, value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if value < 0.0 { "-" } else { "" };
    let digits = mantissa.replace('.', "");
    let count = i32::try_from(precision).unwrap_or(i32::MAX);
    if exponent < -6 || exponent >= count {
        let (first, part) = digits.split_at(1);
        let dot = if part.is_empty() { "" } else { "." };
        let plus = if exponent < 0 { "-" } else { "+" };
        return format!("{sign}{first}{dot}{part}e{plus}{}", exponent.abs());
    }
    if exponent == count - 1 {
        return format!("{sign}{digits}");
    }
    if exponent >= 0 {
        let (whole, part) = digits.split_at(usize::try_from(exponent + 1).unwrap_or(0));
        return format!("{sign}{whole}.{part}");
    }
    format!("{sign}0.{}{digits}", "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0)))
}

/// `value.toString(radix)` for radixes other than 10.
pub(crate) fn to_radix(value: f64, radix: u32) -> String {
    if !value.is_finite() {
        return to_text(value);
    }
    let (mut whole, mut part) = (value.abs().trunc(), value.abs().fract());
    let base = f64::from(radix);
    let mut digits = Vec::new();
    // A double has no information below its 53 bits, so those digits are zero.
    while whole >= 9_007_199_254_740_992.0 {
        whole /= base;
        digits.push('0');
    }
    whole = whole.trunc();
    loop {
        digits.push(digit_of(whole % base, radix));
        whole = ((whole - whole % base) / base).trunc();
        if whole < 1.0 {
            break;
        }
    }
    let mut text: String = digits.iter().rev().collect();
    if part > 0.0 {
        text.push('.');
        // As V8 does it: digits until the rest is below half the distance to the next double.
        let mut delta = (0.5 * (next_up(value.abs()) - value.abs())).max(f64::MIN_POSITIVE);
        loop {
            part *= base;
            delta *= base;
            let digit = part.trunc();
            text.push(digit_of(digit, radix));
            part -= digit;
            if (part > 0.5 || (part == 0.5 && digit % 2.0 == 1.0)) && part + delta > 1.0 {
                round_up(&mut text, radix);
                break;
            }
            if part < delta {
                break;
            }
        }
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

fn next_up(value: f64) -> f64 {
    f64::from_bits(value.to_bits() + 1)
}

fn round_up(text: &mut String, radix: u32) {
    while let Some(last) = text.pop() {
        if last == '.' {
            let whole = parse_whole(text, radix) + 1.0;
            *text = to_radix(whole, radix);
            return;
        }
        let digit = last.to_digit(radix).unwrap_or(0) + 1;
        if digit < radix {
            text.push(char::from_digit(digit, radix).unwrap_or('0'));
            return;
        }
    }
}

fn digit_of(value: f64, radix: u32) -> char {
    char::from_digit(to_uint32(value), radix).unwrap_or('0')
}

/// Whether a text is how a list index is written: `0`, `17`, not `01`.
pub(crate) fn is_index(text: &str) -> bool {
    index(text).is_some()
}

pub(crate) fn index(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let plain = !bytes.is_empty()
        && bytes.len() <= 10
        && bytes.iter().all(u8::is_ascii_digit)
        && (bytes[0] != b'0' || bytes.len() == 1);
    let index: usize = if plain { text.parse().ok()? } else { return None };
    (index < 4_294_967_295).then_some(index)
}

/// A whole, non-negative number as an index.
pub(crate) fn index_of(value: f64) -> Option<usize> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be whole and within u32"
    )]
    ((0.0..4_294_967_295.0).contains(&value) && value.fract() == 0.0).then_some(value as usize)
}
