//! Keeps the harness within its permission, by the kernel where it can.

use std::io;

use escrow_harness::{Confinement, Permission};
use escrow_model::{FaultCode, ProviderFault, Sandbox, SandboxFilesystem};

use super::super::Attempt;
use super::super::places::{Places, absolute};
use super::home::PrivateHome;
use super::task::Task;
use crate::project;

/// Who keeps the harness within its permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enforcement {
    Kernel,
    Harness,
}

impl Enforcement {
    /// The ways to try, in order. The next one is tried only if the confinement cannot be set up.
    pub(super) fn ways(task: &Task<'_>) -> &'static [Enforcement] {
        match (task.permission, &task.sandbox, task.is_advisory) {
            (Permission::Full, None, _) => &[Enforcement::Harness],
            // A declared sandbox is never given up.
            (_, Some(_), _) | (Permission::Read | Permission::Edit, None, false) => &[Enforcement::Kernel],
            (Permission::Read | Permission::Edit, None, true) => &[Enforcement::Kernel, Enforcement::Harness],
        }
    }
}

impl From<Enforcement> for Confinement {
    fn from(enforcement: Enforcement) -> Confinement {
        match enforcement {
            Enforcement::Kernel => Confinement::Kernel,
            Enforcement::Harness => Confinement::Program,
        }
    }
}

/// The places of the attempt, confined as the permission and the sandbox say.
pub(super) fn places(
    task: &Task<'_>,
    home: &PrivateHome,
    enforcement: Enforcement,
    attempt: &Attempt,
) -> Result<Places, ProviderFault> {
    let failed = |error: io::Error| {
        let message = format!("cannot write beneath `{}`: {error}", attempt.spool.display());
        ProviderFault::transient(FaultCode::Spawn, message)
    };
    let sandbox = match enforcement {
        Enforcement::Kernel => Some(sandbox(task, attempt)?),
        Enforcement::Harness => None,
    };
    let mut places = Places::prepare(attempt, sandbox).map_err(failed)?;
    if places.temporary.is_none() {
        places.make_temporary(attempt).map_err(failed)?;
    }
    if let Some(confinement) = &mut places.confinement {
        confinement.writable.push(home.path().to_owned());
        confinement.protected.push(confinement.directory.join(project::NAME));
    }
    Ok(places)
}

/// What the permission allows, narrowed by the declared sandbox.
fn sandbox(task: &Task<'_>, attempt: &Attempt) -> Result<Sandbox, ProviderFault> {
    let mut sandbox = task.sandbox.clone().unwrap_or_default();
    let declared = sandbox.filesystem.take();
    let directory = || {
        let path = absolute(&attempt.directory).ok();
        path.and_then(|path| path.to_str().map(str::to_owned)).ok_or_else(|| {
            let message = "the path of the working directory is not UTF-8, so it cannot be confined";
            ProviderFault::logical(FaultCode::own("request"), message)
        })
    };
    sandbox.filesystem = match (task.permission, declared) {
        (Permission::Full, declared) => declared,
        (Permission::Read, declared) => {
            Some(SandboxFilesystem { read: declared.and_then(|files| files.read), write: Vec::new() })
        }
        (Permission::Edit, Some(declared)) => Some(declared),
        (Permission::Edit, None) => Some(SandboxFilesystem { read: None, write: vec![directory()?] }),
    };
    Ok(sandbox)
}
