//! The journal: every entry, newest first, with its hash.

use escrow_app::timeline::EntryWords;
use maud::{Markup, html};

use super::Shown;
use crate::layout::line;

/// Entries on the page; the API has all.
pub(super) const ENTRIES: usize = 200;

/// Where an entry is shown: on the page, or in the journal from there on.
pub(super) fn href(shown: &Shown, seq: u64) -> String {
    let is_here = shown.hashes.first().is_some_and(|(first, _)| *first <= seq);
    if is_here { format!("#e{seq}") } else { format!("/api/runs/{}/journal?from={seq}", shown.row.id) }
}

pub(super) fn section(shown: &Shown) -> Markup {
    let id = &shown.row.id;
    let total = shown.entries.len();
    // Numbers begin at 1. A run that goes on may have more entries than hashes were read.
    let entries = shown.hashes.iter().rev().filter_map(|(seq, hash)| {
        let place = usize::try_from(seq.checked_sub(1)?).ok()?;
        Some((seq, shown.entries.get(place)?, hash))
    });
    html! {
        section.sect id="journal" aria-labelledby="h-j" {
            div.sect-h {
                h2 id="h-j" { "Journal" }
                p { @if total > ENTRIES { "the last " (ENTRIES) " of " } (total) " entries; " a href={ "/api/runs/" (id) "/journal" } { "all" } ", " a href={ "/api/runs/" (id) "/journal?format=jsonl" } { "as JSON Lines" } }
                span.grow {}
                @if let Some((_, last)) = shown.hashes.last() { @let hash = last.to_string(); span.meta { "hash chain ends in " span.mono { (hash.get(..12).unwrap_or_default()) } ", verify: " code { "escrow verify " (id) } } }
            }
            details.box data-keep="journal" open[total <= 60] {
                summary.pad { "Entries" }
                table.tl.jr {
                    caption.vh { "Entries of the journal, newest first" }
                    thead { tr { th.w-e scope="col" { "Entry" } th.w-t scope="col" { "Time" } th.w-k scope="col" { "What" } th scope="col" { "About" } th.num scope="col" { "Hash" } } }
                    tbody {
                        @for (seq, entry, hash) in entries {
                            @let words = EntryWords::of(entry);
                            tr id={ "e" (seq) } {
                                td.mono { a.plain href={ "#e" (seq) } { (seq) } }
                                td.small.dim { (shown.since_start(entry.at)) }
                                td.mono.small { (line(&words.kind)) }
                                td.small.cut { (line(&words.about)) }
                                td.num.mono.small.dim { (hash.to_string().get(..8).unwrap_or_default()) }
                            }
                        }
                    }
                }
            }
        }
    }
}
