//! Status is an icon and a word. Each status has a shape of its own; its colour only repeats the word.

use maud::{Markup, html};

/// An icon of the sprite, in the colour of a status or of the text around it.
pub(crate) fn icon(name: &str, tone: &str) -> Markup {
    html! { svg class={ "i " (tone) } aria-hidden="true" { use href={ "#" (name) } {} } }
}

pub(crate) fn icon_small(name: &str, tone: &str) -> Markup {
    html! { svg class={ "i i-sm " (tone) } aria-hidden="true" { use href={ "#" (name) } {} } }
}

/// An icon with its word.
pub(crate) fn status(icon_name: &str, tone: &str, word: &str) -> Markup {
    html! { span class={ "st " (tone) } { (icon(icon_name, "")) (word) } }
}

/// A word as a chip.
pub(crate) fn tag(tone: &str, word: &str) -> Markup {
    html! { span class={ "tag " (tone) } { (word) } }
}
