//! The output of a check. A string `schema` names its renderer: `markdown`, `code-review`, `plain`, or a kind of outcome.

use escrow_app::runs::CheckReport;
use escrow_app::words;
use escrow_model::outcome::{Block, Detail, Finding};
use maud::{Markup, html};
use serde_json::Value;

use super::Shown;
use crate::layout::line;
use crate::pages::{card, markdown};

/// Characters of an output on the page of a run; the API has all.
const LENGTH_MAX: usize = 20_000;

/// Findings of a review.
const FINDINGS_MAX: usize = 200;

pub(super) fn section(shown: &Shown, check: &CheckReport<'_>) -> Markup {
    let Some(output) = shown.run.output_of(check.index).filter(|_| !check.has_items) else { return html! {} };
    let spec = shown.run.plan_of().check(check.index);
    let renderer = spec.schema.as_ref().and_then(Value::as_str);
    let content = match (output, renderer) {
        (Value::Null, _) => return html! {},
        (output, Some(renderer)) => rendered(renderer, output),
        // What a command printed is in its log.
        (Value::String(_), None) => return html! {},
        (output, None) => plain(&pretty(output)),
    };
    html! {
        details.fold open[renderer.is_some()] {
            summary { "Output" @if let Some(renderer) = renderer { " " span.code { (line(renderer)) } } }
            (content)
        }
    }
}

fn rendered(renderer: &str, output: &Value) -> Markup {
    match (renderer, output) {
        ("markdown", Value::String(text)) => markdown::rendered(&clipped(text)),
        ("plain", output) => plain(&pretty(output)),
        ("code-review", _) => match findings(output) {
            Some(blocks) => html! { div.card { h3.vh { "Review" } (card::blocks(&blocks)) } },
            None => plain(&pretty(output)),
        },
        (kind, output) => match card::of_kind(kind, output) {
            Some(card) => card,
            None => plain(&pretty(output)),
        },
    }
}

/// The issues of a review, by what blocks and what does not. `None`: the output has none.
fn findings(output: &Value) -> Option<Vec<Block>> {
    let listed = output.get("issues").or_else(|| output.get("findings")).unwrap_or(output).as_array()?;
    let mut blocks = Vec::new();
    if let Some(summary) = output.get("summary").and_then(Value::as_str) {
        blocks.push(Block::Text { heading: None, text: clipped(summary) });
    }
    let (bad, other): (Vec<&Value>, Vec<&Value>) =
        listed.iter().take(FINDINGS_MAX).partition(|one| is_blocking(one));
    let group = |heading: &str, folded: bool, all: Vec<&Value>| Block::Findings {
        heading: heading.to_owned(),
        folded,
        items: all.into_iter().map(finding).collect(),
    };
    if listed.is_empty() {
        blocks.push(Block::Text { heading: None, text: "No issue was found.".to_owned() });
    }
    if !bad.is_empty() {
        blocks.push(group("Blocking findings", false, bad));
    }
    if !other.is_empty() {
        blocks.push(group("Suggestions", true, other));
    }
    Some(blocks)
}

fn is_blocking(issue: &Value) -> bool {
    let severity = issue.get("severity").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    ["critical", "high", "error", "major", "blocker"].contains(&severity.as_str())
}

fn finding(issue: &Value) -> Finding {
    let word = |name: &str| issue.get(name).and_then(Value::as_str).map(clipped);
    let place =
        word("file").or_else(|| word("path")).map(|file| match issue.get("line").and_then(Value::as_u64) {
            Some(number) => format!("{file}:{number}"),
            None => file,
        });
    let details = [
        ("Category", "category"),
        ("Rule", "ruleId"),
        ("Rule", "rule_id"),
        ("Suggestion", "suggestion"),
        ("Replacement", "replacement"),
    ];
    Finding {
        label: word("severity").unwrap_or_else(|| "issue".to_owned()),
        text: word("message").or_else(|| word("title")).unwrap_or_else(|| pretty(issue)),
        place,
        details: details
            .into_iter()
            .filter_map(|(label, name)| Some(Detail { label: label.to_owned(), text: word(name)? }))
            .collect(),
    }
}

fn plain(text: &str) -> Markup {
    html! { div.log { ol { @for part in clipped(text).lines() { li { span {} span.s {} span { (words::visible(part)) } } } } } }
}

fn pretty(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

fn clipped(text: &str) -> String {
    let mut shown = text[..text.floor_char_boundary(LENGTH_MAX)].to_owned();
    if shown.len() < text.len() {
        shown.push_str("\n…");
    }
    shown
}
