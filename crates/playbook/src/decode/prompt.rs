//! A playbook with a `prompt` and no `checks`: one agent, called `main`.

use std::ops::Range;
use std::rc::Rc;

use crate::diagnostic::{Diagnostics, Problem};
use crate::yaml::{Entry, Node};

/// The check that the file stands for, written as if it stood under `checks`.
pub(super) fn as_check(root: &Node, found: &mut Diagnostics) -> Option<Entry> {
    let Some(prompt) = root.entry("prompt") else {
        for key in ["model", "agent"] {
            if let Some(entry) = root.entry(key) {
                found.push(
                    Problem::new("W0211", entry.key_span.clone(), format!("`{key}` has no effect"))
                        .label("it belongs to a playbook with `prompt`")
                        .help("say it on the `ai` check it is meant for"),
                );
            }
        }
        return None;
    };
    if let Some(checks) = root.entry("checks") {
        found.push(
            Problem::new("E0130", prompt.key_span.clone(), "a playbook has `prompt` or `checks`, not both")
                .label("this one")
                .also(checks.key_span.clone(), "and this one")
                .help("make the prompt a check: `main: { type: ai, prompt: … }`"),
        );
        return None;
    }
    let span = prompt.key_span.clone();
    let mut entries = vec![entry("type", &span, "ai", &span)];
    if let Some(text) = prompt.value.written() {
        let value = Node::text_at(prompt.value.span.clone(), inserted(text));
        entries.push(Entry { key: "prompt".to_owned(), key_span: span.clone(), value: Rc::new(value) });
    }
    if let Some(model) = root.entry("model")
        && let Some(text) = model.value.written()
    {
        let at = model.value.span.clone();
        match text.split_once('/') {
            Some((harness, name)) => {
                entries.push(entry("harness", &model.key_span, harness, &at));
                entries.push(entry("model", &model.key_span, name, &at));
            }
            None => entries.push(entry("model", &model.key_span, text, &at)),
        }
    }
    if let Some(agent) = root.entry("agent") {
        entries.push(agent.clone());
    }
    let body = Node::map_at(prompt.value.span.clone(), entries);
    Some(Entry { key: "main".to_owned(), key_span: span, value: Rc::new(body) })
}

fn entry(key: &str, key_span: &Range<usize>, text: &str, span: &Range<usize>) -> Entry {
    let value = Rc::new(Node::text_at(span.clone(), text.to_owned()));
    Entry { key: key.to_owned(), key_span: key_span.clone(), value }
}

/// `{target}` is the input `target`. Braces that hold anything but one name stay as they are.
fn inserted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let after = &rest[open + 1..];
        let name = after.find('}').map(|close| &after[..close]).filter(|name| is_name(name));
        match name {
            Some(name) if !out.ends_with('{') && !after[name.len() + 1..].starts_with('}') => {
                out.push_str("{{ inputs.");
                out.push_str(name);
                out.push_str(" }}");
                rest = &after[name.len() + 1..];
            }
            _ => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::inserted;

    #[test]
    fn single_braces_round_a_name_are_inputs() {
        assert_eq!(inserted("Review {target}."), "Review {{ inputs.target }}.");
        assert_eq!(inserted("{a}{b}"), "{{ inputs.a }}{{ inputs.b }}");
        assert_eq!(inserted("{{ inputs.x }} {\"a\": 1} {} {a b}"), "{{ inputs.x }} {\"a\": 1} {} {a b}");
        assert_eq!(inserted("{{a}}"), "{{a}}");
    }
}
