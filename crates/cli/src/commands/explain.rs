//! `escrow explain`: why a run or a check ended the way it did; or what a code means.

use escrow_app::Error;
use escrow_app::explain::account;
use escrow_app::runs::entries;
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
    let queries = session::app(shared, ui)?.queries()?;
    let row = queries.run(&arguments.subject).await.map_err(|error| {
        let failure = Error::from(error);
        failure.help("`escrow runs` lists runs; codes look like `E0102` or `run.failed.missing_artifact`")
    })?;
    let journal = entries(&*queries, &row).await?;
    let account = account(&row, &journal, arguments.check.as_deref())?;
    match ui.output() {
        Output::Human => ui.page(&show_account(&account, ui.page)),
        Output::Json | Output::Jsonl => drop(ui.data(&json!(account))),
    }
    Ok(Exit::Completed)
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
        let failure = Error::author("unknown_code", format!("no page explains `{code}`"));
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
