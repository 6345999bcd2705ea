//! Namespaces of the program's own: for its network, and for a view of the files in which the state is read-only.

use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};
use rustix::process::{getgid, getuid};

/// Always with a user namespace: it needs no privilege, and root loses the power to return to the outer network.
pub(super) fn enter(network: bool, mounts: bool) -> Result<(), String> {
    let (uid, gid) = (getuid().as_raw(), getgid().as_raw());
    let mut flags = CloneFlags::CLONE_NEWUSER;
    flags.set(CloneFlags::CLONE_NEWNET, network);
    flags.set(CloneFlags::CLONE_NEWNS, mounts);
    unshare(flags).map_err(|error| {
        let what = if network { "`sandbox.network`" } else { "`sandbox.filesystem`" };
        format!(
            "{what} cannot be set up: this machine refuses user namespaces ({error}); see `escrow doctor`"
        )
    })?;
    // The program keeps its user and group, as seen from inside and outside.
    map("setgroups", "deny")?;
    map("uid_map", &format!("{uid} {uid} 1"))?;
    map("gid_map", &format!("{gid} {gid} 1"))
}

fn map(file: &str, content: &str) -> Result<(), String> {
    let written = fs::write(format!("/proc/self/{file}"), content);
    written.map_err(|error: io::Error| format!("`sandbox` cannot be set up: `{file}` is refused: {error}"))
}
