//! `escrow init`: a state directory, and a first playbook that really runs.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use crate::arguments::{InitArguments, Shared};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::Ui;

const FIRST_PLAYBOOK: &str = include_str!("init/first.yaml");

pub(crate) fn init(arguments: &InitArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let base = arguments.dir.as_deref().unwrap_or(Path::new("."));
    let given = shared.state.clone().unwrap_or_else(|| base.join(".escrow"));
    let state = StateDirectory::find(Some(&given))?;
    let broken = |error: std::io::Error| {
        Failure::world("state", format!("cannot write to `{}`: {error}", state.path().display()))
    };
    state.create().map_err(broken)?;
    let playbooks = state.path().join("playbooks");
    fs::create_dir_all(&playbooks).map_err(broken)?;
    let first = playbooks.join("first.yaml");
    let existed = first.exists();
    if !existed {
        fs::write(&first, FIRST_PLAYBOOK).map_err(broken)?;
    }
    let shown = first
        .strip_prefix(std::env::current_dir().unwrap_or_default())
        .unwrap_or(&first)
        .display()
        .to_string();
    ui.say(&format!("{} {shown}", if existed { "kept" } else { "wrote" }));
    ui.say(&format!("  next: escrow run {shown}"));
    ui.data_if_machine(&json!({ "state": state.path(), "playbook": first }));
    Ok(Exit::Completed)
}
