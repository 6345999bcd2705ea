//! Reads a playbook from disk, and shows what to warn of.

use std::path::Path;

use escrow_app::playbooks::{self, LoadedPlaybook};
use escrow_app::{Diagnosed, Error};

use crate::terminal::{Ui, terminal_columns};

/// `directory` is where the commands of the playbook would run.
pub(crate) fn load(path: &Path, directory: &Path, ui: &Ui) -> Result<LoadedPlaybook, Error> {
    let playbook = playbooks::load(path, directory)?;
    show(&playbook.warnings, ui);
    Ok(playbook)
}

/// The same for a file that may also be a chain or a show.
pub(crate) fn load_any(path: &Path, directory: &Path, ui: &Ui) -> Result<LoadedPlaybook, Error> {
    let playbook = playbooks::load_any(path, directory)?;
    show(&playbook.warnings, ui);
    Ok(playbook)
}

/// The problems of a file, with the lines that they point at.
pub(crate) fn show(diagnosed: &Diagnosed, ui: &Ui) {
    if !diagnosed.is_empty() {
        ui.say(diagnosed.rendered(terminal_columns(), ui.paint.is_coloured()).trim_end());
    }
}
