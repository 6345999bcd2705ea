//! The delivery at a glance.

use escrow_app::words::{count, count_of};
use escrow_model::{CheckStatus, DeliveryStatus, EffectState};
use maud::{Markup, html};

use super::{Shown, artifacts};
use crate::layout::{icon_small, id_short, line};

/// The colour of a verdict on a delivery.
pub(super) fn tone(status: DeliveryStatus) -> &'static str {
    match status {
        DeliveryStatus::Passed => "ok",
        DeliveryStatus::Failed => "bad",
        DeliveryStatus::Warning => "warn",
        DeliveryStatus::Skipped => "skip",
    }
}

pub(super) fn facts(shown: &Shown) -> Markup {
    html! {
        dl.facts data-live="facts" {
            (delivery(shown))
            (checks(shown))
            (effects(shown))
            (outcomes(shown))
            (asked(shown))
            div {
                dt { "Record" }
                dd { a href="#journal" { (icon_small("seal", "")) " " (count_of(shown.entries.len(), "entry", "entries")) } }
                dd.more { @if let Some((_, last)) = shown.hashes.last() { span.mono { (last.to_string().get(..8).unwrap_or_default()) } } }
            }
        }
    }
}

fn delivery(shown: &Shown) -> Markup {
    let required = shown.promised.iter().filter(|one| one.is_owed()).count();
    html! {
        div {
            dt { "Artifacts" }
            @match shown.run.delivery() {
                Some(delivery) => {
                    @let there = required.saturating_sub(delivery.missing_required.len());
                    @let lost = shown.promised.iter().zip(&shown.now_of_files).filter(|(one, now)| one.is_owed() && now.iter().any(|now| artifacts::is_lost(*now))).count();
                    @if shown.promised.is_empty() { dd { "none promised" } }
                    @else {
                        dd class=(tone(delivery.status)) { a href="#artifacts" { @if required > 0 { (there) " of " (required) " required" } @else { (count(delivery.produced.len(), "file")) } } }
                        dd.more {
                            span { (delivery.status.as_str()) }
                            @if !delivery.missing_optional.is_empty() { span { (delivery.missing_optional.len()) " optional missing" } }
                            @if !delivery.not_expected.is_empty() { span { (delivery.not_expected.len()) " not expected" } }
                            @if lost > 0 { span.warn { (lost) " changed or gone since" } }
                        }
                    }
                }
                None if shown.promised.is_empty() => { dd { "none promised" } }
                None => { dd { a href="#artifacts" { (shown.promised.len()) " pending" } } dd.more { span { "verified at the end" } } }
            }
        }
    }
}

fn checks(shown: &Shown) -> Markup {
    let all: Vec<CheckStatus> = shown.run.check_reports().map(|check| check.status).collect();
    let number = |status: CheckStatus| all.iter().filter(|one| **one == status).count();
    let others = [
        CheckStatus::Failed,
        CheckStatus::Running,
        CheckStatus::Waiting,
        CheckStatus::Unknown,
        CheckStatus::Skipped,
        CheckStatus::Pending,
    ];
    html! {
        div {
            dt { "Checks" }
            dd { a href="#checks" { (number(CheckStatus::Succeeded)) " of " (all.len()) " succeeded" } }
            dd.more { @for status in others { @if number(status) > 0 { span { (number(status)) " " (status.as_str()) } } } }
        }
    }
}

fn effects(shown: &Shown) -> Markup {
    let number = |state: EffectState| shown.effects.iter().filter(|row| row.state == state).count();
    let (confirmed, unknown, failed) =
        (number(EffectState::Confirmed), number(EffectState::Unknown), number(EffectState::Failed));
    html! {
        div {
            dt { "Effects" }
            @if shown.effects.is_empty() { dd { "none" } }
            @else {
                dd { a href="#effects" { (confirmed) " confirmed" } }
                dd.more { span class=[(unknown > 0).then_some("unk")] { (unknown) " unknown" } @if failed > 0 { span { (failed) " failed" } } }
            }
        }
    }
}

fn outcomes(shown: &Shown) -> Markup {
    let passed = shown.outcomes.iter().filter(|row| row.outcome.outcome.passed == Some(true)).count();
    html! {
        div {
            dt { "Outcomes" }
            @if shown.outcomes.is_empty() { dd { "none" } }
            @else { dd { a href="#outcomes" { (passed) " of " (shown.outcomes.len()) " passed" } } }
        }
    }
}

fn asked(shown: &Shown) -> Markup {
    let options = shown.run.options();
    html! {
        div {
            dt { "Asked for by" }
            dd { (options.started_by.first().map(|by| line(by)).unwrap_or_else(|| "unknown".to_owned())) }
            dd.more {
                @if let Some(event) = &options.event { span { "event " code { (line(event)) } } }
                @if let Some(invocation) = &options.invocation { span { a href={ "/runs?invocation=" (line(invocation)) } { "invocation" } } }
                @if options.safe_mode { span { "safe mode" } }
                @if let Some(parent) = &options.parent { span { "nested in " a href={ "/runs/" (parent) } { (id_short(parent.as_str())) } } }
            }
        }
    }
}
