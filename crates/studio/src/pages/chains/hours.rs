//! The next 12 hours: a line for each chain that a schedule fires, with its ticks.

use std::collections::BTreeMap;

use escrow_app::schedule::Upcoming;
use escrow_app::words;
use escrow_model::{Millis, rfc3339};
use maud::{Markup, html};

use crate::layout::{clipped, duration, line};

pub(super) const SPAN_MS: u64 = 12 * HOUR_MS;
const HOUR_MS: u64 = 3_600_000;

/// Chains that are drawn; the table has all.
const LINES_MAX: usize = 30;

/// Ticks whose time is written beside them.
const WRITTEN_MAX: usize = 6;

const LEFT: u64 = 150;
const WIDTH: u64 = 1_196;
const ROW: usize = 26;

pub(super) fn section(upcoming: &BTreeMap<String, Upcoming>, now: Millis) -> Markup {
    let drawn: Vec<(&String, &Upcoming)> =
        upcoming.iter().filter(|(_, one)| !one.ticks.is_empty()).take(LINES_MAX).collect();
    if drawn.is_empty() {
        return html! {};
    }
    let said: Vec<String> = drawn.iter().map(|(name, one)| sentence(name, one)).collect();
    let bottom = 6 + ROW * drawn.len();
    let hours = (1..=13).map(|hour| (now / HOUR_MS + hour) * HOUR_MS).filter(|at| *at <= now + SPAN_MS);
    html! {
        section.sect aria-labelledby="h-next" {
            div.sect-h { h2 id="h-next" { "Next 12 hours" } p { "from the schedules; events cannot be foretold" } }
            div.box.pad.scroll role="region" aria-label="Next fires" tabindex="0" {
                svg.sched viewBox={ "0 0 " (WIDTH) " " (bottom + 24) } role="img" aria-label=(said.join("; ")) {
                    @for hour in hours {
                        @let x = place(hour, now);
                        line x1=(x) x2=(x) y1="6" y2=(bottom) {}
                        text x=(x) y=(bottom + 16) text-anchor="middle" { (clock(hour)) }
                    }
                    line.now x1=(LEFT) x2=(LEFT) y1="0" y2=(bottom) {}
                    text.nowt x=(LEFT + 5) y="9" { "now" }
                    @for (row, (name, one)) in drawn.iter().enumerate() { (ticks(name, one, 24 + ROW * row, now)) }
                }
            }
        }
    }
}

fn ticks(name: &str, one: &Upcoming, y: usize, now: Millis) -> Markup {
    let is_written = one.ticks.len() <= WRITTEN_MAX;
    html! {
        text.nm x="0" y=(y + 4) { (clipped(name, 20)) }
        @for tick in &one.ticks {
            @let x = place(*tick, now);
            circle.ev cx=(x) cy=(y) r=(if is_written { "5" } else { "3" }) {}
            @if is_written && x < WIDTH - 40 { text.t x=(x + 9) y=(y + 4) { (clock(*tick)) } }
            @else if is_written { text.t x=(x - 9) y=(y + 4) text-anchor="end" { (clock(*tick)) } }
        }
    }
}

fn place(at: Millis, now: Millis) -> u64 {
    LEFT + at.saturating_sub(now) * (WIDTH - LEFT - 22) / SPAN_MS
}

fn clock(at: Millis) -> String {
    rfc3339(at).get(11..16).unwrap_or_default().to_owned()
}

/// The same in words.
fn sentence(name: &str, one: &Upcoming) -> String {
    let first: Vec<String> = one.ticks.iter().take(WRITTEN_MAX).map(|tick| clock(*tick)).collect();
    let rest = one.ticks.len().saturating_sub(WRITTEN_MAX);
    let more = match (rest, one.is_cut) {
        (0, _) => String::new(),
        (rest, false) => format!(" and {rest} more times"),
        (rest, true) => format!(" and more than {rest} more times"),
    };
    format!("{} fires at {}{more}", line(name), first.join(", "))
}

/// When a chain fires next, for its row and its page.
pub(super) fn next(upcoming: Option<&Upcoming>, now: Millis) -> Markup {
    let Some(next) = upcoming.and_then(|one| one.next) else { return html! { "on event" } };
    let jitter = upcoming.map_or(0, |one| one.jitter_ms);
    html! {
        (crate::layout::when(next, now))
        @if jitter > 0 { p.dim { "up to " (duration(jitter)) " later" } }
        @if let Some(zone) = upcoming.map(|one| one.timezone.as_str()).filter(|zone| !matches!(*zone, "" | "UTC")) { p.dim { (words::printable(zone)) } }
    }
}
