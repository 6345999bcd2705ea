//! Reads and replaces the configuration file of a host. Each write replaces a file whole, with its old permissions.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use escrow_harness::install::HookFile;
use escrow_runtime::random_u64;

use super::{Root, Scope};
use crate::error::Error;
use crate::words::shell_word;

/// Larger configurations are refused.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The file behind links. One that leaves the project is refused: a clone must not direct a write elsewhere.
pub(super) fn real_file(root: &Root, host: &HookFile) -> Result<PathBuf, Error> {
    let path = root.file(host);
    let is_link = fs::symlink_metadata(&path).is_ok_and(|file| file.file_type().is_symlink());
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(_) if is_link => {
            return Err(Error::author("link", format!("`{}` is a link that leads nowhere", path.display()))
                .help("remove the link, then call the command again"));
        }
        Err(_) => {
            let there = path.ancestors().skip(1).find_map(|above| Some((above, above.canonicalize().ok()?)));
            match there {
                Some((above, real)) => real.join(path.strip_prefix(above).unwrap_or(&path)),
                None => path.clone(),
            }
        }
    };
    let inside = root.directory.canonicalize().is_ok_and(|root| real.starts_with(root));
    if root.scope == Scope::Project && !inside {
        return Err(Error::author(
            "link",
            format!("`{}` is a link that leaves the project: `{}`", path.display(), real.display()),
        )
        .help("edit that file yourself, or install for the user with `--user`"));
    }
    Ok(real)
}

pub(super) fn read(file: &Path) -> Result<Option<String>, Error> {
    let failed = |error: io::Error| {
        Error::world("unreadable", format!("cannot read `{}`: {error}", file.display()))
            .help("repair the file or its permissions, then call the command again")
    };
    match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
        Ok(found) if !found.is_file() => {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidData, "not a plain file")));
        }
        Ok(found) if found.len() > FILE_BYTES_MAX => {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidData, "larger than 16 MiB")));
        }
        Ok(_) => {}
    }
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Error::author("unparsable", format!("`{}` is not UTF-8", file.display()))
                .help("convert the file, then call the command again; Escrow has not changed it"))
        }
        Err(error) => Err(failed(error)),
    }
}

/// A file that its owner has made read-only is not replaced, although the directory allows it.
pub(super) fn refuse_read_only(file: &Path) -> Result<(), Error> {
    match fs::metadata(file) {
        Ok(found) if found.permissions().readonly() => {
            Err(Error::author("read_only", format!("`{}` is read-only", file.display())).help(format!(
                "if you maintain it by hand, `chmod u+w {}`, then call the command again",
                shell_word(&file.display().to_string())
            )))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Replaces a file whole, or creates it with its directory. Its permissions stay.
pub(super) fn replace(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let new = folder.join(format!(".{name}.{:016x}", random_u64()?));
    let written = (|| {
        let mut handle = fs::OpenOptions::new().write(true).create_new(true).open(&new)?;
        handle.write_all(text.as_bytes())?;
        if let Ok(old) = fs::metadata(file) {
            handle.set_permissions(old.permissions())?;
        }
        handle.sync_all()?;
        fs::rename(&new, file)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Removes a file and, in a project, the directories that are empty without it.
pub(super) fn remove(root: &Root, file: &Path) -> io::Result<()> {
    fs::remove_file(file)?;
    let Ok(top) = root.directory.canonicalize() else { return Ok(()) };
    let above = file.ancestors().skip(1).take_while(|above| **above != top && above.starts_with(&top));
    for folder in above {
        if root.scope == Scope::User || fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}
