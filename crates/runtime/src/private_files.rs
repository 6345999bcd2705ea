//! Creates directories and files that only their owner can read, whatever the umask.
//!
//! **Invariant:** the mode is set on what was created and never depends on the umask. A umask of the whole process would
//! be simpler, but every command of a run would inherit it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// What group and others may do.
const SHARED_BITS: u32 = 0o077;

/// Creates a directory and the ancestors that are missing. Those that exist stay as they are.
pub fn create_directory(path: &Path) -> io::Result<()> {
    match create_one(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            create_directory(parent.ok_or(error)?)?;
            create_one(path)
        }
        created => created,
    }
}

fn create_one(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(DIRECTORY_MODE).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE)),
        Err(_) if path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Creates a directory as private as the nearest ancestor that exists: what lies in a private directory is private.
pub fn create_directory_alike(path: &Path) -> io::Result<()> {
    let ancestor = path.ancestors().find_map(|ancestor| fs::metadata(ancestor).ok());
    match ancestor {
        Some(ancestor) if ancestor.mode() & SHARED_BITS == 0 => create_directory(path),
        Some(_) | None => fs::create_dir_all(path),
    }
}

/// Creates a file, or empties the one that is there.
pub fn create_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(path)?;
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    Ok(file)
}

/// Creates a file, or empties the one that is there, with the directory that it lies in.
pub fn create_file_in(directory: &Path, path: &Path) -> io::Result<File> {
    match create_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_directory(directory)?;
            create_file(path)
        }
        other => other,
    }
}

/// Takes every right of group and others from what commands have left in a directory. Links are not followed, and a
/// file that has a second name elsewhere keeps its rights: they would change there too.
pub fn tighten(directory: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(directory)?;
    if !metadata.is_dir() {
        return Ok(());
    }
    tighten_one(directory, &metadata)?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            tighten(&entry.path())?;
        } else if metadata.is_file() && metadata.nlink() == 1 {
            tighten_one(&entry.path(), &metadata)?;
        }
    }
    Ok(())
}

/// Takes every right of group and others, unless there is none.
pub fn tighten_one(path: &Path, metadata: &fs::Metadata) -> io::Result<()> {
    let mode = metadata.mode() & 0o7777;
    if mode & SHARED_BITS == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode & !SHARED_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn missing_ancestors_are_private_and_those_that_exist_stay_as_they_are() {
        let home = tempfile::tempdir().unwrap();
        let open = home.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
        create_directory(&open.join("a/b")).unwrap();
        create_directory(&open.join("a/b")).unwrap();
        assert_eq!((mode(&open), mode(&open.join("a")), mode(&open.join("a/b"))), (0o755, 0o700, 0o700));
        fs::write(open.join("file"), "").unwrap();
        assert!(create_directory(&open.join("file")).is_err());
        create_directory_alike(&open.join("a/b/c")).unwrap();
        assert_eq!(mode(&open.join("a/b/c")), 0o700);
    }

    #[test]
    fn what_commands_left_is_tightened_but_not_through_links() {
        let home = tempfile::tempdir().unwrap();
        let (outside, inside) = (home.path().join("outside"), home.path().join("inside"));
        for folder in [&outside, &inside, &inside.join("folder")] {
            fs::create_dir(folder).unwrap();
            fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        }
        for (file, its_mode) in [
            (outside.join("shared"), 0o644),
            (inside.join("plain"), 0o644),
            (inside.join("folder/program"), 0o755),
        ] {
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, Permissions::from_mode(its_mode)).unwrap();
        }
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        fs::hard_link(outside.join("shared"), inside.join("second name")).unwrap();
        tighten(&inside).unwrap();
        assert_eq!((mode(&outside), mode(&outside.join("shared"))), (0o755, 0o644));
        assert_eq!(
            [mode(&inside), mode(&inside.join("plain")), mode(&inside.join("folder/program"))],
            [0o700, 0o600, 0o700]
        );
    }
}
