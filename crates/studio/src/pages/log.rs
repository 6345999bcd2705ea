//! What a check printed: pages of lines, each with a permalink, whole without script. With script they scroll as one, and
//! those of a running attempt arrive as they are printed.
//!
//! ```text
//!   ?attempt=2            which attempt; without it the last one
//!   ?page=3 · ?line=L7    a page of lines; the page that has a line
//!   ?find=TEXT            the lines that contain a text
//!   ?part=1&from=N        some lines alone, for the script
//!   ?part=1&out=N&err=M   lines that were printed since, for the script
//! ```

mod lines;

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use escrow_app::logs::{Printed, printed, running};
use escrow_app::runs::{entries, is_driven};
use escrow_app::{Error, words};
use escrow_model::RunStatus;
use maud::{Markup, html};

use crate::answer::PageError;
use crate::layout::{Frame, Nav, anchor, line};
use crate::view::{View, encoded};

use lines::{Line, find};
pub(super) use lines::{LogText, list};

/// Lines on one page.
const LINES: usize = 2_000;

/// Lines that the script asks for at once.
const PART: usize = 500;

/// Lines that a search shows.
const FOUND_MAX: usize = 2_000;

/// How much of the end of a stream is read.
const BYTES_MAX: u64 = 32 << 20;

pub(crate) async fn page(view: View) -> Result<Response, PageError> {
    let queries = view.queries()?;
    let row = queries.run(&view.parameter("id")).await?;
    let journal = entries(&*queries, &row).await?;
    let place = view.parameter("check");
    let spool = view.studio.app.state().spool(&row.id);
    let mut all = printed(&journal, &spool);
    all.extend(running(&journal, &spool));
    let attempts: Vec<&Printed<'_>> = all.iter().filter(|one| one.of.to_string() == place).collect();
    let wanted: Option<u32> = view.number("attempt")?;
    let chosen = attempts.iter().rev().find(|one| wanted.is_none_or(|wanted| one.attempt == wanted));
    let Some(chosen) = chosen else {
        let message = format!("run `{}` has no output of `{place}`", row.id);
        return Err(Error::not_found("unknown_check", message).into());
    };
    let is_running =
        chosen.is_running() && row.status == RunStatus::Running && is_driven(&*queries, &row).await?;
    let text = LogText::read(chosen, BYTES_MAX);
    let log = Log {
        run: row.id.to_string(),
        place: &place,
        attempt: chosen.attempt,
        attempts: attempts.iter().map(|one| one.attempt).collect(),
        lines: text.lines(),
        seen: text.whole_lines(),
        is_running,
        is_answered: !chosen.is_running(),
        is_cut: text.is_cut(),
    };
    if view.has("raw") {
        return Ok(raw(&log));
    }
    if view.has("part") {
        return Ok(log.part(&view)?.into_response());
    }
    let frame = Frame::of(&view).await?;
    let content = log.page(&view, &anchor("check", chosen.of.check))?;
    Ok(frame.page(&view, Nav::Runs, &format!("Log of {place}"), &content).into_response())
}

fn raw(log: &Log<'_>) -> Response {
    let mut text = String::new();
    for line in &log.lines {
        text.push_str(&words::visible(line.text));
        text.push('\n');
    }
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
    ];
    (headers, text).into_response()
}

/// The log of one attempt.
struct Log<'t> {
    run: String,
    place: &'t str,
    attempt: u32,
    attempts: Vec<u32>,
    lines: Vec<Line<'t>>,
    /// Lines of each stream that have ended.
    seen: [usize; 2],
    is_running: bool,
    /// `escrow logs` prints what an attempt printed once it is answered.
    is_answered: bool,
    is_cut: bool,
}

impl Log<'_> {
    /// Some lines alone: from a position, or those behind what a follower has seen.
    fn part(&self, view: &View) -> Result<Markup, Error> {
        let (out, err): (Option<usize>, Option<usize>) = (view.number("out")?, view.number("err")?);
        let shown: Vec<Line<'_>> = if out.is_some() || err.is_some() {
            let since = |stream: &str| if stream == "stderr" { err } else { out }.unwrap_or(0);
            let whole = |stream: &str| if stream == "stderr" { self.seen[1] } else { self.seen[0] };
            let is_new = |line: &&Line<'_>| {
                line.number > since(line.stream) && (!self.is_running || line.number <= whole(line.stream))
            };
            self.lines.iter().filter(is_new).take(LINES).copied().collect()
        } else {
            let from = view.number("from")?.unwrap_or(0usize).min(self.lines.len());
            self.lines[from..self.lines.len().min(from + PART)].to_vec()
        };
        Ok(html! {
            div data-running=[self.is_running.then_some("")] data-total=(self.lines.len()) { (list(self.place, self.attempt, &self.address(), &shown, None)) }
        })
    }

    fn address(&self) -> String {
        format!("{}?attempt={}", address(&self.run, self.place), self.attempt)
    }

    fn page(&self, view: &View, check: &str) -> Result<Markup, Error> {
        let pages = self.lines.len().div_ceil(LINES).max(1);
        let asked: Option<usize> = view.number("page")?;
        let of_line = view.get("line").and_then(|wanted| find(&self.lines, wanted)).map(|at| at / LINES + 1);
        // The end is what people look for.
        let page = asked.or(of_line).unwrap_or(pages).clamp(1, pages);
        let first = (page - 1) * LINES;
        let found: Option<Vec<Line<'_>>> = view.get("find").map(|text| self.found(text));
        let shown = found.as_deref().unwrap_or(&self.lines[first..self.lines.len().min(first + LINES)]);
        let whole = found.is_none();
        Ok(html! {
            nav aria-label="Breadcrumb" { ol.crumbs { li { a href="/runs" { "Runs" } } li { a href={ "/runs/" (self.run) } { span.id { (self.run) } } } li { a href={ "/runs/" (self.run) "#" (check) } { (line(self.place)) } } li aria-current="page" { "Log" } } }
            div.head { div.grow {
                h1 { "Log of " code { (line(self.place)) } }
                p {
                    "attempt " (self.attempt) ", " span data-log-total="" { (words::count(self.lines.len(), "line")) }
                    @if self.is_running { " so far" }
                    @if let Some(found) = &found { ", " (found.len()) " found" }
                    @if self.is_answered || self.is_running { ". In a shell: " code { "escrow logs " (self.run) " " (line(self.place)) @if self.is_running { " --follow" } } }
                    @else { ", then it was interrupted" }
                }
            } }
            div.log.whole data-log=(self.address()) data-first=[whole.then_some(first)] data-total=(self.lines.len()) data-part=(PART) data-follow=[(self.is_running && whole && page == pages).then_some("")] data-out=(self.seen[0]) data-err=(self.seen[1]) {
                header {
                    @if self.attempts.len() > 1 { span.seg { @for number in &self.attempts { a href=(view.with(&[("attempt", Some(number.to_string().as_str())), ("page", None), ("line", None)])) aria-current=[(*number == self.attempt).then_some("true")] { "attempt " (number) } } } }
                    @if self.is_running { span.follow role="status" data-follow-state="" { "running" } }
                    span.grow {}
                    @if pages > 1 && whole { nav.pager aria-label="Pages of lines" data-pager="" { (pager(view, page, pages)) } }
                    form method="get" role="search" {
                        input type="hidden" name="attempt" value=(self.attempt);
                        label.vh for="log-search" { "Search this log" }
                        input id="log-search" type="search" name="find" placeholder="Search this log" value=[view.get("find")] data-log-search="";
                    }
                    @if !whole { a href=(view.with(&[("find", None)])) { "every line" } }
                    a href=(view.with(&[("raw", Some("1"))])) { "raw" }
                }
                @if self.is_cut { p.pad.small.dim { "Only the last 32 MB of each stream are shown. " code { "escrow logs " (self.run) " " (line(self.place)) } " prints all." } }
                @if shown.is_empty() { p.pad.small.dim { @if whole { "Nothing was printed." } @else { "No line contains it." } } }
                (list(self.place, self.attempt, &self.address(), shown, view.get("line")))
            }
        })
    }

    fn found(&self, text: &str) -> Vec<Line<'_>> {
        let wanted = text.to_lowercase();
        let holds = |line: &&Line<'_>| line.text.to_lowercase().contains(&wanted);
        self.lines.iter().filter(holds).take(FOUND_MAX).copied().collect()
    }
}

/// The first page, those around this one, and the last.
fn pager(view: &View, page: usize, pages: usize) -> Markup {
    let near = (1..=pages).filter(|number| *number == 1 || *number == pages || number.abs_diff(page) <= 2);
    html! {
        @for number in near {
            " " a href=(view.with(&[("page", Some(number.to_string().as_str())), ("line", None)])) aria-current=[(number == page).then_some("true")] { (number) }
        }
    }
}

/// The address of a log.
pub(super) fn address(run: &str, place: &str) -> String {
    format!("/runs/{run}/logs/{}", encoded(place))
}
