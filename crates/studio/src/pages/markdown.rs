//! Markdown as elements of ours. A small part of it: headings, lists, quotes, fences, rules, paragraphs, code, emphasis.
//!
//! **Invariant:** no HTML of the text and no address of it reaches the page: a link is shown with its address as text.

use escrow_app::words;
use maud::{Markup, html};

/// Lines that are shown.
const LINES_MAX: usize = 2_000;

enum Block<'t> {
    Heading(usize, &'t str),
    Item(&'t str),
    Quote(&'t str),
    Code(Vec<&'t str>),
    Rule,
    Text(Vec<&'t str>),
}

pub(super) fn rendered(text: &str) -> Markup {
    let lines: Vec<&str> = text.lines().take(LINES_MAX).collect();
    let is_cut = text.lines().nth(LINES_MAX).is_some();
    html! {
        div.md {
            @for block in blocks(&lines) { (element(&block)) }
            @if is_cut { p.small.dim { "…" } }
        }
    }
}

fn element(block: &Block<'_>) -> Markup {
    match block {
        // The page has its own headings, so those of a text begin below them.
        Block::Heading(1 | 2, text) => html! { h3 { (inline(text)) } },
        Block::Heading(_, text) => html! { h4 { (inline(text)) } },
        Block::Item(text) => html! { p.li { (inline(text)) } },
        Block::Quote(text) => html! { blockquote { p { (inline(text)) } } },
        Block::Code(lines) => html! { pre { @for line in lines { (words::visible(line)) "\n" } } },
        Block::Rule => html! { hr; },
        Block::Text(lines) => html! { p { @for line in lines { (inline(line)) " " } } },
    }
}

fn blocks<'t>(lines: &[&'t str]) -> Vec<Block<'t>> {
    let mut blocks = Vec::new();
    let mut rest = lines.iter();
    while let Some(line) = rest.next() {
        let trimmed = line.trim();
        if let Some(fence) = ["```", "~~~"].into_iter().find(|fence| trimmed.starts_with(fence)) {
            let code = rest.by_ref().take_while(|line| !line.trim_start().starts_with(fence)).copied();
            blocks.push(Block::Code(code.collect()));
        } else if let Some((level, text)) = heading(trimmed) {
            blocks.push(Block::Heading(level, text));
        } else if let Some(text) = ["- ", "* ", "+ "].iter().find_map(|mark| trimmed.strip_prefix(mark)) {
            blocks.push(Block::Item(text));
        } else if let Some(text) = trimmed.strip_prefix('>') {
            blocks.push(Block::Quote(text.trim()));
        } else if matches!(trimmed, "---" | "***" | "___") {
            blocks.push(Block::Rule);
        } else if trimmed.is_empty() {
            blocks.push(Block::Text(Vec::new()));
        } else if let Some(Block::Text(text)) = blocks.last_mut() {
            text.push(trimmed);
        } else {
            blocks.push(Block::Text(vec![trimmed]));
        }
    }
    blocks.retain(|block| !matches!(block, Block::Text(text) if text.is_empty()));
    blocks
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    (1..=6).contains(&level).then(|| text.strip_prefix(' ').map(|text| (level, text.trim())))?
}

/// Code in backticks, and strong text between two stars.
fn inline(text: &str) -> Markup {
    let pieces: Vec<&str> = text.split('`').collect();
    let closed = if pieces.len().is_multiple_of(2) { pieces.len() - 1 } else { pieces.len() };
    html! {
        @for (place, piece) in pieces.iter().enumerate() {
            @if place >= closed { "`" (strong(piece)) }
            @else if place % 2 == 1 { code { (words::visible(piece)) } }
            @else { (strong(piece)) }
        }
    }
}

fn strong(text: &str) -> Markup {
    let pieces: Vec<&str> = text.split("**").collect();
    let closed = if pieces.len().is_multiple_of(2) { pieces.len() - 1 } else { pieces.len() };
    html! {
        @for (place, piece) in pieces.iter().enumerate() {
            @if place >= closed { "**" (words::visible(piece)) }
            @else if place % 2 == 1 { strong { (words::visible(piece)) } }
            @else { (words::visible(piece)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_elements_of_ours_and_nothing_of_it_becomes_html() {
        let text = "# Head\n\nOne `a<b` and **two**\nlines\n\n- item <img src=x>\n> quote\n```js\n<script>\n```\n[x](javascript:alert(1))";
        let page = rendered(text).into_string();
        for part in [
            "<h3>Head</h3>",
            "<code>a&lt;b</code>",
            "<strong>two</strong>",
            "item &lt;img src=x&gt;",
            "<blockquote>",
            "<pre>&lt;script&gt;",
            "[x](javascript:alert(1))",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<img") && !page.contains("<script") && !page.contains("href"), "{page}");
    }

    #[test]
    fn an_open_fence_and_an_open_mark_end_with_the_text() {
        assert!(rendered("```\nx").into_string().contains("<pre>x"));
        assert!(rendered("a ` b ** c").into_string().contains("a ` b ** c"));
    }
}
