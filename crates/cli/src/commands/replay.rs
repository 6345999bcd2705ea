//! `escrow replay`: decides recorded runs again under another playbook. Nothing is called.

use std::sync::Arc;

use escrow_app::Error;
use escrow_app::runs::entries;
use escrow_app::timeline::RunStart;
use escrow_engine::{Change, Comparison, compare, redecide};
use escrow_model::{Entry, Plan, PlanReads, RunStatus};
use escrow_store::{Queries, RunFilter, RunRow};
use serde_json::{Map, Value, json};

use super::playbook_file;
use super::run::directory;
use crate::arguments::{Output, ReplayArguments, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{Ui, show_comparison, show_comparisons};

pub(crate) async fn replay(arguments: &ReplayArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let plan = Arc::new(playbook_file::load_any(&arguments.with, &directory(None)?, ui)?.plan);
    let queries = session::app(shared, ui)?.queries()?;
    let rows = match (&arguments.run, arguments.last) {
        (Some(name), _) => vec![queries.run(name).await?],
        (None, number) => ended(&*queries, &plan.name, number.unwrap_or(1)).await?,
    };
    let mut comparisons = Vec::new();
    for row in &rows {
        let journal = entries(&*queries, row).await?;
        comparisons.push(Replayed {
            missing: unrecorded(&journal, &plan),
            comparison: decide(row, &journal, &plan)?,
        });
    }
    tell(&comparisons, arguments, ui);
    let differs = comparisons.iter().any(|one| one.comparison.change != Change::Same);
    Ok(if differs && arguments.fail_on_diff { Exit::WorkFailed } else { Exit::Completed })
}

/// A run decided again, and what the new playbook reads that was not recorded.
pub(crate) struct Replayed {
    pub(crate) comparison: Comparison,
    pub(crate) missing: Vec<String>,
}

/// The newest runs of the playbook that have ended.
async fn ended(queries: &dyn Queries, playbook: &str, number: u32) -> Result<Vec<RunRow>, Error> {
    let filter = RunFilter { playbook: Some(playbook.to_owned()), ..RunFilter::default() };
    let mut rows = queries.runs(&filter).await?;
    rows.retain(|row| row.status.is_terminal());
    rows.truncate(usize::try_from(number).unwrap_or(usize::MAX));
    if rows.is_empty() {
        return Err(Error::author("no_runs", format!("no run of playbook `{playbook}` has ended"))
            .help("runs are matched by the `name` in the file; `escrow runs` lists them"));
    }
    Ok(rows)
}

fn decide(row: &RunRow, journal: &[Entry], plan: &Arc<Plan>) -> Result<Comparison, Error> {
    redecide(journal, Arc::clone(plan)).and_then(|redecided| compare(journal, &redecided)).map_err(|error| {
        Error::world("journal", format!("the journal of `{}` cannot be replayed: {error}", row.id))
    })
}

/// Names of the world that only the new playbook reads: they were not captured, so they are undefined here.
fn unrecorded(journal: &[Entry], plan: &Plan) -> Vec<String> {
    let Some(RunStart { plan: before, options, facts }) = RunStart::of(journal) else { return Vec::new() };
    let (old, new) = (PlanReads::of(before), PlanReads::of(plan));
    let mut missing: Vec<String> = new.env.difference(&old.env).map(|name| format!("env.{name}")).collect();
    if new.wants_git() && facts.git.is_none() && !options.payload.contains_key("filesChanged") {
        missing.push("git".into());
    }
    for (name, input) in &plan.inputs {
        if input.required && input.default.is_none() && !options.inputs.contains_key(name) {
            missing.push(format!("inputs.{name}"));
        }
    }
    missing
}

fn tell(replayed: &[Replayed], arguments: &ReplayArguments, ui: &Ui) {
    match ui.output() {
        Output::Human => match replayed {
            [only] if arguments.run.is_some() => ui.page(&show_comparison(only, ui.page)),
            several => ui.page(&show_comparisons(several, ui.page)),
        },
        Output::Json => {
            let runs: Vec<Value> = replayed.iter().map(document).collect();
            ui.data(&json!({
                "with": arguments.with.display().to_string(),
                "runs": runs,
                "summary": summary(replayed),
            }));
        }
        Output::Jsonl => {
            if replayed.iter().all(|one| ui.data(&json!({ "run": document(one) }))) {
                ui.data(&json!({ "summary": summary(replayed) }));
            }
        }
    }
}

fn document(replayed: &Replayed) -> Value {
    let mut document = json!(replayed.comparison);
    document["unrecorded"] = json!(replayed.missing);
    document
}

fn summary(replayed: &[Replayed]) -> Value {
    let mut counts = Map::new();
    counts.insert("runs".into(), json!(replayed.len()));
    for (name, change) in [
        ("same", Change::Same),
        ("blocks", Change::Blocks),
        ("passes", Change::Passes),
        ("differs", Change::Differs),
        ("undecidable", Change::Undecidable),
    ] {
        let number = replayed.iter().filter(|one| one.comparison.change == change).count();
        counts.insert(name.into(), json!(number));
    }
    Value::Object(counts)
}

/// The words that `show_comparison` uses for a status.
pub(crate) fn status_word(status: RunStatus) -> String {
    match status {
        RunStatus::Running => "not decided".to_owned(),
        other => other.as_str().replace('_', " "),
    }
}
