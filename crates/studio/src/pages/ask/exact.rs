//! The box of a question: the exact text of what is approved, was attempted, or is asked. Nothing in it is cut, except
//! what a command printed.

use escrow_app::attempted::Attempted;
use escrow_app::messages::WaitRow;
use escrow_app::request_words::{command_words, prevented_lines};
use escrow_app::words;
use escrow_model::{ApprovedPlaybook, Request, WaitKind};
use maud::{Markup, html};

use crate::layout::{line, ticked_whole};

/// `attempted` is what an unknown effect is about.
pub(super) fn section(wait: &WaitRow, attempted: Option<&Attempted>) -> Markup {
    let label = match wait.kind {
        WaitKind::Approval => "What is approved, exactly",
        WaitKind::Input => "The question",
        WaitKind::UnknownEffect => "What was cut off",
        WaitKind::Nested => "What it waits for",
    };
    let subject = wait.subject.as_deref();
    let request = subject.map(|subject| &subject.request).or(attempted.map(|attempted| &*attempted.request));
    let nested = subject.and_then(|subject| subject.nested.as_ref());
    html! {
        div {
            p.label { (label) }
            div.exact {
                @match request {
                    Some(request) => (asked_of_provider(request)),
                    None => @for part in wait.prompt.lines() { p.qtext { (ticked_whole(part)) } },
                }
                @if let Some(nested) = nested { (performed_by(nested)) }
                @if let Some(attempted) = attempted { (known_of(wait, attempted)) }
                @if request.is_some() { footer { (ticked_whole(&wait.prompt)) } }
            }
        }
    }
}

/// The command, or each field of what another provider is asked for.
fn asked_of_provider(request: &Request) -> Markup {
    match command_words(request) {
        Some(command) => html! { pre { (marked(&command)) } },
        None => html! {
            dl.kv {
                @for (name, value) in prevented_lines(request, None) {
                    dt { (line(&name)) }
                    dd.mono { @for part in value.lines() { p { (words::visible(part)) } } }
                }
            }
        },
    }
}

/// What a nested playbook can do outside: an approval lets all of it happen.
fn performed_by(nested: &ApprovedPlaybook) -> Markup {
    html! {
        @if nested.external.is_empty() { p.qtext { "No check of " code { (line(&nested.name)) } " is external." } }
        @for effect in &nested.external {
            section.performed {
                p.small {
                    code { (line(&effect.check)) } " of " code { (line(&effect.playbook)) } ", " (line(effect.provider.as_str())) ", external"
                }
                @if let Some(command) = &effect.command { pre { (marked(command)) } }
            }
        }
    }
}

/// When, where and under which key it was attempted, and what it had printed by then.
fn known_of(wait: &WaitRow, attempted: &Attempted) -> Markup {
    html! {
        dl.kv {
            @for (name, value) in attempted.facts() { dt { (name) } dd.mono { (words::visible(&value)) } }
            @if attempted.run != wait.run { dt { "run" } dd { a.id href={ "/runs/" (attempted.run) } { (attempted.run) } } }
            @for printed in &attempted.printed {
                dt { (printed.stream) }
                dd.mono.printed { @for part in printed.words().lines() { p { (words::visible(part)) } } }
            }
            @if attempted.printed.is_empty() { dt { "output" } dd.dim { "nothing was captured" } }
        }
    }
}

/// Values that were filled in stand between marks, and are shown as such.
fn marked(command: &str) -> Markup {
    let mut pieces = Vec::new();
    let mut rest = command;
    while let Some((before, behind)) = rest.split_once('‹') {
        let Some((value, after)) = behind.split_once('›') else { break };
        pieces.push((before, Some(value)));
        rest = after;
    }
    pieces.push((rest, None));
    let shown = |text: &str| {
        text.lines().map(words::visible).collect::<Vec<_>>().join("\n")
            + if text.ends_with('\n') { "\n" } else { "" }
    };
    html! {
        @for (before, value) in pieces { (shown(before)) @if let Some(value) = value { b { (shown(value)) } } }
    }
}
