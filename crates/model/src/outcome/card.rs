//! How an outcome is shown, as blocks: the terminal and every page draw the same ones.

use serde::Serialize;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// `REQUEST CHANGES`, `GATE VERDICT: REJECT`, `CI RESULT: PASSED`.
    pub title: String,
    pub tone: Tone,
    /// Next to the title: the source, and how long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aside: Option<String>,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    Good,
    Bad,
    Neutral,
}

impl Tone {
    pub fn of(passed: Option<bool>) -> Tone {
        match passed {
            Some(true) => Tone::Good,
            Some(false) => Tone::Bad,
            None => Tone::Neutral,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "block", rename_all = "snake_case")]
pub enum Block {
    /// A paragraph, with or without a heading.
    Text {
        #[serde(skip_serializing_if = "Option::is_none")]
        heading: Option<String>,
        text: String,
    },
    /// How many there are of each.
    Counts { heading: String, counts: Vec<(String, u64)> },
    /// Each with a mark before it.
    Checklist { heading: String, items: Vec<Mark> },
    /// Two columns.
    Rows {
        #[serde(skip_serializing_if = "Option::is_none")]
        heading: Option<String>,
        rows: Vec<Row>,
    },
    /// What was found, one after another. Folded ones show their first line.
    Findings { heading: String, folded: bool, items: Vec<Finding> },
    /// What no block fits.
    Json { heading: String, value: Value },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    pub label: String,
    pub passed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    pub label: String,
    pub value: String,
    pub tone: Tone,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub label: String,
    pub text: String,
    /// `src/main.rs:14`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    pub details: Vec<Detail>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Detail {
    pub label: String,
    pub text: String,
}

impl Block {
    /// A paragraph, when there is something to say.
    pub(super) fn text(heading: Option<&str>, text: Option<&String>) -> Option<Block> {
        let text = text.filter(|text| !text.trim().is_empty())?;
        Some(Block::Text { heading: heading.map(str::to_owned), text: text.clone() })
    }
}

/// `5m 27s`, `48s`, `0.8s`: how long something took.
pub(super) fn length_of_time(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return String::new();
    }
    if seconds < 10.0 {
        return format!("{seconds:.1}s");
    }
    // A float's conversion saturates, so no length of time is too long.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is finite and not below zero"
    )]
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h {minutes:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_short() {
        for (seconds, words) in
            [(0.84, "0.8s"), (48.2, "48s"), (327.0, "5m 27s"), (62.0, "1m 02s"), (7_260.0, "2h 01m")]
        {
            assert_eq!(length_of_time(seconds), words);
        }
        assert!(length_of_time(f64::MAX).ends_with('m'));
    }
}
