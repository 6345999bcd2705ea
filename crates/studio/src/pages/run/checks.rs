//! Every check with its issues, its items, its output and its log.

use std::collections::{BTreeMap, BTreeSet};

use escrow_app::harnesses::LifecycleReceipt;
use escrow_app::logs::{Printed, printed, running};
use escrow_app::runs::CheckReport;
use escrow_app::transcript::{last_prompt, transcript};
use escrow_app::words::{self, Evaluated, skip_words};
use escrow_model::{CheckStatus, IssueCode, RunStatus};
use maud::{Markup, html};
use serde_json::Value;

use super::{Shown, agent, output};
use crate::layout::{Mark, anchor, clipped, duration, icon_small, line, ticked};
use crate::pages::log;
use crate::view::View;
use crate::view::encoded;

/// Lines of a log on the page of a run; its own page has all.
const LINES: usize = 60;
const LOG_BYTES: u64 = 64 * 1024;
/// How much of the end of a harness's stream is read for its transcript.
const STREAM_BYTES: u64 = 4 << 20;
const ITEMS_MAX: usize = 200;

/// Checks on one page, what needs a look first.
const CHECKS_MAX: usize = 200;

/// How long the last attempt took.
pub(super) fn took(check: &CheckReport<'_>) -> Option<u64> {
    check.answer?.duration_ms()
}

/// The order in which checks are listed, and the part of it that this page has.
pub(super) struct Listed {
    /// For each check of the plan, its place in the list.
    places: Vec<usize>,
    page: usize,
}

impl Listed {
    /// `?checks=2` asks for the second part.
    pub(super) fn of(view: &View, shown: &Shown) -> Listed {
        let mut order: Vec<(u8, usize)> =
            shown.run.check_reports().map(|check| (order(check.status), check.index.place())).collect();
        order.sort_unstable();
        let mut places = vec![0; order.len()];
        for (place, (_, index)) in order.into_iter().enumerate() {
            places[index] = place;
        }
        let asked = view.get("checks").and_then(|page| page.parse::<usize>().ok()).unwrap_or(1);
        let pages = places.len().div_ceil(CHECKS_MAX).max(1);
        // A file that is sent has all of them.
        let page = if view.has("export") { 0 } else { asked.clamp(1, pages) };
        Listed { places, page }
    }

    fn page_of(&self, check: &CheckReport<'_>) -> usize {
        if self.page == 0 { 0 } else { self.places[check.index.place()] / CHECKS_MAX + 1 }
    }

    /// Where a check is shown: on this page, or on that which has its part.
    pub(super) fn href(&self, shown: &Shown, check: &CheckReport<'_>) -> String {
        let (page, anchor) = (self.page_of(check), anchor("check", check.name));
        if page == self.page {
            format!("#{anchor}")
        } else {
            format!("/runs/{}?checks={page}#{anchor}", shown.row.id)
        }
    }

    /// The same, by the name of the check.
    pub(super) fn href_of(&self, shown: &Shown, check: &str) -> String {
        let index = shown.run.plan_of().find(check);
        index.map(|index| self.href(shown, &shown.run.check_report(index))).unwrap_or_default()
    }
}

pub(super) fn section(view: &View, shown: &Shown, listed: &Listed) -> Markup {
    let spool = view.studio.app.state().spool(&shown.row.id);
    let mut all = printed(&shown.entries, &spool);
    all.extend(running(&shown.entries, &spool));
    let mut logs: BTreeMap<&str, Vec<&Printed<'_>>> = BTreeMap::new();
    for one in &all {
        logs.entry(one.of.check).or_default().push(one);
    }
    let number = listed.places.len();
    let is_here = |check: &CheckReport<'_>| listed.page_of(check) == listed.page;
    let mut reports: Vec<CheckReport<'_>> = shown.run.check_reports().filter(is_here).collect();
    reports.sort_by_key(|check| listed.places[check.index.place()]);
    let first = listed.page.saturating_sub(1) * CHECKS_MAX;
    html! {
        section.sect id="checks" aria-labelledby="h-checks" {
            div.sect-h { h2 id="h-checks" { "Checks and logs" } p { @if reports.len() < number { (first + 1) " to " (first + reports.len()) " of " (number) ", " } @if shown.mark.tone != "ok" && number > 1 { "what failed first" } } span.grow {} span.meta { code { "escrow logs " (shown.row.id) } } }
            div.box {
                @for check in &reports { (one(shown, check, logs.get(check.name).map_or(&[], Vec::as_slice))) }
            }
            @if reports.len() < number { (pager(view, number.div_ceil(CHECKS_MAX), listed.page)) }
        }
    }
}

fn pager(view: &View, pages: usize, page: usize) -> Markup {
    html! {
        nav.pager aria-label="Parts of the list of checks" {
            @for number in 1..=pages {
                a href={ (view.with(&[("checks", Some(number.to_string().as_str()))])) "#checks" } aria-current=[(number == page).then_some("page")] { (number) } " "
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

/// `logs` are what its attempts printed.
fn one(shown: &Shown, check: &CheckReport<'_>, logs: &[&Printed<'_>]) -> Markup {
    let mark = shown.mark_of(check);
    let is_open = is_agent(check)
        || matches!(check.status, CheckStatus::Failed | CheckStatus::Unknown | CheckStatus::Running);
    let id = anchor("check", check.name);
    html! {
        details.chk.row-fold id=(id) open[is_open] data-row="" data-why={ "/runs/" (shown.row.id) "?check=" (encoded(check.name)) "#why" } data-failure=[(mark.tone == "bad").then_some("")] data-keep=(id) {
            summary data-live={ "sum-" (id) } {
                (mark.icon())
                span.nm.cut title=(line(check.name)) { (line(check.name)) }
                span.say.cut { span.vh { (mark.word) ": " } (said(shown, check, mark)) }
                span.r { span { (check.criticality.as_str()) } @if check.runs > 1 { span { (words::count(usize::try_from(check.runs).unwrap_or(usize::MAX), "attempt")) } } @if let Some(ms) = took(check) { span { (duration(ms)) } } }
            }
            div.in { (inside(shown, check, logs)) }
        }
    }
}

fn is_agent(check: &CheckReport<'_>) -> bool {
    check.record().is_some_and(|record| record.contains_key("harness"))
}

fn said(shown: &Shown, check: &CheckReport<'_>, mark: Mark) -> Markup {
    if let Some(issue) = check.issues.first().filter(|_| check.status == CheckStatus::Failed) {
        return ticked(&line(&issue.message));
    }
    if let Some(reason) = check.skip_reason {
        let mut issues = check.issues.iter();
        let unevaluated = issues.find(|issue| issue.code == IssueCode::ExpressionError);
        let why = match unevaluated {
            Some(issue) => skip_words(reason, &line(&issue.message), Evaluated::No),
            None => skip_words(reason, "", Evaluated::Yes),
        };
        return html! { "skipped: " (ticked(&why)) " " span.code { (reason.as_str()) } };
    }
    if check.has_items {
        let items: Vec<CheckStatus> = shown.run.item_reports(check.index).map(|item| item.status).collect();
        let others = CheckStatus::ALL.into_iter().filter(|status| *status != CheckStatus::Succeeded);
        return html! {
            (words::count(items.len(), "item"))
            @for status in others {
                @let number = items.iter().filter(|one| **one == status).count();
                @if number > 0 { ", " (number) " " (status.as_str()) }
            }
        };
    }
    if let Some(run) = nested(check) {
        return html! { "ran as " span.mono { (line(run)) } };
    }
    html! { (mark.word) }
}

fn nested<'r>(check: &CheckReport<'r>) -> Option<&'r str> {
    check.answer?.nested_run()
}

fn inside(shown: &Shown, check: &CheckReport<'_>, logs: &[&Printed<'_>]) -> Markup {
    let run = &shown.row.id;
    let why = format!("/runs/{run}?check={}#why", encoded(check.name));
    let mut of_check: Vec<&Printed<'_>> = logs.iter().filter(|one| one.of.scope.is_root()).copied().collect();
    html! {
        p.small {
            a href=(why) { "Why it " (match check.status { CheckStatus::Skipped => "did not run", CheckStatus::Succeeded => "succeeded", CheckStatus::Failed => "failed", CheckStatus::Pending | CheckStatus::Running | CheckStatus::Waiting | CheckStatus::Unknown => "stands here" }) }
            @if let Some(nested) = nested(check) { span.sep { " · " } "run " a.id href={ "/runs/" (line(nested)) } { (line(nested)) } }
        }
        @for issue in check.issues.iter().take(10) { p.small { span.code { (issue.code.text()) } " " (ticked(&issue.message)) } }
        @if check.has_items { (items(shown, check, logs)) }
        @if let Some(record) = check.record().and_then(|record| record.get("harness")) { (agent::section(check.name, record, &told(shown, check, record, of_check.last().copied()))) }
        (output::section(shown, check))
        @if let Some(last) = of_check.pop() {
            @let log = tail(shown, last, &of_check);
            // The transcript says what the stream says, and reads better.
            @if is_agent(check) && !last.is_running() { details.fold { summary { "What its program printed" } (log) } } @else { (log) }
        }
    }
}

/// The transcript of the last attempt, and what the hooks of its session reported.
fn told<'s>(
    shown: &'s Shown,
    check: &CheckReport<'_>,
    record: &Value,
    last: Option<&Printed<'_>>,
) -> agent::Told<'s> {
    let prompt = last_prompt(&shown.entries, check.name);
    let word = |name: &str| record.get(name).and_then(Value::as_str);
    let stream = last.and_then(|last| last.end("stdout", STREAM_BYTES).ok());
    let transcript = stream.and_then(|(text, _)| transcript(word("name")?, &text));
    let session = word("session_id");
    let is_own = |receipt: &&LifecycleReceipt| {
        // Receipts without a session id belong to the only session of the run.
        receipt.harness_session_id.is_none() || receipt.harness_session_id.as_deref() == session
    };
    agent::Told { prompt, transcript, receipts: shown.receipts.iter().filter(is_own).collect() }
}

fn items(shown: &Shown, check: &CheckReport<'_>, logs: &[&Printed<'_>]) -> Markup {
    let logged: BTreeSet<String> = logs.iter().map(|one| one.of.to_string()).collect();
    let mut all: Vec<_> = shown.run.item_reports(check.index).collect();
    all.sort_by_key(|item| order(item.status));
    html! {
        table.calls.items {
            caption.vh { "Items of " (line(check.name)) }
            tbody {
                @for item in all.iter().take(ITEMS_MAX) {
                    @let mark = if item.status == CheckStatus::Running && shown.is_interrupted() { Mark::CUT_OFF } else { Mark::of_check(item.status, false) };
                    @let place = format!("{}{}", check.name, item.scope);
                    tr {
                        td { (icon_small(mark.icon, mark.tone)) }
                        td.mono { (item.scope) }
                        td.mono { @if let Some(value) = item.value { (clipped(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), 80)) } }
                        td { (mark.word) @if let Some(issue) = item.issues.first() { ": " (ticked(&line(&issue.message))) } @if let Some(reason) = item.skip_reason { " " span.code { (reason.as_str()) } } @if item.runs > 1 { " at attempt " (item.runs) } }
                        td.num { @if logged.contains(&place) { a href=(log::address(shown.row.id.as_str(), &place)) { "log" } } }
                    }
                }
            }
        }
        @if all.len() > ITEMS_MAX { p.small.dim { "and " (all.len() - ITEMS_MAX) " more items" } }
    }
}

fn tail(shown: &Shown, last: &Printed<'_>, earlier: &[&Printed<'_>]) -> Markup {
    let text = log::LogText::read(last, LOG_BYTES);
    let lines = text.lines();
    let is_live = last.is_running() && shown.mark == Mark::of_run(RunStatus::Running, true);
    if lines.is_empty() && !is_live {
        return html! {};
    }
    let place = last.of.to_string();
    let address = log::address(shown.row.id.as_str(), &place);
    let of_attempt = format!("{address}?attempt={}", last.attempt);
    let first = lines.len().saturating_sub(LINES);
    let [out, err] = text.whole_lines();
    html! {
        div.log data-log=(of_attempt) data-follow=[is_live.then_some("")] data-out=(out) data-err=(err) data-max=(LINES) {
            header {
                span.seg {
                    @for one in earlier.iter().rev().take(5).rev() { a href={ (address) "?attempt=" (one.attempt) } { "attempt " (one.attempt) } }
                    a href=(of_attempt) aria-current="true" { "attempt " (last.attempt) }
                }
                @if is_live { span.follow role="status" data-follow-state="" { "running" } }
                span.grow {}
                @if text.is_cut() { span { "the last " (lines.len() - first) " lines" } }
                @else { span { "the last " (lines.len() - first) " of " (words::count(lines.len(), "line")) } }
                a href=(address) { "all" }
                a href={ (of_attempt) "&raw=1" } { "raw" }
            }
            (log::list(&place, last.attempt, &of_attempt, &lines[first..], None))
        }
    }
}
