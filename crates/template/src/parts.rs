//! A rendered text in parts: what the author of the template wrote, and what values have put between.
//!
//! A URL encodes its values and not its own text, and a `$NAME` counts only where the author wrote it. Both need to
//! know where a value begins and ends.

/// A piece of a rendered text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text of the template itself.
    Written(String),
    /// What a `{{ }}` printed.
    Value(String),
}

// Noncharacters of Unicode: no text that is exchanged may contain them.
const BEGIN: char = '\u{FDD0}';
const END: char = '\u{FDD1}';

/// A value between marks. Marks of its own are taken out, so that a value cannot fake its end.
pub(crate) fn marked(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 6);
    text.push(BEGIN);
    text.extend(value.chars().filter(|c| !is_mark(*c)));
    text.push(END);
    text
}

/// Splits a text at its marks, and takes them out. Neighbouring pieces of the same kind are one part.
pub(crate) fn split(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    // A captured block (`{% set x %}…{% endset %}`) may hold marked values and be printed as one.
    let mut depth = 0_u32;
    for piece in text.split_inclusive(is_mark) {
        let mark = piece.chars().next_back().filter(|c| is_mark(*c));
        let plain = piece.trim_end_matches(is_mark);
        if !plain.is_empty() {
            match (parts.last_mut(), depth) {
                (Some(Part::Written(before)), 0) => before.push_str(plain),
                (Some(Part::Value(before)), 1..) => before.push_str(plain),
                (_, 0) => parts.push(Part::Written(plain.to_owned())),
                (_, 1..) => parts.push(Part::Value(plain.to_owned())),
            }
        }
        match mark {
            Some(BEGIN) => depth += 1,
            Some(_) => depth = depth.saturating_sub(1),
            None => {}
        }
    }
    parts
}

fn is_mark(c: char) -> bool {
    c == BEGIN || c == END
}

impl Part {
    pub fn text(&self) -> &str {
        match self {
            Part::Written(text) | Part::Value(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Template;

    fn parts(source: &str, value: &str) -> Vec<Part> {
        let names = serde_json::json!({ "v": value, "list": [value, "z"] });
        Template::parse(source).unwrap().parts(&escrow_expr::JsonScope(&names)).unwrap()
    }

    fn written(text: &str) -> Part {
        Part::Written(text.to_owned())
    }

    fn value(text: &str) -> Part {
        Part::Value(text.to_owned())
    }

    #[test]
    fn values_are_told_apart_from_what_was_written() {
        assert_eq!(parts("a", "x"), [written("a")]);
        assert_eq!(parts("{{ v }}", "x"), [value("x")]);
        assert_eq!(parts("a{{ v }}b{{ v }}", "x"), [written("a"), value("x"), written("b"), value("x")]);
        assert_eq!(parts("{% if v == 'x' %}a{{ v }}{% endif %}", "x"), [written("a"), value("x")]);
        assert_eq!(
            parts("{% for i in list %}/{{ i }}{% endfor %}", "x"),
            [written("/"), value("x"), written("/"), value("z")]
        );
    }

    #[test]
    fn a_value_cannot_fake_its_end() {
        assert_eq!(parts("a{{ v }}", "x\u{FDD1}$TOKEN\u{FDD0}"), [written("a"), value("x$TOKEN")]);
    }

    #[test]
    fn a_captured_block_is_printed_as_a_value() {
        assert_eq!(parts("{% set x %}a{{ v }}{% endset %}b{{ x }}", "y"), [written("b"), value("ay")]);
    }
}
