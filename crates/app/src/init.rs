//! Sets up a state directory, with a first playbook that really runs.

use std::fs;
use std::path::PathBuf;

use crate::app::App;
use crate::error::Error;

const FIRST_PLAYBOOK: &str = include_str!("init/first.yaml");

#[derive(Debug)]
pub struct Initialised {
    pub playbook: PathBuf,
    /// False when the playbook was there before; it stays as it is.
    pub is_new: bool,
}

pub fn init(app: &App) -> Result<Initialised, Error> {
    let state = app.state();
    let unwritable = |error: std::io::Error| {
        Error::world("state", format!("cannot write to `{}`: {error}", state.path().display()))
    };
    state.create().map_err(unwritable)?;
    let playbooks = state.path().join("playbooks");
    fs::create_dir_all(&playbooks).map_err(unwritable)?;
    let playbook = playbooks.join("first.yaml");
    let is_new = !playbook.exists();
    if is_new {
        fs::write(&playbook, FIRST_PLAYBOOK).map_err(unwritable)?;
    }
    Ok(Initialised { playbook, is_new })
}
