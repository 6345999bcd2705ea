//! What a run asks of a person: an approval, a question, or what became of an effect. With the form that decides it.

mod difference;
mod exact;

use escrow_app::attempted::Attempted;
use escrow_app::messages::WaitRow;
use escrow_app::request_words::{command_words, subject_lines};
use escrow_app::{documents, words};
use escrow_model::{ApprovalSubject, ApprovalTerms, ApprovedOutput, Millis, WaitKind, rfc3339};
use maud::{Markup, html};
use serde_json::Value;

use super::csrf;
use crate::layout::{code, icon, icon_small, line, ticked, ticked_whole, when};
use crate::view::View;

/// Those of the decided waits whose approval had gone stale, newest first.
pub(super) fn stale(mut decided: Vec<WaitRow>) -> Vec<WaitRow> {
    decided.retain(|wait| wait.kind == WaitKind::Approval && wait.resolution.as_deref() == Some("stale"));
    decided.sort_by_key(|wait| std::cmp::Reverse((wait.resolved_at, wait.started_at)));
    decided
}

/// A wait, and what else its card shows.
pub(super) struct Asked<'a> {
    pub(super) wait: &'a WaitRow,
    /// What an unknown effect is about.
    pub(super) attempted: Option<&'a Attempted>,
    /// Why an approval by this visitor would not count.
    pub(super) barred: Option<&'a str>,
}

/// A card for one wait. Nothing that an approval is for is cut. `stale` are approvals that no longer held.
pub(super) fn card(view: &View, asked: &Asked<'_>, stale: &[WaitRow], now: Millis) -> Markup {
    let Asked { wait, attempted, barred } = *asked;
    let place = format!("{}{}", wait.check, wait.scope);
    let is_unknown = wait.kind == WaitKind::UnknownEffect;
    let tone = if is_unknown { "unk" } else { "wait" };
    let heading = match wait.kind {
        WaitKind::Approval => html! { "Approve " code { (line(&place)) } },
        WaitKind::Input => html! { code { (line(&place)) } " asks a question" },
        WaitKind::UnknownEffect => html! { "Did " code { (line(&place)) } " happen?" },
        WaitKind::Nested => html! { code { (line(&place)) } " waits for a nested run" },
    };
    html! {
        article class=(if is_unknown { "ask is-unk" } else { "ask" }) id=(wait.id) data-row="" {
            header {
                (icon(tone, tone))
                h2 { (heading) }
                span.small.sub { a href={ "/runs/" (wait.run) } { @match &wait.title { Some(title) => (line(title)), None => (wait.run) } } }
                span.grow {}
                @if let Some(subject) = &wait.subject { span.tag { (subject.criticality.as_str()) } }
                span.small { "asked " (when(wait.started_at, now)) }
                span.small { @match wait.expires_at { Some(at) => { "expires " (when(at, now)) }, None => "does not expire" } }
            }
            div.ask-body {
                div { (difference::section(wait, stale, now)) (exact::section(wait, attempted)) (known(wait)) (stands_on(wait)) }
                (decision(view, wait, barred, &place))
            }
        }
    }
}

/// Everything else that the digest covers.
fn known(wait: &WaitRow) -> Markup {
    let subject = wait.subject.as_deref();
    let lines = subject.map(subject_lines).unwrap_or_default();
    // What the box above shows. A command stands there alone, without the other fields of its request.
    let is_in_box = |name: &str| {
        subject.is_some_and(|subject| match command_words(&subject.request) {
            Some(_) => name == "exec",
            None => subject.request.fields.contains_key(name),
        }) || name == "external"
    };
    html! {
        dl.kv {
            dt { "id" } dd.mono { (wait.id) }
            @if !wait.digest.is_empty() && wait.kind == WaitKind::Approval {
                dt { "digest" }
                dd { span.digest { b { (wait.digest.get(..8).unwrap_or(&wait.digest)) } (wait.digest.get(8..).unwrap_or_default()) } p.dim { "Of exactly what it would do. If that changes, the approval is stale." } }
            }
            @for (name, value) in lines.iter().filter(|(name, _)| !is_in_box(name)) {
                dt { (line(name)) }
                dd.mono { @for part in value.lines() { p { (words::visible(part)) } } }
            }
            @if let Some(subject) = subject { (environment(subject)) }
        }
    }
}

fn environment(subject: &ApprovalSubject) -> Markup {
    let given: Vec<(&String, &String)> =
        subject.request.env.iter().chain(&subject.request.handed_env).collect();
    let around: Vec<(&String, &String)> = subject.request.environment.iter().flatten().collect();
    html! {
        @for (name, value) in given { dt { "env" } dd.mono { (words::visible(name)) "=" (words::visible(value)) } }
        @for (name, value) in &subject.inputs { dt { "input" } dd.mono { (words::visible(name)) " = " (words::visible(&value.to_string())) } }
        @if subject.terms != ApprovalTerms::default() {
            dt { "needs" }
            dd { (words::count(usize::try_from(subject.terms.count).unwrap_or(usize::MAX), "approval")) @if !subject.terms.by.is_empty() { " of " (line(&subject.terms.by.join(", "))) } @if subject.terms.independent { ", not by those who started or resumed the run" } }
        }
        @if !around.is_empty() {
            dt { "environment" }
            dd { details { summary { (words::count(around.len(), "variable")) } @for (name, value) in around { p.mono { (words::visible(name)) "=" (words::visible(value)) } } } }
        }
    }
}

/// The results that an approval rests on.
fn stands_on(wait: &WaitRow) -> Markup {
    let Some(subject) = wait.subject.as_deref() else { return html! {} };
    if subject.outcomes.is_empty() && subject.artifacts.is_empty() && subject.outputs.is_empty() {
        return html! {};
    }
    html! {
        div {
            p.label { "What it stands on" }
            ul.crit.stands {
                @for outcome in &subject.outcomes {
                    @let (shape, tone) = match outcome.passed { Some(true) => ("ok", "ok"), Some(false) => ("bad", "bad"), None => ("pend", "skip") };
                    li { (icon_small(shape, tone)) span { b { (line(&outcome.kind)) " " (line(&outcome.name)) } " " (ticked_whole(&outcome.summary)) " " span.mono.small.dim { "sha256 " (outcome.sha256) } } }
                }
                @for file in &subject.artifacts {
                    li { (icon_small("file", "ok")) span { b { (line(&file.id)) } " " code { (line(&file.path)) } " " (words::bytes_words(file.size)) ", verified by " code { (line(&file.check)) } } }
                }
                @for output in &subject.outputs {
                    li { (icon_small("arrow", "dim")) div { p { b { (line(&output.check)) } " " span.mono.small.dim { "sha256 " (output.sha256) } } (output_value(output, wait.run.as_str())) } }
                }
            }
        }
    }
}

/// An output: whole, or its beginning and its end.
fn output_value(output: &ApprovedOutput, run: &str) -> Markup {
    let lines = |text: &str| text.lines().map(words::visible).collect::<Vec<_>>().join("\n");
    match (&output.value, &output.excerpt) {
        (Some(value), _) => whole_value(value),
        (None, Some(excerpt)) => html! {
            p.small.dim { (excerpt.bytes) " bytes" }
            pre.value { (lines(&excerpt.head)) }
            p.small.dim { (excerpt.left_out()) " bytes are left out here; " a href={ "/runs/" (run) } { "the run" } " has them" }
            pre.value { (lines(&excerpt.tail)) }
        },
        (None, None) => html! { p { "too large to show" } },
    }
}

/// A value, whole. One of many lines is folded, and its first line says how many.
fn whole_value(value: &Value) -> Markup {
    const LINES_MAX: usize = 12;
    let text = match value {
        Value::Object(_) | Value::Array(_) => {
            serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    };
    let lines: Vec<&str> = text.lines().collect();
    let shown = html! { pre.value { @for part in &lines { (words::visible(part)) "\n" } } };
    if lines.len() <= LINES_MAX {
        return shown;
    }
    html! { details.fold { summary { "its output, " (words::count(lines.len(), "line")) } (shown) } }
}

/// What an approval lets happen next: the last one that is needed starts the check.
fn follows(wait: &WaitRow, place: &str) -> Markup {
    let needed = wait.subject.as_ref().map_or(1, |subject| subject.terms.count);
    let given = u32::try_from(wait.approvals.len() + wait.recorded_approvals.len()).unwrap_or(u32::MAX);
    match needed.saturating_sub(given) {
        0 | 1 => ticked(&format!("`{place}` starts at once.")),
        missing => {
            html! { (missing - 1) @if missing == 2 { " more person has" } @else { " more people have" } " to approve before " (code(place)) " starts." }
        }
    }
}

/// The form. The digest that is shown is the digest that is posted.
fn decision(view: &View, wait: &WaitRow, barred: Option<&str>, place: &str) -> Markup {
    if wait.has_recorded_decision {
        return html! { form { p { "A decision is recorded. The run acts on it when it is resumed." } } };
    }
    let action = match wait.kind {
        WaitKind::Approval => "/api/approvals/{id}/approve",
        WaitKind::Input => "/api/approvals/{id}/answer",
        WaitKind::UnknownEffect => "/api/runs/{id}/assume",
        WaitKind::Nested => "",
    };
    if wait.kind != WaitKind::Nested && !view.may(action) {
        return html! { form { p { "You may read this. A decision needs a token with the role " code { "approve" } "." } } };
    }
    let actor = html! { p.small.dim { "recorded as " span.mono { (view.visitor.actor) } } };
    let command = documents::next_of_wait(wait).unwrap_or_default();
    match wait.kind {
        WaitKind::Approval => html! {
            form method="post" action={ "/api/approvals/" (wait.id) "/approve" } {
                (csrf(view))
                input type="hidden" name="digest" value=(wait.digest);
                h3 { "Your decision" }
                @for given in wait.approvals.iter().chain(&wait.recorded_approvals) { p.small { (icon_small("ok", "ok")) " approved by " span.mono { (line(given.by.as_deref().unwrap_or("an unknown actor"))) } } }
                label.field { span { "Note " small { "is kept in the journal" } } textarea name="note" rows="3" placeholder="Why, for later readers" {} }
                div.two {
                    @if barred.is_none() { button.btn.approve { (icon("ok", "")) "Approve" } }
                    button.btn.deny formaction={ "/api/approvals/" (wait.id) "/deny" } { (icon("block", "")) "Deny" }
                }
                ul.then {
                    @match barred {
                        // Anyone may deny; who may approve is part of what is asked.
                        Some(why) => li { (icon_small("block", "skip")) span { b { "You cannot approve this" } ": " (line(why)) ". Another person has to." } },
                        None => li { (icon_small("arrow", "ok")) span { b { "Approve" } ": " (follows(wait, place)) } },
                    }
                    li { (icon_small("arrow", "bad")) span { b { "Deny" } ": the run ends as " code { "run.aborted.denied" } "." } }
                    @if let Some(at) = wait.expires_at { li { (icon_small("clock", "dim")) span { b { "Nothing" } " until " (rfc3339(at).replace('T', " ").get(..16).unwrap_or_default()) " UTC: that is a denial." } } }
                }
                (actor)
                code.cmd { (command) }
            }
        },
        WaitKind::Input => html! {
            form method="post" action={ "/api/approvals/" (wait.id) "/answer" } {
                (csrf(view))
                @if wait.choices.is_empty() {
                    label.field { span { "Your answer" } textarea name="text" rows="3" required {} }
                } @else {
                    fieldset.choices { legend.label { "Your answer" } @for choice in &wait.choices { label { input type="radio" name="text" value=(choice) required; (words::visible(choice)) } } }
                }
                button.btn.primary { "Answer" }
                (actor)
                code.cmd { (command) }
            }
        },
        WaitKind::UnknownEffect => html! {
            form method="post" action={ "/api/runs/" (wait.run) "/assume" } {
                (csrf(view))
                input type="hidden" name="check" value=(place);
                fieldset.choices {
                    legend.label { "What became of it?" }
                    label { input type="radio" name="assumption" value="done" required; "done " small { "the run continues" } }
                    label { input type="radio" name="assumption" value="failed" required; "failed " small { "as if the check had failed" } }
                    label { input type="radio" name="assumption" value="retry" required; "retry " small { "same key, again" } }
                }
                button.btn.primary { "Record" }
                (actor)
                code.cmd { (command) }
            }
        },
        WaitKind::Nested => html! { form { p { a href={ "/runs/" (wait.id) } { "The nested run" } } } },
    }
}
