//! Sizes: `512M`, `2G`. A bare number is bytes.

use crate::yaml::Node;

const UNITS: [(char, u64); 4] = [('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30), ('T', 1 << 40)];

/// The size of a YAML value in bytes, or why it is invalid.
pub(crate) fn bytes(node: &Node) -> Result<u64, &'static str> {
    let size = match (node.number(), node.string()) {
        (Some(number), _) => number.as_u64().ok_or("bytes must be a positive whole number")?,
        (None, Some(text)) => parse(text.trim()).ok_or("not a size")?,
        (None, None) => return Err("not a size"),
    };
    if size == 0 { Err("must be larger than zero") } else { Ok(size) }
}

fn parse(text: &str) -> Option<u64> {
    let (digits, unit) = match UNITS.iter().find(|(name, _)| text.ends_with(*name)) {
        Some((_, unit)) => (&text[..text.len() - 1], *unit),
        None => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(parse("512M"), Some(512 << 20));
        assert_eq!(parse("4096"), Some(4096));
        for wrong in ["", "M", "1.5G", "-1", "1 G", "99999999999T", "12m"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
