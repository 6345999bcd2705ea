//! What a check printed, whole: pages of lines with permalinks, or raw.

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use escrow_app::logs::{Printed, STREAMS, printed};
use escrow_app::runs::entries;
use escrow_app::{Error, words};
use maud::{Markup, html};

use crate::answer::PageError;
use crate::layout::{Frame, Nav, anchor, line};
use crate::view::{View, encoded};

/// Lines on one page.
const LINES: usize = 2_000;

/// How much of the end of a stream is read.
const BYTES_MAX: u64 = 32 << 20;

/// One line that was printed.
pub(super) struct Line {
    pub(super) stream: &'static str,
    pub(super) text: String,
}

/// The lines of an attempt: of stdout, then of stderr.
pub(super) fn lines(printed: &Printed<'_>, bytes_max: u64) -> Vec<Line> {
    let mut lines = Vec::new();
    for stream in STREAMS {
        let Ok((text, is_cut)) = printed.end(stream, bytes_max) else { continue };
        if is_cut {
            lines.push(Line { stream, text: "… earlier lines are in the raw log".to_owned() });
        }
        lines.extend(text.lines().map(|line| Line { stream, text: words::visible(line) }));
    }
    lines
}

/// Lines with permalinks, numbered from `first`.
pub(super) fn list(check: &str, attempt: u32, first: usize, lines: &[Line]) -> Markup {
    let name = anchor("", check);
    let name = name.trim_start_matches('-');
    html! {
        ol {
            @for (place, line) in lines.iter().enumerate() {
                @let number = first + place;
                @let id = format!("{name}-{attempt}-L{number}");
                li id=(id) class=[is_alarming(&line.text).then_some("e")] { a href={ "#" (id) } aria-label={ "Line " (number) } { (number) } span.s { (line.stream) } span { (line.text) } }
            }
        }
    }
}

/// Whether a line looks like the one to blame.
fn is_alarming(text: &str) -> bool {
    let start = text.trim_start().to_ascii_lowercase();
    ["error", "fatal", "panicked", "traceback", "failed"].iter().any(|word| start.starts_with(word))
}

pub(crate) async fn page(view: View) -> Result<Response, PageError> {
    let frame = Frame::of(&view).await?;
    let queries = view.queries()?;
    let row = queries.run(&view.parameter("id")).await?;
    let journal = entries(&*queries, &row).await?;
    let place = view.parameter("check");
    let all = printed(&journal, &view.studio.app.state().spool(&row.id));
    let mut attempts: Vec<&Printed<'_>> = all.iter().filter(|one| one.of.to_string() == place).collect();
    let numbers: Vec<u32> = attempts.iter().map(|one| one.attempt).collect();
    let wanted: Option<u32> = view.number("attempt")?;
    if let Some(wanted) = wanted {
        attempts.retain(|one| one.attempt == wanted);
    }
    let Some(chosen) = attempts.last() else {
        let message = format!("run `{}` has no output of `{place}`", row.id);
        return Err(Error::author("unknown_check", message).into());
    };
    let lines = lines(chosen, BYTES_MAX);
    if view.has("raw") {
        let text: String = lines.iter().map(|line| format!("{}\n", line.text)).collect();
        let headers = [
            (CONTENT_TYPE, "text/plain; charset=utf-8"),
            (CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
        ];
        return Ok((headers, text).into_response());
    }
    let pages = lines.len().div_ceil(LINES).max(1);
    // The end is what people look for.
    let page: usize = view.number("page")?.unwrap_or(pages).clamp(1, pages);
    let first = (page - 1) * LINES;
    let shown = &lines[first..lines.len().min(first + LINES)];
    let content = html! {
        nav aria-label="Breadcrumb" { ol.crumbs { li { a href="/runs" { "Runs" } } li { a href={ "/runs/" (row.id) } { span.id { (row.id) } } } li { a href={ "/runs/" (row.id) "#" (anchor("check", chosen.of.check)) } { (line(&place)) } } li aria-current="page" { "Log" } } }
        div.head { div.grow { h1 { "Log of " code { (line(&place)) } } p { "attempt " (chosen.attempt) ", " (words::count(lines.len(), "line")) ". In a shell: " code { "escrow logs " (row.id) " " (line(&place)) } } } }
        div.log {
            header {
                span.seg { @for number in &numbers { a href=(view.with(&[("attempt", Some(number.to_string().as_str())), ("page", None)])) aria-current=[(*number == chosen.attempt).then_some("true")] { "attempt " (number) } } }
                span.grow {}
                @if pages > 1 { span { @for number in 1..=pages { " " a href=(view.with(&[("page", Some(number.to_string().as_str()))])) aria-current=[(number == page).then_some("true")] { (number) } } } }
                label.vh for="log-search" { "Search this log" }
                input id="log-search" type="search" name="log" placeholder="Search this log" data-log-search="";
                a href=(view.with(&[("raw", Some("1"))])) { "raw" }
            }
            (list(&place, chosen.attempt, first + 1, shown))
        }
    };
    Ok(frame.page(&view, Nav::Runs, &format!("Log of {place}"), &content).into_response())
}

/// The address of a log.
pub(super) fn address(run: &str, place: &str) -> String {
    format!("/runs/{run}/logs/{}", encoded(place))
}
