//! `escrow explain CODE`: what a reason or a diagnostic means, and what to do about it.

use anyhow::Result;
use serde_json::json;

use crate::arguments::{ExplainArguments, Output};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::pages;
use crate::terminal::Talk;

pub(crate) fn explain(arguments: &ExplainArguments, talk: &Talk) -> Result<Exit> {
    let Some(page) = pages::page(&arguments.code) else {
        let failure = Failure::author("unknown_code", format!("no page explains `{}`", arguments.code));
        let near = pages::codes().find(|code| code.contains(&arguments.code) && !arguments.code.is_empty());
        return Err(match near {
            Some(near) => failure.help(format!("did you mean `{near}`?")),
            None => failure.help("codes look like `E0102` or `run.failed.missing_artifact`"),
        }
        .into());
    };
    match talk.output() {
        Output::Human => talk.page(page),
        Output::Json | Output::Jsonl => drop(talk.data(&json!({ "code": arguments.code, "page": page }))),
    }
    Ok(Exit::Completed)
}
