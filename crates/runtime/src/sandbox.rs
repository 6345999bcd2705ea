//! Confines a command and everything that it starts.
//!
//! ```text
//!   Request.fields.sandbox ──▶ Confinement ──▶ escrow sandbox-exec JSON -- PROGRAM ARG…
//!                            namespaces, limits, Landlock, capabilities, seccomp, then exec
//! ```
//!
//! The launcher is `escrow` itself: it confines its own process and becomes the program, so nothing unsafe has to
//! happen between fork and exec.
//!
//! **Invariant:** a confinement that cannot be set up completely ends the attempt. The program does not start.

#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod state;
mod support;
#[cfg(target_os = "linux")]
mod syscalls;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use escrow_model::{FaultCode, ProviderFault, Request, Sandbox};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use support::{Ability, abilities};

/// The verb that the launcher is started with.
pub const VERB: &str = "sandbox-exec";

/// The exit code of a launcher that could not set the sandbox up. The report file tells it from the program's own.
pub const EXIT_NOT_CONFINED: u8 = 125;

/// A sandbox and the paths that Escrow adds to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Confinement {
    pub sandbox: Sandbox,
    /// What relative paths are relative to.
    pub directory: PathBuf,
    /// Always writable: the artifact directory, the temporary directory and the file that `$ESCROW_ENV` names.
    pub writable: Vec<PathBuf>,
    /// Always readable: the file that `$ESCROW_CONTEXT` names.
    pub readable: Vec<PathBuf>,
    /// The state of Escrow, which no confined program may write.
    pub state: PathBuf,
    /// Directories that it may not write either, wherever they are.
    #[serde(default)]
    pub protected: Vec<PathBuf>,
    /// Where a launcher that fails says why.
    pub report: PathBuf,
}

impl Confinement {
    /// The sandbox of a request, if it has one.
    pub fn declared(request: &Request) -> Result<Option<Sandbox>, ProviderFault> {
        match request.fields.get(Sandbox::FIELD) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_json::from_value(value.clone())
                .map(Some)
                .map_err(|error| fault(&format!("`sandbox` cannot be read: {error}"))),
        }
    }

    /// The command, started through the launcher. Only program and arguments are carried over.
    pub fn wrap(&self, command: &Command) -> Command {
        // Refers to this very binary, even when its file was replaced since it started.
        let mut launcher = Command::new("/proc/self/exe");
        let confinement =
            serde_json::to_string(self).expect("paths of Escrow are UTF-8 where a playbook names one");
        launcher.arg(VERB).arg(confinement).arg("--");
        launcher.arg(command.get_program()).args(command.get_args());
        launcher
    }

    /// Why the launcher failed, if it did. Removes the report.
    pub fn failure(&self) -> Option<ProviderFault> {
        let reason = std::fs::read_to_string(&self.report).ok()?;
        let _ = std::fs::remove_file(&self.report);
        (!reason.is_empty()).then(|| fault(&reason))
    }
}

fn fault(message: &str) -> ProviderFault {
    ProviderFault::logical(FaultCode::own("sandbox"), message)
}

/// Whether this process runs in a sandbox of some check. A process inside cannot hide it from Escrow.
#[cfg(target_os = "linux")]
pub fn is_confined() -> bool {
    syscalls::is_marked()
}

#[cfg(not(target_os = "linux"))]
pub fn is_confined() -> bool {
    false
}

/// Confines this process and becomes the program. Returns only when that fails, with the exit code.
///
/// Must be called while the process has a single thread: a thread that is already there would stay unconfined.
pub fn enter_and_exec(confinement: &str, program: &OsStr, arguments: &[OsString]) -> u8 {
    let mut stderr = io::stderr();
    let confinement: Confinement = match serde_json::from_str(confinement) {
        Ok(confinement) => confinement,
        Err(error) => {
            let _ = writeln!(stderr, "escrow: this is not a sandbox: {error}");
            return EXIT_NOT_CONFINED;
        }
    };
    // Before anything is confined: afterwards it could not be opened.
    let mut report = match std::fs::File::create(&confinement.report) {
        Ok(report) => report,
        Err(error) => {
            let _ = writeln!(stderr, "escrow: cannot write `{}`: {error}", confinement.report.display());
            return EXIT_NOT_CONFINED;
        }
    };
    if let Err(reason) = enter(&confinement) {
        let _ = report.write_all(reason.as_bytes());
        let _ = writeln!(stderr, "escrow: {reason}");
        return EXIT_NOT_CONFINED;
    }
    become_program(program, arguments)
}

fn become_program(program: &OsStr, arguments: &[OsString]) -> u8 {
    use std::os::unix::process::CommandExt;
    let error = Command::new(program).args(arguments).exec();
    let name = Path::new(program).display();
    let help = match error.kind() {
        io::ErrorKind::PermissionDenied => " (inside the sandbox; `filesystem.read` must include it)",
        _ => "",
    };
    let _ = writeln!(io::stderr(), "escrow: cannot start `{name}`: {error}{help}");
    if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
}

#[cfg(target_os = "linux")]
fn enter(confinement: &Confinement) -> Result<(), String> {
    use escrow_model::SandboxNetwork;
    nix::sys::prctl::set_no_new_privs().map_err(|error| format!("`sandbox` cannot be set up: {error}"))?;
    let sandbox = &confinement.sandbox;
    let own_network = match sandbox.network {
        Some(SandboxNetwork::None | SandboxNetwork::Loopback) => true,
        Some(SandboxNetwork::Full) | None => false,
    };
    let files =
        sandbox.filesystem.as_ref().map(|declared| files::resolve(declared, confinement)).transpose()?;
    let covered = files.as_ref().map(|files| files.covered.as_slice()).unwrap_or_default();
    if own_network || !covered.is_empty() {
        namespaces::enter(own_network, !covered.is_empty())?;
    }
    if sandbox.network == Some(SandboxNetwork::Loopback) {
        loopback::bring_up()?;
    }
    if let Some(files) = files.as_ref().filter(|files| !files.covered.is_empty()) {
        state::make_read_only(&files.covered, &files.above_covered, &confinement.writable)?;
    }
    limits::set(sandbox.limits)?;
    match &files {
        Some(files) => files.restrict()?,
        None => files::scope(),
    }
    capabilities::drop_dangerous()?;
    // Where files are confined, the state cannot be written, and nothing can be mounted.
    let namespaces = match files {
        Some(_) => syscalls::Namespaces::Allowed,
        None => syscalls::Namespaces::Refused,
    };
    syscalls::restrict(own_network, namespaces)
}

#[cfg(not(target_os = "linux"))]
fn enter(_confinement: &Confinement) -> Result<(), String> {
    Err("`sandbox` needs Linux; remove it, or run this playbook there".into())
}
