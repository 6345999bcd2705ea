//! `escrow attention`: what needs a person, by cause, with the next command.

use anyhow::Result;
use escrow_model::{WaitKind, rfc3339};
use escrow_runtime::entropy::now_ms;
use escrow_runtime::holder::liveness;
use escrow_store::{AttentionItem, AttentionKind, AttentionWait, Dismissal, Store};
use serde_json::{Value, json};

use super::cancel::who;
use super::override_run::{BY_LENGTH_MAX, WHY_LENGTH_MAX, one_line, text};
use crate::arguments::{
    AttentionAction, AttentionArguments, AttentionList, DismissArguments, Output, Shared,
};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{Paint, Ui, count, parse_duration, printable};

pub(crate) fn attention(arguments: AttentionArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    let exit = match arguments.action {
        None => list(&arguments.list, &*state.read()?, ui),
        Some(AttentionAction::List(list)) => self::list(&list, &*state.read()?, ui),
        Some(AttentionAction::Dismiss(dismiss)) => self::dismiss(&dismiss, &state, ui),
    };
    Ok(exit?)
}

fn list(arguments: &AttentionList, store: &Store, ui: &Ui) -> Result<Exit, Failure> {
    let since = match arguments.since.as_deref() {
        None => 0,
        Some(text) => now_ms().saturating_sub(parse_duration(text).ok_or_else(|| {
            Failure::author("usage", format!("`--since {text}` is not a duration")).help("write e.g. `7d`")
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

fn dismiss(arguments: &DismissArguments, state: &StateDirectory, ui: &Ui) -> Result<Exit, Failure> {
    text("--note", &arguments.note, WHY_LENGTH_MAX)?;
    if let Some(by) = &arguments.by {
        one_line("--by", by, BY_LENGTH_MAX)?;
    }
    let store = state.write()?;
    let item = find(&arguments.what, &store)?;
    if item.dismissed.is_some() {
        let message = format!("`{}` is already dismissed and has not recurred", item.fingerprint);
        return Err(Failure::person("dismissed", message));
    }
    let (by, note) = (arguments.by.clone().or_else(who), arguments.note.trim().to_owned());
    let seen = store.dismiss(&item, now_ms(), by, note)?;
    ui.say(&format!("dismissed {}; it returns when it happens again", item.fingerprint));
    let item = AttentionItem { dismissed: Some(seen), ..item };
    ui.data_if_machine(&json!({ "item": document(&item) }));
    Ok(Exit::Completed)
}

/// The item of this fingerprint or a beginning of it, the one that a wait belongs to, or the one of a run.
fn find(what: &str, store: &Store) -> Result<AttentionItem, Failure> {
    let mut items = store.attention(liveness)?;
    let is_wait = |item: &AttentionItem| item.wait.as_ref().is_some_and(|wait| wait.id == what);
    if what.starts_with("f_") && what.len() > 2 {
        items.retain(|item| item.fingerprint.starts_with(what));
    } else if items.iter().any(is_wait) {
        items.retain(is_wait);
    } else {
        let row = store.run(what)?;
        items.retain(|item| match &row.reason {
            // An item names only its newest runs; an older one is found by its cause.
            Some(reason) if row.status.is_terminal() => {
                let subject = reason.evidence.first().map(|one| (one.kind.as_str(), one.id.as_str()));
                let of_item = item.subject.as_ref().map(|one| (one.kind.as_str(), one.id.as_str()));
                item.playbook == row.playbook
                    && item.reason_code.as_deref() == Some(reason.code.as_str())
                    && of_item == subject
            }
            Some(_) | None => item.runs.contains(&row.id),
        });
    }
    match (items.pop(), items.is_empty()) {
        (Some(item), true) => Ok(item),
        (None, _) => {
            Err(Failure::author("unknown_item", format!("nothing that needs a person is called `{what}`"))
                .help("`escrow attention --all` lists everything"))
        }
        (Some(_), false) => {
            Err(Failure::author("ambiguous_item", format!("`{what}` is ambiguous"))
                .help("give the fingerprint"))
        }
    }
}
