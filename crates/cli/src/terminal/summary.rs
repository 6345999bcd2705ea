//! How a run ended, for people: what failed and its output, what is missing, what to do next.

use escrow_engine::Run;
use escrow_model::{CheckStatus, ReasonCode, RunStatus, is_harmless};
use serde_json::Value;

use super::paint::Paint;
use super::table::Table;
use super::words::{self, count, duration_words};

/// Lines of output that are repeated for a failed check.
const OUTPUT_LINES_MAX: usize = 20;

/// The end of a run: failing output, missing artifacts, the verdict and the next command.
pub(crate) fn closing(run: &Run, paint: Paint) -> String {
    let mut text = String::new();
    let document = run.brief_document();
    let id = run.options().run.as_str();
    for (name, check) in checks(&document) {
        if check["status"] == "failed" {
            text.push_str(&failing(name, check, paint));
        }
    }
    for warning in document["run"]["warnings"].as_array().into_iter().flatten() {
        let message = words::message(warning["message"].as_str().unwrap_or_default());
        text.push_str(&format!("{}: {message}\n", paint.yellow("warning")));
    }
    text.push_str(&outcomes(&document, paint));
    text.push_str(&missing(run, &document, paint));
    text.push_str(&verdict(run, &document, paint));
    for wait in run.waits() {
        let action = match wait.kind {
            escrow_model::WaitKind::Approval => format!("escrow approve {0}    or  escrow deny {0}", wait.id),
            escrow_model::WaitKind::Nested => format!("escrow approvals    or  escrow runs show {}", wait.id),
            escrow_model::WaitKind::Input if wait.choices.is_empty() => {
                format!("escrow answer {} TEXT", wait.id)
            }
            escrow_model::WaitKind::Input => {
                format!("escrow answer {} {}", wait.id, words::choices(&wait.choices))
            }
            escrow_model::WaitKind::UnknownEffect => {
                format!("escrow resume {id} --assume {}{}=done    or  failed, retry", wait.check, wait.scope)
            }
        };
        text.push_str(&format!("  {}  {action}\n", words::message(&wait.prompt)));
    }
    text
}

fn checks(document: &Value) -> impl Iterator<Item = (&String, &Value)> {
    document["checks"].as_object().into_iter().flatten()
}

fn failing(name: &str, check: &Value, paint: Paint) -> String {
    let mut text = format!("\n{} {}\n", paint.red("✗"), paint.bold(name));
    for issue in check["issues"].as_array().into_iter().flatten() {
        let (rule, message) = (issue["rule_id"].as_str(), issue["message"].as_str());
        let message = words::message(message.unwrap_or_default());
        text.push_str(&format!("  {}  {message}\n", paint.dim(rule.unwrap_or(""))));
    }
    match check["items"].as_array() {
        None => text.push_str(&output_of(check, paint)),
        Some(items) => {
            let failed: Vec<&Value> = items.iter().filter(|item| item["status"] == "failed").collect();
            for item in failed.iter().take(ITEMS_MAX) {
                text.push_str(&format!("  {}\n", paint.bold(&format!("item {}", item["index"]))));
                text.push_str(&output_of(item, paint));
            }
            if failed.len() > ITEMS_MAX {
                text.push_str(&format!("  and {}\n", count(failed.len() - ITEMS_MAX, "more item")));
            }
        }
    }
    text
}

/// Failed items of a fan-out whose output is repeated.
const ITEMS_MAX: usize = 3;

/// The end of what a check or an item printed.
fn output_of(check: &Value, paint: Paint) -> String {
    if let Some(nested) = check["result"]["run_id"].as_str() {
        // What it gave is a document; how it came to that is told by the run itself.
        return format!("  {} escrow runs show {nested}    or  escrow explain {nested}\n", paint.dim("run:"));
    }
    let mut text = String::new();
    let stderr = check["result"]["stderr"].as_str().unwrap_or_default();
    let output = match &check["output"] {
        Value::Null => String::new(),
        Value::String(output) => output.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
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

/// Typed results of the run, the newest last, as one reads them.
fn outcomes(document: &Value, paint: Paint) -> String {
    let all: Vec<&Value> = document["outcomes"].as_array().into_iter().flatten().collect();
    let mut text = String::new();
    if all.len() > OUTCOMES_MAX {
        text.push_str(&format!(
            "{}\n",
            paint.dim(&format!("… {} before", count(all.len() - OUTCOMES_MAX, "outcome")))
        ));
    }
    for outcome in all.iter().take(OUTCOMES_MAX).rev() {
        let field = |name: &str| words::printable(outcome[name].as_str().unwrap_or_default());
        let mark = match outcome["passed"].as_bool() {
            Some(true) => paint.green("✓"),
            Some(false) => paint.red("✗"),
            None => paint.dim("-"),
        };
        let (name, summary, id) = (paint.bold(&field("name")), field("summary"), paint.dim(&field("id")));
        text.push_str(&format!("{} {mark} {name}  {summary}  {id}\n", field("kind")));
    }
    text
}

/// Outcomes that are repeated at the end of a run.
const OUTCOMES_MAX: usize = 10;

fn missing(run: &Run, document: &Value, paint: Paint) -> String {
    let rows: Vec<&Value> =
        document["artifacts"]["missing_required"].as_array().into_iter().flatten().collect();
    if rows.is_empty() {
        return String::new();
    }
    let failed = run.reason().is_some_and(|reason| reason.code == ReasonCode::FailedMissingArtifact);
    let lead = if failed { "Run failed: missing required artifacts." } else { "Missing required artifacts:" };
    let mut text = format!("\n{}\n", paint.red(lead));
    for row in &rows {
        let field = |name: &str| row[name].as_str().unwrap_or_default();
        let mut line = format!("  {} ({}) — {}", field("id"), field("path"), field("source"));
        if field("problem") != "absent" {
            line.push_str(&format!(", {}", field("problem").replace('_', " ")));
        }
        if !field("detail").is_empty() {
            line.push_str(&format!(": {}", words::message(field("detail"))));
        }
        text.push_str(&format!("{line}\n"));
    }
    let clean = failed && !checks(document).any(|(_, check)| check["status"] == "failed");
    let lead = if clean { "Run completed cleanly otherwise. Inspect with:" } else { "Inspect with:" };
    text.push_str(&format!("\n{lead}\n  escrow runs show {}\n", run.options().run));
    text
}

fn verdict(run: &Run, document: &Value, paint: Paint) -> String {
    let Some(reason) = run.reason() else { return String::new() };
    let status = run.status();
    let word = status.as_str().replace('_', " ");
    let painted = match status {
        RunStatus::Completed if reason.code == ReasonCode::CompletedNothingRan => paint.yellow("nothing ran"),
        RunStatus::Completed if reason.code == ReasonCode::CompletedOverridden => paint.yellow(&word),
        _ => status_painted(status, paint),
    };
    let mut line = format!("{painted}  {}", reason.code.as_str());
    if status != RunStatus::Completed || reason.code == ReasonCode::CompletedOverridden {
        line.push_str(&format!("  {}", words::message(&reason.summary)));
    }
    if let Some(ms) = run.elapsed_ms() {
        line.push_str(&format!("  {}", paint.dim(&duration_words(ms))));
    }
    let mut text = format!("{line}\n");
    let decisive = reason.evidence.iter().find(|one| one.kind == "check").map(|one| one.id.as_str());
    let first_failed = || checks(document).find(|(_, check)| check["status"] == "failed");
    let name = decisive.or_else(|| first_failed().map(|(name, _)| name.as_str()));
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

/// `runs show` for people.
pub(crate) fn show_run(run: &Run, paint: Paint) -> String {
    let document = run.brief_document();
    let about = &document["run"];
    let field = |name: &str| about[name].as_str().unwrap_or("-").to_owned();
    let mut text =
        format!("run {}  {}\n", paint.cyan(&field("id")), paint.bold(&words::printable(&field("playbook"))));
    text.push_str(&format!("started {}   ended {}\n\n", field("started_at"), field("ended_at")));
    let mut table = Table::new();
    for index in run.plan_of().indices() {
        let name = &run.plan_of().check(index).name;
        let check = &document["checks"][name];
        let status = run.check_status(index);
        let mark = match status {
            CheckStatus::Succeeded => paint.green("✓"),
            CheckStatus::Failed => paint.red("✗"),
            CheckStatus::Skipped => paint.yellow("-"),
            CheckStatus::Pending => " ".to_owned(),
            CheckStatus::Running => paint.cyan("●"),
            CheckStatus::Waiting | CheckStatus::Unknown => paint.yellow("?"),
        };
        let runs = check["runs"].as_u64().unwrap_or(0);
        let times = if runs > 1 { format!("{runs} runs") } else { String::new() };
        let note = match status {
            CheckStatus::Skipped => check["skip_reason"].as_str().unwrap_or_default().to_owned(),
            CheckStatus::Failed => words::message(check["issues"][0]["message"].as_str().unwrap_or_default()),
            _ => String::new(),
        };
        let took = check["result"]["duration_ms"].as_u64().map(duration_words).unwrap_or_default();
        table.row(&[
            ("  x", format!("  {mark}")),
            (name, name.clone()),
            (status.as_str(), status.as_str().to_owned()),
            (&took, paint.dim(&took)),
            (&times, times.clone()),
            ("", note),
        ]);
    }
    text.push_str(&table.render());
    let produced: Vec<&Value> = document["artifacts"]["produced"].as_array().into_iter().flatten().collect();
    if !produced.is_empty() {
        text.push_str("\nartifacts\n");
        for artifact in produced {
            let size = artifact["size"].as_u64().unwrap_or(0);
            text.push_str(&format!(
                "  {} {}  {size} bytes\n",
                artifact["id"].as_str().unwrap_or_default(),
                words::message(artifact["path"].as_str().unwrap_or_default())
            ));
        }
    }
    text.push('\n');
    text.push_str(&closing(run, paint));
    text
}
