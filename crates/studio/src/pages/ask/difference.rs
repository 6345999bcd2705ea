//! What differs from what was approved before: an approval goes stale when what it lets happen has changed.

use escrow_app::messages::{Difference, WaitRow, differences};
use escrow_app::words;
use escrow_model::Millis;
use maud::{Markup, html};

use crate::layout::{icon_small, line, when};

/// Values that are listed.
const LISTED_MAX: usize = 60;

pub(super) fn section(wait: &WaitRow, stale: &[WaitRow], now: Millis) -> Markup {
    let is_earlier = |one: &&WaitRow| {
        one.run == wait.run && one.check == wait.check && one.scope == wait.scope && one.digest != wait.digest
    };
    let Some(earlier) = stale.iter().find(is_earlier) else { return html! {} };
    let (Some(before), Some(subject)) = (&earlier.subject, &wait.subject) else { return html! {} };
    let found = differences(before, subject);
    let by = earlier.approvals.last().map(|given| given.by.as_deref().unwrap_or("an unknown actor"));
    html! {
        div.differs id={ (wait.id) "-differs" } {
            p.label { "What differs from what was asked before" }
            p.small {
                (icon_small("warn", "warn")) " " span.mono { (earlier.id) } " went stale " @if let Some(at) = earlier.resolved_at { (when(at, now)) }
                @if let Some(by) = by { "; " span.mono { (line(by)) } " had approved it" }
                ". Its digest was " span.mono { (earlier.digest.get(..8).unwrap_or_default()) } ", and it does not cover this request."
            }
            table.diff {
                caption.vh { "Values that differ" }
                thead { tr { th scope="col" { "What" } th scope="col" { "Before" } th scope="col" { "Now" } } }
                tbody { @for one in found.iter().take(LISTED_MAX) { (row(one)) } }
            }
            @if found.len() > LISTED_MAX { p.small.dim { "and " (found.len() - LISTED_MAX) " more" } }
        }
    }
}

fn row(one: &Difference) -> Markup {
    html! {
        tr {
            th scope="row" { code { (line(&one.path)) } }
            td { @match &one.before { Some(text) => del { (lines(text)) }, None => span.dim { "not there" } } }
            td { @match &one.now { Some(text) => ins { (lines(text)) }, None => span.dim { "gone" } } }
        }
    }
}

/// Nothing that a person decides about is cut.
fn lines(text: &str) -> Markup {
    html! { @for part in text.lines() { p.mono { (words::visible(part)) } } }
}
