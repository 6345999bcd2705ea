//! `escrow init`: a state directory, and a first playbook that really runs.

use std::path::Path;

use escrow_app::{Error, init};
use serde_json::json;

use crate::arguments::{InitArguments, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::Ui;

pub(crate) fn init(arguments: &InitArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let base = arguments.dir.as_deref().unwrap_or(Path::new("."));
    let given = shared.state.clone().unwrap_or_else(|| base.join(".escrow"));
    let app = session::app(&Shared { state: Some(given), ..shared.clone() }, ui)?;
    let initialised = init::init(&app)?;
    let playbook = initialised.playbook;
    let shown = playbook
        .strip_prefix(std::env::current_dir().unwrap_or_default())
        .unwrap_or(&playbook)
        .display()
        .to_string();
    ui.say(&format!("{} {shown}", if initialised.is_new { "wrote" } else { "kept" }));
    ui.say(&format!("  next: escrow run {shown}"));
    ui.data_if_machine(&json!({ "state": app.state().path(), "playbook": playbook }));
    Ok(Exit::Completed)
}
