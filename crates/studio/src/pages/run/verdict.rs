//! The head of a run: status, code, one sentence, what would have to differ.

use escrow_app::explain::{Account, Construct, Differ};
use escrow_model::{CheckStatus, ReasonCode, RunStatus, SkipReason, WaitKind, Warning};
use maud::{Markup, html};

use super::Shown;
use crate::layout::{
    anchor, clock_when, code, duration, icon, icon_small, lasting, line, sentence_case, ticked, ticked_short,
};
use crate::pages::csrf;
use crate::view::View;

/// Further findings that stand below the sentence.
const BESIDES_MAX: usize = 4;

pub(super) fn header(view: &View, shown: &Shown) -> Markup {
    let (run, mark) = (&shown.run, shown.mark);
    let reason = run.reason();
    html! {
        header.verdict data-live="verdict" {
            svg class={ "i i-lg " (mark.tone) } aria-hidden="true" { use href={ "#" (mark.icon) } {} }
            div {
                p.verdict-line {
                    span class={ "st " (mark.tone) } { (mark.word) }
                    @if let Some(reason) = reason { a.code href=(if shown.account.is_some() || shown.is_interrupted() { "#why" } else { "#journal" }) { (reason.code.as_str()) } }
                    @match run.ended_at() {
                        Some(end) => { span { "after " (duration(shown.elapsed_ms())) } span { "ended " (clock_when(end, shown.now)) } }
                        None if shown.is_interrupted() => { span { "after " (duration(shown.elapsed_ms())) } span { "last entry " (clock_when(shown.until(), shown.now)) } }
                        None => { span { "for " (lasting(run.started_at(), shown.now)) } span { "started " (clock_when(run.started_at(), shown.now)) } }
                    }
                    @if let Some(title) = run.title() { span { (line(title)) } }
                }
                h1 { (sentence(shown)) }
                @if let Some(because) = because(shown) { p.because { (because) } }
                (besides(shown))
            }
            (buttons(view, shown))
        }
    }
}

fn sentence(shown: &Shown) -> Markup {
    if shown.is_interrupted() {
        return html! { "The process that drove this run is gone" };
    }
    let wait = shown.waits.iter().find(|wait| wait.kind != WaitKind::Nested);
    match (shown.row.status, wait) {
        (RunStatus::Waiting, Some(wait)) => {
            let place = format!("{}{}", wait.check, wait.scope);
            match wait.kind {
                WaitKind::Approval => html! { (code(&place)) " asks for your approval" },
                WaitKind::UnknownEffect => html! { (code(&place)) " may or may not have taken effect" },
                WaitKind::Input | WaitKind::Nested => {
                    html! { (code(&place)) " asks: " (ticked(&line(&wait.prompt))) }
                }
            }
        }
        (RunStatus::Running, _) => {
            let running: Vec<&str> = shown
                .run
                .check_reports()
                .filter(|check| check.status == CheckStatus::Running)
                .map(|check| check.name)
                .take(3)
                .collect();
            html! {
                @if running.is_empty() { "Running" }
                @else { @for (place, name) in running.iter().enumerate() { @if place > 0 { ", " } (code(name)) } @if running.len() == 1 { " is running" } @else { " are running" } }
            }
        }
        (_, _) => match (&shown.account, shown.run.reason()) {
            (Some(account), Some(reason))
                if account.subject.is_none() && reason.code != ReasonCode::FailedMissingArtifact =>
            {
                shortened(account).unwrap_or_else(|| ticked(&sentence_case(&account.cause.summary)))
            }
            (_, Some(reason)) => ticked_short(&sentence_case(&reason.summary)),
            (_, None) => html! { (line(&shown.row.playbook)) },
        },
    }
}

/// A long expression is shown below the headline, not in it.
fn shortened(account: &Account) -> Option<Markup> {
    const LENGTH_MAX: usize = 60;
    let (check, decisive) =
        (account.cause.check.as_ref()?, account.cause.evaluations.iter().find(|one| one.decisive)?);
    if account.cause.summary.chars().count() <= LENGTH_MAX {
        return None;
    }
    let place = format!("{check}{}", account.cause.scope);
    match decisive.construct {
        Construct::Guarantee => Some(html! { (code(&place)) " failed: its guarantee does not hold" }),
        Construct::FailIf => Some(html! { (code(&place)) " failed: its " code { "fail_if" } " is true" }),
        Construct::If
        | Construct::Condition
        | Construct::Assume
        | Construct::When
        | Construct::ReconcileDone
        | Construct::ReconcileFailed
        | Construct::ReconcileRetry => None,
    }
}

/// `X is 1; it would have to be 0`, with both values marked.
fn marked(differ: &Differ) -> Markup {
    match differ {
        Differ::Value { what, is, wanted } => {
            html! { (code(what)) " is " b { (ticked(is)) } "; it would have to be " b.want { (ticked(wanted)) } }
        }
        Differ::Sentence(text) => ticked(text),
    }
}

/// What would have to be otherwise, in the words of the explanation.
fn because(shown: &Shown) -> Option<Markup> {
    let account = shown.account.as_ref()?;
    let first = account.differs.first()?;
    Some(html! { (marked(first)) ". " a.nowrap href="#why" { "Every value" } })
}

fn besides(shown: &Shown) -> Markup {
    let run = &shown.run;
    let reason = run.reason().map(|reason| reason.code);
    let missing: Vec<_> = run
        .delivery()
        .into_iter()
        .flat_map(|delivery| &delivery.missing_required)
        .filter(|_| reason != Some(ReasonCode::FailedMissingArtifact))
        .take(BESIDES_MAX)
        .collect();
    let held: Vec<&str> = run
        .check_reports()
        .filter(|check| check.skip_reason == Some(SkipReason::ContractBlocked))
        .map(|check| check.name)
        .take(BESIDES_MAX)
        .collect();
    // The headline has the summary of the reason, which may be the only warning.
    let headline = run.reason().map(|reason| reason.summary.as_str()).unwrap_or_default();
    let is_new = |warning: &&Warning| !headline.contains(warning.message.as_str());
    let warnings: Vec<&Warning> = run.warnings().iter().filter(is_new).take(BESIDES_MAX).collect();
    if missing.is_empty() && held.is_empty() && warnings.is_empty() {
        return html! {};
    }
    html! {
        ul.besides {
            @for one in missing { li { (icon_small("nofile", "bad")) span { "Besides, the required artifact " a href={ "#" (anchor("artifact", &one.id)) } { code { (line(&one.id)) } } " is not delivered: " (one.problem.as_str().replace('_', " ")) "." } } }
            @for name in held { li { (icon_small("block", "skip")) span { a href={ "#" (anchor("check", name)) } { code { (line(name)) } } " did not start: no external check starts behind a broken contract." } } }
            @for warning in warnings { li { (icon_small("warn", "warn")) span { (ticked(&sentence_case(&warning.message))) } } }
        }
    }
}

fn buttons(view: &View, shown: &Shown) -> Markup {
    let id = &shown.row.id;
    // What cannot succeed is not offered.
    let can_retry = shown.run.can_retry().is_ok() && shown.row.depth == 0;
    html! {
        div.btns {
            a.btn href={ "/runs/" (id) "?export=1" } { "Export" }
            @if can_retry && view.may("/api/runs/{id}/retry") {
                form method="post" action={ "/api/runs/" (id) "/retry" } { (csrf(view)) button.btn.primary { (icon("again", "")) "Run what failed again" } }
            }
            @if shown.is_interrupted() && view.may("/api/runs/{id}/resume") {
                form method="post" action={ "/api/runs/" (id) "/resume" } { (csrf(view)) button.btn.primary { (icon("again", "")) "Resume" } }
            }
            @if !shown.row.status.is_terminal() && view.may("/api/runs/{id}/cancel") {
                form method="post" action={ "/api/runs/" (id) "/cancel" } { (csrf(view)) button.btn { "Cancel run" } }
            }
        }
    }
}
