//! Every check with its issues, its items, its output and its log.

use escrow_app::logs::{Printed, printed};
use escrow_app::runs::CheckReport;
use escrow_app::words::{self, skip_words};
use escrow_model::CheckStatus;
use maud::{Markup, html};
use serde_json::Value;

use super::{Shown, agent};
use crate::layout::{Mark, anchor, clipped, duration, icon_small, line, ticked};
use crate::pages::log;
use crate::view::View;

/// Lines of a log on the page of a run; its own page has all.
const LINES: usize = 60;
const LOG_BYTES: u64 = 64 * 1024;
const ITEMS_MAX: usize = 200;
const OUTPUT_LENGTH_MAX: usize = 4_000;

/// Checks that are shown with everything; of the others only the first line.
const FULL_MAX: usize = 300;

/// How long the last attempt took.
pub(super) fn took(check: &CheckReport<'_>) -> Option<u64> {
    check.record?.get("duration_ms")?.as_u64()
}

pub(super) fn section(view: &View, shown: &Shown) -> Markup {
    let spool = view.studio.app.state().spool(&shown.row.id);
    let all = printed(&shown.entries, &spool);
    let mut reports: Vec<CheckReport<'_>> = shown.run.check_reports().collect();
    reports.sort_by_key(|check| order(check.status));
    html! {
        section.sect id="checks" aria-labelledby="h-checks" {
            div.sect-h { h2 id="h-checks" { "Checks and logs" } p { "what failed first" } span.grow {} span.meta { code { "escrow logs " (shown.row.id) } } }
            div.box {
                @for (place, check) in reports.iter().enumerate() { (one(shown, check, &all, place < FULL_MAX)) }
            }
        }
    }
}

/// What needs a look comes first.
fn order(status: CheckStatus) -> u8 {
    match status {
        CheckStatus::Failed | CheckStatus::Unknown => 0,
        CheckStatus::Waiting => 1,
        CheckStatus::Running => 2,
        CheckStatus::Succeeded => 3,
        CheckStatus::Skipped => 4,
        CheckStatus::Pending => 5,
    }
}

fn one(shown: &Shown, check: &CheckReport<'_>, all: &[Printed<'_>], is_full: bool) -> Markup {
    let mark = shown.mark_of(check);
    let is_open = matches!(check.status, CheckStatus::Failed | CheckStatus::Unknown | CheckStatus::Running);
    let id = anchor("check", check.name);
    html! {
        details.chk.row-fold id=(id) open[is_open] data-row="" data-failure=[(mark.tone == "bad").then_some("")] data-keep=(id) {
            summary data-live={ "sum-" (id) } {
                (mark.icon())
                span.nm.cut title=(line(check.name)) { (line(check.name)) }
                span.say.cut { span.vh { (mark.word) ": " } (said(shown, check, mark)) }
                span.r { span { (check.criticality.as_str()) } @if check.runs > 1 { span { (check.runs) " attempts" } } @if let Some(ms) = took(check) { span { (duration(ms)) } } }
            }
            @if is_full { div.in { (inside(shown, check, all)) } }
        }
    }
}

fn said(shown: &Shown, check: &CheckReport<'_>, mark: Mark) -> Markup {
    if let Some(issue) = check.issues.first().filter(|_| check.status == CheckStatus::Failed) {
        return ticked(&line(&issue.message));
    }
    if let Some(reason) = check.skip_reason {
        return html! { "skipped: " (skip_words(reason, "")) " " span.code { (reason.as_str()) } };
    }
    if check.has_items {
        let items: Vec<CheckStatus> = shown.run.item_reports(check.index).map(|item| item.status).collect();
        let failed = items.iter().filter(|status| **status == CheckStatus::Failed).count();
        return html! { (words::count(items.len(), "item")) @if failed > 0 { ", " (failed) " failed" } };
    }
    if let Some(run) = nested(check) {
        return html! { "ran as " span.mono { (line(run)) } };
    }
    html! { (mark.word) }
}

fn nested<'r>(check: &CheckReport<'r>) -> Option<&'r str> {
    check.record?.get("run_id")?.as_str()
}

fn inside(shown: &Shown, check: &CheckReport<'_>, all: &[Printed<'_>]) -> Markup {
    let run = &shown.row.id;
    let why = format!("/runs/{run}?check={}#why", crate::view::encoded(check.name));
    let mut of_check: Vec<&Printed<'_>> =
        all.iter().filter(|one| one.of.check == check.name && one.of.scope.is_root()).collect();
    html! {
        p.small {
            a href=(why) { "Why it " (match check.status { CheckStatus::Skipped => "did not run", CheckStatus::Succeeded => "succeeded", CheckStatus::Failed => "failed", CheckStatus::Pending | CheckStatus::Running | CheckStatus::Waiting | CheckStatus::Unknown => "stands here" }) }
            @if let Some(nested) = nested(check) { span.sep { " · " } "run " a.id href={ "/runs/" (line(nested)) } { (line(nested)) } }
        }
        @for issue in check.issues.iter().take(10) { p.small { span.code { (issue.code.text()) } " " (ticked(&issue.message)) } }
        @if check.has_items { (items(shown, check)) }
        @if let Some(record) = check.record.and_then(|record| record.get("harness")) { (agent::section(check.name, record)) }
        (output(shown, check))
        @if let Some(last) = of_check.pop() { (tail(shown, last, &of_check)) }
    }
}

fn items(shown: &Shown, check: &CheckReport<'_>) -> Markup {
    let mut all: Vec<_> = shown.run.item_reports(check.index).collect();
    all.sort_by_key(|item| order(item.status));
    html! {
        table.calls.items {
            caption.vh { "Items of " (line(check.name)) }
            tbody {
                @for item in all.iter().take(ITEMS_MAX) {
                    @let mark = Mark::of_check(item.status, false);
                    @let place = format!("{}{}", check.name, item.scope);
                    tr {
                        td { (icon_small(mark.icon, mark.tone)) }
                        td.mono { (item.scope) }
                        td.mono { @if let Some(value) = item.value { (clipped(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), 80)) } }
                        td { (mark.word) @if let Some(issue) = item.issues.first() { ": " (ticked(&line(&issue.message))) } @if let Some(reason) = item.skip_reason { " " span.code { (reason.as_str()) } } @if item.runs > 1 { " at attempt " (item.runs) } }
                        td.num { a href=(log::address(shown.row.id.as_str(), &place)) { "log" } }
                    }
                }
            }
        }
        @if all.len() > ITEMS_MAX { p.small.dim { "and " (all.len() - ITEMS_MAX) " more items" } }
    }
}

/// The output as its check declares it: as text, or as JSON.
fn output(shown: &Shown, check: &CheckReport<'_>) -> Markup {
    let Some(output) = shown.run.output_of(check.index).filter(|_| !check.has_items) else { return html! {} };
    let spec = shown.run.plan_of().check(check.index);
    let renderer = spec.schema.as_ref().and_then(Value::as_str);
    let text = match (output, renderer) {
        (Value::Null, _) => return html! {},
        (Value::String(text), Some(_)) => text.clone(),
        // What a command printed is in its log.
        (Value::String(_), None) => return html! {},
        (other, _) => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    html! {
        details.fold open[renderer.is_some()] {
            summary { "Output" @if let Some(renderer) = renderer { " " span.code { (line(renderer)) } } }
            div.log { ol { @for part in clipped_lines(&text) { li { span {} span.s {} span { (part) } } } } }
        }
    }
}

fn clipped_lines(text: &str) -> Vec<String> {
    let shown: String = text.chars().take(OUTPUT_LENGTH_MAX).collect();
    let mut lines: Vec<String> = shown.lines().map(words::visible).collect();
    if shown.len() < text.len() {
        lines.push("…".to_owned());
    }
    lines
}

fn tail(shown: &Shown, last: &Printed<'_>, earlier: &[&Printed<'_>]) -> Markup {
    let lines = log::lines(last, LOG_BYTES);
    if lines.is_empty() {
        return html! {};
    }
    let place = last.of.to_string();
    let address = log::address(shown.row.id.as_str(), &place);
    let first = lines.len().saturating_sub(LINES);
    html! {
        div.log {
            header {
                span.seg {
                    @for one in earlier.iter().rev().take(5).rev() { a href={ (address) "?attempt=" (one.attempt) } { "attempt " (one.attempt) } }
                    a href=(address) aria-current="true" { "attempt " (last.attempt) }
                }
                span.grow {}
                span { "the last " (lines.len() - first) " of " (words::count(lines.len(), "line")) }
                a href=(address) { "all" }
                a href={ (address) "?raw=1" } { "raw" }
            }
            (log::list(&place, last.attempt, first + 1, &lines[first..]))
        }
    }
}
