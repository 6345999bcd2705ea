//! When each attempt ran, what it waited for, and how long it took.

use std::collections::BTreeMap;

use escrow_app::timeline::{Timeline, What};
use escrow_app::words;
use escrow_model::{Ending, Millis, ScopedCheck, Verdict, WaitKind};
use maud::{Markup, html};

use super::{Shown, chosen};
use crate::layout::{anchor, clipped, duration, lasting, line};

/// Rows that are drawn, those that need a look first. Items of a fan-out share the row of their check.
const ROWS_MAX: usize = 100;
/// Attempts that are drawn.
const BARS_MAX: usize = 400;

/// One attempt.
#[derive(Clone, Copy)]
struct Bar {
    number: u32,
    from: Millis,
    to: Option<Millis>,
    tone: &'static str,
}

/// A wait for a person, or before a retry.
#[derive(Clone, Copy)]
struct Gap {
    from: Millis,
    to: Option<Millis>,
    is_person: bool,
}

#[derive(Default)]
struct Row {
    bars: Vec<Bar>,
    gaps: Vec<Gap>,
    said: String,
    items: usize,
}

pub(super) fn section(shown: &Shown) -> Markup {
    let is_drawn = chosen(shown, ROWS_MAX);
    let rows = rows(shown, &is_drawn);
    if rows.is_empty() {
        return html! {};
    }
    let start = shown.run.started_at();
    let work_end = rows.values().flat_map(|row| &row.bars).filter_map(|bar| bar.to).max();
    let is_open = shown.run.ended_at().is_none();
    let has_open_bar = rows.values().flat_map(|row| &row.bars).any(|bar| bar.to.is_none());
    // A long wait would leave no room for the work.
    let end = match shown.run.ended_at() {
        Some(_) if work_end.is_some() => work_end.unwrap_or(start),
        Some(end) => end,
        None if has_open_bar => shown.until(),
        None => work_end.unwrap_or(shown.until()),
    };
    let scale = Scale {
        start,
        span: (end.saturating_sub(start)).max(1),
        room: if is_open && !has_open_bar { 0.86 } else { 0.96 },
    };
    let checks = &shown.run.plan_of().checks;
    let order: Vec<&str> = checks
        .iter()
        .zip(&is_drawn)
        .filter(|(_, is_drawn)| **is_drawn)
        .map(|(check, _)| check.name.as_str())
        .collect();
    html! {
        section.sect id="timeline" aria-labelledby="h-tl" data-live="timeline" {
            div.sect-h { h2 id="h-tl" { "Timeline" } p { "attempts in their order, waits dashed" @if order.len() < checks.len() { "; " (order.len()) " of " (checks.len()) " checks, those that failed among them" } @if is_open && !has_open_bar { "; the wait is not to scale" } } }
            div.box.scroll tabindex="0" role="region" aria-label="Timeline of attempts" {
                table.tl {
                    caption.vh { "When each attempt ran and what it waited for" }
                    thead { tr { th.w-name scope="col" { "Check" } th.track scope="col" { span.vh { "Time since the start" } (scale.axis()) } th.w-dur.num scope="col" { "Took" } } }
                    tbody { @for name in &order { @match rows.get(*name) { Some(row) => (drawn(shown, name, row, &scale)), None => (ghost(shown, name)) } } }
                }
            }
        }
    }
}

/// The rows by check, of those that are drawn. The journal is read once, in its order.
fn rows(shown: &Shown, is_drawn: &[bool]) -> BTreeMap<String, Row> {
    let plan = shown.run.plan_of();
    let is_drawn = |check: &str| plan.find(check).is_some_and(|index| is_drawn[index.place()]);
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let mut open: BTreeMap<ScopedCheck, usize> = BTreeMap::new();
    let mut waits: BTreeMap<String, (String, usize)> = BTreeMap::new();
    let mut bars = 0usize;
    for item in Timeline::new(plan).read(&shown.entries) {
        match item.what {
            What::AttemptStarted { of, attempt, external, .. } if bars < BARS_MAX && is_drawn(of.check) => {
                bars += 1;
                let row = rows.entry(of.check.to_owned()).or_default();
                open.insert(of.scoped_check(), row.bars.len());
                row.bars.push(Bar { number: attempt, from: item.at, to: None, tone: "run" });
                row.items = row.items.max(if of.scope.is_root() { 0 } else { row.bars.len() });
                if external {
                    row.said = "external".to_owned();
                }
            }
            What::AttemptAnswered { of, answer, .. } if is_drawn(of.check) => {
                let bar = open.get(&of.scoped_check()).copied();
                let row = rows.entry(of.check.to_owned()).or_default();
                if let Some(bar) = bar.and_then(|place| row.bars.get_mut(place)) {
                    // What the provider measured, as the list of checks has it; the entry is written a little later.
                    let measured = answer.duration_ms();
                    bar.to = Some(measured.map_or(item.at, |ms| bar.from.saturating_add(ms)));
                    bar.tone = match answer.ending {
                        Ending::Done => "ok",
                        Ending::Fault(_) => "fault",
                    };
                }
                if let Some(run) = answer.nested_run() {
                    row.said = format!("runs {run}");
                }
            }
            What::Judged(judged) if is_drawn(judged.of.check) => {
                let bar = open.remove(&judged.of.scoped_check());
                let row = rows.entry(judged.of.check.to_owned()).or_default();
                if let Some(bar) = bar.and_then(|place| row.bars.get_mut(place)) {
                    if judged.verdict == Verdict::Failed && bar.tone != "fault" {
                        bar.tone = "bad";
                    }
                    if let Some(retry) = judged.retry {
                        let from = bar.to.unwrap_or(item.at);
                        row.gaps.push(Gap {
                            from,
                            to: Some(from.saturating_add(retry.delay_ms)),
                            is_person: false,
                        });
                    }
                }
                if let Some(issue) = judged.issues.first().filter(|_| judged.verdict == Verdict::Failed) {
                    row.said = line(&issue.message);
                }
            }
            What::WaitStarted { of, kind, id, .. } if is_drawn(of.check) => {
                let row = rows.entry(of.check.to_owned()).or_default();
                waits.insert(id.to_owned(), (of.check.to_owned(), row.gaps.len()));
                row.gaps.push(Gap { from: item.at, to: None, is_person: true });
                row.said = match kind {
                    WaitKind::Nested => "its run waits for a person".to_owned(),
                    WaitKind::Approval | WaitKind::Input | WaitKind::UnknownEffect => {
                        "waits for a person".to_owned()
                    }
                };
            }
            What::WaitResolved { id, how } => {
                if let Some((check, place)) = waits.remove(&id)
                    && let Some(row) = rows.get_mut(&check)
                {
                    if let Some(gap) = row.gaps.get_mut(place) {
                        gap.to = Some(item.at);
                    }
                    row.said = how.as_str().replace('_', " ");
                }
            }
            _ => {}
        }
    }
    if shown.is_interrupted() {
        for row in rows.values_mut() {
            if let Some(bar) = row.bars.iter_mut().find(|bar| bar.to.is_none()) {
                bar.tone = "unk";
                row.said = "interrupted".to_owned();
            }
        }
    }
    rows
}

impl Row {
    /// Where an attempt without an answer is drawn to: it does nothing while a nested run waits for a person.
    fn reach(&self, bar: &Bar, shown: &Shown) -> Millis {
        let waits = self.gaps.iter().find(|gap| gap.is_person && gap.to.is_none() && gap.from >= bar.from);
        bar.to.or(waits.map(|gap| gap.from)).unwrap_or_else(|| shown.until())
    }
}

/// A check that did not run, with the reason.
fn ghost(shown: &Shown, name: &str) -> Markup {
    let Some(index) = shown.run.plan_of().find(name) else { return html! {} };
    let check = shown.run.check_report(index);
    let Some(reason) = check.skip_reason else { return html! {} };
    html! {
        tr.ghost {
            th scope="row" { (shown.mark_of(&check).icon()) a.plain href={ "#" (anchor("check", name)) } { (clipped(name, 18)) } }
            td.track.small.dim { (reason.as_str()) }
            td.num.small.dim { "–" }
        }
    }
}

struct Scale {
    start: Millis,
    span: u64,
    /// The part of the width that the work takes.
    room: f64,
}

impl Scale {
    /// In per cent of the track.
    #[expect(clippy::cast_precision_loss, reason = "a drawing needs no more than a few digits")]
    fn x(&self, at: Millis) -> f64 {
        let share = at.saturating_sub(self.start) as f64 / self.span as f64;
        (share * self.room * 100.0).min(100.0)
    }

    /// A round step that gives about five marks.
    fn step(&self) -> u64 {
        let steps = [
            1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000,
            300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000,
        ];
        steps.into_iter().find(|step| self.span / step <= 6).unwrap_or(self.span / 5)
    }

    fn marks(&self) -> Vec<u64> {
        (0..=6).map(|number| number * self.step()).take_while(|mark| *mark <= self.span).collect()
    }

    /// In a unit that tells each mark from the next.
    fn label(&self, mark: u64) -> String {
        match mark {
            0 => "0s".to_owned(),
            _ if self.step() < 100 => format!("{mark}ms"),
            _ => duration(mark),
        }
    }

    fn axis(&self) -> Markup {
        html! {
            svg.t aria-hidden="true" height="16" {
                @for mark in self.marks() {
                    text.axis x={ (percent(self.x(self.start + mark))) } dx=(if mark == 0 { "2" } else { "0" }) y="15" text-anchor=[(mark > 0).then_some("middle")] { (self.label(mark)) }
                }
            }
        }
    }
}

fn percent(value: f64) -> String {
    format!("{value:.2}%")
}

fn drawn(shown: &Shown, name: &str, row: &Row, scale: &Scale) -> Markup {
    let index = shown.run.plan_of().find(name);
    let mark = index.map(|index| shown.mark_of(&shown.run.check_report(index)));
    let first = row.bars.iter().map(|bar| bar.from).min();
    let last = row.bars.iter().map(|bar| row.reach(bar, shown)).max();
    let took = first.zip(last).map(|(first, last)| last.saturating_sub(first));
    // Of several attempts, the figure says from the first to the last.
    let is_open =
        mark.is_some_and(|mark| mark.word == "running") && row.bars.iter().any(|bar| bar.to.is_none());
    let ends = row
        .bars
        .iter()
        .map(|bar| scale.x(row.reach(bar, shown)))
        .chain(row.gaps.iter().map(|gap| gap.to.map_or(96.0, |at| scale.x(at))));
    let edge = ends.fold(0.0, f64::max);
    let said = if row.items > 1 { format!("{} items", row.items) } else { row.said.clone() };
    html! {
        tr {
            th scope="row" { @if let Some(mark) = mark { (mark.icon()) } a.plain href={ "#" (anchor("check", name)) } { (clipped(name, 18)) } }
            td.track {
                svg.t aria-hidden="true" {
                    @for mark in scale.marks() { @let x = percent(scale.x(scale.start + mark)); line.grid x1=(x) x2=(x) y1="0" y2="22" {} }
                    @for gap in &row.gaps {
                        line class={ "w " @if gap.is_person { "wait" } } x1=(percent(scale.x(gap.from))) x2=(percent(gap.to.map_or(96.0, |at| scale.x(at)))) y1="11" y2="11" {}
                    }
                    @for bar in &row.bars {
                        @let from = scale.x(bar.from);
                        @let width = (scale.x(row.reach(bar, shown)) - from).max(0.35);
                        rect class={ "b " (bar.tone) } x=(percent(from)) y="5" width=(percent(width)) height="12" rx="2.5" {}
                        @if row.bars.len() > 1 && row.items == 0 && width > 2.0 { text class={ "t-in " (bar.tone) } x=(percent(from)) dx="6" y="14.5" { (bar.number) } }
                    }
                    @if !said.is_empty() && edge < 70.0 { text.t-out x=(percent(edge)) dx="7" y="14.5" { (clipped(&said, 48)) } }
                }
                span.vh { (words::count(row.bars.len(), "attempt")) @if !said.is_empty() { ", " (clipped(&said, 200)) } }
            }
            td.num.small.dim {
                @if row.bars.len() > 1 && row.items == 0 { span.x { "×" (row.bars.len()) } " " }
                @match first.filter(|_| is_open) { Some(first) => (lasting(first, shown.now)), None => (took.map(duration).unwrap_or_default()) }
            }
        }
    }
}
