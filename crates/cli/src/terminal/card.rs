//! A card as a terminal draws it: its blocks from top to bottom, readable without colour.

use escrow_model::is_harmless;
use escrow_model::outcome::{Block, Card, Finding, Mark, Row, Tone};

use super::paint::Paint;
use super::table::TextTable;
use super::words::{count, printable};

/// How wide a card is.
const WIDTH: usize = 88;

/// How many items of one block are drawn.
const ITEMS_MAX: usize = 200;

/// How much of a value is drawn that no block fits.
const JSON_LINES_MAX: usize = 200;

pub(crate) fn show_card(card: &Card, paint: Paint) -> String {
    let (title, aside) = (printable(&card.title), card.aside.as_deref().map(printable).unwrap_or_default());
    let gap = WIDTH.saturating_sub(title.chars().count() + aside.chars().count()).max(2);
    let painted = tone(&title, card.tone, paint);
    let mut text = format!("{painted}{}{}", " ".repeat(gap), paint.dim(&aside));
    text.truncate(text.trim_end().len());
    text.push_str(&format!("\n{}\n", paint.dim(&"─".repeat(WIDTH))));
    for block in &card.blocks {
        text.push_str(&show_block(block, paint));
        text.push('\n');
    }
    text
}

fn show_block(block: &Block, paint: Paint) -> String {
    match block {
        Block::Text { heading: None, text } => paragraph(text, ""),
        Block::Text { heading: Some(heading), text } => {
            format!("{}\n{}", paint.bold(&printable(heading)), paragraph(text, "  "))
        }
        Block::Counts { heading, counts } => {
            let counted: Vec<String> = counts
                .iter()
                .take(ITEMS_MAX)
                .map(|(name, number)| format!("{} {number}", printable(name)))
                .collect();
            format!("{}\n{}", paint.bold(heading), paragraph(&counted.join(" · "), "  "))
        }
        Block::Checklist { heading, items } => {
            let marks: String = items.iter().take(ITEMS_MAX).map(|mark| show_mark(mark, paint)).collect();
            format!("{}\n{marks}{}", paint.bold(heading), rest(items.len()))
        }
        Block::Rows { heading, rows } => {
            let heading =
                heading.as_ref().map(|heading| format!("{}\n", paint.bold(heading))).unwrap_or_default();
            format!("{heading}{}{}", show_rows(rows, paint), rest(rows.len()))
        }
        Block::Findings { heading, folded, items } => {
            let found: String =
                items.iter().take(ITEMS_MAX).map(|finding| show_finding(finding, *folded, paint)).collect();
            format!("{}\n{found}{}", paint.bold(heading), rest(items.len()))
        }
        Block::Json { heading, value } => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let shown = lines.iter().take(JSON_LINES_MAX).map(|line| format!("  {}\n", printable_line(line)));
            let hidden = lines.len().saturating_sub(JSON_LINES_MAX);
            let more =
                if hidden > 0 { format!("  … {}\n", count(hidden, "more line")) } else { String::new() };
            let heading = format!("{}\n", paint.bold(&printable(heading)));
            std::iter::once(heading).chain(shown).chain(std::iter::once(more)).collect()
        }
    }
}

fn rest(number: usize) -> String {
    let hidden = number.saturating_sub(ITEMS_MAX);
    if hidden > 0 { format!("  and {hidden} more\n") } else { String::new() }
}

fn show_mark(mark: &Mark, paint: Paint) -> String {
    let sign = if mark.passed { paint.green("✓") } else { paint.red("✗") };
    let detail = mark.detail.as_deref().map(|detail| format!("  {}", printable(detail))).unwrap_or_default();
    format!("  {sign} {}{}\n", printable(&mark.label), paint.dim(&detail))
}

fn show_rows(rows: &[Row], paint: Paint) -> String {
    let mut table = TextTable::new();
    for row in rows.iter().take(ITEMS_MAX) {
        let (label, value) = (format!("  {}", printable(&row.label)), printable(&row.value));
        let painted = tone(&value, row.tone, paint);
        table.row(&[(label.as_str(), label.clone()), (value.as_str(), painted)]);
    }
    table.render()
}

/// Severity, what it is, where, and the details; a folded one shows only what and where.
fn show_finding(finding: &Finding, folded: bool, paint: Paint) -> String {
    let label = format!("{:<8}", finding.label);
    let painted = if folded { paint.dim(&label) } else { paint.red(&label) };
    let indent = " ".repeat(11);
    let body = paragraph(&finding.text, &indent);
    let mut text = format!("  {painted} {}", body.trim_start());
    let place = finding.place.as_deref().map(printable);
    if let Some(place) = place {
        text.push_str(&format!("{indent}{}\n", paint.cyan(&place)));
    }
    for detail in finding.details.iter().filter(|_| !folded) {
        text.push_str(&paragraph(&format!("{}: {}", detail.label, detail.text), &indent));
    }
    text
}

fn tone(text: &str, tone: Tone, paint: Paint) -> String {
    match tone {
        Tone::Good => paint.green(text),
        Tone::Bad => paint.red(text),
        Tone::Neutral => text.to_owned(),
    }
}

/// Words on lines that fit, behind an indent. Lines that the writer ended stay ended.
fn paragraph(text: &str, indent: &str) -> String {
    const LENGTH_MAX: usize = 20_000;
    let text: String = text.chars().take(LENGTH_MAX).collect();
    let width = WIDTH.saturating_sub(indent.len());
    let mut wrapped = String::new();
    for line in text.lines() {
        let mut current = String::new();
        for word in printable_line(line).split_whitespace() {
            if !current.is_empty() && current.chars().count() + 1 + word.chars().count() > width {
                wrapped.push_str(&format!("{indent}{current}\n"));
                current.clear();
            }
            if !current.is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
        wrapped.push_str(format!("{indent}{current}").trim_end());
        wrapped.push('\n');
    }
    wrapped
}

/// What others wrote must not drive the reader's terminal.
fn printable_line(line: &str) -> String {
    line.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| is_harmless(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use escrow_model::outcome::digest;
    use serde_json::{Value, json};

    fn shown(kind: &str, content: &Value) -> String {
        show_card(&digest(kind, content).expect("an outcome").card, Paint::for_terminal(false))
    }

    /// Compares without blanks at the ends of lines, which no editor keeps.
    fn check(text: &str, expected: &str) {
        let lines =
            |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned();
        assert_eq!(lines(text), lines(expected), "\n{text}");
    }

    #[test]
    fn a_review_shows_counts_categories_and_blocking_findings_first() {
        let text = shown(
            "review_verdict",
            &json!({
                "verdict": "REQUEST_CHANGES", "reviewer": "reviewer", "duration_seconds": 327, "round": 2,
                "findings": [
                    {"severity": "medium", "category": "Terminology", "description": "Rename label packs", "file": "a.md",
                     "suggestion": "say packs"},
                    {"severity": "high", "category": "ADR consistency", "description": "ADR-060 depends on the wrong ADR",
                     "file": "docs/adrs/ADR-060.md", "line": 14, "evidence": "adjacent ADRs differ",
                     "required_fix": "correct the reference"},
                ],
            }),
        );
        check(
            &text,
            "
REQUEST CHANGES                                              reviewer · 5m 27s · round 2
────────────────────────────────────────────────────────────────────────────────────────
Findings
  critical 0 · high 1 · medium 1 · low 0 · info 0

Categories
  Terminology 1 · ADR consistency 1

Blocking findings
  HIGH     ADR-060 depends on the wrong ADR
           docs/adrs/ADR-060.md:14
           Evidence: adjacent ADRs differ
           Required: correct the reference

Suggestions
  MEDIUM   Rename label packs
           a.md
",
        );
    }

    #[test]
    fn a_gate_shows_its_criteria_why_it_is_shut_and_what_is_next() {
        let text = shown(
            "gate_verdict",
            &json!({
                "gate_passed": false,
                "criteria": [{"name": "backend tests pass", "passed": true},
                             {"name": "implementation_1012.md is delivered", "passed": false}],
                "blocking_reason": "Required artifact was not produced.",
                "next_action": "Re-run implementer with artifact path constraint.",
            }),
        );
        check(
            &text,
            "
GATE VERDICT: REJECT
────────────────────────────────────────────────────────────────────────────────────────
Acceptance criteria
  ✓ backend tests pass
  ✗ implementation_1012.md is delivered

Blocking reason
  Required artifact was not produced.

Next action
  Re-run implementer with artifact path constraint.
",
        );
    }

    #[test]
    fn a_ci_result_shows_a_row_for_each_check_and_how_long_commands_took() {
        let text = shown(
            "ci_result",
            &json!({
                "tests_passed": true, "test_count": 119, "test_failures": 0, "lint_passed": true, "build_passed": true,
                "checks": [{"name": "licences", "passed": true, "detail": "all known"}],
                "commands": [{"command": "pytest apps/studio/server", "duration_seconds": 134, "passed": true},
                             {"command": "npm run build", "duration_seconds": 62, "passed": true}],
            }),
        );
        check(
            &text,
            "
CI RESULT: PASSED
────────────────────────────────────────────────────────────────────────────────────────
  Tests     119 / 119
  Lint      passed
  Build     passed
  licences  passed: all known

Commands
  pytest apps/studio/server  2m 14s
  npm run build              1m 02s
",
        );
    }

    #[test]
    fn an_own_kind_shows_what_is_there() {
        check(
            &shown(
                "load_test",
                &json!({"passed": false, "summary": "too slow", "p99_ms": 812, "steps": [1, 2]}),
            ),
            "
LOAD TEST: FAILED
────────────────────────────────────────────────────────────────────────────────────────
too slow

  p99_ms  812

steps
  [
    1,
    2
  ]
",
        );
    }

    #[test]
    fn what_others_wrote_does_not_drive_the_terminal() {
        let text = shown(
            "gate_verdict",
            &json!({"gate_passed": false, "notes": "a\u{1b}[2Jb\u{7}\r\nc", "blocking_reason": "x ".repeat(500)}),
        );
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
