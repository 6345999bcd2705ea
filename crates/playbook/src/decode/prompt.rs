//! Expands a playbook with `prompt` instead of `checks` into one check called `main`.

use std::ops::Range;
use std::rc::Rc;

use crate::diagnostic::{Diagnostics, Problem};
use crate::yaml::{Entry, Node};

/// The synthesised check, in the form of an entry under `checks`.
pub(super) struct PromptCheck {
    pub(super) check: Entry,
    /// The inputs that the prompt names in single braces.
    pub(super) inputs: Vec<String>,
}

/// The check of `prompt`: of `type: agent` when the file has an agent, of `type: ai` otherwise.
pub(super) fn as_check(root: &Node, found: &mut Diagnostics) -> Option<PromptCheck> {
    let Some(prompt) = root.entry("prompt") else {
        if let Some(entry) = root.entry("model") {
            found.push(
                Problem::new("W0211", entry.key_span.clone(), "`model` has no effect")
                    .label("it applies only to a playbook with `prompt`")
                    .help("set it on the `ai` check"),
            );
        }
        return None;
    };
    if let Some(checks) = root.entry("checks") {
        found.push(
            Problem::new("E0130", prompt.key_span.clone(), "`prompt` and `checks` are mutually exclusive")
                .label("`prompt` is given here")
                .also(checks.key_span.clone(), "`checks` is given here")
                .help("turn the prompt into a check: `main: { type: ai, prompt: … }`"),
        );
        return None;
    }
    let span = prompt.key_span.clone();
    let is_agent = root.entry("agent").is_some();
    let mut entries = vec![entry("type", &span, if is_agent { "agent" } else { "ai" }, &span)];
    let mut inputs = Vec::new();
    if let Some(text) = prompt.value.scalar_text() {
        let declared = root.get("inputs").and_then(|inputs| inputs.map()).unwrap_or_default();
        let is_input = |name: &str| name == TARGET || declared.iter().any(|input| input.key == name);
        let value = Node::text_at(prompt.value.span.clone(), expand_inputs(text, is_input, &mut inputs));
        entries.push(Entry { key: "prompt".to_owned(), key_span: span.clone(), value: Rc::new(value) });
    }
    if let Some(model) = root.entry("model")
        && let Some(text) = model.value.scalar_text()
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
    let body = Node::map_at(prompt.value.span.clone(), entries);
    let check = Entry { key: "main".to_owned(), key_span: span, value: Rc::new(body) };
    Some(PromptCheck { check, inputs })
}

fn entry(key: &str, key_span: &Range<usize>, text: &str, span: &Range<usize>) -> Entry {
    let value = Rc::new(Node::text_at(span.clone(), text.to_owned()));
    Entry { key: key.to_owned(), key_span: key_span.clone(), value }
}

/// The input that a prompt declares by naming it.
const TARGET: &str = "target";

/// Replaces `{target}` by the input `target`, and so every input that is declared. Braces around anything else are text: prompts
/// contain code.
fn expand_inputs(text: &str, is_input: impl Fn(&str) -> bool, inputs: &mut Vec<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let after = &rest[open + 1..];
        let name = after.find('}').map(|close| &after[..close]).filter(|name| is_input(name));
        match name {
            Some(name) if !out.ends_with('{') && !after[name.len() + 1..].starts_with('}') => {
                out.push_str("{{ inputs.");
                out.push_str(name);
                out.push_str(" }}");
                inputs.push(name.to_owned());
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

#[cfg(test)]
mod tests {
    use super::expand_inputs;

    #[test]
    fn single_braces_round_an_input_are_its_value_and_others_are_text() {
        for (text, expected, named) in [
            ("Review {target}.", "Review {{ inputs.target }}.", vec!["target"]),
            ("{a}{b}", "{{ inputs.a }}{{ inputs.b }}", vec!["a", "b"]),
            ("{{ inputs.x }} {\"a\": 1} {} {a b}", "{{ inputs.x }} {\"a\": 1} {} {a b}", vec![]),
            ("{{a}}", "{{a}}", vec![]),
            ("fn main() {return} {other}", "fn main() {return} {other}", vec![]),
        ] {
            let mut inputs = Vec::new();
            let is_input = |name: &str| ["target", "a", "b"].contains(&name);
            assert_eq!(expand_inputs(text, is_input, &mut inputs), expected);
            assert_eq!(inputs, named);
        }
    }
}
