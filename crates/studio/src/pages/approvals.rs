//! Approvals: one card for each thing that waits for a person, then what was decided.

use escrow_app::attempted::attempts_of;
use escrow_app::messages::{WaitRow, all_waits};
use escrow_app::now_ms;
use escrow_model::{Millis, WaitKind};
use maud::{Markup, html};

use super::ask;
use crate::answer::PageError;
use crate::layout::{Frame, Nav, line, status, when};
use crate::view::View;

/// Cards on one page, the oldest first.
const OPEN_MAX: usize = 50;

/// Decisions that are listed, newest first.
const DECIDED_MAX: usize = 100;

pub(crate) async fn page(view: View) -> Result<Markup, PageError> {
    let frame = Frame::of(&view).await?;
    let mut all = all_waits(&*view.queries()?).await?;
    all.retain(|wait| wait.kind != WaitKind::Nested);
    let (open, decided): (Vec<WaitRow>, Vec<WaitRow>) =
        all.into_iter().partition(|wait| wait.resolved_at.is_none());
    let attempts = attempts_of(view.studio.app.state(), &*view.queries()?, &open).await?;
    let stale = ask::stale(decided.clone());
    let shown = if view.has("all") { decided.len() } else { DECIDED_MAX };
    let title = match open.len() {
        0 => "Nothing waits for a person".to_owned(),
        1 => "1 thing waits for a person".to_owned(),
        number => format!("{number} things wait for a person"),
    };
    let now = now_ms();
    let content = html! {
        div.head { div.grow { h1 data-live="title" { (title) } p { "An approval is bound to a digest of exactly what it lets happen. Silence is a denial. In a shell: " code { "escrow approvals" } } } }
        p.news role="status" data-news="" {}
        div.asks data-live-list="asks" { @for wait in open.iter().rev().take(OPEN_MAX) { (ask::card(&view, wait, attempts.of(wait), &stale, now)) } }
        @if open.len() > OPEN_MAX { p.small.dim { "and " (open.len() - OPEN_MAX) " more, newer ones: " code { "escrow approvals" } } }
        @if !decided.is_empty() {
            section.sect aria-labelledby="h-past" {
                div.sect-h { h2 id="h-past" { "Decided" } p { (decided.len()) } }
                div.box { (table(&decided[..shown.min(decided.len())], now)) }
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
