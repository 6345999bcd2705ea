//! `escrow explain`: why a run or a check ended the way it did; or what a code means.

use escrow_app::attempted::{Attempted, attempts_of};
use escrow_app::explain::{Account, account};
use escrow_app::messages::waits_of;
use escrow_app::runs::entries;
use escrow_app::{App, Error, documents};
use escrow_store::Queries;
use serde_json::json;

use crate::arguments::{ExplainArguments, Output, Shared};
use crate::codes;
use crate::exit::Exit;
use crate::pages;
use crate::session;
use crate::terminal::{Ui, show_account};

pub(crate) async fn explain(arguments: &ExplainArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    if is_code(&arguments.subject) {
        return explain_code(&arguments.subject, ui);
    }
    let app = session::app(shared, ui)?;
    let queries = app.queries()?;
    let row = queries.run(&arguments.subject).await.map_err(|error| {
        let failure = Error::from(error);
        failure.help("`escrow runs` lists runs; codes look like `E0102` or `run.failed.missing_artifact`")
    })?;
    let journal = entries(&*queries, &row).await?;
    let account = account(&row, &journal, arguments.check.as_deref())?;
    let Asked { attempted, next } = asked_about(&app, &*queries, &account).await?;
    match ui.output() {
        Output::Human => {
            ui.page(&show_account(&account, attempted.as_ref(), next.as_deref(), ui.page));
        }
        Output::Json | Output::Jsonl => {
            let mut document = json!(account);
            if let Some(attempted) = &attempted {
                document["attempted"] = documents::attempted(attempted);
            }
            if let Some(next) = next {
                document["next"] = json!(next);
            }
            ui.data(&document);
        }
    }
    Ok(Exit::Completed)
}

/// What a run waits for, if the check of the account waits.
struct Asked {
    /// The attempt that it waits to hear about.
    attempted: Option<Attempted>,
    /// The command that deals with it.
    next: Option<String>,
}

async fn asked_about(app: &App, queries: &dyn Queries, account: &Account) -> Result<Asked, Error> {
    let mut waits = waits_of(queries, &account.run).await?;
    let cause = &account.cause;
    waits.retain(|wait| {
        let is_cause = cause.check.as_deref() == Some(&wait.check) && cause.scope.to_string() == wait.scope;
        wait.resolved_at.is_none() && is_cause
    });
    let attempts = attempts_of(app.state(), queries, &waits).await?;
    Ok(Asked {
        attempted: waits.iter().find_map(|wait| attempts.of(wait)).cloned(),
        next: waits.first().and_then(documents::next_of_wait),
    })
}

/// Codes have a shape that no run's name has: `E0102`, `W0301`, `run.failed.fail_if`.
fn is_code(text: &str) -> bool {
    let numbered = |text: &str| {
        text.len() == 5 && text.starts_with(['E', 'W']) && text[1..].bytes().all(|byte| byte.is_ascii_digit())
    };
    pages::page(text).is_some()
        || codes::section(text).is_some()
        || text.contains(['.', '/'])
        || numbered(text)
}

fn explain_code(code: &str, ui: &Ui) -> Result<Exit, Error> {
    let Some(page) = pages::page(code).or_else(|| codes::section(code)) else {
        let failure = Error::not_found("unknown_code", format!("no page explains `{code}`"));
        let near = pages::codes().find(|known| known.contains(code));
        return Err(match near {
            Some(near) => failure.help(format!("did you mean `{near}`?")),
            None => failure.help("codes look like `E0102` or `run.failed.missing_artifact`"),
        });
    };
    match ui.output() {
        Output::Human => ui.page(page),
        Output::Json | Output::Jsonl => drop(ui.data(&json!({ "code": code, "page": page }))),
    }
    Ok(Exit::Completed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_runs_are_told_apart() {
        for code in ["E0102", "run.failed.fail_if", "run.failed.nonsense", "W0001"] {
            assert!(is_code(code), "{code}");
        }
        for run in ["last", "r_06gxxhd7vm7bfx7c08e8", "06gx", "e010"] {
            assert!(!is_code(run), "{run}");
        }
    }
}
