//! Shows: their runs, newest first, with where each play stands.

use escrow_app::runs::Run;
use escrow_app::{now_ms, shows, words};
use escrow_model::Millis;
use maud::{Markup, html};

use crate::answer::PageError;
use crate::layout::{Frame, Mark, Nav, anchor, line, ticked, when};
use crate::view::View;

const LIMIT: usize = 50;

pub(crate) async fn page(view: View) -> Result<Markup, PageError> {
    let frame = Frame::of(&view).await?;
    let runs = shows::list(&view.studio.app, view.limit(LIMIT)?).await?;
    let now = now_ms();
    let content = html! {
        div.head { div.grow { h1 { "Shows" } p { (words::count(runs.len(), "run")) ". Plays behind gates, each a run of its own. In a shell: " code { "escrow play status" } } } }
        @if runs.is_empty() { p.sub { "No show has run yet." } }
        @for run in &runs { (show(run, now)) }
    };
    Ok(frame.page(&view, Nav::Shows, "Shows", &content))
}

fn show(run: &Run, now: Millis) -> Markup {
    let id = &run.options().run;
    let mark = Mark::of_run(run.status(), true);
    html! {
        section.sect id=(id) data-row="" data-failure=[(mark.tone == "bad").then_some("")] aria-label=(line(&run.plan_of().name)) {
            div.sect-h {
                h2 { (mark.shown()) " " a href={ "/runs/" (id) } { (line(&run.plan_of().name)) } }
                p { (when(run.started_at(), now)) @if let Some(reason) = run.reason() { ", " (ticked(&line(&reason.summary))) } }
                span.grow {}
                span.meta { a.id href={ "/runs/" (id) } { (id) } }
            }
            div.box {
                table.stackable {
                    caption.vh { "Checks of the show, in the order of its file" }
                    thead { tr { th scope="col" { "Play or gate" } th scope="col" { "Status" } th.num scope="col" { "Attempts" } } }
                    tbody {
                        @for check in run.check_reports() {
                            @let mark = Mark::of_check(check.status, false);
                            tr { td { a.plain href={ "/runs/" (id) "#" (anchor("check", check.name)) } { code { (line(check.name)) } } } td { (mark.shown()) @if let Some(reason) = check.skip_reason { " " span.code { (reason.as_str()) } } } td.num { (check.runs) } }
                        }
                    }
                }
            }
        }
    }
}
