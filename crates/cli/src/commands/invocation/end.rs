//! `escrow invocation end`: as its runs ended, or as a person says.

use escrow_app::invocations::{self, EndRequest};
use escrow_app::runs::parse_status;
use escrow_app::{App, Error, documents};
use serde_json::json;

use crate::arguments::InvocationEndArguments;
use crate::exit::Exit;
use crate::terminal::Ui;

pub(super) async fn end(arguments: &InvocationEndArguments, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let request = EndRequest {
        invocation: arguments.id.clone(),
        status: arguments.status.as_deref().map(parse_status).transpose()?,
        by: arguments.by.clone(),
        why: arguments.why.clone(),
    };
    let row = invocations::end(app, &request).await?;
    let reason = row.reason.as_ref().map_or("", |reason| reason.code.as_str());
    ui.say(&format!("{}  {reason}", row.status.as_str().replace('_', " ")));
    ui.data_if_machine(&json!({ "invocation": documents::invocation(&row) }));
    Ok(Exit::Completed)
}
