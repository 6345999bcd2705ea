//! Approvals: one card for each thing that waits for a person, then what was decided.

use escrow_app::attempted::attempts_of;
use escrow_app::messages::{WaitRow, barred_from, open_waits, waits_of};
use escrow_app::now_ms;
use escrow_model::{Millis, WaitKind};
use maud::{Markup, html};

use super::ask::{self, Asked};
use super::more;
use crate::answer::PageError;
use crate::layout::{Frame, Nav, line, status, when};
use crate::view::View;

/// Cards on one page, the oldest first.
const OPEN_MAX: usize = 50;

/// Decisions that are listed, newest first.
const DECIDED_MAX: usize = 100;

pub(crate) async fn page(view: View) -> Result<Markup, PageError> {
    let frame = Frame::of(&view).await?;
    let queries = view.queries()?;
    let mut open = open_waits(&*queries).await?;
    open.retain(|wait| wait.kind != WaitKind::Nested);
    let limit = if view.has("all") { View::LIMIT_MAX } else { view.limit(DECIDED_MAX)? };
    let mut decided = queries.decided_waits(limit + 1).await?;
    let is_cut = decided.len() > limit;
    decided.truncate(limit);
    let number = open.len();
    // The oldest first: they expire first.
    open.truncate(OPEN_MAX);
    let attempts = attempts_of(view.studio.app.state(), &*queries, &open).await?;
    let mut asked = Vec::new();
    for wait in &open {
        let barred = barred_from(&*queries, wait, &view.visitor.actor).await?;
        let stale = ask::stale(waits_of(&*queries, &wait.run).await?);
        asked.push((wait, barred, stale));
    }
    let title = match number {
        0 => "Nothing waits for a person".to_owned(),
        1 => "1 thing waits for a person".to_owned(),
        _ => format!("{number} things wait for a person"),
    };
    let now = now_ms();
    let content = html! {
        div.head { div.grow { h1 data-live="title" { (title) } p { "An approval is bound to a digest of exactly what it lets happen. Silence is a denial. In a shell: " code { "escrow approvals" } } } }
        p.news role="status" data-news="" {}
        div.asks data-live-list="asks" { @for (wait, barred, stale) in &asked { (ask::card(&view, &Asked { wait, attempted: attempts.of(wait), barred: barred.as_deref() }, stale, now)) } }
        @if number > OPEN_MAX { p.small.dim { "and " (number - OPEN_MAX) " more, newer ones: " code { "escrow approvals" } } }
        @if !decided.is_empty() {
            section.sect aria-labelledby="h-past" {
                div.sect-h { h2 id="h-past" { "Decided" } p { @if is_cut { "the newest " } (decided.len()) } }
                div.box { (table(&decided, now)) }
                @if is_cut { (more(&view, limit)) }
            }
        }
    };
    Ok(frame.page(&view, Nav::Approvals, &title, &content))
}

fn table(decided: &[WaitRow], now: Millis) -> Markup {
    html! {
        table.stackable {
            caption.vh { "Decisions, newest first" }
            thead { tr { th scope="col" { "Decision" } th scope="col" { "What" } th scope="col" { "By" } th scope="col" { "Note" } th scope="col" { "Digest" } th.num scope="col" { "When" } } }
            tbody {
                @for wait in decided {
                    @let (shape, tone, word) = decision(wait.resolution.as_deref().unwrap_or_default());
                    tr id=(wait.id) data-row="" {
                        td { (status(shape, tone, &word)) }
                        td { code { (line(&wait.check)) (line(&wait.scope)) } " of " a href={ "/runs/" (wait.run) } { @match &wait.title { Some(title) => (line(title)), None => (wait.run) } } " " span.dim.small { (wait.id) } }
                        td.small { (wait.resolved_by.as_deref().map(line).unwrap_or_default()) @if let Some(claim) = &wait.claim { " (as " (line(claim)) ")" } }
                        td.small { (wait.note.as_deref().map(line).unwrap_or_default()) }
                        td.mono.small { (wait.digest.get(..8).unwrap_or_default()) }
                        td.num.small.dim { @if let Some(at) = wait.resolved_at { (when(at, now)) } }
                    }
                }
            }
        }
    }
}

fn decision(resolution: &str) -> (&'static str, &'static str, String) {
    let (shape, tone) = match resolution {
        "approved" | "answered" | "assumed_done" => ("ok", "ok"),
        "denied" | "assumed_failed" => ("block", "bad"),
        _ => ("clock", "skip"),
    };
    let mut word = resolution.replace('_', " ");
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    (shape, tone, word)
}
