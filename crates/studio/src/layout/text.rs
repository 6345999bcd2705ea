//! Texts of runs on a page: times, sizes, sentences with code in backticks.

use escrow_app::words;
use escrow_model::{Millis, rfc3339};
use maud::{Markup, html};

/// A sentence in which backticks mark code. What would reorder the text is shown as an escape.
pub(crate) fn ticked(sentence: &str) -> Markup {
    let sentence: String = sentence.chars().take(4_000).collect();
    ticked_whole(&sentence)
}

/// The same, however long it is: for what a person decides about.
pub(crate) fn ticked_whole(sentence: &str) -> Markup {
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

/// The same for a line of a list: long code keeps its beginning and its end, which tell what it is about and what it compares with.
pub(crate) fn ticked_short(sentence: &str) -> Markup {
    let pieces: Vec<&str> = sentence.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return ticked(sentence);
    }
    let pieces = pieces.iter().enumerate();
    let pieces: Vec<String> =
        pieces.map(|(place, piece)| if place % 2 == 1 { ends(piece) } else { (*piece).to_owned() }).collect();
    ticked(&pieces.join("`"))
}

/// The ends of code, cut where a part of it begins or ends.
fn ends(code: &str) -> String {
    const HEAD: usize = 22;
    const TAIL: usize = 18;
    let characters: Vec<char> = code.chars().collect();
    let length = characters.len();
    if length <= HEAD + TAIL + 4 {
        return code.to_owned();
    }
    let is_edge = |place: &usize| matches!(characters[*place], '.' | ' ' | '(');
    let head = (HEAD / 2..HEAD).rev().find(is_edge).unwrap_or(HEAD);
    let tail = (length - TAIL..length - TAIL / 3).find(is_edge).unwrap_or(length - TAIL);
    format!(
        "{} … {}",
        characters[..head].iter().collect::<String>(),
        characters[tail..].iter().collect::<String>()
    )
}

/// A sentence that stands alone begins with a capital; one that begins with code stays as it is.
pub(crate) fn sentence_case(sentence: &str) -> String {
    let mut characters = sentence.chars();
    match characters.next() {
        Some(first) if first.is_ascii_lowercase() => {
            let word = sentence.split([' ', ',', ':']).next().unwrap_or_default();
            // A name such as `playbook.yaml` or `tests_passed` is not a word.
            if word.chars().all(|c| c.is_ascii_lowercase()) {
                format!("{}{}", first.to_ascii_uppercase(), characters.as_str())
            } else {
                sentence.to_owned()
            }
        }
        Some(_) | None => sentence.to_owned(),
    }
}

/// A time of day: relative where a script runs, exact on hover and for programs.
pub(crate) fn when(at: Millis, now: Millis) -> Markup {
    let exact = rfc3339(at);
    let title = format!("{} UTC", exact.replace('T', " ").get(..19).unwrap_or_default());
    html! { time datetime=(exact) title=(title) data-relative="" { (ago(at, now)) } }
}

/// The same, behind the time of day.
pub(crate) fn clock_when(at: Millis, now: Millis) -> Markup {
    let exact = rfc3339(at);
    let title = format!("{} UTC", exact.replace('T', " ").get(..19).unwrap_or_default());
    let clock = exact.get(11..19).unwrap_or_default();
    html! { time datetime=(exact) title=(title) data-relative="" data-clock=(clock) { (clock) ", " (ago(at, now)) } }
}

/// How long something has been going on. With script, the figure grows.
pub(crate) fn lasting(since: Millis, now: Millis) -> Markup {
    html! { span.ticks data-since=(since) { (duration(now.saturating_sub(since))) } }
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

/// One line of text from a run: nothing in it reorders or hides what stands around it.
pub(crate) fn line(text: &str) -> String {
    words::printable(text)
}

/// The same, as code.
pub(crate) fn code(text: &str) -> Markup {
    html! { code { (line(text)) } }
}

/// An id of this page, made of the name of a check, an artifact or an effect. Different names give different ids.
pub(crate) fn anchor(kind: &str, name: &str) -> String {
    let mut id = format!("{kind}-");
    for c in name.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '.' => id.push(c),
            '_' => id.push_str("__"),
            other => id.push_str(&format!("_{:x}_", u32::from(other))),
        }
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_become_code_and_everything_is_escaped() {
        assert_eq!(ticked("`a<b` is <i>").into_string(), "<code>a&lt;b</code> is &lt;i&gt;");
        assert_eq!(ticked("one ` left").into_string(), "one ` left");
    }

    #[test]
    fn long_code_in_a_list_keeps_its_beginning_and_its_end() {
        let long = "`review` failed: `output.findings.filter(f => ['critical', 'high'].includes(f.severity)).length === 0` does not hold";
        assert_eq!(
            ticked_short(long).into_string(),
            "<code>review</code> failed: <code>output.findings … .length === 0</code> does not hold"
        );
        assert_eq!(ticked_short("`a` is `b`").into_string(), ticked("`a` is `b`").into_string());
        assert_eq!(ticked_short("one ` left").into_string(), "one ` left");
    }

    #[test]
    fn sentences_begin_with_a_capital_and_names_do_not() {
        assert_eq!(sentence_case("every contract was met"), "Every contract was met");
        assert_eq!(sentence_case("`review` failed"), "`review` failed");
        assert_eq!(sentence_case("tests_passed is false"), "tests_passed is false");
    }

    #[test]
    fn times_are_said_relative_to_now() {
        assert_eq!(ago(0, 5_000), "5 s ago");
        assert_eq!(ago(7_200_000, 0), "in 2 h");
    }

    #[test]
    fn names_that_differ_have_ids_that_differ() {
        assert_eq!(anchor("check", "lint[2]"), "check-lint_5b_2_5d_");
        assert_ne!(anchor("check", "a b"), anchor("check", "a_20_b"));
    }
}
