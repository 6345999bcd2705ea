//! Diagnostics as a terminal shows them: the line, a caret, what would help.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::{Diagnostic, Severity};

/// All of them, in the order given, a blank line between two.
pub fn render(diagnostics: &[Diagnostic], text: &str, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(120);
    let rendered: Vec<String> =
        diagnostics.iter().map(|diagnostic| renderer.render(&[group(diagnostic, text)])).collect();
    let mut all = rendered.join("\n\n");
    if !all.is_empty() {
        all.push('\n');
    }
    all
}

fn group<'a>(diagnostic: &'a Diagnostic, text: &'a str) -> Group<'a> {
    let text = diagnostic.text.as_deref().unwrap_or(text);
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let label = (!diagnostic.label.is_empty()).then_some(diagnostic.label.as_str());
    let snippet = Snippet::source(text)
        .path(diagnostic.file.as_str())
        .annotation(AnnotationKind::Primary.span(shown(text, &diagnostic.span)).label(label))
        .annotations(diagnostic.also.iter().map(|related| {
            AnnotationKind::Context.span(shown(text, &related.span)).label(related.label.as_str())
        }));
    let group = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code).element(snippet);
    match &diagnostic.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

/// A problem of a whole block points at its first line; a frame round twenty lines helps nobody.
fn shown(text: &str, span: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let written = text.get(span.clone()).unwrap_or("");
    let first = written.find('\n').map_or(written, |end| &written[..end]);
    span.start..span.start + first.trim_end().len()
}
