//! Reads a playbook from disk, or says everything that is wrong with it.

use std::io;
use std::path::Path;

use escrow_model::{Plan, Secret};
use escrow_playbook::{Diagnostic, Severity, render, render_within};
use escrow_runtime::secrets::Secrets;

use crate::failure::Failure;
use crate::terminal::{Ui, count, terminal_columns};

/// A playbook that may run, and what to warn of.
pub(crate) struct PlaybookFile {
    pub(crate) plan: Plan,
    pub(crate) warnings: Vec<Diagnostic>,
}

pub(crate) fn load(path: &Path, ui: &Ui) -> Result<PlaybookFile, Failure> {
    let bytes = escrow_runtime::playbook_file::read_bytes(path).map_err(|error| unreadable(path, &error))?;
    let file = path.display().to_string();
    let directory = std::env::current_dir().unwrap_or_default();
    let reading = escrow_runtime::playbook_file::read(path, &bytes, &directory);
    let text = String::from_utf8_lossy(&bytes);
    let (diagnostics, rendered) = told(reading.diagnostics, &text, &reading.secrets, ui.paint.is_coloured());
    match reading.plan {
        Some(plan) => {
            if !diagnostics.is_empty() {
                ui.say(rendered.trim_end());
            }
            Ok(PlaybookFile { plan, warnings: diagnostics })
        }
        None => {
            let errors = diagnostics.iter().filter(|one| one.severity == Severity::Error).count();
            let problems = match reading.omitted_errors {
                0 => count(errors, "problem"),
                omitted_errors => {
                    format!("{} problems, of which {errors} are shown", errors + omitted_errors)
                }
            };
            let message = format!("`{file}` has {problems}; nothing was run");
            Err(Failure::diagnosed(message, diagnostics, rendered))
        }
    }
}

/// Diagnostics and how they look, without secrets: they quote lines of the file, and the author may have written
/// down what should not be.
pub(crate) fn told(
    mut diagnostics: Vec<Diagnostic>,
    text: &str,
    secrets: &[Secret],
    coloured: bool,
) -> (Vec<Diagnostic>, String) {
    let mut rendered = match terminal_columns() {
        Some(columns) => render_within(columns, &diagnostics, text, coloured),
        None => render(&diagnostics, text, coloured),
    };
    let redactor = Secrets::redactor_of(secrets, Path::new("."));
    redactor.text(&mut rendered);
    for diagnostic in &mut diagnostics {
        redactor.text(&mut diagnostic.message);
        redactor.text(&mut diagnostic.label);
        if let Some(help) = &mut diagnostic.help {
            redactor.text(help);
        }
    }
    (diagnostics, rendered)
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let file = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => Failure::author("no_such_file", format!("there is no file `{file}`"))
            .help("`escrow init` writes a first playbook to start from"),
        io::ErrorKind::IsADirectory => {
            Failure::author("no_such_file", format!("`{file}` is a directory, not a playbook"))
        }
        _ => Failure::world("unreadable", format!("cannot read `{file}`: {error}")),
    }
}
