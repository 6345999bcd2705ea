//! Attention: what needs a person, grouped by cause.

use std::collections::BTreeMap;

use escrow_app::attempted::{Attempted, attempts_named};
use escrow_app::attention::{AttentionItem, AttentionKind, AttentionQuery, ListedItems, list};
use escrow_app::request_words::prevented_lines;
use escrow_app::runs::{RunFilter, RunRow};
use escrow_app::{documents, now_ms, words};
use escrow_model::{Millis, RunId, WaitKind};
use maud::{Markup, html};

use super::{csrf, empty};
use crate::answer::PageError;
use crate::layout::{Frame, Nav, anchor, clipped, icon, id_short, line, sentence_case, ticked_short, when};
use crate::view::{View, encoded};

/// Causes of one group that are listed; the others are counted.
const CAUSES_MAX: usize = 100;

/// How much of a request is shown.
const SAID_LINES_MAX: usize = 8;
const SAID_LENGTH_MAX: usize = 200;

/// Runs of a playbook that the small plot of a cause looks at.
const PLOTTED: usize = 10;

/// The groups of the page, the most urgent first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Waiting,
    Unknown,
    Interrupted,
    Failed,
    Warned,
}

impl Group {
    const ALL: [Group; 5] =
        [Group::Waiting, Group::Unknown, Group::Interrupted, Group::Failed, Group::Warned];

    fn of(kind: AttentionKind) -> Group {
        match kind {
            AttentionKind::Waiting => Group::Waiting,
            AttentionKind::Interrupted => Group::Interrupted,
            AttentionKind::UnknownEffect => Group::Unknown,
            AttentionKind::Failed
            | AttentionKind::TimedOut
            | AttentionKind::Aborted
            | AttentionKind::NotBegun => Group::Failed,
            AttentionKind::Warning | AttentionKind::Undelivered => Group::Warned,
        }
    }

    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Group::Waiting => ("g-waiting", "Waits for you", "the run continues when it is decided"),
            Group::Unknown => {
                ("g-unknown", "Unknown effects", "their runs were ended; look, then settle them")
            }
            Group::Interrupted => ("g-interrupted", "Interrupted", "should be running, and is not"),
            Group::Failed => ("g-failed", "Failed", "by cause; a later run that completes clears its cause"),
            Group::Warned => {
                ("g-warned", "Completed with warnings", "something that may fail did, or is missing")
            }
        }
    }
}

pub(crate) async fn page(view: View) -> Result<Markup, PageError> {
    let frame = Frame::of(&view).await?;
    let queries = view.queries()?;
    let query = AttentionQuery { since: view.since()?, with_dismissed: view.has("all"), limit: None };
    let ListedItems { items: all, dismissed, .. } = list(&*queries, &query).await?;
    let newest = queries.runs(&RunFilter { limit: Some(1), ..RunFilter::default() }).await?;
    if newest.is_empty() && all.is_empty() {
        return Ok(frame.page(&view, Nav::Attention, "Nothing has run yet", &empty::hello()));
    }
    let groups: Vec<(Group, usize, Vec<&AttentionItem>)> = Group::ALL
        .into_iter()
        .map(|group| {
            let mut of_group: Vec<&AttentionItem> =
                all.iter().filter(|item| Group::of(item.kind) == group).collect();
            let number = of_group.len();
            of_group.truncate(CAUSES_MAX);
            (group, number, of_group)
        })
        .filter(|(_, number, _)| *number > 0)
        .collect();
    let shown = || groups.iter().flat_map(|(_, _, items)| items.iter().copied());
    let mut recent: BTreeMap<String, Vec<RunRow>> = BTreeMap::new();
    for item in shown() {
        if !recent.contains_key(&item.playbook) {
            let playbook = Some(item.playbook.clone());
            let filter = RunFilter { playbook, limit: Some(PLOTTED), ..RunFilter::default() };
            recent.insert(item.playbook.clone(), queries.runs(&filter).await?);
        }
    }
    let title = match all.len() {
        0 => "Nothing needs you".to_owned(),
        1 => "1 cause needs you".to_owned(),
        number => format!("{number} causes need you"),
    };
    let waits = shown().filter_map(unknown_effect);
    let attempts = attempts_named(view.studio.app.state(), &*queries, waits).await?;
    let now = now_ms();
    let content = html! {
        div.head {
            div.grow {
                h1 data-live="title" { (title) }
                p { "Causes go away when the work succeeds. The same in a shell: " code { "escrow attention" } }
            }
            div.btns {
                @if view.has("all") { a.btn href=(view.with(&[("all", None)])) { "Hide dismissed" } }
                @else if dismissed > 0 { a.btn href=(view.with(&[("all", Some("1"))])) { "Dismissed (" (dismissed) ")" } }
            }
        }
        div data-live-list="causes" {
        @for (group, number, items) in &groups {
            @let (id, name, about) = group.words();
            section.group aria-labelledby=(id) {
                h2 id=(id) { (name) " " span.count { (number) } " " small { (about) } }
                ul.box.causes {
                    @for item in items {
                        @let attempted = unknown_effect(item).and_then(|(run, wait)| attempts.get(run, wait));
                        (cause(&view, item, attempted, recent.get(&item.playbook).map_or(&[], Vec::as_slice), now))
                    }
                }
                @if *number > items.len() { p.small.dim { "and " (number - items.len()) " more: " code { "escrow attention --limit 10000" } } }
            }
        }
        }
        @if all.is_empty() {
            p.sub { "No run failed, waits or was interrupted. " a href="/runs" { "Every run" } }
        }
    };
    Ok(frame.page(&view, Nav::Attention, &title, &content))
}

fn looks(item: &AttentionItem) -> (&'static str, &'static str) {
    let is_unknown = item.wait.as_ref().is_some_and(|wait| wait.kind == WaitKind::UnknownEffect);
    match item.kind {
        AttentionKind::Waiting if is_unknown => ("unk", "unk"),
        AttentionKind::Waiting => ("wait", "wait"),
        AttentionKind::Interrupted => ("gone", "unk"),
        AttentionKind::UnknownEffect => ("unk", "unk"),
        AttentionKind::Failed => ("bad", "bad"),
        AttentionKind::TimedOut => ("clock", "bad"),
        AttentionKind::Aborted | AttentionKind::NotBegun => ("block", "bad"),
        AttentionKind::Warning | AttentionKind::Undelivered => ("warn", "warn"),
    }
}

/// The run and the wait of an item that asks what became of an effect.
fn unknown_effect(item: &AttentionItem) -> Option<(&RunId, &str)> {
    let wait = item.wait.as_ref().filter(|wait| wait.kind == WaitKind::UnknownEffect)?;
    Some((item.runs.first()?, &wait.id))
}

fn cause(
    view: &View,
    item: &AttentionItem,
    attempted: Option<&Attempted>,
    recent: &[RunRow],
    now: Millis,
) -> Markup {
    let (shape, tone) = looks(item);
    let run = item.runs.first().map_or(String::new(), ToString::to_string);
    let place = item.subject.as_ref().map(|subject| format!(" · {}", line(&subject.id))).unwrap_or_default();
    let link = match &item.wait {
        // It has no run.
        None if item.kind == AttentionKind::NotBegun => format!("/chains/{}", encoded(&item.playbook)),
        Some(wait) if wait.kind != WaitKind::Nested => format!("/runs/{run}#{}", wait.id),
        Some(_) | None => format!("/runs/{run}{}", part_of_page(item)),
    };
    html! {
        li.cause id=(item.fingerprint) data-row="" data-why=(link) data-failure=[(tone == "bad").then_some("")] {
            (icon(shape, tone))
            div {
                h3 title=(line(&item.summary)) { a href=(link) { (ticked_short(&sentence_case(&headline(item)))) } }
                @if let Some(say) = said(item, attempted, now) { div.say { (say) } }
                p.meta {
                    span { (line(&item.playbook)) (place) }
                    @if let Some(title) = &item.title { span { (line(title)) } }
                    @if let Some(code) = &item.reason_code { a.code href=(link) { (code) } }
                    @else if item.kind == AttentionKind::UnknownEffect { span.code { "unknown_effect" } }
                    @else { span.code { "interrupted" } }
                    span { (when(item.last_at, now)) }
                    @if !run.is_empty() { a.id href={ "/runs/" (run) } { (id_short(&run)) } }
                }
                @if let Some(seen) = &item.dismissed {
                    p.meta { span { "dismissed" @if let Some(by) = &seen.by { " by " (line(by)) } ": " (line(&seen.note)) } }
                }
            }
            (occurrences(item, recent, tone))
            div.acts { (acts(view, item, &run, &link, now)) }
        }
    }
}

/// Where the page of the run says what the item is about. A run that completed has no reason to explain: its page has
/// the check or the artifact itself.
fn part_of_page(item: &AttentionItem) -> String {
    let subject = item.subject.as_ref().map(|subject| (subject.kind.as_str(), subject.id.as_str()));
    match (item.kind, subject) {
        (AttentionKind::UnknownEffect, _) => "#effects".to_owned(),
        (AttentionKind::Undelivered, _) => String::new(),
        (AttentionKind::Warning, Some(("check", id))) => format!("#{}", anchor("check", id)),
        (AttentionKind::Warning, Some(("expected_artifact", id))) => format!("#{}", anchor("artifact", id)),
        (AttentionKind::Warning, _) => String::new(),
        (_, _) => "#why".to_owned(),
    }
}

fn headline(item: &AttentionItem) -> String {
    let place = item.wait.as_ref().map(|wait| wait.place.clone()).unwrap_or_default();
    match item.wait.as_ref().map(|wait| wait.kind) {
        Some(WaitKind::Approval) => format!("`{place}` asks for your approval"),
        Some(WaitKind::UnknownEffect) => format!("`{place}` may or may not have taken effect"),
        None if item.kind == AttentionKind::NotBegun => format!("Its run could not begin: {}", item.summary),
        Some(WaitKind::Input | WaitKind::Nested) | None if item.kind == AttentionKind::Interrupted => {
            "The process that drove it is gone".to_owned()
        }
        Some(WaitKind::Input | WaitKind::Nested) | None => item.summary.clone(),
    }
}

/// What stands below the headline: the command or request, or what is known besides.
fn said(item: &AttentionItem, attempted: Option<&Attempted>, now: Millis) -> Option<Markup> {
    let Some(wait) = &item.wait else {
        let is_shown = item.kind == AttentionKind::Interrupted;
        return is_shown.then(|| html! { "What is confirmed is not repeated." });
    };
    let lines = match (&wait.subject, attempted) {
        (Some(subject), _) => prevented_lines(&subject.request, subject.nested.as_ref()),
        (None, Some(attempted)) => prevented_lines(&attempted.request, None),
        (None, None) => Vec::new(),
    };
    let expiry = wait.expires_at.map(|at| html! { p { "Expires " (when(at, now)) "." } });
    if wait.has_recorded_decision {
        return Some(html! { "A decision is recorded; the run acts on it when it is resumed." });
    }
    match wait.kind {
        WaitKind::UnknownEffect => Some(html! {
            @for (name, value) in &lines { (request_line(name, value)) }
            p { "It was cut off, and is not repeated by itself." }
        }),
        WaitKind::Approval if !lines.is_empty() => Some(
            html! { @for (name, value) in &lines { (request_line(name, value)) } (expiry.unwrap_or_default()) },
        ),
        WaitKind::Approval | WaitKind::Input | WaitKind::Nested => expiry,
    }
}

/// A field of a request. The card of the run shows it whole.
fn request_line(name: &str, value: &str) -> Markup {
    let all: Vec<&str> = value.trim_end().lines().collect();
    let shown: Vec<String> =
        all.iter().take(SAID_LINES_MAX).map(|part| clipped(part, SAID_LENGTH_MAX)).collect();
    html! {
        p.said {
            @if name != "exec" { span.dim { (line(name)) ": " } }
            code { (shown.join("\n")) }
            @if all.len() > SAID_LINES_MAX { span.dim { " and " (words::count(all.len() - SAID_LINES_MAX, "more line")) } }
        }
    }
}

/// How often among the last runs of the playbook, with a small plot.
fn occurrences(item: &AttentionItem, recent: &[RunRow], tone: &str) -> Markup {
    let is_hit = |row: &RunRow| {
        item.runs.contains(&row.id)
            || (item.reason_code.is_some()
                && row.reason.as_ref().map(|reason| reason.code.as_str()) == item.reason_code.as_deref()
                && row.reason.as_ref().and_then(|reason| reason.evidence.first()).map(|one| one.id.as_str())
                    == item.subject.as_ref().map(|subject| subject.id.as_str()))
    };
    let hits = recent.iter().filter(|row| is_hit(row)).count();
    html! {
        div.occ {
            p { strong { (hits.max(1)) } " of " (words::count(recent.len().max(1), "run")) }
            svg viewBox="0 0 117 14" preserveAspectRatio="xMaxYMid" aria-hidden="true" {
                @for (place, row) in recent.iter().enumerate() {
                    @let x = 108usize.saturating_sub(12 * place);
                    @if is_hit(row) { rect class={ "p " (tone) } x=(x) y="1" width="9" height="12" rx="1.5" {} }
                    @else { rect.o x=(x) y="4" width="9" height="6" rx="1.5" {} }
                }
            }
        }
    }
}

fn acts(view: &View, item: &AttentionItem, run: &str, link: &str, now: Millis) -> Markup {
    let primary = match item.wait.as_ref().map(|wait| wait.kind) {
        Some(WaitKind::Approval) => "Review and decide",
        Some(WaitKind::Input) => "Answer",
        Some(WaitKind::UnknownEffect) => "Say what happened",
        Some(WaitKind::Nested) | None => "See why",
    };
    html! {
        @if item.kind == AttentionKind::Interrupted && view.may("/api/runs/{id}/resume") {
            form method="post" action={ "/api/runs/" (run) "/resume" } { (csrf(view)) button.btn.small.primary { "Resume" } }
        } @else {
            a class=(if item.wait.is_some() { "btn small primary" } else { "btn small" }) href=(link) { (primary) }
        }
        details.more-menu {
            summary.btn.small.quiet aria-label={ "More for " (item.fingerprint) } { (icon("more", "")) }
            div {
                @if item.dismissed.is_none() && view.may("/api/attention/{fingerprint}/dismiss") {
                    form.field method="post" action={ "/api/attention/" (item.fingerprint) "/dismiss" } {
                        (csrf(view))
                        label for={ "n-" (item.fingerprint) } { "Dismiss until it recurs" }
                        input id={ "n-" (item.fingerprint) } name="note" type="text" placeholder="Note, such as a ticket" required;
                        button.btn.small { "Dismiss" }
                    }
                }
                p.small.dim { "The same in a shell" }
                code.cmd { (documents::next_command(item, now)) }
            }
        }
    }
}
