//! What happened to each check so far, collected from committed entries.

use std::collections::BTreeMap;
use std::sync::Arc;

use escrow_model::{Entry, Event, Issue, Millis, Plan, Request, ScopePath, SkipReason, Verdict};
use serde_json::Value;

use super::duration_words;
use super::fan::Fan;
use super::words::{count, printable, skip_words};

/// One line that is worth showing.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) mark: Mark,
    /// What it is about: a check or an item. Empty for a remark.
    pub(super) label: String,
    pub(super) duration_ms: Option<u64>,
    pub(super) note: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Succeeded,
    Failed,
    Retrying,
    Skipped,
    Routed,
    Remark,
}

/// Something that runs now.
pub(super) struct Running {
    pub(super) label: String,
    pub(super) elapsed_ms: u64,
    pub(super) note: String,
}

/// Follows entries and turns them into lines.
#[derive(Debug)]
pub(super) struct Timeline {
    plan: Arc<Plan>,
    /// Checks outside of fan-outs.
    started: BTreeMap<String, Millis>,
    /// By check, and when each item's attempt began.
    fans: BTreeMap<String, Fan>,
    began: BTreeMap<(String, ScopePath), Millis>,
    /// How many items a `forEach` check gave, by its scope.
    sizes: BTreeMap<String, BTreeMap<ScopePath, usize>>,
}

impl Timeline {
    pub(super) fn new(plan: &Arc<Plan>) -> Timeline {
        Timeline {
            plan: Arc::clone(plan),
            started: BTreeMap::new(),
            fans: BTreeMap::new(),
            began: BTreeMap::new(),
            sizes: BTreeMap::new(),
        }
    }

    /// What runs now; the items of a fan-out are one.
    pub(super) fn running(&self, now: Millis) -> Vec<Running> {
        let checks = self.started.iter().map(|(check, began)| Running {
            label: check.clone(),
            elapsed_ms: now.saturating_sub(*began),
            note: String::new(),
        });
        let fans = self.fans.iter().filter(|(_, fan)| fan.is_running()).map(|(check, fan)| Running {
            label: check.clone(),
            elapsed_ms: fan.elapsed_ms(now),
            note: fan.progress(self.total(check)),
        });
        checks.chain(fans).collect()
    }

    /// What a batch of entries says.
    pub(super) fn tell(&mut self, entries: &[Entry]) -> Vec<Line> {
        let mut lines = Vec::new();
        for entry in entries {
            self.tell_one(entry, &mut lines);
        }
        lines
    }

    /// Nothing runs any more.
    pub(super) fn clear(&mut self) {
        *self = Timeline::new(&self.plan);
    }

    /// Fan-outs of which nobody was told how they ended: those that the run ended early, or that began before
    /// this process took it over.
    pub(super) fn rest(&mut self, now: Millis) -> Vec<Line> {
        let untold: Vec<String> =
            self.fans.iter().filter(|(_, fan)| !fan.was_told()).map(|(check, _)| check.clone()).collect();
        untold.iter().filter_map(|check| self.fan_line(check, now)).collect()
    }

    fn tell_one(&mut self, entry: &Entry, lines: &mut Vec<Line>) {
        match &entry.event {
            Event::AttemptStarted { check, scope, .. } => self.start(check, scope, entry.at),
            Event::AttemptAnswered { check, scope, answer, .. } => {
                if let (true, Value::Array(items)) = (self.is_for_each(check), &answer.output) {
                    self.sizes.entry(check.clone()).or_default().insert(scope.clone(), items.len());
                }
            }
            Event::CheckJudged { check, scope, verdict, issues, settled, .. } => {
                lines.extend(self.judged(check, scope, *verdict, issues, entry.at));
                if *settled {
                    lines.extend(self.settled(check, scope, entry.at));
                }
            }
            Event::CheckSettled { check, scope } | Event::RoutingDone { check, scope, .. } => {
                lines.extend(self.settled(check, scope, entry.at));
            }
            Event::CheckSkipped { check, scope, reason, detail, request } => {
                if scope.is_root() {
                    if !matches!(reason, SkipReason::Only | SkipReason::Tags) {
                        lines.push(Line::skipped(check, skip_words(*reason, detail)));
                        lines.extend(request.as_deref().and_then(would_run).map(Line::remark));
                    }
                } else if scope.depth() == self.depth(check) {
                    self.fans.entry(check.clone()).or_default().skipped(scope);
                    lines.extend(self.settled_fan(check, entry.at));
                }
            }
            Event::RetryScheduled { check, scope, retry, at } => {
                let wait = duration_words(at.saturating_sub(entry.at));
                let again = format!("retry {retry} in {wait}");
                let label = label(check, scope);
                if !scope.is_root() {
                    self.fans.entry(check.clone()).or_default().retries(scope);
                }
                // The verdict that led to it stands in the same batch: one line says both.
                match lines.iter_mut().rev().find(|line| line.label == label && line.mark == Mark::Failed) {
                    Some(line) => {
                        line.mark = Mark::Retrying;
                        line.note = format!("{}: {again}", line.note);
                    }
                    None => lines.push(Line { mark: Mark::Retrying, label, duration_ms: None, note: again }),
                }
            }
            Event::Routed { check, scope, block, to, to_scope, goto_event, .. } => {
                let event = goto_event.as_ref().map_or(String::new(), |event| format!(", as {event}"));
                lines.push(Line {
                    mark: Mark::Routed,
                    label: label(to, to_scope),
                    duration_ms: None,
                    note: format!("{block} of {}{event}", label(check, scope)),
                });
            }
            Event::LoopBudgetExceeded { check, scope, to, limit } => {
                let text = format!("{} → {to}: the loop budget of {limit} is spent", label(check, scope));
                lines.push(Line::remark(text));
            }
            Event::WaitStarted { check, scope, id, prompt, .. } => {
                self.started.remove(check);
                let prompt = printable(prompt);
                lines.push(Line::remark(format!("{} waits: {prompt} ({id})", label(check, scope))));
            }
            Event::ReconcileStarted { check, scope, .. } => {
                let place = label(check, scope);
                lines.push(Line::remark(format!("{place} may have taken effect: running `reconcile`")));
            }
            Event::Reconciled { check, scope, finding, detail, .. } => {
                let found = finding.map_or("unknown", |finding| finding.as_str());
                lines.push(Line::remark(format!("{} {found}: {}", label(check, scope), printable(detail))));
            }
            Event::MessageDelivered { refused: Some(why), .. } => {
                lines.push(Line::remark(format!("a message was refused: {why}")));
            }
            Event::RunResumed {} => lines.push(Line::remark("resumed".into())),
            Event::RunReopened { places, .. } => {
                let what = match places.as_slice() {
                    [] => "only the artifacts are verified again".to_owned(),
                    [one] => format!("{} is run again", label(&one.check, &one.scope)),
                    several => format!("{} are run again", count(several.len(), "check")),
                };
                lines.push(Line::remark(format!("reopened: {what}, and what depends on it")));
            }
            Event::DeadlinePassed {} => lines.push(Line::remark("the run's time is up".into())),
            Event::IssueRaised { check, scope, issue, .. } => {
                lines.push(Line::remark(format!("{} {}", label(check, scope), printable(&issue.message))));
            }
            Event::RunStarted { .. }
            | Event::RetryDue { .. }
            | Event::OutcomeStored { .. }
            | Event::WarningRaised { .. }
            | Event::FaultDetected { .. }
            | Event::FaultIsolated { .. }
            | Event::RecoveryStarted { .. }
            | Event::RecoverySucceeded { .. }
            | Event::RecoveryExhausted { .. }
            | Event::MessageDelivered { refused: None, .. }
            | Event::WaitExpired { .. }
            | Event::MemoryChanged { .. }
            | Event::RunWaiting { .. }
            | Event::CheckInspected { .. }
            | Event::ArtifactsVerified { .. }
            | Event::RunEnded { .. }
            | Event::RunOverridden { .. } => {}
        }
    }

    fn start(&mut self, check: &str, scope: &ScopePath, at: Millis) {
        if scope.is_root() {
            self.started.insert(check.to_owned(), at);
        } else {
            self.began.insert((check.to_owned(), scope.clone()), at);
            self.fans.entry(check.to_owned()).or_default().started(scope, at);
        }
    }

    /// Items that succeed are only counted.
    fn judged(
        &mut self,
        check: &str,
        scope: &ScopePath,
        verdict: Verdict,
        issues: &[Issue],
        at: Millis,
    ) -> Option<Line> {
        let began = if scope.is_root() {
            self.started.remove(check)
        } else {
            self.fans.entry(check.to_owned()).or_default().judged(scope, verdict);
            self.began.remove(&(check.to_owned(), scope.clone()))
        };
        let mark = match verdict {
            Verdict::Succeeded if !scope.is_root() => return None,
            Verdict::Succeeded => Mark::Succeeded,
            Verdict::Failed => Mark::Failed,
        };
        let duration_ms = Some(began.map_or(0, |began| at.saturating_sub(began)));
        Some(Line { mark, label: label(check, scope), duration_ms, note: issue_note(issues) })
    }

    /// An item's verdict stands; perhaps it was the last of its fan-out.
    fn settled(&mut self, check: &str, scope: &ScopePath, now: Millis) -> Option<Line> {
        self.fans.get_mut(check)?.settled(scope);
        self.settled_fan(check, now)
    }

    fn settled_fan(&mut self, check: &str, now: Millis) -> Option<Line> {
        let total = self.total(check)?;
        if !self.fans.get(check)?.is_news(total) {
            return None;
        }
        self.fan_line(check, now)
    }

    fn fan_line(&mut self, check: &str, now: Millis) -> Option<Line> {
        let fan = self.fans.get_mut(check)?;
        fan.set_told();
        let mark = if fan.is_good() { Mark::Succeeded } else { Mark::Failed };
        let duration_ms = Some(fan.elapsed_ms(now));
        Some(Line { mark, label: check.to_owned(), duration_ms, note: fan.outcome() })
    }

    /// How many items a mapped check has, as far as its parents have said.
    fn total(&self, check: &str) -> Option<usize> {
        let parent = self.plan.check(*self.plan.check(self.plan.find(check)?).fan.last()?);
        let sizes = self.sizes.get(&parent.name)?;
        let parents_done = parent.fan.is_empty() || !self.fans.get(&parent.name)?.is_running();
        parents_done.then(|| sizes.values().sum())
    }

    fn is_for_each(&self, check: &str) -> bool {
        self.plan.find(check).is_some_and(|index| self.plan.check(index).for_each)
    }

    fn depth(&self, check: &str) -> usize {
        self.plan.find(check).map_or(0, |index| self.plan.check(index).fan.len())
    }
}

impl Line {
    fn remark(note: String) -> Line {
        Line { mark: Mark::Remark, label: String::new(), duration_ms: None, note }
    }

    fn skipped(check: &str, note: String) -> Line {
        Line { mark: Mark::Skipped, label: check.to_owned(), duration_ms: None, note }
    }
}

fn label(check: &str, scope: &ScopePath) -> String {
    format!("{check}{scope}")
}

/// The first issue in full; the others are counted.
fn issue_note(issues: &[Issue]) -> String {
    match issues {
        [] => String::new(),
        [only] => printable(&only.message),
        [first, rest @ ..] => format!("{} (and {} more)", printable(&first.message), rest.len()),
    }
}

/// What safe mode kept from happening, in one line.
fn would_run(request: &Request) -> Option<String> {
    let exec = request.fields.get("exec")?;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let command =
        match (exec.get("shell").and_then(Value::as_str), exec.get("argv").and_then(Value::as_array)) {
            (Some(shell), _) => {
                let values = exec.get("values").and_then(Value::as_object).into_iter().flatten();
                values.fold(shell.to_owned(), |shell, (name, value)| {
                    shell.replace(&format!("${{{name}}}"), &text(value))
                })
            }
            (None, Some(words)) => words.iter().map(text).collect::<Vec<_>>().join(" "),
            (None, None) => return None,
        };
    Some(format!("would have run: {}", printable(&command.split_whitespace().collect::<Vec<_>>().join(" "))))
}
