//! What happened to each check so far, collected from committed entries.

use std::collections::BTreeMap;

use escrow_model::{Entry, Event, Issue, Millis, ScopePath, SkipReason, Verdict};

/// One line that is worth showing.
pub(super) enum Line {
    Settled { check: String, verdict: Verdict, duration_ms: u64, note: String },
    Skipped { check: String, note: String },
    Note { text: String },
}

/// Follows entries and turns them into lines.
#[derive(Debug, Default)]
pub(super) struct Story {
    started: BTreeMap<(String, ScopePath), Millis>,
    fans: BTreeMap<String, Fan>,
}

/// The items of a fan-out are counted, not listed.
#[derive(Debug, Default)]
struct Fan {
    succeeded: usize,
    failed: usize,
    skipped: usize,
}

impl Story {
    /// What runs now, with its start.
    pub(super) fn running(&self) -> impl Iterator<Item = (&str, &ScopePath, Millis)> {
        self.started.iter().map(|((check, scope), at)| (check.as_str(), scope, *at))
    }

    pub(super) fn tell(&mut self, entry: &Entry) -> Option<Line> {
        match &entry.event {
            Event::AttemptStarted { check, scope, .. } => {
                self.started.insert((check.clone(), scope.clone()), entry.at);
                None
            }
            Event::CheckJudged { check, scope, verdict, issues, settled, .. } => {
                let began = self.started.remove(&(check.clone(), scope.clone())).unwrap_or(entry.at);
                let duration_ms = entry.at.saturating_sub(began);
                if !scope.is_root() {
                    let fan = self.fans.entry(check.clone()).or_default();
                    match verdict {
                        Verdict::Succeeded => fan.succeeded += 1,
                        Verdict::Failed => fan.failed += 1,
                    }
                    if *verdict == Verdict::Succeeded {
                        return None;
                    }
                }
                let mut note = issue_note(issues);
                if !settled && *verdict == Verdict::Failed && !note.is_empty() {
                    note.push_str(" (not settled yet)");
                }
                Some(Line::Settled { check: label(check, scope), verdict: *verdict, duration_ms, note })
            }
            Event::CheckSkipped { check, scope, reason, detail, .. } => {
                if !scope.is_root() {
                    self.fans.entry(check.clone()).or_default().skipped += 1;
                    return None;
                }
                if matches!(reason, SkipReason::Only | SkipReason::Tags) {
                    return None;
                }
                Some(Line::Skipped {
                    check: label(check, scope),
                    note: super::words::skip_words(*reason, detail),
                })
            }
            Event::RetryScheduled { check, scope, retry, at } => {
                let wait = super::duration_words(at.saturating_sub(entry.at));
                Some(Line::Note { text: format!("{} retry {retry} in {wait}", label(check, scope)) })
            }
            Event::Routed { check, scope, block, to, to_scope, .. } => {
                let text = format!("{} {block} → {}", label(check, scope), label(to, to_scope));
                Some(Line::Note { text })
            }
            Event::LoopBudgetExceeded { check, scope, to, limit } => {
                let text = format!("{} → {to}: the loop budget of {limit} is spent", label(check, scope));
                Some(Line::Note { text })
            }
            Event::WaitStarted { check, scope, id, prompt, .. } => {
                self.started.remove(&(check.clone(), scope.clone()));
                Some(Line::Note { text: format!("{} waits: {prompt} ({id})", label(check, scope)) })
            }
            Event::LetterOpened { refused: Some(why), .. } => {
                Some(Line::Note { text: format!("a letter was refused: {why}") })
            }
            Event::RunResumed {} => Some(Line::Note { text: "resumed".into() }),
            Event::RunReopened { places, .. } => {
                let what = match places.as_slice() {
                    [] => "only the artifacts are looked at again".to_owned(),
                    [one] => format!("{} is run again", label(&one.check, &one.scope)),
                    several => format!("{} are run again", super::words::count(several.len(), "check")),
                };
                Some(Line::Note { text: format!("reopened: {what}, and what depends on it") })
            }
            Event::DeadlinePassed {} => Some(Line::Note { text: "the run's time is up".into() }),
            Event::IssueRaised { check, scope, issue, .. } => {
                Some(Line::Note { text: format!("{} {}", label(check, scope), issue.message) })
            }
            Event::RunStarted { .. }
            | Event::AttemptAnswered { .. }
            | Event::CheckSettled { .. }
            | Event::RetryDue { .. }
            | Event::RoutingDone { .. }
            | Event::WarningRaised { .. }
            | Event::FaultDetected { .. }
            | Event::FaultIsolated { .. }
            | Event::RecoveryStarted { .. }
            | Event::RecoverySucceeded { .. }
            | Event::RecoveryExhausted { .. }
            | Event::LetterOpened { refused: None, .. }
            | Event::WaitExpired { .. }
            | Event::MemoryChanged { .. }
            | Event::RunWaiting { .. }
            | Event::ArtifactsVerified { .. }
            | Event::RunEnded { .. } => None,
        }
    }

    /// The fan-outs, one line each.
    pub(super) fn fans(&self) -> Vec<(String, bool, String)> {
        self.fans
            .iter()
            .map(|(check, fan)| {
                let parts = [(fan.succeeded, "succeeded"), (fan.failed, "failed"), (fan.skipped, "skipped")];
                let words: Vec<String> = parts
                    .iter()
                    .filter(|(number, _)| *number > 0)
                    .map(|(number, what)| format!("{number} {what}"))
                    .collect();
                (check.clone(), fan.failed == 0, words.join(", "))
            })
            .collect()
    }
}

pub(super) fn label(check: &str, scope: &ScopePath) -> String {
    format!("{check}{scope}")
}

/// The first issue in full; the others are counted.
fn issue_note(issues: &[Issue]) -> String {
    match issues {
        [] => String::new(),
        [only] => only.message.clone(),
        [first, rest @ ..] => format!("{} (and {} more)", first.message, rest.len()),
    }
}
