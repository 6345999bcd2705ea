//! `escrow attention`: what needs a person, by cause, with the next command.

use escrow_app::attention::{self, DismissRequest};
use escrow_app::{App, Error};
use escrow_model::{WaitKind, rfc3339};
use escrow_runtime::entropy::now_ms;
use escrow_runtime::holder::liveness;
use escrow_store::{AttentionItem, AttentionKind, AttentionWait, Dismissal, Store};
use serde_json::{Value, json};

use crate::arguments::{
    AttentionAction, AttentionArguments, AttentionList, DismissArguments, Output, Shared,
};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{Paint, Ui, count, parse_duration, printable};

pub(crate) fn attention(arguments: AttentionArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    match arguments.action {
        None => list(&arguments.list, &*app.reader()?, ui),
        Some(AttentionAction::List(list)) => self::list(&list, &*app.reader()?, ui),
        Some(AttentionAction::Dismiss(dismiss)) => self::dismiss(&dismiss, &app, ui),
    }
}

fn list(arguments: &AttentionList, store: &Store, ui: &Ui) -> Result<Exit, Error> {
    let since = match arguments.since.as_deref() {
        None => 0,
        Some(text) => now_ms().saturating_sub(parse_duration(text).ok_or_else(|| {
            Error::author("usage", format!("`--since {text}` is not a duration")).help("write e.g. `7d`")
        })?),
    };
    let mut items = store.attention(liveness)?;
    items.retain(|item| item.last_at >= since);
    let dismissed = items.iter().filter(|item| item.dismissed.is_some()).count();
    items.retain(|item| arguments.all || item.dismissed.is_none());
    let hidden = items.len().saturating_sub(arguments.limit);
    items.truncate(arguments.limit);
    match ui.output() {
        Output::Json => {
            let documents: Vec<Value> = items.iter().map(document).collect();
            ui.data(&json!({ "attention": documents, "dismissed": dismissed, "left_out": hidden }));
        }
        Output::Jsonl => drop(items.iter().all(|item| ui.data(&json!({ "item": document(item) })))),
        Output::Human if items.is_empty() => ui.page("nothing needs attention"),
        Output::Human => {
            let page: Vec<String> = items.iter().map(|item| show(item, ui.page)).collect();
            ui.page(&page.join("\n"));
            if hidden > 0 {
                ui.say(&format!("and {} more: `--limit`", count(hidden, "cause")));
            }
        }
    }
    if dismissed > 0 && !arguments.all {
        ui.say(&format!("{} dismissed: `escrow attention --all`", count(dismissed, "cause")));
    }
    Ok(Exit::Completed)
}

/// As `attention --output json` shows it; `docs/attention.md` describes every field.
fn document(item: &AttentionItem) -> Value {
    json!({
        "fingerprint": item.fingerprint,
        "kind": item.kind,
        "reason_code": item.reason_code,
        "playbook": item.playbook,
        "check": item.subject.as_ref().filter(|subject| subject.kind == "check").map(|subject| &subject.id),
        "subject": item.subject,
        "summary": item.summary,
        "count": item.count,
        "first_at": rfc3339(item.first_at),
        "last_at": rfc3339(item.last_at),
        "run_ids": item.runs,
        "wait_id": item.wait.as_ref().map(|wait| &wait.id),
        "next": next(item),
        "dismissed": item.dismissed.as_ref().map(dismissal),
    })
}

fn dismissal(seen: &Dismissal) -> Value {
    json!({ "at": rfc3339(seen.at), "by": seen.by, "note": seen.note })
}

/// The command that leads on.
fn next(item: &AttentionItem) -> String {
    let run = item.runs.first().map_or("last", |run| run.as_str());
    if let Some(AttentionWait { id, kind, place, expires_at }) = &item.wait {
        // Whoever takes the run up finds that time is up.
        if expires_at.is_some_and(|at| at <= now_ms()) {
            return format!("escrow resume {run}");
        }
        return match kind {
            WaitKind::Approval => format!("escrow approve {id}"),
            WaitKind::Input => format!("escrow answer {id} TEXT"),
            WaitKind::UnknownEffect => format!("escrow resume {run} --assume {place}=done|failed|retry"),
            WaitKind::Nested => format!("escrow runs show {id}"),
        };
    }
    match item.kind {
        AttentionKind::Interrupted if item.count > 1 => "escrow resume --all".to_owned(),
        AttentionKind::Interrupted => format!("escrow resume {run}"),
        AttentionKind::Warning | AttentionKind::Waiting => format!("escrow runs show {run}"),
        AttentionKind::Failed | AttentionKind::TimedOut | AttentionKind::Aborted => {
            format!("escrow explain {run}")
        }
    }
}

fn show(item: &AttentionItem, paint: Paint) -> String {
    let word = match item.kind {
        AttentionKind::Waiting => paint.yellow("waiting"),
        AttentionKind::Failed => paint.red("failed"),
        AttentionKind::TimedOut => paint.red("timed out"),
        AttentionKind::Aborted => paint.red("aborted"),
        AttentionKind::Interrupted => paint.yellow("interrupted"),
        AttentionKind::Warning => paint.yellow("warning"),
    };
    let times = if item.count > 1 { format!("  {} times", item.count) } else { String::new() };
    let place =
        item.subject.as_ref().map(|subject| format!(" · {}", printable(&subject.id))).unwrap_or_default();
    let at = rfc3339(item.last_at).replace('T', " ");
    let code = item.reason_code.as_ref().map(|code| format!("  {code}")).unwrap_or_default();
    let mut text = format!(
        "{}  {word}{times}  {}{place}  {}\n",
        paint.cyan(&item.fingerprint),
        paint.bold(&printable(&item.playbook)),
        paint.dim(&at[..19]),
    );
    text.push_str(&format!("  {}{}\n", printable(&item.summary), paint.dim(&code)));
    if let Some(seen) = &item.dismissed {
        let by = seen.by.as_ref().map(|by| format!(" by {}", printable(by))).unwrap_or_default();
        text.push_str(&format!("  {}{by}: {}\n", paint.dim("dismissed"), printable(&seen.note)));
    }
    text.push_str(&format!("  {} {}\n", paint.dim("next:"), next(item)));
    text
}

fn dismiss(arguments: &DismissArguments, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let request = DismissRequest {
        what: arguments.what.clone(),
        note: arguments.note.clone(),
        by: arguments.by.clone(),
    };
    let item = attention::dismiss(app, &request)?;
    ui.say(&format!("dismissed {}; it returns when it happens again", item.fingerprint));
    ui.data_if_machine(&json!({ "item": document(&item) }));
    Ok(Exit::Completed)
}
