//! Renders diagnostics for a terminal: the source line, a caret, and the help.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use escrow_model::is_harmless;

use crate::{Diagnostic, Severity};

/// Renders diagnostics in the given order, separated by blank lines.
pub fn render(diagnostics: &[Diagnostic], text: &str, color: bool) -> String {
    render_within(COLUMNS, diagnostics, text, color)
}

/// Renders diagnostics for a terminal of this width.
pub fn render_within(columns: usize, diagnostics: &[Diagnostic], text: &str, color: bool) -> String {
    let columns = columns.clamp(COLUMNS_MIN, COLUMNS);
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(columns);
    let rendered: Vec<String> =
        diagnostics.iter().map(|diagnostic| renderer.render(&[group(diagnostic, text)])).collect();
    let mut all = rendered.join("\n\n");
    if !all.is_empty() {
        all.push('\n');
    }
    all
}

/// Wider lines are hard to read.
const COLUMNS: usize = 120;
/// A narrower terminal leaves no room for the source.
const COLUMNS_MIN: usize = 40;

fn group<'a>(diagnostic: &'a Diagnostic, text: &'a str) -> Group<'a> {
    let text = diagnostic.text.as_deref().unwrap_or(text);
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let label = (!diagnostic.label.is_empty()).then(|| harmless(&diagnostic.label));
    let window = window(text, diagnostic);
    let within = |span: &Range<usize>| {
        let shown = shown(text, span);
        shown.start.saturating_sub(window.start)..shown.end.saturating_sub(window.start)
    };
    let snippet = Snippet::source(&text[window.clone()])
        .line_start(text[..window.start].matches('\n').count() + 1)
        .path(harmless(&diagnostic.file))
        .annotation(AnnotationKind::Primary.span(within(&diagnostic.span)).label(label))
        .annotations(diagnostic.also.iter().map(|related| {
            AnnotationKind::Context.span(within(&related.span)).label(harmless(&related.label))
        }));
    let group = level.primary_title(harmless(&diagnostic.message)).id(diagnostic.code).element(snippet);
    match &diagnostic.help {
        Some(help) => group.element(Level::HELP.message(harmless(help))),
        None => group,
    }
}

/// Replaces control and bidirectional characters, so that quoted names cannot control the terminal.
fn harmless(text: &str) -> Cow<'_, str> {
    let harms = |c: char| c != '\n' && !is_harmless(c);
    if text.contains(harms) { text.replace(harms, "\u{fffd}").into() } else { text.into() }
}

/// The lines that a diagnostic shows. Restricting the renderer to them keeps long files with many problems fast.
fn window(text: &str, diagnostic: &Diagnostic) -> Range<usize> {
    let spans = || diagnostic.also.iter().map(|related| &related.span).chain([&diagnostic.span]);
    let first = spans().map(|span| span.start).min().unwrap_or(0);
    let last = spans().map(|span| span.end).max().unwrap_or(0);
    let (Some(before), Some(after)) = (text.get(..first), text.get(last..)) else { return 0..text.len() };
    // A problem at the end of the file is shown on its last line.
    let before = if after.is_empty() { before.trim_end_matches('\n') } else { before };
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    start..after.find('\n').map_or(text.len(), |end| last + end + 1)
}

/// The first line of a span. Underlining a whole block would not help.
fn shown(text: &str, span: &Range<usize>) -> Range<usize> {
    let written = text.get(span.clone()).unwrap_or("");
    let first = written.find('\n').map_or(written, |end| &written[..end]);
    span.start..span.start + first.trim_end().len()
}
