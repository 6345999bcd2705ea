//! One run.

use maud::{Markup, html};

use crate::answer::PageError;
use crate::layout::{Frame, Nav};
use crate::view::View;

pub(crate) async fn page(view: View) -> Result<Markup, PageError> {
    let frame = Frame::of(&view).await?;
    let row = view.queries()?.run(&view.parameter("id")).await?;
    let content = html! { div.head { div.grow { h1 { (row.playbook) } } } };
    Ok(frame.page(&view, Nav::Runs, &row.playbook, &content))
}
