//! `escrow replay`: decides recorded runs again under another playbook. Nothing is called.

use std::sync::Arc;

use escrow_app::Error;
use escrow_app::replay::{Replayed, Which, replay_with};
use escrow_engine::Change;
use escrow_model::RunStatus;
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
    let which = match (&arguments.run, arguments.last) {
        (Some(name), _) => Which::Run(name.clone()),
        (None, number) => Which::Newest(number.unwrap_or(1)),
    };
    let replayed = replay_with(&*queries, &which, &plan).await?;
    tell(&replayed, arguments, ui);
    let differs = replayed.iter().any(|one| one.comparison.change != Change::Same);
    Ok(if differs && arguments.fail_on_diff { Exit::WorkFailed } else { Exit::Completed })
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
    document["unrecorded"] = json!(replayed.unrecorded);
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
