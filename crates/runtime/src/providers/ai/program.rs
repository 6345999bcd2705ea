//! Finds the program of a harness: `ESCROW_HARNESS_<NAME>`, else `PATH`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use escrow_harness::{HARNESSES, Harness, HarnessSpec};
use escrow_model::{FaultCode, ProviderFault, Request};

use super::super::Attempt;
use crate::process::{SpawnError, find_program};

/// Where the program of a harness is.
pub(super) fn find(
    spec: &HarnessSpec,
    request: &Request,
    attempt: &Attempt,
) -> Result<PathBuf, ProviderFault> {
    let inherited = || attempt.environment.value("PATH");
    let path = request.env.get("PATH").map(OsString::from).or_else(inherited);
    locate(spec, path.as_deref(), &attempt.directory).map_err(|error| cannot_start(spec, &error))
}

/// The first harness that is installed, in the order of the table.
pub(super) fn first_on_path(attempt: &Attempt) -> Option<&'static dyn Harness> {
    first_installed(attempt.environment.value("PATH").as_deref(), &attempt.directory)
}

/// The first harness that is installed here.
pub fn first_installed(path: Option<&OsStr>, directory: &Path) -> Option<&'static dyn Harness> {
    HARNESSES.iter().copied().find(|harness| locate(harness.spec(), path, directory).is_ok())
}

fn locate(spec: &HarnessSpec, path: Option<&OsStr>, directory: &Path) -> Result<PathBuf, SpawnError> {
    match std::env::var_os(variable(spec)).filter(|named| !named.is_empty()) {
        Some(named) => {
            let program = directory.join(find_program(&named, path, directory)?);
            let is_there = program.metadata().is_ok_and(|metadata| metadata.is_file());
            let missing = || SpawnError::NotFound { program: named.to_string_lossy().into_owned() };
            if is_there { Ok(program) } else { Err(missing()) }
        }
        None => find_program(OsStr::new(spec.name), path, directory),
    }
}

/// The variable that names the program of a harness.
pub fn variable(spec: &HarnessSpec) -> String {
    format!("ESCROW_HARNESS_{}", spec.name.to_ascii_uppercase())
}

pub(super) fn none_found() -> ProviderFault {
    let names: Vec<&str> = HARNESSES.iter().map(|harness| harness.spec().name).collect();
    let message = format!(
        "no harness was found on `PATH` ({}); install one, such as `npm install --global {}`, or name its program in `{}`",
        names.join(", "),
        HARNESSES[0].spec().package,
        variable(HARNESSES[0].spec()),
    );
    ProviderFault::transient(FaultCode::Spawn, message)
}

pub(super) fn cannot_start(spec: &HarnessSpec, error: &SpawnError) -> ProviderFault {
    let message = format!(
        "{}; install it with `npm install --global {}`, or name its program in `{}`",
        error.message(),
        spec.package,
        variable(spec)
    );
    ProviderFault::transient(FaultCode::Spawn, message)
}
