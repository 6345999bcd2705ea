//! Reads the plan that is to be run: from a playbook, or from the profile of an agent.

use std::io;
use std::path::Path;

use escrow_model::Plan;
use escrow_playbook::{AgentLookup, FileKind, Reading, suggest_agent};
use escrow_runtime::playbook_file::Directories;
use escrow_runtime::{agents, playbook_file};

use crate::chains;
use crate::diagnosed::Diagnosed;
use crate::error::Error;
use crate::shows;

/// A playbook, chain or show without errors.
#[derive(Debug)]
pub struct LoadedPlaybook {
    pub plan: Plan,
    /// The file as it was read.
    pub text: String,
    pub warnings: Diagnosed,
}

/// Reads a playbook with those that it nests, or reports every problem in them. `directory` is where its commands would
/// run.
pub fn load(path: &Path, directory: &Path) -> Result<LoadedPlaybook, Error> {
    let bytes = playbook_file::read_bytes(path).map_err(|error| unreadable(path, &error))?;
    let current = std::env::current_dir().unwrap_or_default();
    let directories = Directories { current: &current, commands: directory };
    loaded("bad_playbook", path, &bytes, playbook_file::read(path, &bytes, directories))
}

/// Reads a playbook, or a chain or a show where the file is one.
pub fn load_any(path: &Path, directory: &Path) -> Result<LoadedPlaybook, Error> {
    let bytes = playbook_file::read_bytes(path).map_err(|error| unreadable(path, &error))?;
    match escrow_playbook::file_kind(&bytes) {
        Some(FileKind::Chain) => chains::compile(path, &bytes, directory),
        Some(FileKind::Show) => shows::compile(path, &bytes, directory),
        Some(FileKind::Playbook | FileKind::Tests | FileKind::Rules | FileKind::Outcome) | None => {
            load(path, directory)
        }
    }
}

/// What was read of a file of any kind, or every problem in it under this code.
pub(crate) fn loaded(
    code: &'static str,
    path: &Path,
    bytes: &[u8],
    reading: Reading,
) -> Result<LoadedPlaybook, Error> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let warnings = Diagnosed::new(reading.diagnostics, text.clone(), &reading.secrets);
    match reading.plan {
        Some(plan) => Ok(LoadedPlaybook { plan, text, warnings }),
        None => Err(bad_file(code, path, warnings, reading.omitted_errors)),
    }
}

/// A file with errors.
fn bad_file(code: &'static str, path: &Path, diagnosed: Diagnosed, omitted_errors: usize) -> Error {
    let problems = match (diagnosed.errors(), omitted_errors) {
        (1, 0) => "1 problem".to_owned(),
        (errors, 0) => format!("{errors} problems"),
        (errors, omitted) => format!("{} problems, of which {errors} are shown", errors + omitted),
    };
    let message = format!("`{}` has {problems}; nothing was run", path.display());
    Error::author(code, message).diagnosed(diagnosed)
}

/// The playbook of one task for an agent, whose profile is found from `directory` upward.
pub fn of_agent(name: &str, directory: &Path) -> Result<Plan, Error> {
    let profile = match agents::find(name, &[directory]) {
        AgentLookup::Found(profile) => profile,
        AgentLookup::Unknown { known } => {
            return Err(Error::not_found("unknown_agent", format!("unknown agent `{name}`"))
                .help(suggest_agent(name, &known)));
        }
        AgentLookup::Invalid { file, diagnostics } => {
            let message = format!("`{file}` is not a valid profile; nothing was run");
            let diagnosed = Diagnosed::new(diagnostics, "", &[]);
            return Err(Error::author("bad_playbook", message).diagnosed(diagnosed));
        }
    };
    let reading = playbook_file::of_agent(name, directory);
    reading.plan.ok_or_else(|| {
        // The generated playbook is no file: its lines would mean nothing to a reader.
        let code = if profile.command.is_none() { "agent_without_command" } else { "bad_profile" };
        let first = reading.diagnostics.first();
        let message =
            first.map_or_else(|| format!("the agent `{name}` cannot be run"), |one| one.message.clone());
        let error = Error::author(code, message);
        match first.and_then(|one| one.help.clone()) {
            Some(help) => error.help(help),
            None => error,
        }
    })
}

pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Error {
    let file = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => Error::author("no_such_file", format!("there is no file `{file}`"))
            .help("`escrow init` writes a first playbook to start from"),
        io::ErrorKind::IsADirectory => {
            Error::author("no_such_file", format!("`{file}` is a directory, not a playbook"))
        }
        io::ErrorKind::InvalidInput => {
            Error::author("no_such_file", format!("`{file}` cannot be a playbook: {error}"))
        }
        _ => Error::world("unreadable", format!("cannot read `{file}`: {error}")),
    }
}
