//! A rendered request, as people read it.

use escrow_model::{ApprovalSubject, ApprovedPlaybook, Request};
use serde_json::Value;

/// The command of a request, with its values in their places; none where it runs no command.
///
/// For people only: a shell never sees a value as part of its script.
pub fn command_words(request: &Request) -> Option<String> {
    let exec = request.fields.get("exec")?;
    match (exec.get("shell").and_then(Value::as_str), exec.get("argv").and_then(Value::as_array)) {
        (Some(shell), _) => {
            let values = exec.get("values").and_then(Value::as_object).into_iter().flatten();
            Some(values.fold(shell.to_owned(), |shell, (name, value)| {
                shell.replace(&format!("${{{name}}}"), &text(value))
            }))
        }
        (None, Some(words)) => Some(words.iter().map(text).collect::<Vec<_>>().join(" ")),
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

/// What an approval would let happen: the request and, for a check that nests a playbook, what that would do outside.
pub fn subject_lines(subject: &ApprovalSubject) -> Vec<(String, String)> {
    let mut lines = request_lines(&subject.request);
    lines.extend(subject.nested.iter().flat_map(nested_lines));
    lines
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
        let command = effect.command.as_ref().map(|command| format!(": {command}")).unwrap_or_default();
        ("external".to_owned(), format!("{place} ({}){command}", effect.provider))
    }));
    lines
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
