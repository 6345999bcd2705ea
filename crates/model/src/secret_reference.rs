//! `$NAME` in a message: the author of a playbook names a granted secret, and the provider puts its value there.
//!
//! ```text
//!   written: Bearer $TOKEN   value: $TOKEN ──written──▶ Bearer $TOKEN, $$TOKEN ──expand──▶ Bearer s3cr3t, $TOKEN
//! ```
//!
//! **Invariant:** a reference counts only where the author wrote it. One that a value brings, or that a value and the text
//! around it make together, is escaped before the request is recorded. Names that were not granted are text.

use escrow_template::Part;
use serde_json::Value;

/// The text of the parts, in which only what the author wrote refers to secrets.
pub fn written(parts: &[Part], granted: &[String]) -> String {
    let text: String = parts.iter().map(Part::text).collect();
    if granted.is_empty() || !text.contains('$') {
        return text;
    }
    let mut own = Vec::new();
    let mut begin = 0;
    for part in parts {
        let end = begin + part.text().len();
        if matches!(part, Part::Written(_)) {
            own.push(begin..end);
        }
        begin = end;
    }
    let is_granted = |name: &str| granted.iter().any(|granted| granted == name);
    let mut safe = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if c == '$'
            && let Some((_, length)) = reference(&text[at..], is_granted)
            && !own.iter().any(|range| range.start <= at && at + length <= range.end)
        {
            safe.push('$');
        }
        safe.push(c);
    }
    safe
}

/// Escapes every reference in a value.
pub fn escape_value(value: &mut Value, granted: &[String]) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => *text = written(&[Part::Value(std::mem::take(text))], granted),
        Value::Array(items) => items.iter_mut().for_each(|item| escape_value(item, granted)),
        Value::Object(members) => members.values_mut().for_each(|member| escape_value(member, granted)),
    }
}

/// The text with the values of the secrets in place of `$NAME` and `${NAME}`; `$$NAME` is the text `$NAME`.
pub fn expand<'s>(text: &str, secret: impl Fn(&str) -> Option<&'s str>) -> Expanded {
    let is_granted = |name: &str| secret(name).is_some();
    let mut expanded = String::with_capacity(text.len());
    let mut has_secret = false;
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((name, length)) = reference(rest, is_granted) {
            expanded.push_str(secret(name).unwrap_or_default());
            has_secret = true;
            rest = &rest[length..];
        } else if let Some((_, length)) = reference(&rest[1..], is_granted) {
            expanded.push_str(&rest[1..=length]);
            rest = &rest[length + 1..];
        } else {
            expanded.push('$');
            rest = &rest[1..];
        }
    }
    expanded.push_str(rest);
    Expanded { text: expanded, has_secret }
}

/// A text after its references were replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    pub text: String,
    pub has_secret: bool,
}

/// The names that look like references to secrets, as variables are named: `$API_TOKEN`, `${API_TOKEN}`. `$$NAME` is text,
/// and so is what is in lower case, such as `$ref`.
pub fn names(text: &str) -> Vec<String> {
    let is_variable = |name: &str| {
        let is_of_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        name.len() > 1
            && name.starts_with(|first: char| first.is_ascii_uppercase())
            && name.bytes().all(is_of_name)
    };
    let mut names: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        rest = &rest[at..];
        if let Some((_, length)) = reference(&rest[1..], is_variable) {
            rest = &rest[1 + length..];
        } else if let Some((name, length)) = reference(rest, is_variable) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
            rest = &rest[length..];
        } else {
            rest = &rest[1..];
        }
    }
    names
}

/// The name of the reference that the text begins with, and how long the reference is.
fn reference(text: &str, is_granted: impl Fn(&str) -> bool) -> Option<(&str, usize)> {
    let rest = text.strip_prefix('$')?;
    let (name, length) = match rest.strip_prefix('{') {
        Some(braced) => {
            let end = braced.find('}')?;
            (&braced[..end], end + 3)
        }
        None => {
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
            (&rest[..end], end + 1)
        }
    };
    is_granted(name).then_some((name, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(parts: &[Part]) -> String {
        let granted = ["TOKEN".to_owned(), "TOKEN_2".to_owned()];
        let secret = |name: &str| match name {
            "TOKEN" => Some("one"),
            "TOKEN_2" => Some("two"),
            _ => None,
        };
        expand(&written(parts, &granted), secret).text
    }

    fn author(text: &str) -> Part {
        Part::Written(text.to_owned())
    }

    fn value(text: &str) -> Part {
        Part::Value(text.to_owned())
    }

    #[test]
    fn what_the_author_writes_is_replaced() {
        assert_eq!(sent(&[author("Bearer $TOKEN")]), "Bearer one");
        assert_eq!(sent(&[author("${TOKEN}x$TOKEN_2,$TOKEN.")]), "onextwo,one.");
        assert_eq!(sent(&[author("$OTHER $5 $ $$ ${ $TOKENS $$TOKEN")]), "$OTHER $5 $ $$ ${ $TOKENS $TOKEN");
    }

    #[test]
    fn names_that_look_like_secrets_are_found() {
        assert_eq!(names("Bearer $API_TOKEN ${KEY2}$API_TOKEN"), ["API_TOKEN", "KEY2"]);
        assert!(names("$ref $5 $$TOKEN $ {$} $A ${a} $_ $Token").is_empty());
    }

    #[test]
    fn what_a_value_brings_is_text() {
        for text in ["$TOKEN", "${TOKEN}", "$$TOKEN", "a $TOKEN $TOKEN_2 b", "$$$TOKEN", "$"] {
            assert_eq!(sent(&[author("x "), value(text), author(" y")]), format!("x {text} y"));
        }
    }

    #[test]
    fn a_value_and_the_text_around_it_make_no_reference() {
        assert_eq!(sent(&[author("$"), value("TOKEN")]), "$TOKEN");
        assert_eq!(sent(&[value("$"), author("TOKEN")]), "$TOKEN");
        assert_eq!(sent(&[author("$TOKEN"), value("_2")]), "$TOKEN_2");
        assert_eq!(sent(&[author("${"), value("TOKEN"), author("}")]), "${TOKEN}");
    }

    #[test]
    fn values_of_every_kind_are_escaped() {
        let mut nested = serde_json::json!({ "a": ["$TOKEN", 1], "$TOKEN": null });
        escape_value(&mut nested, &["TOKEN".to_owned()]);
        assert_eq!(nested, serde_json::json!({ "a": ["$$TOKEN", 1], "$TOKEN": null }));
    }

    #[test]
    fn without_a_granted_secret_nothing_changes() {
        assert_eq!(written(&[value("$TOKEN")], &[]), "$TOKEN");
        assert_eq!(expand("$$TOKEN $TOKEN", |_| None).text, "$$TOKEN $TOKEN");
    }
}
