//! A rendered request, as people read it.

use std::collections::BTreeMap;

use escrow_model::{ApprovalSubject, ApprovedOutput, ApprovedPlaybook, OutputExcerpt, Request};
use serde_json::{Map, Value};

use crate::words::shell_word;

/// The command of a request; none where it runs no command. The words of a list are quoted as a shell would need it. In a
/// script each value stands in its place, between marks: `./ship "‹1.2›"`.
///
/// For people only: a shell never sees a value as part of its script.
pub fn command_words(request: &Request) -> Option<String> {
    let exec = request.fields.get("exec")?;
    match (exec.get("shell").and_then(Value::as_str), exec.get("argv").and_then(Value::as_array)) {
        (Some(script), _) => {
            let none = Map::new();
            Some(with_values(script, exec.get("values").and_then(Value::as_object).unwrap_or(&none)))
        }
        (None, Some(words)) => {
            Some(words.iter().map(|word| shell_word(&text(word))).collect::<Vec<_>>().join(" "))
        }
        (None, None) => None,
    }
}

/// Each field of a request with its value: the command first, then URL, body and whatever else the provider takes.
pub fn request_lines(request: &Request) -> Vec<(String, String)> {
    let command = command_words(request).map(|command| ("exec".to_owned(), command));
    let others = request.fields.iter().filter(|(name, _)| *name != "exec" || command.is_none());
    let others = others.map(|(name, value)| (name.clone(), text(value)));
    command.clone().into_iter().chain(others).collect()
}

/// What would be performed: the request, every value in its command with the expression that gave it, the secrets that it
/// is given, the command that looks for the effect afterwards, and what a nested playbook would do outside.
pub fn subject_lines(subject: &ApprovalSubject) -> Vec<(String, String)> {
    let mut lines = request_lines(&subject.request);
    for value in &subject.values {
        lines.push(("value".to_owned(), format!("{} = {}", value.expression, in_one_line(&value.value))));
    }
    for secret in &subject.secrets {
        lines.push(("secret".to_owned(), format!("{} (as {})", secret.name, secret.handover.as_str())));
    }
    if let Some(reconcile) = &subject.reconcile {
        lines.push(("reconcile".to_owned(), reconcile.clone()));
    }
    lines.extend(subject.nested.iter().flat_map(nested_lines));
    lines
}

/// An output that an approval stands on, with its digest: whole, or its beginning and its end.
pub fn output_words(output: &ApprovedOutput, run: &str) -> String {
    let ApprovedOutput { check, sha256, value, excerpt } = output;
    let shown = match (value, excerpt) {
        (Some(value), _) => text(value),
        (None, Some(excerpt)) => {
            let OutputExcerpt { bytes, head, tail } = excerpt;
            let left_out = excerpt.left_out();
            return format!(
                "{check}, {bytes} bytes  sha256 {sha256}\n{head}\n… {left_out} bytes are left out here: \
                 `escrow runs show {run} --output json` has them …\n{tail}"
            );
        }
        // Of a question that an earlier version asked.
        (None, None) => "(too large to show)".to_owned(),
    };
    format!("{check} = {shown}  sha256 {sha256}")
}

/// What safe mode kept from being done: the fields that say something, and what a nested playbook can do outside.
pub fn prevented_lines(request: &Request, nested: Option<&ApprovedPlaybook>) -> Vec<(String, String)> {
    let says = |value: &str| !value.is_empty() && value != "null";
    let fields = request_lines(request).into_iter().filter(|(_, value)| says(value));
    fields.chain(nested.into_iter().flat_map(nested_lines)).collect()
}

fn nested_lines(nested: &ApprovedPlaybook) -> Vec<(String, String)> {
    let ApprovedPlaybook { name, file, sha256, external } = nested;
    let short = sha256.get(..12).unwrap_or(sha256);
    let mut lines = vec![("nested".to_owned(), format!("{name} ({file})  sha256 {short}"))];
    if external.is_empty() {
        lines.push(("external".to_owned(), "no check".to_owned()));
    }
    lines.extend(external.iter().map(|effect| {
        let place = if effect.playbook == *name {
            effect.check.clone()
        } else {
            format!("{} of {}", effect.check, effect.playbook)
        };
        let command = effect.command.as_deref().map(beside_or_below).unwrap_or_default();
        ("external".to_owned(), format!("{place} ({}){command}", effect.provider))
    }));
    lines
}

/// A command of one line stands beside its check, everything else below it.
fn beside_or_below(command: &str) -> String {
    if command.contains('\n') {
        return format!("\n  {}", command.replace('\n', "\n  "));
    }
    format!(": {command}")
}

/// The script in one pass: a value that looks like a reference is not replaced again.
fn with_values(script: &str, values: &Map<String, Value>) -> String {
    let places: BTreeMap<usize, (&String, &Value)> = values
        .iter()
        .flat_map(|(name, value)| {
            let reference = format!("${{{name}}}");
            let found: Vec<usize> = script.match_indices(&reference).map(|(at, _)| at).collect();
            found.into_iter().map(move |at| (at, (name, value)))
        })
        .collect();
    let mut shown = String::with_capacity(script.len());
    let mut from = 0;
    for (at, (name, value)) in places {
        shown.push_str(&script[from..at]);
        shown.push_str(&format!("‹{}›", in_one_line(&text(value))));
        from = at + name.len() + "${}".len();
    }
    shown.push_str(&script[from..]);
    shown
}

/// A value without line ends and marks of its own, which could be taken for those of the script.
fn in_one_line(value: &str) -> String {
    value
        .chars()
        .flat_map(|c| {
            let is_escaped = matches!(c, '\n' | '\r' | '‹' | '›');
            let escape =
                is_escaped.then(|| if c == '\n' { "\\n".to_owned() } else { c.escape_unicode().to_string() });
            escape.unwrap_or_else(|| c.to_string()).chars().collect::<Vec<_>>()
        })
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(exec: &Value) -> String {
        let request = json!({
            "provider": "command", "fields": { "exec": exec }, "timeout_ms": 1, "idempotency_key": "",
        });
        command_words(&serde_json::from_value(request).expect("a request")).expect("a command")
    }

    #[test]
    fn a_value_in_a_script_is_marked_and_cannot_fake_the_end_of_its_place() {
        let values = json!({ "ESCROW_VALUE_1": "1\"; rm -rf /; echo \"\nls › ${ESCROW_VALUE_2}", "ESCROW_VALUE_2": "b" });
        assert_eq!(
            shown(&json!({ "shell": "ship \"${ESCROW_VALUE_1}\" \"${ESCROW_VALUE_2}\"", "values": values })),
            "ship \"‹1\"; rm -rf /; echo \"\\nls \\u{203a} ${ESCROW_VALUE_2}›\" \"‹b›\""
        );
    }

    #[test]
    fn the_words_of_a_list_are_told_apart() {
        assert_eq!(shown(&json!({ "argv": ["rm", "a b", "-rf", "x; y", ""] })), "rm 'a b' -rf 'x; y' ''");
        assert_ne!(shown(&json!({ "argv": ["a b"] })), shown(&json!({ "argv": ["a", "b"] })));
    }
}
