//! What tells a run from others of its playbook: its title, its event and its inputs.

use escrow_store::RunRow;
use serde_json::{Map, Value};

use super::width;
use super::words::printable;

/// `  Release 1.2`, to follow the name of the playbook.
pub(crate) fn title_words(title: Option<&str>) -> String {
    title.map(|title| format!("  {}", printable(title))).unwrap_or_default()
}

/// `pr.opened  version=1.2 target=prod`, in one line. Inputs without a value are left out.
pub(crate) fn given_words(event: Option<&str>, inputs: Option<&Map<String, Value>>) -> String {
    let inputs: Vec<String> = given(inputs).map(|(name, value)| format!("{name}={value}")).collect();
    let event = event.map(printable);
    event.into_iter().chain((!inputs.is_empty()).then(|| inputs.join(" "))).collect::<Vec<_>>().join("  ")
}

/// The event and every input, each in a line of its own.
pub(crate) fn given_in_full(event: Option<&str>, inputs: Option<&Map<String, Value>>) -> Vec<String> {
    let event = event.map(|name| format!("event {}", printable(name)));
    let inputs = given(inputs).map(|(name, value)| format!("input {name} = {value}"));
    event.into_iter().chain(inputs).collect()
}

fn given(inputs: Option<&Map<String, Value>>) -> impl Iterator<Item = (String, String)> {
    inputs.into_iter().flatten().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (printable(name), printable(&text))
    })
}

/// What a list shows of a run: its title; without one, its event and inputs.
pub(crate) fn told_apart(row: &RunRow) -> String {
    match &row.title {
        Some(title) => cut(&printable(title), TOLD_WIDTH_MAX),
        None => cut(&given_words(row.event.as_deref(), Some(&row.inputs)), TOLD_WIDTH_MAX),
    }
}

/// Longer titles and inputs are cut in lists. `runs show` has them in full.
const TOLD_WIDTH_MAX: usize = 48;

/// The text in at most so many columns.
fn cut(text: &str, columns: usize) -> String {
    if width::width(text) <= columns {
        return text.to_owned();
    }
    format!("{}…", width::cut(text, columns.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_given_is_said_in_one_line() {
        let inputs = json!({ "version": "1.2", "dry": true, "note": null });
        assert_eq!(given_words(Some("pr.opened"), inputs.as_object()), "pr.opened  version=1.2 dry=true");
        assert_eq!(given_words(None, None), "");
        assert_eq!(given_in_full(None, inputs.as_object()), ["input version = 1.2", "input dry = true"]);
    }

    #[test]
    fn a_title_does_not_drive_the_terminal() {
        assert!(!title_words(Some("\u{1b}[2Jgone")).contains('\u{1b}'));
    }

    #[test]
    fn long_text_is_cut_with_a_mark() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
    }
}
