//! `escrow gc`: removes whole runs that have ended, by age, number and size.

use escrow_app::Error;
use escrow_app::gc::{self, RemovalPlan, Retention};
use escrow_model::RunId;
use escrow_runtime::now_ms;
use serde_json::json;

use crate::arguments::{GcArguments, Output, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{Ui, bytes_words, count, parse_bytes, parse_duration, printable};

pub(crate) async fn gc(arguments: &GcArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let retention = retention(arguments)?;
    let app = session::app(shared, ui)?;
    let RemovalPlan { mut runs, unsettled } = gc::plan(&app, &retention).await?;
    if !arguments.dry_run {
        let removed = gc::remove(&app, runs).await?;
        if let Some(error) = removed.not_compacted {
            ui.say(&format!("{}: the database keeps its size for now: {error}", ui.paint.yellow("warning")));
        }
        runs = removed.runs;
    }
    let bytes: u64 = runs.iter().map(|run| run.bytes).sum();
    let verb = if arguments.dry_run { "would remove" } else { "removed" };
    // A dry run prints its result to stdout; a removal reports to stderr.
    let tell = |line: &str| match (arguments.dry_run, ui.output()) {
        (true, Output::Human) => ui.page(line),
        (true, Output::Json | Output::Jsonl) | (false, _) => ui.say(line),
    };
    for run in &runs {
        tell(&format!("{verb} {}  {}  {}", run.id, printable(&run.playbook), bytes_words(run.bytes)));
    }
    for run in &unsettled {
        let (playbook, key) = (printable(&run.playbook), printable(&run.key));
        tell(&format!("kept {}  {playbook}  its effect `{key}` is unknown", run.id));
    }
    if !unsettled.is_empty() {
        ui.say("`escrow effects resolve KEY 'done|failed' --by NAME --why TEXT` settles an unknown effect");
    }
    tell(&format!("{verb} {}, {}", count(runs.len(), "run"), bytes_words(bytes)));
    let ids: Vec<&RunId> = runs.iter().map(|run| &run.id).collect();
    let kept: Vec<&RunId> = unsettled.iter().map(|run| &run.id).collect();
    ui.data_if_machine(
        &json!({ "removed": ids, "kept": kept, "bytes": bytes, "dry_run": arguments.dry_run }),
    );
    Ok(Exit::Completed)
}

fn retention(arguments: &GcArguments) -> Result<Retention, Error> {
    let bad = |option: &str, text: &str, help: &str| {
        Error::author("usage", format!("`{text}` is not a valid value of `{option}`")).help(help)
    };
    let age = arguments.older_than.as_deref().map(|text| {
        parse_duration(text)
            .filter(|_| !text.is_empty())
            .ok_or_else(|| bad("--older-than", text, "write e.g. `30d` or `12h`"))
    });
    let size = arguments
        .max_size
        .as_deref()
        .map(|text| parse_bytes(text).ok_or_else(|| bad("--max-size", text, "write e.g. `500M` or `2G`")));
    Ok(Retention {
        ended_before: age.transpose()?.map(|age| now_ms().saturating_sub(age)),
        keep: arguments.keep,
        bytes_max: size.transpose()?,
    })
}
