//! Effects: what external checks did to the world, newest first.

use escrow_app::effects::{self, EffectQuery, EffectRow};
use escrow_app::{now_ms, words};
use escrow_model::{EffectState, Millis};
use maud::{Markup, html};

use super::more;
use crate::answer::PageError;
use crate::layout::{Frame, Mark, Nav, anchor, clipped, line, when};
use crate::view::View;

const LIMIT: usize = 100;

pub(crate) async fn page(view: View) -> Result<Markup, PageError> {
    let frame = Frame::of(&view).await?;
    let limit = view.limit(LIMIT)?;
    let query = EffectQuery {
        run: view.get("run").map(str::to_owned),
        key: view.get("key").map(str::to_owned),
        limit: Some(limit + 1),
    };
    let mut rows = effects::list(&view.studio.app, &query).await?;
    let is_cut = rows.len() > limit;
    rows.truncate(limit);
    let unknown = rows.iter().filter(|row| row.state == EffectState::Unknown).count();
    let content = html! {
        div.head { div.grow { h1 { "Effects" } p { (words::count(rows.len(), "effect")) @if is_cut { " and older ones" } ", " (unknown) " unknown. What external checks changed outside, with the key that keeps each from happening twice. In a shell: " code { "escrow effects" } } } }
        form.bar method="get" {
            label.field { span { "Run" } input type="text" name="run" placeholder="r_… or last" value=[view.get("run")]; }
            label.field { span { "Key" } input type="text" name="key" value=[view.get("key")]; }
            button.btn { "Apply" }
        }
        @if rows.is_empty() { p.sub { "No external check has had an effect yet." } }
        @else { div.box { (table(&rows, now_ms())) } }
        @if is_cut { (more(&view, limit)) }
    };
    Ok(frame.page(&view, Nav::Effects, "Effects", &content))
}

pub(super) fn table(rows: &[EffectRow], now: Millis) -> Markup {
    html! {
        table.eff.stackable {
            caption.vh { "Effects, newest first" }
            thead { tr { th.w1 scope="col" { "Effect" } th.w2 scope="col" { "State" } th.w3 scope="col" { "Run" } th scope="col" { "Output" } th.num scope="col" { "Intended" } } }
            tbody {
                @for row in rows {
                    @let place = format!("{}{}", row.check, row.scope);
                    @let mark = Mark::of_effect(row.state);
                    tr id=(anchor("effect", &place)) data-row="" data-failure=[(mark.tone == "bad").then_some("")] {
                        td { p { b.mono { (line(&place)) } } p.small.dim.mono.cut title=(line(&row.key)) { (line(&row.key)) } }
                        td { (mark.shown()) @if row.attempts > 1 { p.small.dim { (row.attempts) " attempts" } } }
                        td.small { a.id href={ "/runs/" (row.run) "#" (anchor("check", &row.check)) } { (row.run) } }
                        td.small.mono { @if let Some(output) = row.output() { (clipped(&output.to_string(), 80)) } }
                        td.num.small.dim { (when(row.intended_at, now)) }
                    }
                }
            }
        }
    }
}
