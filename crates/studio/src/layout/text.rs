//! Texts of runs on a page: times, sizes, sentences with code in backticks.

use escrow_app::words;
use escrow_model::{Millis, rfc3339};
use maud::{Markup, html};

/// A sentence in which backticks mark code. What would reorder the text is shown as an escape.
pub(crate) fn ticked(sentence: &str) -> Markup {
    let sentence: String = sentence.chars().take(4_000).collect();
    let pieces: Vec<&str> = sentence.split('`').collect();
    // Without its partner, the last backtick is one.
    let closed = if pieces.len().is_multiple_of(2) { pieces.len() - 1 } else { pieces.len() };
    html! {
        @for (place, piece) in pieces.iter().enumerate() {
            @if place >= closed { "`" (words::visible(piece)) }
            @else if place % 2 == 1 { code { (words::visible(piece)) } }
            @else { (words::visible(piece)) }
        }
    }
}

/// A time of day: relative where a script runs, exact on hover and for programs.
pub(crate) fn when(at: Millis, now: Millis) -> Markup {
    let exact = rfc3339(at);
    let title = format!("{} UTC", exact.replace('T', " ").get(..19).unwrap_or_default());
    html! { time datetime=(exact) title=(title) data-relative="" { (ago(at, now)) } }
}

/// `4 min ago`, `in 2 h`.
fn ago(at: Millis, now: Millis) -> String {
    let (distance, is_past) = (at.abs_diff(now), at <= now);
    let seconds = distance / 1_000;
    let words = match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    };
    if is_past { format!("{words} ago") } else { format!("in {words}") }
}

pub(crate) fn duration(ms: u64) -> String {
    words::duration_words(ms)
}

/// `812 bytes`, `4.0 KB`.
pub(crate) fn bytes(bytes: u64) -> String {
    words::bytes_words(bytes)
}

/// The beginning of an id, where a row has no room for all of it.
pub(crate) fn id_short(id: &str) -> String {
    if id.len() <= 10 { id.to_owned() } else { format!("{}…", id.get(..9).unwrap_or(id)) }
}

/// At most so many characters.
pub(crate) fn clipped(text: &str, length_max: usize) -> String {
    let mut shown: String = words::visible(text).chars().take(length_max).collect();
    if text.chars().count() > length_max {
        shown.push('…');
    }
    shown
}
