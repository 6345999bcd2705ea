//! A journal as short lines that read like a timeline, and a run as a table of where its checks stand.

use escrow_engine::Run;
use escrow_model::{CheckStatus, Entry, Event, Issue, Message, SkipReason, Verdict, WaitKind};
use serde_json::Value;

/// Kinds of lines that are told only to those who ask: a test names one to see all of its kind.
const QUIET: &[&str] = &[
    "answered", "done", "fault", "isolated", "recovery", "settled", "memory", "message", "due", "delivery",
    "outcome", "ledger",
];

/// The journal as lines, `kind place detail`, without the quiet kinds that `expected` does not mention.
pub fn timeline(journal: &[Entry], expected: &str) -> Vec<String> {
    let asked: Vec<&str> = expected.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let lines = journal.iter().filter_map(|entry| line(&entry.event));
    lines
        .filter(|line| {
            let kind = line.split_whitespace().next().unwrap_or_default();
            !QUIET.contains(&kind) || asked.contains(&kind)
        })
        .collect()
}

fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::RunStarted { .. } => return None,
        Event::CheckSkipped { check, scope, reason, .. } => {
            format!("skipped {check}{scope} {}", reason.as_str())
        }
        Event::AttemptStarted { check, scope, attempt, .. } => format!("started {check}{scope} #{attempt}"),
        Event::LedgerAsked { check, scope, key, .. } => format!("ledger {check}{scope} asked {key}"),
        Event::LedgerAnswered { check, scope, effect, .. } => {
            let state = effect.as_ref().map_or("free", |effect| effect.state.as_str());
            format!("ledger {check}{scope} {state}")
        }
        Event::EffectReused { check, scope, .. } => format!("reused {check}{scope}"),
        Event::EffectResolved { check, scope, state, .. } => {
            format!("resolved {check}{scope} {}", state.as_str())
        }
        Event::AttemptAnswered { check, scope, attempt, .. } => {
            format!("answered {check}{scope} #{attempt}")
        }
        Event::CheckJudged { check, scope, verdict, issues, .. } => match verdict {
            Verdict::Succeeded => format!("succeeded {check}{scope} {}", rules(issues)),
            Verdict::Failed => format!("failed {check}{scope} {}", rules(issues)),
        },
        Event::CheckSettled { check, scope } => format!("settled {check}{scope}"),
        Event::RetryScheduled { check, scope, retry, kind, .. } => {
            format!("{} {check}{scope} #{retry}", kind.as_str())
        }
        Event::RetryDue { check, scope } => format!("due {check}{scope}"),
        Event::Routed { check, scope, block, by, to, to_scope, goto_event, .. } => {
            let event = goto_event.as_ref().map(|event| format!(" as {event}")).unwrap_or_default();
            format!("routed {check}{scope} -> {to}{to_scope} {block}.{by}{event}")
        }
        Event::RoutingDone { check, scope, block } => format!("done {check}{scope} {block}"),
        Event::LoopBudgetExceeded { check, scope, to, limit } => {
            format!("loop_budget {check}{scope} -> {to} {limit}")
        }
        Event::IssueRaised { check, scope, issue, .. } => format!("issue {check}{scope} {}", issue.code),
        Event::WarningRaised { warning } => {
            format!("warning {} {}", warning.check.as_deref().unwrap_or("-"), warning.code)
        }
        Event::FaultDetected { check, scope, class, .. } => {
            format!("fault {check}{scope} {}", class.as_str())
        }
        Event::FaultIsolated { check, scope } => format!("isolated {check}{scope}"),
        Event::RecoveryStarted { check, scope, by } => format!("recovery {check}{scope} started {by}"),
        Event::RecoverySucceeded { check, scope } => format!("recovery {check}{scope} succeeded"),
        Event::RecoveryExhausted { check, scope } => format!("recovery {check}{scope} exhausted"),
        Event::WaitStarted { check, scope, kind, .. } => {
            let kind = match kind {
                WaitKind::Approval => "approval",
                WaitKind::Input => "input",
                WaitKind::UnknownEffect => "unknown_effect",
                WaitKind::Nested => "nested",
            };
            format!("asks {check}{scope} {kind}")
        }
        Event::ReconcileStarted { check, scope, attempt, .. } => {
            format!("reconcile {check}{scope} #{attempt}")
        }
        Event::Reconciled { check, scope, finding, .. } => {
            format!("found {check}{scope} {}", finding.map_or("nothing", |finding| finding.as_str()))
        }
        Event::MessageDelivered { message, refused, .. } => message_line(message, refused.is_some()),
        Event::NestedResumed { check, scope } => format!("nested resumed {check}{scope}"),
        Event::WaitExpired { .. } => "expired".to_owned(),
        Event::WaitWithdrawn { check, scope, .. } => format!("withdrawn {check}{scope}"),
        Event::ArtifactChanged { check, scope, artifact } => {
            format!("changed {check}{scope} {}", artifact.id)
        }
        Event::MemoryChanged { key, value, .. } => {
            format!("memory {key} {}", value.as_ref().unwrap_or(&Value::Null))
        }
        Event::RunResumed { .. } => "resumed".to_owned(),
        Event::RunReopened { places, .. } => {
            let names: Vec<String> =
                places.iter().map(|place| format!("{}{}", place.check, place.scope)).collect();
            format!("reopened {}", names.join(" ")).trim_end().to_owned()
        }
        Event::RunWaiting { reason } => reason.code.as_str().to_owned(),
        Event::DeadlinePassed {} => "deadline".to_owned(),
        Event::CheckInspected { check, scope, delivery, .. } => {
            format!("inspected {check}{scope} {}", delivery.status.as_str())
        }
        Event::ArtifactsVerified { delivery } => format!("delivery {}", delivery.status.as_str()),
        Event::OutcomeStored { outcome } => format!("outcome {} {}", outcome.name, outcome.outcome.kind),
        Event::RunEnded { reason } | Event::RunOverridden { reason, .. } => reason.code.as_str().to_owned(),
    })
}

fn message_line(message: &Message, refused: bool) -> String {
    let what = match message {
        Message::Approve { .. } => "approve",
        Message::Deny { .. } => "deny",
        Message::Answer { .. } => "answer",
        Message::Assume { .. } => "assume",
        Message::Cancel { .. } => "cancel",
    };
    // A message that changed nothing is worth telling in any timeline.
    if refused { format!("refused {what}") } else { format!("message {what}") }
}

fn rules(issues: &[Issue]) -> String {
    let rules: Vec<String> = issues.iter().map(|issue| issue.code.to_string()).collect();
    rules.join(" ")
}

/// Where every check stands at last: `name status xRUNS reason-or-issues`, items below it, then the run.
pub fn state(run: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    for check in run.check_reports() {
        let mut line = format!("{} {}", check.name, standing(check.status, check.runs, check.skip_reason));
        for issue in &check.issues {
            line.push_str(&format!(" {}", issue.code.text()));
        }
        lines.push(line);
        for item in run.item_reports(check.index).filter(|_| check.has_items) {
            let standing = standing(item.status, item.runs, item.skip_reason);
            lines.push(format!("{}{} {standing}", check.name, item.scope));
        }
    }
    let reason = run.reason().map_or("running", |reason| reason.code.as_str());
    lines.push(reason.to_owned());
    lines
}

fn standing(status: CheckStatus, runs: u32, skip_reason: Option<SkipReason>) -> String {
    let reason = skip_reason.map(|reason| format!(" {}", reason.as_str())).unwrap_or_default();
    format!("{} x{runs}{reason}", status.as_str())
}
