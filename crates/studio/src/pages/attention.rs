//! Attention.

use maud::{Markup, html};

use crate::answer::PageError;
use crate::layout::{Frame, Nav};
use crate::view::View;

pub(crate) async fn page(view: View) -> Result<Markup, PageError> {
    let frame = Frame::of(&view).await?;
    let content = html! { div.head { div.grow { h1 { "Attention" } } } };
    Ok(frame.page(&view, Nav::Attention, "Attention", &content))
}
