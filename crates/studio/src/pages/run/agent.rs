//! What an agent used and did: turns, tokens, cost, tools, its hooks, and its transcript.

use escrow_app::harnesses::LifecycleReceipt;
use escrow_app::transcript::{Moment, Transcript};
use escrow_app::words;
use maud::{Markup, html};
use serde_json::Value;

use crate::layout::{anchor, clipped, icon_small, line};
use crate::pages::markdown;

const TOOLS_MAX: usize = 12;
const LAST_WORDS_MAX: usize = 4_000;

/// What is known of an agent besides its record.
pub(super) struct Told<'s> {
    /// What it was asked to do.
    pub(super) prompt: Option<&'s str>,
    /// What its harness printed, as moments. `None`: the stream was not kept, or is not understood.
    pub(super) transcript: Option<Transcript>,
    /// What its hooks reported, oldest first.
    pub(super) receipts: Vec<&'s LifecycleReceipt>,
}

pub(super) fn section(check: &str, record: &Value, told: &Told<'_>) -> Markup {
    let number = |name: &str| record.get(name).and_then(Value::as_u64);
    let word = |name: &str| record.get(name).and_then(Value::as_str).map(line);
    let cost = record.get("cost_usd").and_then(Value::as_f64);
    let tools = named_tools(told.transcript.as_ref()).unwrap_or_else(|| tools(record));
    let most = tools.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    let denials = record.get("permission_denials").and_then(Value::as_array).map_or(0, Vec::len);
    html! {
        section.box aria-label={ "Agent of " (line(check)) } {
            div.agent {
                div {
                    dl.stats {
                        div { dt { "Turns" } dd { (known(number("turns"))) } }
                        div { dt { "Input tokens" } dd { (known(number("input_tokens"))) } }
                        div { dt { "Output tokens" } dd { (known(number("output_tokens"))) } }
                        div { dt { "Cost" } dd { @match cost { Some(cost) => { "$" (format!("{cost:.2}")) }, None => "-" } } }
                    }
                    dl.kv {
                        dt { "harness" } dd { (word("name").unwrap_or_default()) @if let Some(model) = word("model") { " · " (model) } }
                        @if let Some(session) = word("session_id") { dt { "session" } dd.mono.cut { (session) } }
                        @if let Some(error) = record.get("error").filter(|error| !error.is_null()) { dt { "error" } dd.bad { (clipped(&error.to_string(), 300)) } }
                    }
                }
                div {
                    @if tools.is_empty() { p.small.dim { "No tool was called." } }
                    @else {
                        table.calls { caption.vh { "Tool calls" } tbody {
                            @for (name, count) in tools.iter().take(TOOLS_MAX) {
                                tr { th scope="row" { (clipped(name, 14)) } td { svg.hbar viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" { rect width="100" height="6" rx="1" {} rect.v width=(100 * count / most) height="6" rx="1" {} } } td.num { (count) } }
                            }
                        } }
                    }
                    @if denials > 0 { p.small.unk { (icon_small("block", "")) " " (words::count(denials, "call")) " denied" } }
                }
            }
            (hooks(&told.receipts))
            @if let Some(prompt) = told.prompt { (asked(check, prompt)) }
            @match told.transcript.as_ref().filter(|transcript| !transcript.moments.is_empty()) {
                Some(transcript) => (conversation(check, transcript)),
                None => @if let Some(text) = record.get("final_text").and_then(Value::as_str) {
                    details.fold.pad open { summary { "What it said last" } @for part in clipped(text, LAST_WORDS_MAX).lines() { p.small { (words::visible(part)) } } }
                },
            }
        }
    }
}

/// The hooks that fired, in their order, each with how often.
fn hooks(receipts: &[&LifecycleReceipt]) -> Markup {
    let mut counts: Vec<(&str, &str, usize)> = Vec::new();
    for receipt in receipts {
        let (event, status) = (receipt.event.as_str(), receipt.status.as_str());
        match counts.iter_mut().find(|(known, how, _)| *known == event && *how == status) {
            Some((_, _, number)) => *number += 1,
            None => counts.push((event, status, 1)),
        }
    }
    html! {
        @if !counts.is_empty() {
            p.pad.small {
                span.sub { "hooks " }
                @for (event, status, number) in counts {
                    span class=(if status == "failed" { "tag bad" } else { "tag" }) title=(status) { (event) @if number > 1 { " ×" (number) } @if status == "failed" { " failed" } } " "
                }
            }
        }
    }
}

/// The prompt, whole. A long one is folded.
fn asked(check: &str, prompt: &str) -> Markup {
    const LINES_MAX: usize = 12;
    let lines: Vec<&str> = prompt.lines().collect();
    html! {
        details.fold.transcript open[lines.len() <= LINES_MAX] data-keep=(anchor("prompt", check)) {
            summary.pad { "What it was asked" span.small.dim { " " (words::count(lines.len(), "line")) } }
            div.pad-in { pre.value { @for part in &lines { (words::visible(part)) "\n" } } }
        }
    }
}

/// Turn by turn: what it said and which tools it called.
fn conversation(check: &str, transcript: &Transcript) -> Markup {
    let calls = transcript.moments.iter().filter(|one| matches!(one, Moment::Called { .. })).count();
    html! {
        details.fold.transcript open id=(anchor("transcript", check)) data-keep=(anchor("transcript", check)) {
            summary.pad { "Transcript" span.small.dim { " " (words::count(transcript.moments.len(), "moment")) ", " (words::count(calls, "tool call")) @if transcript.left_out > 0 { ", " (transcript.left_out) " earlier ones are in the log" } } }
            ol.turns-list { @for moment in &transcript.moments { (shown(moment)) } }
        }
    }
}

fn shown(moment: &Moment) -> Markup {
    match moment {
        Moment::Turn(number) => html! { li.turn { "Turn " (number) } },
        Moment::Said(text) => html! { li.said { (markdown::rendered(text)) } },
        Moment::Called { tool, about, failed } => {
            let (shape, tone, word) = match failed {
                Some(true) => ("bad", "bad", "failed"),
                Some(false) => ("ok", "ok", "done"),
                None => ("pend", "skip", "not known how it ended"),
            };
            html! { li.call { (icon_small(shape, tone)) span.vh { (word) } " " b.mono { (clipped(tool, 40)) } " " code { (clipped(about, 300)) } } }
        }
        Moment::Denied { tool } => {
            html! { li.call { (icon_small("block", "unk")) " " b.mono { (clipped(tool, 40)) } " was denied" } }
        }
        Moment::Retried(message) => {
            html! { li.call { (icon_small("warn", "warn")) " " (clipped(message, 300)) } }
        }
    }
}

fn known(figure: Option<u64>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| figure.to_string())
}

/// How often each tool was called, as the transcript tells it. `None`: it does not tell, or not all of it.
fn named_tools(transcript: Option<&Transcript>) -> Option<Vec<(String, u64)>> {
    let transcript = transcript.filter(|transcript| transcript.left_out == 0)?;
    let mut counts = std::collections::BTreeMap::new();
    for moment in &transcript.moments {
        if let Moment::Called { tool, .. } = moment {
            *counts.entry(tool.clone()).or_insert(0u64) += 1;
        }
    }
    let mut counted: Vec<(String, u64)> = counts.into_iter().collect();
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    (!counted.is_empty()).then_some(counted)
}

/// How often each tool was called, the most used first.
fn tools(record: &Value) -> Vec<(String, u64)> {
    let mut counted: Vec<(String, u64)> = match record.get("tool_calls") {
        Some(Value::Object(calls)) => {
            calls.iter().map(|(name, count)| (name.clone(), count.as_u64().unwrap_or(1))).collect()
        }
        Some(Value::Array(calls)) => {
            let mut counts = std::collections::BTreeMap::new();
            for call in calls {
                let name = call.as_str().or_else(|| call.get("name")?.as_str()).unwrap_or("tool");
                *counts.entry(name.to_owned()).or_insert(0u64) += 1;
            }
            counts.into_iter().collect()
        }
        Some(Value::Number(number)) => vec![("calls".to_owned(), number.as_u64().unwrap_or(0))],
        Some(_) | None => Vec::new(),
    };
    counted.retain(|(_, count)| *count > 0);
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counted
}
