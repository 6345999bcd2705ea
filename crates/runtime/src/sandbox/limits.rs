//! Resource limits, inherited by everything that the program starts.

use escrow_model::SandboxLimits;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

pub(super) fn set(limits: SandboxLimits) -> Result<(), String> {
    let SandboxLimits { memory, processes, files } = limits;
    if processes.is_some() && rustix::process::getuid().is_root() {
        let why = "Linux does not limit the processes of root";
        return Err(format!(
            "`sandbox.limits.processes` cannot be set up: {why}; run Escrow as another user"
        ));
    }
    for (name, resource, limit) in [
        ("memory", Resource::RLIMIT_AS, memory),
        ("processes", Resource::RLIMIT_NPROC, processes),
        ("files", Resource::RLIMIT_NOFILE, files),
    ] {
        let Some(limit) = limit else { continue };
        let failed = |error: nix::Error| format!("`sandbox.limits.{name}` cannot be set up: {error}");
        // A lower limit that is in force already stays.
        let (_, hard) = getrlimit(resource).map_err(failed)?;
        let limit = limit.min(hard);
        setrlimit(resource, limit, limit).map_err(failed)?;
    }
    Ok(())
}
