//! `escrow backup`: a copy of the whole state, at any time.

use escrow_app::{Error, backup};
use serde_json::json;

use crate::arguments::{BackupArguments, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{Ui, bytes_words, count};

pub(crate) async fn backup(arguments: &BackupArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let done = backup::back_up(&session::app(shared, ui)?, &arguments.directory).await?;
    let shown = done.directory.display();
    ui.say(&format!("copied {} to {shown}: {}", count(done.runs, "run"), bytes_words(done.bytes)));
    ui.data_if_machine(
        &json!({ "backup": { "path": done.directory, "runs": done.runs, "files": done.files, "bytes": done.bytes } }),
    );
    Ok(Exit::Completed)
}
