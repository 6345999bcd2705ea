//! The paths, variables and secrets that a process of an attempt is given.

mod secret_descriptor;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use escrow_model::{Request, Sandbox};
use rustix::fs::{AtFlags, unlinkat};
use serde_json::Value;

use super::{Attempt, ContextFile, Environment};
use crate::granted_secrets;
use crate::private_files::{create_directory, create_file};
use crate::process::{AROUND_VARIABLE, runs_around_commands};
use crate::sandbox::Confinement;
use crate::secret_files::SecretFiles;
use secret_descriptor::SecretDescriptor;

/// The paths that a command gets in its environment. Absolute, because it may change its directory.
pub(super) struct Places {
    pub(super) spool: PathBuf,
    /// Held until the command has ended.
    pub(super) context: Rc<ContextFile>,
    /// Next to the context file.
    pub(super) handback: String,
    pub(super) artifacts: PathBuf,
    pub(super) state: PathBuf,
    /// Held until the command has ended.
    secret_files: Option<SecretFiles>,
    secret_descriptors: Vec<SecretDescriptor>,
    pub(super) confinement: Option<Confinement>,
    /// The temporary directory of a process whose files are confined, and of every harness.
    pub(super) temporary: Option<PathBuf>,
}

impl Places {
    pub(super) fn prepare(attempt: &Attempt, sandbox: Option<Sandbox>) -> io::Result<Places> {
        let spool = absolute(&attempt.spool)?;
        let mut places = Places {
            context: attempt.contexts.file(&attempt.context)?,
            handback: attempt.contexts.take_name(),
            artifacts: absolute(&attempt.artifacts)?,
            state: absolute(&attempt.state)?,
            secret_files: None,
            secret_descriptors: Vec::new(),
            confinement: None,
            temporary: None,
            spool,
        };
        // A crash may have left one here.
        if !attempt.contexts.is_fresh() {
            let _ = unlinkat(places.context.place(), &places.handback, AtFlags::empty());
        }
        let as_files = attempt.secrets.iter().filter(|(name, _)| attempt.secret_files.contains(name));
        let as_files: Vec<_> = as_files.map(|(name, value)| (name.as_str(), value.as_os_str())).collect();
        if !as_files.is_empty() {
            places.secret_files = Some(SecretFiles::create(&as_files)?);
        }
        let open = attempt.secrets.iter().filter(|(name, _)| attempt.secret_descriptors.contains(name));
        for (place, (name, value)) in open.enumerate() {
            places.secret_descriptors.push(SecretDescriptor::create(place, name, value)?);
        }
        if let Some(sandbox) = sandbox {
            places.confine(sandbox, attempt)?;
        }
        Ok(places)
    }

    fn confine(&mut self, sandbox: Sandbox, attempt: &Attempt) -> io::Result<()> {
        let mut writable = vec![self.artifacts.clone()];
        if sandbox.filesystem.is_some() {
            let temporary = self.make_temporary(attempt)?;
            // Only a file that exists can be made writable.
            let handback = self.spool.join(&self.handback);
            create_file(&handback)?;
            writable.extend([temporary, handback]);
        }
        self.confinement = Some(Confinement {
            sandbox,
            directory: absolute(&attempt.directory)?,
            writable,
            readable: std::iter::once(self.context.path())
                .chain(self.secret_files.iter().flat_map(SecretFiles::paths))
                .map(Path::to_owned)
                .collect(),
            state: self.state.clone(),
            protected: Vec::new(),
            report: self.spool.join(format!("{}.sandbox", attempt.label)),
        });
        Ok(())
    }

    /// A temporary directory of the attempt's own.
    pub(super) fn make_temporary(&mut self, attempt: &Attempt) -> io::Result<PathBuf> {
        let temporary = self.spool.join(format!("{}.tmp", attempt.label));
        create_directory(&temporary)?;
        self.temporary = Some(temporary.clone());
        Ok(temporary)
    }

    /// Gives a command its directory, its environment and its secrets.
    pub(super) fn give_to(
        &self,
        command: &mut Command,
        request: &Request,
        attempt: &Attempt,
        environment: &Environment,
    ) {
        command.current_dir(&attempt.directory);
        environment.apply(command);
        let is_free = |name: &&String| environment.value(name).is_none();
        command.envs(request.handed_env.iter().filter(|(name, _)| is_free(name)));
        command.envs(&request.env);
        command.envs(attempt.secrets.iter().map(|(name, value)| {
            (name, self.path_of_secret(name).map_or(value.as_os_str(), Path::as_os_str))
        }));
        command
            .env("ESCROW_STATE", &self.state)
            .env("ESCROW_RUN", attempt.run.as_str())
            .env("ESCROW_CHECK", &attempt.check)
            .env("ESCROW_ATTEMPT", attempt.number.to_string())
            .env("ESCROW_IDEMPOTENCY_KEY", &request.idempotency_key)
            .env("ESCROW_CONTEXT", self.context.path())
            .env("ESCROW_ARTIFACTS", &self.artifacts)
            .envs(runs_around_commands().map(|around| (AROUND_VARIABLE, around)))
            .envs(self.granted(attempt).map(|told| (granted_secrets::VARIABLE, told)))
            .envs(attempt.invocation.iter().map(|invocation| ("ESCROW_INVOCATION", invocation)));
        if let Some(item) = request.item.as_ref().map(Value::to_string)
            && item.len() <= ITEM_BYTES_MAX
        {
            command.env("ESCROW_ITEM", item);
        }
        if let Some(temporary) = &self.temporary {
            command.env("TMPDIR", temporary);
        }
    }

    /// Where a secret is that is not handed over in the environment.
    fn path_of_secret(&self, name: &str) -> Option<&Path> {
        let file = self.secret_files.as_ref().and_then(|files| files.path_of(name));
        let open = || self.secret_descriptors.iter().find(|open| open.is_of(name));
        file.or_else(|| open().map(SecretDescriptor::path))
    }

    fn granted(&self, attempt: &Attempt) -> Option<String> {
        let names = attempt.secrets.iter().map(|(name, _)| name.as_str());
        granted_secrets::told(names.map(|name| (name, self.path_of_secret(name).is_some())))
    }

    pub(super) fn has_descriptors(&self) -> bool {
        !self.secret_descriptors.is_empty()
    }

    /// Lets the command inherit the secrets that are handed over as open files.
    pub(super) fn hand_over_descriptors(&self, command: &mut Command) -> io::Result<()> {
        secret_descriptor::hand_over(&self.secret_descriptors, command)
    }

    /// Removes what only the command needed.
    pub(super) fn tidy(&self) {
        if let Some(temporary) = &self.temporary {
            let _ = std::fs::remove_dir_all(temporary);
        }
    }
}

pub(super) fn absolute(path: &Path) -> io::Result<PathBuf> {
    if path.is_absolute() { Ok(path.to_owned()) } else { std::path::absolute(path) }
}

/// The system takes no variable above 128 KiB and would not start the command. A larger item is left out: the
/// context has it.
const ITEM_BYTES_MAX: usize = 96 * 1024;
