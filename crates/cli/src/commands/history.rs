//! `escrow runs show RUN --history`: every change of status, with its reason and who caused it.

use escrow_app::Error;
use escrow_app::documents::{Change, changes_of_run, history_change};
use escrow_app::runs::entries;
use escrow_model::{WaitKind, rfc3339};
use escrow_store::{Queries, RunRow};
use serde_json::{Value, json};

use crate::arguments::Output;
use crate::exit::Exit;
use crate::terminal::{TextTable, Ui, printable};

pub(crate) async fn of_run(row: &RunRow, queries: &dyn Queries, ui: &Ui) -> Result<Exit, Error> {
    let journal = entries(queries, row).await?;
    let checks = escrow_engine::history(&journal).map_err(|error| {
        Error::world("journal", format!("the journal of `{}` cannot be replayed: {error}", row.id))
    })?;
    let mut of_run = changes_of_run(&queries.transitions("run", row.id.as_str()).await?);
    // Among changes of the same time, the start of the run comes first and its end last.
    let rest = of_run.split_off(of_run.len().min(1));
    let mut changes = of_run;
    changes.extend(checks.iter().map(Change::from));
    for wait in queries.waits(&row.id).await? {
        if wait.kind != WaitKind::Nested {
            let told = queries.transitions("approval", &wait.id).await?;
            changes.extend(told.iter().map(Change::from));
        }
    }
    changes.extend(rest);
    tell(changes, &json!({ "run": { "id": row.id } }), ui);
    Ok(Exit::Completed)
}

/// Shows changes, oldest first; those of the same time in the given order.
pub(crate) fn tell(mut changes: Vec<Change>, about: &Value, ui: &Ui) {
    changes.sort_by_key(|change| change.at);
    match ui.output() {
        Output::Json => {
            let mut whole = about.clone();
            whole["history"] = changes.iter().map(history_change).collect();
            ui.data(&whole);
        }
        Output::Jsonl => {
            let one = |change| json!({ "change": history_change(change) });
            let _all_read = changes.iter().all(|change| ui.data(&one(change)));
        }
        Output::Human => ui.page(&table(&changes, ui)),
    }
}

fn table(changes: &[Change], ui: &Ui) -> String {
    let page = ui.page;
    let mut table = TextTable::new();
    for change in changes {
        let at = rfc3339(change.at).replace('T', " ");
        let at = at.get(..19).unwrap_or_default();
        let id = printable(&change.entity_id);
        let what = match change.entity_type.as_str() {
            "check" => id,
            other => format!("{} {id}", printable(other)),
        };
        let to = printable(&change.to);
        let step = match &change.from {
            // A run whose process was gone is driven by another one.
            Some(from) if *from == to => format!("{to}, resumed"),
            Some(from) => format!("{from} → {to}"),
            None => to,
        };
        let actor = printable(&change.actor);
        let by = if actor == "escrow" { String::new() } else { format!("by {actor}") };
        let reason = change.reason.as_ref();
        let code = printable(reason.map_or("", |reason| &reason.code));
        let summary = printable(reason.and_then(|reason| reason.summary.as_deref()).unwrap_or_default());
        table.row(&[
            (at, page.dim(at)),
            (&what, page.bold(&what)),
            (&step, step.clone()),
            (&code, page.cyan(&code)),
            (&by, by.clone()),
            ("", summary),
        ]);
    }
    table.render()
}
