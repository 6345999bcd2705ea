//! Sets up a state directory, with a first playbook that really runs.

use std::io::Write;
use std::path::PathBuf;

use escrow_runtime::private_files::{create_directory, create_file};

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
    create_directory(&playbooks).map_err(unwritable)?;
    let playbook = playbooks.join("first.yaml");
    let is_new = !playbook.exists();
    if is_new {
        create_file(&playbook)
            .and_then(|mut file| file.write_all(FIRST_PLAYBOOK.as_bytes()))
            .map_err(unwritable)?;
    }
    Ok(Initialised { playbook, is_new })
}
