//! Makes the state of Escrow read-only where the program may write everything around it.
//!
//! Landlock has no exceptions: a directory that can be written includes everything in it. So the state is mounted over
//! itself, read-only, in a mount namespace of the program's own, and the paths in it that belong to the program are
//! mounted over that again. The directories between a writable path and the state are mounted over themselves as well:
//! what is mounted on can be neither renamed nor removed. Landlock then keeps the program from changing mounts.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sys::statvfs::{FsFlags, statvfs};

/// `above` are the directories to keep in their place, outermost first.
pub(super) fn make_read_only(
    directories: &[PathBuf],
    above: &[PathBuf],
    writable: &[PathBuf],
) -> Result<(), String> {
    let none = None::<&Path>;
    mount(none, Path::new("/"), none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none)
        .map_err(|error| failed(Path::new("/"), &error))?;
    let current = std::env::current_dir().map_err(|error| failed(Path::new("."), &error))?;
    for directory in above {
        mount(Some(directory.as_path()), directory.as_path(), none, MsFlags::MS_BIND | MsFlags::MS_REC, none)
            .map_err(|error| failed(directory, &error))?;
    }
    directories.iter().try_for_each(|directory| make_one_read_only(directory, writable))?;
    // The directory that this process is in lies below the new mounts, where nothing is protected.
    std::env::set_current_dir(&current).map_err(|error| failed(&current, &error))
}

fn make_one_read_only(directory: &Path, writable: &[PathBuf]) -> Result<(), String> {
    let none = None::<&Path>;
    let inside: Vec<(&PathBuf, File)> = writable
        .iter()
        .filter(|path| path.starts_with(directory))
        .map(|path| File::open(path).map(|file| (path, file)).map_err(|error| failed(path, &error)))
        .collect::<Result<_, _>>()?;
    mount(Some(directory), directory, none, MsFlags::MS_BIND | MsFlags::MS_REC, none)
        .map_err(|error| failed(directory, &error))?;
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | kept_flags(directory)?;
    mount(none, directory, none, flags, none).map_err(|error| failed(directory, &error))?;
    for (path, file) in inside {
        let source = format!("/proc/self/fd/{}", file.as_raw_fd());
        mount(Some(source.as_str()), path.as_path(), none, MsFlags::MS_BIND, none)
            .map_err(|error| failed(path, &error))?;
    }
    Ok(())
}

fn failed(what: &Path, why: &dyn std::fmt::Display) -> String {
    format!("`sandbox.filesystem` cannot be set up: `{}` cannot be protected: {why}", what.display())
}

/// A user namespace may add restrictions to a mount, and must keep those that it has.
fn kept_flags(state: &Path) -> Result<MsFlags, String> {
    let has = statvfs(state).map_err(|error| format!("`{}`: {error}", state.display()))?.flags();
    let mut flags = MsFlags::empty();
    for (has_flag, keep) in [
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ] {
        flags.set(keep, has.contains(has_flag));
    }
    Ok(flags)
}
