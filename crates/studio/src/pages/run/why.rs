//! Why: the expression that decided, with the value of every part, and what would have to differ.

use escrow_app::explain::{Evaluation, Part};
use escrow_app::words;
use escrow_model::{CheckStatus, Criticality};
use maud::{Markup, html};

use super::checks::Listed;
use super::{Shown, journal};
use crate::layout::{Mark, anchor, clipped, icon, line, ticked};

/// How deep and wide an expression is shown.
const DEPTH_MAX: usize = 24;
const PARTS_MAX: usize = 400;
const VALUE_LENGTH_MAX: usize = 300;
const VALUES_MAX: usize = 12;

/// Longer parts are abbreviated.
const LABEL_LENGTH_MAX: usize = 44;

pub(super) fn section(shown: &Shown, listed: &Listed) -> Markup {
    let Some(account) = &shown.account else { return interrupted(shown) };
    let subject = account
        .subject
        .as_ref()
        .map(|subject| format!("{}{}", subject.check, subject.scope))
        .or_else(|| account.cause.check.clone());
    let decisive: Vec<&Evaluation> = account.cause.evaluations.iter().filter(|one| one.decisive).collect();
    let kept: Vec<&Evaluation> = account.cause.evaluations.iter().filter(|one| !one.decisive).collect();
    html! {
        section.sect id="why" aria-labelledby="h-why" {
            div.sect-h {
                h2 id="h-why" { "Why" @if let Some(subject) = &subject { " " code { (line(subject)) } @if let Some(of) = &account.subject { " " (stood(of.status)) } } }
                p { @if let Some(attempt) = account.cause.attempt { "attempt " (attempt) ", " } "decided at entry " a href=(journal::href(shown, account.cause.entry)) { (account.cause.entry) } }
                span.grow {}
                span.meta { code { "escrow explain " (shown.row.id) @if let Some(of) = &account.subject { " " (line(&of.check)) } } }
            }
            div.box {
                @if decisive.is_empty() { p.pad { b { (ticked(&account.cause.summary)) } } }
                @for issue in account.cause.issues.iter().filter(|issue| decisive.is_empty() && !account.cause.summary.contains(&issue.message)).take(5) { p.pad.small { span.code { (issue.code.text()) } " " (ticked(&issue.message)) } }
                @for evaluation in &decisive { (evaluated(evaluation)) }
                @for evaluation in &kept { p.pad.small { (icon("ok", "ok")) " " span.sub { (evaluation.construct.as_str()) } " " code { (clipped(evaluation.explanation.source.trim(), VALUE_LENGTH_MAX)) } " is " (clipped(&evaluation.explanation.result, VALUE_LENGTH_MAX)) } }
                @for differ in &account.differs { p.differ { (icon("arrow", "dim")) span { (ticked(&differ.to_string())) } } }
                @if account.timeline.len() > 1 {
                    div.story {
                        h3 { "What happened" }
                        ol {
                            @for moment in account.timeline.iter().take(60) {
                                li { a.e href=(journal::href(shown, moment.entry)) { (moment.entry) } time { (moment.at.get(11..19).unwrap_or_default()) } span { (ticked(&line(&moment.what))) @if let Some(evaluation) = &moment.evaluation { " when " code { (clipped(evaluation.explanation.source.trim(), 120)) } } } }
                            }
                        }
                    }
                }
            }
            @if account.path.len() > 1 {
                div.box {
                    ul.why-path {
                        @for link in &account.path {
                            @let mark = path_mark(link.status);
                            li { (mark.icon()) a.plain href=(listed.href_of(shown, &link.check)) { b.mono { (line(&link.check)) (link.scope) } } " " (link.status) " " span.code { (line(&link.code)) } }
                        }
                    }
                }
            }
        }
    }
}

fn stood(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Pending => "has not begun",
        CheckStatus::Running => "is running",
        CheckStatus::Waiting => "waits",
        CheckStatus::Succeeded => "succeeded",
        CheckStatus::Failed => "failed",
        CheckStatus::Skipped => "was skipped",
        CheckStatus::Unknown => "is unknown",
    }
}

/// What is known of a run whose process went away: how far its journal reaches, and what was under way.
fn interrupted(shown: &Shown) -> Markup {
    if !shown.is_interrupted() {
        return html! {};
    }
    let cut_off = shown.run.check_reports().filter(|check| check.status == CheckStatus::Running);
    html! {
        section.sect id="why" aria-labelledby="h-why" {
            div.sect-h {
                h2 id="h-why" { "Why it is interrupted" }
                p { "the journal ends at entry " a href={ "#e" (shown.entries.len()) } { (shown.entries.len()) } }
                span.grow {}
                span.meta { code { "escrow resume " (shown.row.id) } }
            }
            div.box {
                p.pad { b { "The process that drove this run is gone, and the run has not ended." } }
                @for check in cut_off {
                    p.pad.small {
                        (Mark::CUT_OFF.icon()) " " a href={ "#" (anchor("check", check.name)) } { code { (line(check.name)) } } " was under way"
                        @if check.criticality == Criticality::External { ": it may or may not have taken effect" }
                    }
                }
                p.differ { (icon("arrow", "dim")) span { "When it is resumed, what is confirmed is not repeated; what was under way is done again, and of an external check you are asked." } }
            }
        }
    }
}

fn path_mark(status: &str) -> Mark {
    let known = CheckStatus::ALL.into_iter().find(|one| one.as_str() == status);
    Mark::of_check(known.unwrap_or(CheckStatus::Pending), false)
}

fn evaluated(evaluation: &Evaluation) -> Markup {
    let explanation = &evaluation.explanation;
    let mut budget = PARTS_MAX;
    html! {
        p.expr { span.k { (evaluation.construct.as_str()) } (clipped(explanation.source.trim(), 2_000)) }
        div.tree role="group" aria-label="The expression with the value of every part" {
            ul {
                li {
                    div.n.hot { code { (abbreviated(explanation.source.trim())) } span.v { (clipped(&explanation.result, VALUE_LENGTH_MAX)) } }
                    (parts(&explanation.parts, &explanation.source, 0, true, &mut budget))
                }
            }
        }
    }
}

fn parts(all: &[Part], around: &str, depth: usize, is_hot: bool, budget: &mut usize) -> Markup {
    // Skip a part that repeats its parent.
    let all = match all {
        [only] if only.source.trim() == around.trim() => &only.parts,
        all => all,
    };
    if all.is_empty() || depth > DEPTH_MAX {
        return html! {};
    }
    let first = all.iter().position(|part| !part.parts.is_empty()).unwrap_or(0);
    let mut items = Vec::new();
    for (place, part) in all.iter().enumerate() {
        let Some(left) = budget.checked_sub(1) else { break };
        *budget = left;
        let is_decisive = is_hot && place == first && part.value.is_some() && depth == 0;
        let below = parts(&part.parts, &part.source, depth + 1, false, budget);
        items.push(html! {
            li {
                div class=(if is_decisive { "n hot" } else { "n" }) { code title=[is_long(&part.source).then(|| clipped(part.source.trim(), VALUE_LENGTH_MAX))] { (abbreviated(part.source.trim())) } (value(part)) }
                (below)
            }
        });
    }
    html! { ul { @for item in &items { (item) } } }
}

fn is_long(source: &str) -> bool {
    source.trim().chars().count() > LABEL_LENGTH_MAX
}

/// A long part without what stands in its parentheses: that is a part of its own, below it.
fn abbreviated(source: &str) -> String {
    if !is_long(source) {
        return clipped(source, 120);
    }
    let (mut shown, mut depth) = (String::new(), 0usize);
    for c in source.chars() {
        if c == ')' {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            shown.push(c);
        }
        if c == '(' {
            depth += 1;
            if depth == 1 {
                shown.push('…');
            }
        }
    }
    clipped(&shown, 120)
}

fn value(part: &Part) -> Markup {
    if part.values.len() > 1 {
        return html! {
            span.v {
                span.tries { @for one in part.values.iter().take(VALUES_MAX) { span class=[(one == "true").then_some("hit")] { (clipped(one, 24)) } } }
                " " span.note { (words::count(usize::try_from(part.times).unwrap_or(usize::MAX), "time")) }
            }
        };
    }
    match &part.value {
        Some(value) => {
            html! { span.v title=(clipped(value, VALUE_LENGTH_MAX)) { (clipped(value, VALUE_LENGTH_MAX)) } }
        }
        None => html! { span.v { span.note { "not evaluated" } } },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_part_is_shown_without_what_its_parentheses_hold() {
        let long = "output.findings.filter(f => ['a', 'b'].includes(f.severity)).length === 0";
        assert_eq!(abbreviated(long), "output.findings.filter(…).length === 0");
        assert_eq!(abbreviated("f(x) === 1"), "f(x) === 1");
        assert_eq!(abbreviated(&format!("{}(a", "x".repeat(50))), format!("{}(…", "x".repeat(50)));
    }
}
