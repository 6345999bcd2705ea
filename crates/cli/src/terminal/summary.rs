//! How a run ended, for people: what failed and its output, what is missing, what to do next.

use escrow_app::documents::{assumed_done, settles};
use escrow_app::request_words::subject_lines;
use escrow_engine::{CheckReport, Run};
use escrow_model::{
    CheckStatus, Issue, Problem, ReasonCode, RunStatus, SkipReason, WaitKind, is_harmless, rfc3339,
};
use serde_json::{Map, Value};

use super::given::{given_in_full, title_words};
use super::paint::Paint;
use super::table::TextTable;
use super::words::{self, count, duration_words};

/// Lines of output that are repeated for a failed check.
const OUTPUT_LINES_MAX: usize = 20;

/// How the run ended, and the next command, in a few lines.
pub(crate) fn verdict_of(run: &Run, paint: Paint) -> String {
    verdict(run, paint)
}

/// The end of a run: failing output, missing artifacts, the verdict and the next command. `ready` are the waits that need
/// no person any more.
pub(crate) fn closing(run: &Run, ready: &[String], paint: Paint) -> String {
    let mut text = String::new();
    let id = run.options().run.as_str();
    for check in run.check_reports().filter(|check| check.status == CheckStatus::Failed) {
        text.push_str(&failing(run, &check, paint));
    }
    for warning in run.warnings() {
        let message = words::message(&warning.message);
        text.push_str(&format!("{}: {message}\n", paint.yellow("warning")));
    }
    text.push_str(&outcomes(run, paint));
    text.push_str(&missing(run, paint));
    text.push_str(&verdict(run, paint));
    for wait in run.waits() {
        let action = match wait.kind {
            WaitKind::Approval | WaitKind::Input | WaitKind::UnknownEffect if ready.contains(&wait.id) => {
                format!("escrow resume {id}")
            }
            WaitKind::Approval => format!("escrow approve {0}    or  escrow deny {0}", wait.id),
            WaitKind::Nested => format!("escrow approvals    or  escrow runs show {}", wait.id),
            WaitKind::Input if wait.choices.is_empty() => {
                format!("escrow answer {} TEXT", wait.id)
            }
            WaitKind::Input => {
                let quoted: Vec<String> = wait.choices.iter().map(|choice| words::choice(choice)).collect();
                let (first, others) = quoted.split_first().map_or(("", &[][..]), |(a, b)| (a.as_str(), b));
                // A bar between them would be a pipe to a shell.
                let others =
                    if others.is_empty() { String::new() } else { format!("    or  {}", others.join(", ")) };
                format!("escrow answer {} {first}{others}", wait.id)
            }
            WaitKind::UnknownEffect => {
                let place = format!("{}{}", wait.check, wait.scope);
                format!("escrow resume {id} --assume {}    or  failed, retry", assumed_done(&place))
            }
        };
        text.push_str(&format!("  {}  {action}\n", words::message(&wait.prompt)));
        if wait.subject.is_some() {
            let directory = words::visible(&run.options().directory);
            text.push_str(&format!("    {} {directory}\n", paint.dim("directory:")));
        }
        for (name, value) in wait.subject.iter().flat_map(|subject| subject_lines(subject)) {
            for line in value.lines() {
                text.push_str(&format!("    {} {}\n", paint.dim(&format!("{name}:")), words::visible(line)));
            }
        }
    }
    text
}

fn failing(run: &Run, check: &CheckReport<'_>, paint: Paint) -> String {
    let mut text = format!("\n{} {}\n", paint.red("✗"), paint.bold(check.name));
    let told = |issue: &Issue, indent: &str| {
        let message = words::message(&issue.message);
        format!("{indent}{}  {message}\n", paint.dim(&issue.code.text()))
    };
    if !check.has_items {
        for issue in &check.issues {
            text.push_str(&told(issue, "  "));
        }
        text.push_str(&printed(run.output_of(check.index), check.record(), paint));
        return text;
    }
    let items = run.item_reports(check.index);
    let failed: Vec<_> = items.filter(|item| item.status == CheckStatus::Failed).collect();
    for item in failed.iter().take(ITEMS_MAX) {
        let value = item.value.map(|value| format!("  {}", value_words(value))).unwrap_or_default();
        let label = format!("{}{}", check.name, item.scope);
        text.push_str(&format!("  {}{}\n", paint.bold(&label), paint.dim(&value)));
        for issue in item.issues {
            text.push_str(&told(issue, "    "));
        }
        text.push_str(&printed(item.output, item.record, paint));
    }
    if failed.len() > ITEMS_MAX {
        text.push_str(&format!("  and {}\n", count(failed.len() - ITEMS_MAX, "more item")));
    }
    text
}

/// The value of an item, as far as it fits behind its name.
fn value_words(value: &Value) -> String {
    const LENGTH_MAX: usize = 60;
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let shown: String = words::printable(&text).chars().take(LENGTH_MAX).collect();
    if text.chars().count() > LENGTH_MAX { format!("{shown}…") } else { shown }
}

/// Failed items of a fan-out whose output is repeated.
const ITEMS_MAX: usize = 3;

/// The end of what a check or an item printed.
pub(crate) fn printed(output: Option<&Value>, record: Option<&Map<String, Value>>, paint: Paint) -> String {
    let recorded = |name: &str| record.and_then(|record| record.get(name)).and_then(Value::as_str);
    if let Some(nested) = recorded("run_id") {
        // The output of a nested run is a document; the run itself explains it better.
        return format!("  {} escrow runs show {nested}    or  escrow explain {nested}\n", paint.dim("run:"));
    }
    let mut text = String::new();
    let stderr = recorded("stderr").unwrap_or_default();
    let output = match output {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(output)) => output.clone(),
        Some(other) => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    for (stream, content) in [("stdout", output.as_str()), ("stderr", stderr)] {
        let lines: Vec<&str> = content.trim_end().lines().collect();
        if lines.is_empty() {
            continue;
        }
        let hidden = lines.len().saturating_sub(OUTPUT_LINES_MAX);
        text.push_str(&format!("  {}\n", paint.dim(&format!("── {stream} ──"))));
        if hidden > 0 {
            text.push_str(&format!("  {}\n", paint.dim(&format!("… {} before", count(hidden, "line")))));
        }
        for line in &lines[hidden..] {
            text.push_str(&format!("  {}\n", printable(line)));
        }
    }
    text
}

/// A command's output must not drive the reader's terminal.
fn printable(line: &str) -> String {
    const LENGTH_MAX: usize = 400;
    line.chars().filter(|c| is_harmless(*c) || *c == '\t').take(LENGTH_MAX).collect()
}

/// Typed results of the run, the newest last.
fn outcomes(run: &Run, paint: Paint) -> String {
    let all: Vec<_> = run.outcomes().map(|(_, recorded)| recorded).collect();
    let mut text = String::new();
    if all.len() > OUTCOMES_MAX {
        let hidden = format!("… {} before", count(all.len() - OUTCOMES_MAX, "outcome"));
        text.push_str(&format!("{}\n", paint.dim(&hidden)));
    }
    for recorded in all.iter().take(OUTCOMES_MAX).rev() {
        let mark = match recorded.outcome.passed {
            Some(true) => paint.green("✓"),
            Some(false) => paint.red("✗"),
            None => paint.dim("-"),
        };
        let (kind, summary) =
            (words::printable(&recorded.outcome.kind), words::printable(&recorded.outcome.summary));
        let (name, id) = (paint.bold(&words::printable(&recorded.name)), paint.dim(recorded.id.as_str()));
        text.push_str(&format!("{kind} {mark} {name}  {summary}  {id}\n"));
    }
    text
}

/// Outcomes that are repeated at the end of a run.
const OUTCOMES_MAX: usize = 10;

fn missing(run: &Run, paint: Paint) -> String {
    let rows = run.delivery().map_or(&[][..], |delivery| &delivery.missing_required);
    if rows.is_empty() {
        return String::new();
    }
    let failed = run.reason().is_some_and(|reason| reason.code == ReasonCode::FailedMissingArtifact);
    let lead = if failed { "Run failed: missing required artifacts." } else { "Missing required artifacts:" };
    let mut text = format!("\n{}\n", paint.red(lead));
    for row in rows {
        let mut line = format!("  {} ({}) — {}", row.id, row.path, row.source.as_str());
        if row.problem != Problem::Absent {
            line.push_str(&format!(", {}", row.problem.as_str().replace('_', " ")));
        }
        if !row.detail.is_empty() {
            line.push_str(&format!(": {}", words::message(&row.detail)));
        }
        text.push_str(&format!("{line}\n"));
    }
    let clean = failed && first_failed(run).is_none();
    let lead = if clean { "Run completed cleanly otherwise. Inspect with:" } else { "Inspect with:" };
    text.push_str(&format!("\n{lead}\n  escrow runs show {}\n", run.options().run));
    text
}

fn first_failed(run: &Run) -> Option<CheckReport<'_>> {
    run.check_reports().find(|check| check.status == CheckStatus::Failed)
}

fn verdict(run: &Run, paint: Paint) -> String {
    let Some(reason) = run.reason() else { return String::new() };
    let status = run.status();
    let word = status.as_str().replace('_', " ");
    let painted = match status {
        RunStatus::Completed if reason.code == ReasonCode::CompletedNothingRan => paint.yellow("nothing ran"),
        RunStatus::Completed
            if matches!(reason.code, ReasonCode::CompletedOverridden | ReasonCode::CompletedWithSkips) =>
        {
            paint.yellow(&word)
        }
        _ => status_painted(status, paint),
    };
    let mut line = format!("{painted}  {}", reason.code.as_str());
    let says_more = matches!(
        reason.code,
        ReasonCode::CompletedOverridden | ReasonCode::CompletedWithSkips | ReasonCode::CompletedWithWarnings
    );
    if status != RunStatus::Completed || says_more {
        line.push_str(&format!("  {}", words::message(&reason.summary)));
    }
    let failed = run.check_reports().filter(|check| check.status == CheckStatus::Failed).count();
    if status == RunStatus::Failed && failed > 1 {
        line.push_str(&format!("; {} failed", count(failed, "check")));
    }
    if let Some(ms) = run.elapsed_ms() {
        line.push_str(&format!("  {}", paint.dim(&duration_words(ms))));
    }
    let mut text = format!("{line}\n");
    if let Some(command) = reason.evidence.iter().find(|one| one.kind == "command") {
        text.push_str(&format!("  {} {}\n", paint.dim("next:"), words::message(&command.id)));
        return text;
    }
    if status.is_terminal() {
        for (place, key) in run.unknown_effects() {
            let next = match key {
                Some(key) => settles(&words::visible(&key)),
                None => format!("escrow effects --run {}", run.options().run),
            };
            let place = words::printable(&place);
            text.push_str(&format!("  `{place}` may or may not have taken effect\n"));
            text.push_str(&format!("  {} {next}\n", paint.dim("next:")));
        }
    }
    let decisive = reason.evidence.iter().find(|one| one.kind == "check").map(|one| one.id.as_str());
    // The reason of a chain is that of its step, unchanged: it names a check of another run.
    let is_own = run.plan_of().kind.chain().is_none();
    let name = decisive.filter(|_| is_own).or_else(|| first_failed(run).map(|check| check.name));
    let name = name.or(decisive.filter(|name| run.plan_of().find(name).is_some()));
    if let (RunStatus::Failed, Some(name)) = (status, name) {
        let (next, id) = (paint.dim("next:"), &run.options().run);
        text.push_str(&format!("  {next} escrow explain {id} {name}    or  escrow logs {id} {name}\n"));
    }
    text
}

/// A status in its colour.
pub(crate) fn status_painted(status: RunStatus, paint: Paint) -> String {
    let word = status.as_str().replace('_', " ");
    match status {
        RunStatus::Completed => paint.green(&word),
        RunStatus::Running | RunStatus::Waiting => paint.yellow(&word),
        RunStatus::Failed | RunStatus::TimedOut | RunStatus::Aborted | RunStatus::Cancelled => {
            paint.red(&word)
        }
    }
}

/// The last request of each check that sends one.
fn requests(run: &Run, paint: Paint) -> String {
    let mut table = TextTable::new();
    for check in run.check_reports() {
        let Some(record) = check.record() else { continue };
        let Some(request) = record.get("request").and_then(Value::as_object) else { continue };
        let told = request.values().map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let told = words::printable(&told.collect::<Vec<_>>().join(" "));
        let status = record.get("status").map(Value::to_string).unwrap_or_default();
        let name = format!("  {}", check.name);
        table.row(&[
            (name.as_str(), name.clone()),
            (told.as_str(), told.clone()),
            (status.as_str(), status.clone()),
        ]);
    }
    if table.is_empty() { String::new() } else { format!("\n{}\n{}", paint.bold("requests"), table.render()) }
}

/// What each harness has used, and the totals of the run.
fn harness_figures(run: &Run, paint: Paint) -> String {
    let Some(totals) = run.harness_totals() else { return String::new() };
    let mut table = TextTable::new();
    let known = |figure: Option<String>| figure.unwrap_or_else(|| "-".to_owned());
    let count = |figure: Option<u64>| known(figure.map(|figure| figure.to_string()));
    let usd = |figure: Option<f64>| known(figure.map(|figure| format!("{figure:.4}")));
    let mut row = |cells: [String; 7]| {
        let cells: Vec<(&str, String)> = cells.iter().map(|cell| (cell.as_str(), cell.clone())).collect();
        table.row(&cells);
    };
    let head = ["  check", "harness", "model", "turns", "input", "output", "usd"];
    row(head.map(str::to_owned));
    for check in run.check_reports() {
        let Some(harness) = check.record().and_then(|record| record.get("harness")) else { continue };
        let word = |key: &str| known(harness.get(key).and_then(Value::as_str).map(words::printable));
        let figure = |key: &str| count(harness.get(key).and_then(Value::as_u64));
        row([
            format!("  {}", check.name),
            word("name"),
            word("model"),
            figure("turns"),
            figure("input_tokens"),
            figure("output_tokens"),
            usd(harness.get("cost_usd").and_then(Value::as_f64)),
        ]);
    }
    row([
        "  total".to_owned(),
        words::count(totals.attempts.try_into().unwrap_or(usize::MAX), "attempt"),
        String::new(),
        count(totals.turns),
        count(totals.input_tokens),
        count(totals.output_tokens),
        usd(totals.cost_usd),
    ]);
    format!("\n{}\n{}", paint.bold("harnesses"), table.render())
}

/// `runs show` for people. `ready` are the waits that need no person any more.
pub(crate) fn show_run(run: &Run, ready: &[String], paint: Paint) -> String {
    let (id, playbook) = (run.options().run.as_str(), words::printable(&run.plan_of().name));
    let title = title_words(run.title());
    let mut text = format!("run {}  {}{title}\n", paint.cyan(id), paint.bold(&playbook));
    let ended = run.ended_at().map_or("-".to_owned(), rfc3339);
    text.push_str(&format!("started {}   ended {ended}\n", rfc3339(run.started_at())));
    let given = given_in_full(run.options().event.as_deref(), run.inputs().as_object());
    for line in &given {
        text.push_str(&format!("{}\n", paint.dim(line)));
    }
    text.push('\n');
    let mut table = TextTable::new();
    for check in run.check_reports() {
        let status = check.status;
        let mark = match status {
            CheckStatus::Succeeded => paint.green("✓"),
            CheckStatus::Failed => paint.red("✗"),
            CheckStatus::Skipped => paint.yellow("-"),
            CheckStatus::Pending => " ".to_owned(),
            CheckStatus::Running => paint.cyan("●"),
            CheckStatus::Waiting | CheckStatus::Unknown => paint.yellow("?"),
        };
        let times = if check.runs > 1 { format!("{} runs", check.runs) } else { String::new() };
        let note = match status {
            CheckStatus::Skipped => check.skip_reason.map_or("", SkipReason::as_str).to_owned(),
            CheckStatus::Failed => words::message(check.issues.first().map_or("", |issue| &issue.message)),
            CheckStatus::Pending
            | CheckStatus::Running
            | CheckStatus::Waiting
            | CheckStatus::Succeeded
            | CheckStatus::Unknown => String::new(),
        };
        let duration_ms = check.answer.and_then(|answer| answer.duration_ms());
        let took = duration_ms.map(duration_words).unwrap_or_default();
        table.row(&[
            ("  x", format!("  {mark}")),
            (check.name, check.name.to_owned()),
            (status.as_str(), status.as_str().to_owned()),
            (&took, paint.dim(&took)),
            (&times, times.clone()),
            ("", note),
        ]);
    }
    text.push_str(&table.render());
    text.push_str(&requests(run, paint));
    text.push_str(&harness_figures(run, paint));
    if !run.decisions().is_empty() {
        text.push_str("\ndecisions\n");
        for one in run.decisions() {
            let place = words::printable(&format!("{}{}", one.check, one.scope));
            let by = one.by.as_ref().map(|by| format!(" by {}", words::printable(by))).unwrap_or_default();
            let claim = one.claim.as_ref().map(|claim| format!(" (as {})", words::printable(claim)));
            let note = one.note.as_ref().map(|note| format!(": {}", words::printable(note)));
            let (claim, note) = (claim.unwrap_or_default(), note.unwrap_or_default());
            let decision = one.decision.as_str().replace('_', " ");
            text.push_str(&format!(
                "  {place} {decision}{by}{claim}{note}  {}\n",
                paint.dim(&rfc3339(one.at))
            ));
        }
    }
    let produced = run.delivery().map_or(&[][..], |delivery| &delivery.produced);
    if !produced.is_empty() {
        text.push_str("\nartifacts\n");
        for artifact in produced {
            let (path, size) = (words::message(&artifact.path), artifact.size);
            text.push_str(&format!("  {} {path}  {size} bytes\n", artifact.id));
        }
    }
    text.push('\n');
    text.push_str(&closing(run, ready, paint));
    text
}
