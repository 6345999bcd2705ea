//! Lifecycle: the harnesses of this machine, what each claims to report, and the receipts that arrived.

use std::collections::BTreeMap;

use escrow_app::harnesses::{self, HostStatus, LifecycleReceipt, Root, Scope, Versions};
use escrow_app::{now_ms, words};
use escrow_model::Millis;
use maud::{Markup, html};

use crate::answer::PageError;
use crate::layout::{Frame, Nav, icon_small, line, status, when};
use crate::view::View;

/// Receipts that are read and listed.
const RECEIPTS: usize = 200;

pub(crate) async fn page(view: View) -> Result<Markup, PageError> {
    let frame = Frame::of(&view).await?;
    let state = view.studio.app.state();
    let program = std::env::current_exe().unwrap_or_default();
    let hosts = harnesses::hosts(None)?;
    let all =
        harnesses::status(&hosts, Versions::Leave, &Root::find(Scope::Project, state)?, &program, state)?;
    let receipts = harnesses::receipts(state, view.get("adapter"), RECEIPTS)?;
    let gaps = harnesses::gaps(state)?;
    let now = now_ms();
    let content = html! {
        div.head { div.grow { h1 { "Lifecycle" } p { "What harnesses promise to report, beside what arrived. In a shell: " code { "escrow harness status" } " and " code { "escrow lifecycle receipt list" } } } }
        section aria-labelledby="h-h" {
            div.sect-h { h2 id="h-h" { "Harnesses" } p { "of this machine, with the hooks of this project" } }
            div.box {
                table.stackable {
                    caption.vh { "Harnesses" }
                    thead { tr { th scope="col" { "Harness" } th scope="col" { "Program" } th scope="col" { "Hooks" } th.num scope="col" { "Receipts" } } }
                    tbody { @for host in &all { (row(host)) } }
                }
            }
        }
        (claims(&all))
        section.sect aria-labelledby="h-g" {
            div.sect-h { h2 id="h-g" { "Gaps" } p { "sequence numbers for which no receipt arrived" } }
            @if gaps == 0 { p { (status("ok", "ok", "0 gaps")) } }
            @else { p { (status("warn", "warn", &words::count(gaps, "gap"))) " " code { "escrow lifecycle receipt gaps" } } }
        }
        section.sect aria-labelledby="h-r" {
            div.sect-h { h2 id="h-r" { "Receipts" } p { "newest first" } }
            @if receipts.is_empty() { p.sub { "No receipt has arrived. " code { "escrow harness install --project" } " installs the hooks." } }
            @else { div.box { (table(&receipts, now)) } }
        }
    };
    Ok(frame.page(&view, Nav::Lifecycle, "Lifecycle", &content))
}

/// What the manifest of each adapter claims, beside what its hooks have reported here.
fn claims(all: &[HostStatus]) -> Markup {
    let mut events: BTreeMap<&str, usize> = BTreeMap::new();
    for claim in all.iter().flat_map(|host| &host.claims) {
        let next = events.len();
        events.entry(claim.event).or_insert(next);
    }
    for event in all.iter().flat_map(|host| host.measured.keys()) {
        let next = events.len();
        events.entry(event).or_insert(next);
    }
    html! {
        section.sect aria-labelledby="h-claims" {
            div.sect-h { h2 id="h-claims" { "Claimed and measured" } p { "what each adapter's manifest claims, and how many receipts of it arrived; " code { "escrow harness doctor" } " measures it anew" } }
            div.box.scroll tabindex="0" role="region" aria-label="Claims and measurements" {
                table.matrix-grid.claims {
                    caption.vh { "Lifecycle events by harness" }
                    thead { tr { th scope="col" { "Event" } @for host in all { th scope="col" { (host.host) } } } }
                    tbody {
                        @for event in events.keys() {
                            tr { th scope="row" { code { (line(event)) } } @for host in all { (cell(host, event)) } }
                        }
                    }
                }
            }
        }
    }
}

fn cell(host: &HostStatus, event: &str) -> Markup {
    let claim = host.claims.iter().find(|claim| claim.event == event);
    let measured = host.measured.get(event).copied().unwrap_or(0);
    match (claim, measured) {
        (Some(claim), 0) => {
            html! { td.is-skip title="claimed, and not measured yet" { (icon_small("pend", "")) " " (claim.support) } }
        }
        (Some(claim), number) => {
            html! { td.is-ok title="claimed, and measured" { (icon_small("ok", "")) " " (claim.support) " " (number) } }
        }
        (None, 0) => html! { td { span.vh { "not claimed" } } },
        (None, number) => {
            html! { td.is-warn title="measured, and not claimed" { (icon_small("warn", "")) " not claimed " (number) } }
        }
    }
}

fn row(host: &HostStatus) -> Markup {
    let events = host.installed.as_ref().map_or(0, |installed| installed.events.len());
    html! {
        tr id={ "harness-" (host.host) } data-row="" {
            th scope="row" { code { (host.host) } @if let Some(note) = host.note { p.small.dim { (note) } } }
            td.small {
                @match &host.program { Some(path) => span.mono { (line(&path.display().to_string())) }, None => span.dim { "not on PATH" } }
                @if !host.tested_versions.is_empty() { p.dim { "tested with " (host.tested_versions.join(", ")) } }
            }
            td.small {
                @match &host.installed {
                    Ok(_) if events > 0 => { (status("ok", "ok", "installed")) p.dim { (words::count(events, "event")) } @if host.is_stale { p.warn { "calls another program" } } }
                    Ok(_) => span.dim { "not installed" },
                    Err(why) => { (status("bad", "bad", "unreadable")) p { (line(why)) } },
                }
                @if host.is_unverified { p.dim { "unverified" } }
            }
            td.num { (host.measured.values().sum::<usize>()) @if host.failures > 0 { p.small.bad { (host.failures) " failed" } } }
        }
    }
}

fn table(receipts: &[LifecycleReceipt], now: Millis) -> Markup {
    html! {
        table.stackable {
            caption.vh { "Receipts" }
            thead { tr { th scope="col" { "Status" } th scope="col" { "Event" } th scope="col" { "Harness" } th scope="col" { "Session" } th scope="col" { "Receipt" } th.num scope="col" { "When" } } }
            tbody {
                @for receipt in receipts {
                    @let word = receipt.status.as_str();
                    @let (shape, tone) = match word { "failed" => ("bad", "bad"), "degraded" => ("warn", "warn"), "delivered" | "observed" => ("ok", "ok"), _ => ("pend", "skip") };
                    tr data-row="" data-failure=[(tone == "bad").then_some("")] {
                        td { (status(shape, tone, word)) }
                        td.mono.small { (receipt.event.as_str()) }
                        td.small { (line(&receipt.adapter_id)) }
                        td.mono.small.dim { (receipt.harness_session_id.as_deref().map(line).unwrap_or_default()) }
                        td.mono.small.dim { (line(&receipt.receipt_id)) }
                        td.num.small.dim { (when(receipt.at_epoch_s.saturating_mul(1_000), now)) }
                    }
                }
            }
        }
    }
}
