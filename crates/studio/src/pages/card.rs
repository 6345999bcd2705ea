//! An outcome by its kind: the blocks of its card from top to bottom. Kinds without a card show their JSON.

use escrow_app::outcomes::OutcomeRow;
use escrow_model::outcome::{Block, Finding, Tone, digest};
use escrow_model::{Millis, rfc3339};
use maud::{Markup, html};

use crate::layout::{Mark, icon, icon_small, line, ticked, when};

/// Items of one block that are shown.
const ITEMS_MAX: usize = 200;

/// Characters of JSON that no block fits.
const JSON_LENGTH_MAX: usize = 20_000;

pub(super) fn card(row: &OutcomeRow, now: Millis) -> Markup {
    let recorded = &row.outcome;
    let mark = Mark::of_outcome(recorded.outcome.passed);
    let drawn = digest(&recorded.outcome.kind, &recorded.outcome.content).ok().map(|digest| digest.card);
    let title = drawn.as_ref().map_or_else(|| recorded.outcome.kind.clone(), |card| card.title.clone());
    html! {
        article.card id=(recorded.id) data-failure=[(mark.tone == "bad").then_some("")] {
            header {
                h3 class={ "st " (mark.tone) } { (icon(mark.icon, "")) (line(&title)) }
                span.grow {}
                span.meta { @if let Some(aside) = drawn.as_ref().and_then(|card| card.aside.as_ref()) { (line(aside)) } @else { (line(&recorded.name)) } }
            }
            @match &drawn {
                Some(card) => (blocks(&card.blocks)),
                // Its kind may have changed since; what was kept is shown as it is.
                None => section { pre.small { (json(&recorded.outcome.content)) } },
            }
            footer {
                span.mono { (recorded.outcome.kind) }
                span { (line(&recorded.name)) }
                @if let Some(path) = &recorded.file_path { span.mono { (line(path)) } }
                span.mono { (recorded.id) }
                span title=(rfc3339(row.created_at)) { (when(row.created_at, now)) }
            }
        }
    }
}

fn json(value: &serde_json::Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut shown: String = text.chars().take(JSON_LENGTH_MAX).collect();
    if shown.len() < text.len() {
        shown.push_str("\n…");
    }
    shown
}

pub(super) fn blocks(blocks: &[Block]) -> Markup {
    html! { @for block in blocks { (block_of(block)) } }
}

/// A value as the card of a kind draws it; `None` where there is no such kind, or the value is not of it.
pub(super) fn of_kind(kind: &str, value: &serde_json::Value) -> Option<Markup> {
    let digest = digest(kind, value).ok()?;
    let mark = Mark::of_outcome(digest.passed);
    Some(html! {
        article.card {
            header { h3 class={ "st " (mark.tone) } { (icon(mark.icon, "")) (line(&digest.card.title)) } }
            (blocks(&digest.card.blocks))
        }
    })
}

fn block_of(block: &Block) -> Markup {
    match block {
        Block::Text { heading, text } => html! {
            section { @if let Some(heading) = heading { h4 { (line(heading)) } } @for part in text.lines().take(ITEMS_MAX) { p { (ticked(part)) } } }
        },
        Block::Counts { heading, counts } => html! {
            section {
                h4 { (line(heading)) }
                @if counts.len() <= 6 && counts.iter().all(|(name, _)| name.len() <= 12) {
                    dl.sev {
                        @for (name, number) in counts {
                            @let class = match (*number, name.as_str()) { (0, _) => "", (_, "critical" | "high" | "major" | "failed") => "block", (_, _) => "on" };
                            div class=(class) { dt { (line(name)) } dd { (number) } }
                        }
                    }
                } @else {
                    p { @for (place, (name, number)) in counts.iter().take(ITEMS_MAX).enumerate() { @if place > 0 { span.sep { " · " } } (line(name)) " " b { (number) } } }
                }
            }
        },
        Block::Checklist { heading, items } => html! {
            section {
                h4 { (line(heading)) }
                ul.crit {
                    @for mark in items.iter().take(ITEMS_MAX) {
                        @let (shape, tone, word) = if mark.passed { ("ok", "ok", "met") } else { ("bad", "bad", "not met") };
                        li { (icon_small(shape, tone)) span class=[(!mark.passed).then_some("no")] { span.vh { (word) ": " } (ticked(&mark.label)) @if let Some(detail) = &mark.detail { " " span.small.sub { (ticked(detail)) } } } }
                    }
                }
                (rest(items.len()))
            }
        },
        Block::Rows { heading, rows } => html! {
            section {
                @if let Some(heading) = heading { h4 { (line(heading)) } }
                table.matrix { tbody {
                    @for row in rows.iter().take(ITEMS_MAX) {
                        tr { th scope="row" { (ticked(&row.label)) } td.num class=(tone(row.tone)) { (line(&row.value)) } }
                    }
                } }
                (rest(rows.len()))
            }
        },
        Block::Findings { heading, folded: true, items } => html! {
            details.fold { summary { (line(heading)) " (" (items.len()) ")" } @for item in items.iter().take(ITEMS_MAX) { (finding(item, true)) } (rest(items.len())) }
        },
        Block::Findings { heading, folded: false, items } => html! {
            section { h4 { (line(heading)) } @for item in items.iter().take(ITEMS_MAX) { (finding(item, false)) } (rest(items.len())) }
        },
        Block::Json { heading, value } => {
            html! { section { h4 { (line(heading)) } pre.small { (json(value)) } } }
        }
    }
}

fn rest(number: usize) -> Markup {
    html! { @if number > ITEMS_MAX { p.small.dim { "and " (number - ITEMS_MAX) " more" } } }
}

fn finding(finding: &Finding, is_folded: bool) -> Markup {
    html! {
        div.finding {
            p class={ "s " (if is_folded || is_number(&finding.label) { "sub" } else { "bad" }) } { (line(&finding.label)) }
            p.f { (ticked(&finding.text)) }
            @if let Some(place) = &finding.place { p.small { code { (line(place)) } } }
            @for detail in &finding.details { p.small { (line(&detail.label)) ": " (ticked(&detail.text)) } }
        }
    }
}

/// A figure, such as a confidence, is no status, and colour means status.
fn is_number(label: &str) -> bool {
    label.trim_end_matches('%').trim().parse::<f64>().is_ok()
}

fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "ok",
        Tone::Bad => "bad",
        Tone::Neutral => "",
    }
}
