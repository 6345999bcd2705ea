//! `escrow attention`: what needs a person, by cause, with the next command.

use escrow_app::attempted::{Attempted, attempts_named};
use escrow_app::attention::{self, AttentionQuery, DismissRequest, ListedItems};
use escrow_app::request_words::subject_lines;
use escrow_app::{App, Error, documents, words};
use escrow_model::{RunId, WaitKind, rfc3339};
use escrow_runtime::now_ms;
use escrow_store::{AttentionItem, AttentionKind};
use serde_json::{Value, json};

use crate::arguments::{
    AttentionAction, AttentionArguments, AttentionList, DismissArguments, Output, Shared,
};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{Paint, Ui, count, printable, title_words, visible};

pub(crate) async fn attention(
    arguments: AttentionArguments,
    shared: &Shared,
    ui: &Ui,
) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    match arguments.action {
        None => list(&arguments.list, &app, ui).await,
        Some(AttentionAction::List(list)) => self::list(&list, &app, ui).await,
        Some(AttentionAction::Dismiss(dismiss)) => self::dismiss(&dismiss, &app, ui).await,
    }
}

async fn list(arguments: &AttentionList, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let queries = &*app.queries()?;
    let query = AttentionQuery {
        since: arguments.since.as_deref().map(words::since).transpose()?,
        with_dismissed: arguments.all,
        limit: Some(arguments.limit),
    };
    let ListedItems { items, dismissed, left_out: hidden } = attention::list(queries, &query).await?;
    match ui.output() {
        Output::Json => {
            ui.data(&documents::attention(&items, dismissed, hidden, now_ms()));
        }
        Output::Jsonl => drop(items.iter().all(|item| ui.data(&one(item)))),
        Output::Human if items.is_empty() => ui.page("nothing needs attention"),
        Output::Human => {
            let waits = items.iter().filter_map(unknown_effect);
            let attempts = attempts_named(app.state(), queries, waits).await?;
            let show = |item: &AttentionItem| {
                let attempted = unknown_effect(item).and_then(|(run, wait)| attempts.get(run, wait));
                show(item, attempted, ui.page)
            };
            let page: Vec<String> = items.iter().map(show).collect();
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

fn one(item: &AttentionItem) -> Value {
    json!({ "item": documents::attention_item(item, now_ms()) })
}

/// The run and the wait of an item that asks what became of an effect.
fn unknown_effect(item: &AttentionItem) -> Option<(&RunId, &str)> {
    let wait = item.wait.as_ref().filter(|wait| wait.kind == WaitKind::UnknownEffect)?;
    Some((item.runs.first()?, &wait.id))
}

fn show(item: &AttentionItem, attempted: Option<&Attempted>, paint: Paint) -> String {
    let word = match item.kind {
        AttentionKind::Waiting => paint.yellow("waiting"),
        AttentionKind::Failed => paint.red("failed"),
        AttentionKind::TimedOut => paint.red("timed out"),
        AttentionKind::Aborted => paint.red("aborted"),
        AttentionKind::Interrupted => paint.yellow("interrupted"),
        AttentionKind::Warning => paint.yellow("warning"),
        AttentionKind::Undelivered => paint.yellow("undelivered"),
        AttentionKind::UnknownEffect => paint.yellow("unknown effect"),
        AttentionKind::NotBegun => paint.red("not begun"),
    };
    let times = if item.count > 1 { format!("  {} times", item.count) } else { String::new() };
    let asked_at = item.wait.as_ref().map(|wait| &wait.place);
    let place = asked_at.or(item.subject.as_ref().map(|subject| &subject.id));
    let place = place.map(|place| format!(" · {}", printable(place))).unwrap_or_default();
    let at = rfc3339(item.last_at).replace('T', " ");
    let code = item.reason_code.as_ref().map(|code| format!("  {code}")).unwrap_or_default();
    let mut text = format!(
        "{}  {word}{times}  {}{}{place}  {}\n",
        paint.cyan(&item.fingerprint),
        paint.bold(&printable(&item.playbook)),
        title_words(item.title.as_deref()),
        paint.dim(&at[..19]),
    );
    text.push_str(&format!("  {}{}\n", printable(&item.summary), paint.dim(&code)));
    let subject = item.wait.as_ref().and_then(|wait| wait.subject.as_ref());
    let asked = subject.map(|subject| subject_lines(subject)).unwrap_or_default();
    for (name, value) in asked.into_iter().chain(attempted.map(Attempted::lines).unwrap_or_default()) {
        for line in value.trim_end().lines() {
            text.push_str(&format!("  {} {}\n", paint.dim(&format!("{}:", visible(&name))), visible(line)));
        }
    }
    if item.wait.as_ref().is_some_and(|wait| wait.has_recorded_decision) {
        text.push_str("  decided; the run has not acted on it yet\n");
    }
    if let Some(seen) = &item.dismissed {
        let by = seen.by.as_ref().map(|by| format!(" by {}", printable(by))).unwrap_or_default();
        text.push_str(&format!("  {}{by}: {}\n", paint.dim("dismissed"), printable(&seen.note)));
    }
    text.push_str(&format!(
        "  {} {}\n",
        paint.dim("next:"),
        visible(&documents::next_command(item, now_ms()))
    ));
    text
}

async fn dismiss(arguments: &DismissArguments, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let request = DismissRequest {
        what: arguments.what.clone(),
        note: arguments.note.clone(),
        by: arguments.by.clone(),
    };
    let item = attention::dismiss(app, &request).await?;
    ui.say(&format!("dismissed {}; it returns when it happens again", item.fingerprint));
    ui.data_if_machine(&one(&item));
    Ok(Exit::Completed)
}
