//! Items as lines of text, without width and colour.

use escrow_model::{ApprovedPlaybook, Issue, ProviderName, Request, RetryKind, SkipReason, Verdict};

use super::item::{Item, Judged, What};
use crate::request_words::{command_words, prevented_lines};
use crate::words::{count, duration_words, printable, skip_words};

/// One line that is worth showing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub mark: Mark,
    /// The check or item that the line is about. Empty for a remark.
    pub label: String,
    pub duration_ms: Option<u64>,
    pub note: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Succeeded,
    Failed,
    Retrying,
    Skipped,
    Routed,
    Remark,
}

impl Item<'_> {
    /// The lines for an item. Starts and the successes of single items have none: a list of what runs now and the
    /// counts of a fan-out cover them.
    pub fn lines(&self) -> Vec<Line> {
        let remark = |note: String| vec![Line::remark(note)];
        match &self.what {
            What::Judged(judged) => judged.line().into_iter().collect(),
            What::FanSettled { check, progress, .. } if progress.unsettled() > 0 => {
                remark(format!("{check}: {}", progress.outcome()))
            }
            What::FanSettled { check, progress, duration_ms } => vec![Line {
                mark: match (progress.succeeded, progress.failed) {
                    (0, 0) => Mark::Skipped,
                    (_, 0) => Mark::Succeeded,
                    (_, _) => Mark::Failed,
                },
                label: check.clone(),
                duration_ms: Some(*duration_ms),
                note: progress.outcome(),
            }],
            What::Skipped { of, reason, detail, evaluated, request, nested } => {
                // What the command line left out is not news, and items are counted, unless safe mode kept them back.
                let is_counted = !of.scope.is_root() && request.is_none();
                if is_counted || matches!(reason, SkipReason::Only | SkipReason::Tags) {
                    return Vec::new();
                }
                let note = skip_words(*reason, detail, *evaluated);
                let skipped = Line { mark: Mark::Skipped, label: of.to_string(), duration_ms: None, note };
                let would = request.map(|request| would_do(request, nested.as_deref())).unwrap_or_default();
                std::iter::once(skipped).chain(would.into_iter().map(Line::remark)).collect()
            }
            What::RetryScheduled { of, retry } => vec![Line {
                mark: Mark::Retrying,
                label: of.to_string(),
                duration_ms: None,
                note: retry.words(),
            }],
            What::Routed { from, block, to, goto_event } => {
                let event = goto_event.map_or(String::new(), |event| format!(", as {event}"));
                vec![Line {
                    mark: Mark::Routed,
                    label: to.to_string(),
                    duration_ms: None,
                    note: format!("{} of {from}{event}", block.as_str()),
                }]
            }
            What::LoopBudgetExceeded { from, to, limit } => {
                remark(format!("{from} → {to}: the loop budget of {limit} is spent"))
            }
            What::WaitStarted { of, id, prompt, .. } => {
                remark(format!("{of} waits: {} ({id})", printable(prompt)))
            }
            What::ReconcileStarted { of, .. } => {
                remark(format!("{of} may have taken effect: running `reconcile`"))
            }
            What::Reconciled { of, finding, detail } => {
                let found = finding.map_or("unknown", |finding| finding.as_str());
                remark(format!("{of} {found}: {}", printable(detail)))
            }
            What::EffectReused { of, key, run } => {
                remark(format!("{of} is already done: {run} confirmed the effect {}", printable(key)))
            }
            What::MessageRefused { why } => remark(format!("a message was refused: {why}")),
            What::RunResumed => remark("resumed".into()),
            What::RunReopened { places } => {
                let what = match places {
                    [] => "no failed check is run again".to_owned(),
                    [one] => {
                        format!("{}{} is run again, and every check that depends on it", one.check, one.scope)
                    }
                    several => {
                        let checks = count(several.len(), "check");
                        format!("{checks} are run again, and every check that depends on them")
                    }
                };
                remark(format!("reopened: {what}"))
            }
            What::DeadlinePassed => remark("the run's time is up".into()),
            What::IssueRaised { of, issue } => remark(format!("{of} {}", printable(&issue.message))),
            What::NestedStarted { playbook, run } => remark(format!("runs {} as {run}", printable(playbook))),
            What::AttemptStarted { of, prompt: Some(prompt), .. } => {
                let head = Line::remark(format!("{of} reads only, with this prompt:"));
                let lines = prompt.lines().map(|line| Line::remark(format!("  {}", printable(line))));
                std::iter::once(head).chain(lines).collect()
            }
            What::RunStarted { .. }
            | What::ArtifactsVerified { .. }
            | What::RunEnded { .. }
            | What::AttemptStarted { prompt: None, .. }
            | What::AttemptAnswered { .. }
            | What::WaitResolved { .. }
            | What::CancelRequested => Vec::new(),
        }
    }
}

impl Judged<'_> {
    fn line(&self) -> Option<Line> {
        let issues = issue_words(self.issues);
        let (mark, note) = match (self.verdict, self.retry) {
            (Verdict::Succeeded, _) if self.retried > 0 => {
                let times =
                    if self.retried == 1 { "once".to_owned() } else { format!("{} times", self.retried) };
                (Mark::Succeeded, format!("flaky: failed {times} before"))
            }
            (Verdict::Succeeded, _) if !self.of.scope.is_root() => return None,
            (Verdict::Succeeded, _) => (Mark::Succeeded, issues),
            (Verdict::Failed, None) => (Mark::Failed, issues),
            (Verdict::Failed, Some(retry)) => (Mark::Retrying, format!("{issues}: {}", retry.words())),
        };
        let duration_ms = Some(self.duration_ms.unwrap_or(0));
        Some(Line { mark, label: self.of.to_string(), duration_ms, note })
    }
}

impl super::Retry {
    fn words(self) -> String {
        match self.kind {
            RetryKind::Retry => format!("retry {} in {}", self.number, duration_words(self.delay_ms)),
            RetryKind::Repair => format!("repair {}", self.number),
        }
    }
}

impl Line {
    fn remark(note: String) -> Line {
        Line { mark: Mark::Remark, label: String::new(), duration_ms: None, note }
    }
}

/// The first issue in full; the others are counted.
fn issue_words(issues: &[Issue]) -> String {
    match issues {
        [] => String::new(),
        [only] => printable(&only.message),
        [first, rest @ ..] => format!("{} (and {} more)", printable(&first.message), rest.len()),
    }
}

/// What safe mode prevented: a command in one line, a request with a line for each field.
fn would_do(request: &Request, nested: Option<&ApprovedPlaybook>) -> Vec<String> {
    let in_one_line = |text: &str| printable(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if let Some(command) = command_words(request) {
        return vec![format!("would have run: {}", in_one_line(&command))];
    }
    let fields = prevented_lines(request, nested).into_iter();
    let fields = fields.map(|(name, value)| format!("  {}: {}", printable(&name), cut(&in_one_line(&value))));
    let what = if request.provider == ProviderName::NESTED {
        "would have run the playbook:"
    } else if request.fields.contains_key("url") {
        "would have sent:"
    } else {
        "would have done:"
    };
    std::iter::once(what.to_owned()).chain(fields).collect()
}

/// `runs show --output json` has the rest.
fn cut(value: &str) -> String {
    const CHARS_MAX: usize = 400;
    let mut shown: String = value.chars().take(CHARS_MAX).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    shown
}
