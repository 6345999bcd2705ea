//! `escrow runs show RUN --history`: every change of status, with its reason and who caused it.

use escrow_app::Error;
use escrow_app::runs::entries;
use escrow_engine::CheckChange;
use escrow_model::{Millis, WaitKind, rfc3339};
use escrow_store::{RunRow, Store, TransitionRow};
use serde_json::{Value, json};

use crate::arguments::Output;
use crate::exit::Exit;
use crate::terminal::{Table, Ui, printable};

/// One change, of whatever has a status.
pub(crate) struct Change {
    at: Millis,
    document: Value,
}

pub(crate) fn of_run(row: &RunRow, store: &Store, ui: &Ui) -> Result<Exit, Error> {
    let journal = entries(store, row)?;
    let checks = escrow_engine::history(&journal).map_err(|error| {
        Error::world("journal", format!("the journal of `{}` cannot be replayed: {error}", row.id))
    })?;
    let of_run = store.transitions("run", row.id.as_str())?;
    // Of what happened in one moment, a run starts first and ends last.
    let (start, rest) = of_run.split_at(of_run.len().min(1));
    let mut changes: Vec<Change> = start.iter().map(transition).collect();
    changes.extend(checks.iter().map(check));
    for wait in store.waits(&row.id)? {
        if wait.kind != WaitKind::Nested {
            let told = store.transitions("approval", &wait.id)?;
            changes.extend(told.iter().map(transition));
        }
    }
    changes.extend(rest.iter().map(transition));
    tell(changes, &json!({ "run": { "id": row.id } }), ui);
    Ok(Exit::Completed)
}

/// Oldest first; of one moment, in the order in which they are given.
pub(crate) fn tell(mut changes: Vec<Change>, about: &Value, ui: &Ui) {
    changes.sort_by_key(|change| change.at);
    let documents: Vec<Value> = changes.into_iter().map(|change| change.document).collect();
    match ui.output() {
        Output::Json => {
            let mut whole = about.clone();
            whole["history"] = Value::Array(documents);
            ui.data(&whole);
        }
        Output::Jsonl => drop(documents.iter().all(|change| ui.data(&json!({ "change": change })))),
        Output::Human => ui.page(&table(&documents, ui)),
    }
}

fn table(documents: &[Value], ui: &Ui) -> String {
    let page = ui.page;
    let mut table = Table::new();
    for change in documents {
        let field = |name: &str| printable(change[name].as_str().unwrap_or_default());
        let at = field("at").replace('T', " ");
        let at = at.get(..19).unwrap_or_default().to_owned();
        let what = match change["entity_type"].as_str() {
            Some("check") => field("entity_id"),
            _ => format!("{} {}", field("entity_type"), field("entity_id")),
        };
        let step = match change["from"].as_str() {
            Some(from) => format!("{from} → {}", field("to")),
            None => field("to"),
        };
        let code = printable(change["reason"]["code"].as_str().unwrap_or_default());
        let by = if field("actor") == "escrow" { String::new() } else { format!("by {}", field("actor")) };
        let summary = printable(change["reason"]["summary"].as_str().unwrap_or_default());
        table.row(&[
            (&at, page.dim(&at)),
            (&what, page.bold(&what)),
            (&step, step.clone()),
            (&code, page.cyan(&code)),
            (&by, by.clone()),
            ("", summary),
        ]);
    }
    table.render()
}

pub(crate) fn transition(row: &TransitionRow) -> Change {
    let reason = row
        .reason_code
        .as_ref()
        .map(|code| json!({ "code": code, "summary": row.reason_summary, "evidence": row.evidence }));
    let document = json!({
        "entity_type": row.entity_type,
        "entity_id": row.entity_id,
        "from": row.from_status,
        "to": row.to_status,
        "reason": reason,
        "source": row.source,
        "actor": row.actor,
        "at": rfc3339(row.at),
    });
    Change { at: row.at, document }
}

fn check(change: &CheckChange) -> Change {
    let reason = (!change.code.is_empty() || !change.detail.is_empty())
        .then(|| json!({ "code": change.code, "summary": change.detail, "evidence": [] }));
    let document = json!({
        "entity_type": "check",
        "entity_id": format!("{}{}", change.check, change.scope),
        "from": change.from,
        "to": change.to,
        "reason": reason,
        "source": "engine",
        "actor": "escrow",
        "at": rfc3339(change.at),
    });
    Change { at: change.at, document }
}
